"""One simple command as the handler of its program sees it, and the verdicts that it can give."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.safety.danger import Kind, Reason, Verb
from overt.safety.programs.options import ProgramOptions, read_options
from overt.safety.shell.ast import NO_FEED, Feed
from overt.safety.shell.words import Word, literal

if TYPE_CHECKING:
    from overt.safety.classify import Classifier

BLAND = frozenset("touch mkdir mkfifo mktemp cd type hash enable shopt bind command".split())
"""Programs without an option that does harm."""


class Effects(Struct, frozen=True, kw_only=True):
    """What a simple command changes; see `Cause`. `touches` are words, which may be computed."""

    kind: Kind = "system"
    verb: Verb = "change"
    touches: Sequence[Word] = ()
    key: tuple[str, ...] = ()


NO_CHANGE = Effects()
WITH_PATHS = frozenset({"files", "unpack", "untracked", "worktree"})
UNREADABLE = Effects(kind="code")
DELETES = Reason("deletes files", "files", "delete")


class ProgramCall:
    def __init__(self, classifier: "Classifier", words: Sequence[Word], feed: Feed, depth: int) -> None:
        self.classifier = classifier
        self.words = tuple(words)
        self.name = base_name(words[0].text)
        self.args = tuple(words[1:])
        self.feed = feed
        self.depth = depth
        self.key: tuple[str, ...] = (self.name,)
        """The words that a rule must hold to allow what is dangerous in it."""
        self.folder: Word | None = None
        """The folder it works in, if an option names another one."""

    @property
    def shown(self) -> str:
        return shown(self.words)

    def options(self, takes: str = "", *, single: bool = False) -> ProgramOptions:
        options = read_options(self.args, frozenset(takes.split()), single=single)
        if options.loose and self.name not in BLAND:
            self.unreadable("may be told anything by a computed word")
        return options

    def harmless(self) -> None:
        self.classifier.note("harmless", self.shown, "")

    def ordinary(self, why: str = "") -> None:
        self.classifier.note("ordinary", self.shown, why)

    def inline(self, why: str) -> None:
        """Note code in the command itself, which the sandbox contains like a script."""
        self.classifier.note("ordinary", self.shown, why, UNREADABLE)

    def dangerous(
        self, why: str, touches: Sequence[Word] | None = None, *, kind: Kind | None = None, key: tuple[str, ...] = ()
    ) -> None:
        """Note a danger. `touches` are the files it changes; without them, the reason says what kind of change."""
        usual: Kind = getattr(why, "kind", "system" if touches is None else "files")
        kind = kind or usual
        if kind in WITH_PATHS and self.folder is not None:
            touches = (self.folder,)
        elif kind == "worktree" and not touches:
            touches = (literal("."),)
        change = Effects(kind=kind, verb=getattr(why, "verb", "change"), touches=touches or (), key=key or self.key)
        self.classifier.note("dangerous", self.shown, why, change)

    def unreadable(self, why: str) -> None:
        self.classifier.note("dangerous", self.shown, why, UNREADABLE, opaque=True)

    def run(self, words: Sequence[Word], feed: Feed = NO_FEED) -> None:
        self.classifier.command(words, feed, depth=self.depth + 1)

    def script(self, word: Word, arguments: Sequence[Word] | None = None) -> None:
        """Classify a text that a shell will run with `arguments`. Pieces made by a command could be anything."""
        if word.computed or (word.hole and word.plain == "1"):
            self.unreadable("runs a text that is computed")
        else:
            self.classifier.script(word.text, depth=self.depth + 1, feed=self.feed, arguments=arguments)

    def write(self, word: Word, *, append: bool = False) -> None:
        self.classifier.write(word, append=append, shown=self.shown)

    def exists(self, path: str) -> bool:
        return self.classifier.exists(path)

    def online(self) -> None:
        self.classifier.network = True

    def installed(self, place: int) -> bool:
        """True if the argument there names a program of `node_modules`, which needs no download."""
        name = self.args[place].text if place < len(self.args) else ""
        return re.fullmatch(r"[\w.-]+", name) is not None and self.exists(f"node_modules/.bin/{name}")

    def send(self, why: str) -> None:
        """Note that the command sends data that its words do not show."""
        self.classifier.sends = True
        self.dangerous(why, kind="published")


def base_name(text: str) -> str:
    return text.rpartition("/")[2]


def shown(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)
