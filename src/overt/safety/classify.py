"""Classify a shell command: parse it, ask the handler of each program, and return the worst verdict."""

import posixpath
import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from overt.lib.protected_names import protected_name
from overt.safety.danger import Cause, CommandReading, Hazard
from overt.safety.programs import builtins as _builtins
from overt.safety.programs import file_writers as _file_writers
from overt.safety.programs import find_xargs as _find_xargs
from overt.safety.programs import interpreters as _interpreters
from overt.safety.programs import sed_awk as _sed_awk
from overt.safety.programs import wrappers as _wrappers
from overt.safety.programs.git import git
from overt.safety.programs.listing_commands import NOT_IGNORED, REVISION
from overt.safety.programs.options import in_value
from overt.safety.programs.program_call import NO_CHANGE, UNREADABLE, Effects, ProgramCall, shown
from overt.safety.programs.program_classes import (
    CONVERTERS,
    changed_paths,
    classify_by_shape,
    classify_unknown,
    converter,
)
from overt.safety.programs.program_table import ALWAYS, SHAPES, WORDS
from overt.safety.programs.wrappers import SUBCOMMANDS, WRAPPERS
from overt.safety.shell.ast import NO_FEED, Doubt, Enter, Feed, Inner, Leave, Redirect, Simple
from overt.safety.shell.parse import CLOSING, parse
from overt.safety.shell.variables import Known, add_value, given_words
from overt.safety.shell.words import Word

LEVELS: tuple[Hazard, ...] = ("harmless", "ordinary", "dangerous")
DEEPEST = 12
MOST_CAUSES = 50

HANDLERS: dict[str, Callable[[ProgramCall], None]] = {
    **_builtins.HANDLERS,
    **_interpreters.HANDLERS,
    **_file_writers.HANDLERS,
    **dict.fromkeys(CONVERTERS, converter),
    **_sed_awk.HANDLERS,
    **_wrappers.HANDLERS,
    **_find_xargs.HANDLERS,
    "git": git,
}
READERS = WORDS["harmless"]
KNOWN = frozenset((*HANDLERS, *SHAPES, *ALWAYS, *READERS, *WRAPPERS, *SUBCOMMANDS))
SYSTEM_FOLDERS = frozenset("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /usr/local/sbin /opt/homebrew/bin".split())
SYSTEM_PATHS = re.compile(r"/(?:dev|proc|sys|etc|boot|usr|bin|sbin|lib\w*|root)(?:/|$)")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
NOWHERE = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+)")


def read(command: str, exists: Callable[[str], bool], also: frozenset[str]) -> CommandReading:
    classifier = Classifier(exists, also)
    classifier.script(command, depth=0)
    if "\\\n" in command:  # the shell joins such lines before it reads words; the grammar takes them for blanks
        classifier.script(command.replace("\\\n", ""), depth=0)
    if not command.strip():
        classifier.note("ordinary", "", "")
    causes = [classifier.through_links(cause) for cause in classifier.causes.values()]
    if any(cause.kind == "environment" for cause in causes):  # then words may mean other files than those read here
        causes = [replace(cause, unknown=cause.unknown or bool(cause.touches)) for cause in causes]
    if classifier.causes_left_out:
        causes.append(Cause(words=command[:80], why="holds too many commands to tell them apart", kind="code"))
    return CommandReading(
        hazard="dangerous" if any(cause.dangerous for cause in causes) else LEVELS[classifier.level],
        causes=tuple(causes),
        commands=tuple(classifier.commands),
        opaque=classifier.opaque,
        network=classifier.network,
        writes=tuple(classifier.writes),
        redirects=classifier.redirects,
        notable=tuple(classifier.notable),
        sends=classifier.sends,
    )


class Classifier:
    def __init__(self, exists: Callable[[str], bool], also: frozenset[str]) -> None:
        self._exists = exists
        self._also = also
        self.level = 0
        self.causes: dict[tuple[str, str], Cause] = {}
        self.commands: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self.notable: dict[str, None] = {}
        self.opaque = self.network = self.redirects = self.sends = self.connects = self.causes_left_out = False
        self._links: dict[str, str] = {}
        self._functions: set[str] = set()
        self._known: Known = {}
        self._here: frozenset[str] | None = frozenset({""})
        self._anywhere: frozenset[str] | None = frozenset({""})

    # ── verdicts ─────────────────────────────────────────────────────────────────────────────────────────

    def note(self, hazard: Hazard, words: str, why: str, change: Effects = NO_CHANGE, *, opaque: bool = False) -> None:
        self.level = max(self.level, LEVELS.index(hazard))
        self.opaque |= opaque
        if hazard == "harmless" or not why:
            return
        dangerous = hazard == "dangerous"
        if len(self.causes) >= MOST_CAUSES:
            self.causes_left_out |= dangerous
            return
        paths, unknown = self._places(change.touches)
        cause = Cause(
            words=words,
            why=str(why),
            kind=change.kind,
            verb=change.verb,
            touches=paths,
            unknown=unknown or (change.kind == "files" and dangerous and not change.touches),
            key=change.key,
            dangerous=dangerous,
        )
        self.causes.setdefault((words, why), cause)

    def _places(self, words: Sequence[Word]) -> tuple[tuple[str, ...], bool]:
        """Where these paths lie, counted from the workspace, and whether there may be others.

        Of a name with an unknown piece in it, the folder that it certainly lies in counts.
        """
        paths: dict[str, None] = {}
        unknown = False
        for word in words:
            text = word.text
            if word.places:
                inside, more = self._places([Word(text=path, glob=True) for path in word.places])
                paths.update(dict.fromkeys(inside))
                unknown |= more
                continue
            if word.hole:
                folder = posixpath.commonprefix([text, word.plain]).rpartition("/")[0]
                if not folder or word.made or word.glob or ".." in text:
                    unknown = True
                    continue
                text = folder
            if text == NOT_IGNORED or text.startswith(REVISION):
                paths[text] = None
            elif text.startswith(("/", "~")):
                paths[text if text.startswith("~") else _entered("", text)] = None
            elif self._here is None:
                unknown = True
            else:
                paths.update(dict.fromkeys(sorted(_entered(folder, text) for folder in self._here)))
        return tuple(paths), unknown

    def exists(self, path: str) -> bool:
        return self._here is None or any(self._exists(_place(folder, path)) for folder in self._here)

    def enter(self, folder: Word | None) -> None:
        """`cd`: afterwards paths count from there, or from where it was before should that fail."""
        if folder is None or not folder.literal or folder.text.startswith(("~", "-")) or self._here is None:
            self._here = self._anywhere = None
            return
        logical = {posixpath.normpath(posixpath.join(old, folder.text)) for old in self._here}
        self._here = frozenset(logical | {_place(old, folder.text) for old in self._here})
        if self._anywhere is not None:
            self._anywhere |= self._here

    def write(self, word: Word, *, append: bool, shown: str) -> None:
        """A file written to: appended when `append`, else replaced."""
        if NOWHERE.fullmatch(word.text):
            return
        if word.hole or word.glob or not word.text:
            why = "writes to a file whose name is computed"
            self.note("dangerous", shown, why, Effects(kind="files", touches=(word,)), opaque=True)
            return
        places = sorted(_place(folder, word.text) for folder in self._here) if self._here is not None else [word.text]
        self.writes.update(dict.fromkeys(map(posixpath.normpath, places)))
        name = posixpath.basename(word.text.rstrip("/"))
        why = ""
        if any(protected_name(place) for place in places):
            why = "writes to a protected file"
        elif SYSTEM_PATHS.match(places[0]):
            why = "writes to the system"
        elif name.startswith("-") and len(name) > 1:
            why = "makes a file whose name other programs take for an option"
        elif append:
            why = "changes a settings file" if name.startswith(".") and name not in (".", "..") else ""
        elif self._here is None or word.text.startswith("~") or any(self._exists(place) for place in places):
            why = "overwrites an existing file"
        self.note(
            "dangerous" if why else "ordinary",
            shown,
            why or "writes a file",
            Effects(kind="files", touches=(word,)),
        )

    def link(self, name: Word, shown: str) -> None:
        """A link that the text makes: where it leads is not seen when its parts are judged."""
        self._links |= dict.fromkeys(self._places([name])[0], shown)

    def through_links(self, cause: Cause) -> Cause:
        """What is changed through such a link could be anything; deleting the link itself is not."""
        for place, maker in self._links.items():
            behind = any(
                path.startswith(f"{place}/") or (path == place and cause.verb == "change") for path in cause.touches
            )
            if behind and cause.words != maker:
                return replace(cause, dangerous=True, unknown=True, why=f"{cause.why} through a link it makes itself")
        return cause

    def set_variable(self, name: str, value: Word) -> None:
        """As a wrapper does for what it runs; what the text itself sets was found when it was parsed."""
        add_value(self._known, name, (value.text,) if value.literal else None)
        self._assigned(name, value)

    def _assigned(self, name: str, value: Word) -> None:
        _builtins.variable(ProgramCall(self, [Word(text=f"{name}={value.text}")], Feed(), 0), name, value)

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────

    def script(self, text: str, *, depth: int, feed: Feed = NO_FEED, arguments: Sequence[Word] | None = None) -> None:
        if depth > DEEPEST:
            self.note("dangerous", text[:80], "is nested too deeply to be read", UNREADABLE, opaque=True)
            return
        parsed = parse(text, self._known if arguments is None else self._known | given_words(arguments), feed)
        outer, self._known = self._known, parsed.known
        before = self._here, self._anywhere
        stack: list[tuple[frozenset[str] | None, frozenset[str] | None]] = []
        self._functions |= {item.function for item in parsed.items if isinstance(item, Enter) and item.function}
        for item in parsed.items:
            match item:
                case Simple():
                    self._simple(item, depth)
                case Inner():
                    self.script(item.text, depth=depth + 1)
                case Enter():
                    stack.append((self._here, self._anywhere))
                    self._enter_function(item.function)
                case Leave():
                    self._here, self._anywhere = stack.pop()
                case Doubt():
                    self.note("dangerous", item.words or text[:80], item.why, UNREADABLE, opaque=True)
        self._known = outer
        if depth:
            self._here, self._anywhere = before

    def _enter_function(self, name: str) -> None:
        if not name:
            return
        self._here = self._anywhere = None  # it runs wherever it is called
        if name in KNOWN and not (name in READERS and name not in HANDLERS):  # what it does is read like the rest
            self.note("dangerous", f"{name}()", "changes what a name runs", Effects(kind="environment"))

    def _simple(self, item: Simple, depth: int) -> None:
        if item.joined != "&&":
            self._here = self._anywhere
        source = shown(item.words) or item.source
        reading = bool(item.words) and item.words[0].text in ("read", "mapfile", "readarray")
        for assignment in item.assignments:
            if not (reading and assignment.name == "IFS"):  # how one line is cut, no more
                self._assigned(assignment.name, assignment.value)
        for redirect in item.redirects:
            self._redirect(redirect, source)
        if item.words:
            self.command(item.words, item.feed, depth=depth)

    def _redirect(self, redirect: Redirect, source: str) -> None:
        operator, target = redirect.operator, redirect.target
        text = f"{source} {operator} {target.text if target else ''}".strip()
        if (
            target is None
            or operator in ("<&", "<", "<&-", ">&-")
            or (operator == ">&" and re.fullmatch(r"\d+|-|\d+-", target.text))
        ):
            if target is not None and re.match(r"/dev/(?:tcp|udp)/", target.text):
                self.note("dangerous", text, "opens a connection", Effects(kind="published"))
                self.network = True
            elif target is None and operator not in (">&-", "<&-", ""):
                self.note("dangerous", text, "could not be read as shell", UNREADABLE, opaque=True)
            return
        if target.stream:
            return
        self.redirects |= not NOWHERE.fullmatch(target.text)
        self.write(target, append=operator in (">>", "&>>"), shown=text)

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────

    def command(self, words: Sequence[Word], feed: Feed, *, depth: int) -> None:
        if depth > DEEPEST:
            self.note("dangerous", shown(words)[:80], "is nested too deeply to be read", UNREADABLE, opaque=True)
            return
        while words and (match := ASSIGNMENT.match(words[0].text)) and not words[0].leads:  # as in `sudo A=1 make`
            value = words[0].text[match.end() :]
            self.set_variable(match[1], Word(text=value, plain=value, hole=words[0].hole, computed=words[0].computed))
            words = words[1:]
        if words:
            self._measured(ProgramCall(self, words, feed, depth))

    def _measured(self, call: ProgramCall) -> None:
        """Classify one simple command apart from the others, to know which of them rules have to cover."""
        level, network, connects = self.level, self.network, self.connects
        self.level, self.network, self.connects = 0, False, False
        self._alone(call)
        if self.network and not self.level and any(word.computed for word in call.args):
            call.send("sends what another command prints")
        if (self.level or self.network or self.connects) and call.shown in self.commands:
            self.notable[call.shown] = None
        self.level, self.network = max(level, self.level), network or self.network
        self.connects |= connects

    def _alone(self, call: ProgramCall) -> None:
        words, first = call.words, call.words[0]
        if first.hole or first.glob or first.text in CLOSING:
            self.commands[call.shown] = None
            return call.unreadable("runs a command whose name is computed")
        name, folder = call.name, first.text.rpartition("/")[0]
        if not _only_wraps(name, words):
            self.commands[call.shown] = None
        if folder and folder not in SYSTEM_FOLDERS and name not in ALWAYS:
            call.ordinary("runs a program of the workspace")
        if name not in READERS and any(word.patched and not _in_value(name, word) for word in words[1:]):
            call.unreadable("is given an option that is partly computed")
        if name in self._also:
            return call.dangerous("is on your list of dangerous programs", kind="listed")
        if not folder and name in self._functions:
            return call.harmless()
        return self._known_or_not(call)

    def _known_or_not(self, call: ProgramCall) -> None:
        if call.name not in KNOWN and call.name[:1] == "g" and call.name[1:] in KNOWN:
            call.name = call.name[1:]  # GNU programs beside others: grm, gsed
        name = call.name
        if _asks_for_help(call):
            return call.harmless()
        if name in SUBCOMMANDS and _wrappers.subcommand_wraps(call):
            return None
        if handler := HANDLERS.get(name):
            return handler(call)
        if wrap := WRAPPERS.get(name):
            return _wrappers.wrapped(call, wrap)
        if shape := SHAPES.get(name):
            return classify_by_shape(call, shape, call.args)
        if why := ALWAYS.get(name) or (ALWAYS["mkfs"] if name.startswith(("mkfs.", "fsck.")) else None):
            return call.dangerous(why, changed_paths(call))
        if interpreter := _interpreters.interpreter_named(name):
            return _interpreters.interpreter(call, interpreter)
        return call.harmless() if name in READERS else classify_unknown(call)


SHELLS = frozenset(name for name, handler in _wrappers.HANDLERS.items() if handler is _wrappers.shell)
TRANSPARENT = frozenset("env xargs eval command coproc busybox toybox".split())


def _only_wraps(name: str, words: Sequence[Word]) -> bool:
    """Rules speak of what a wrapper runs, not of the wrapper, unless that is dangerous by itself."""
    if name in SHELLS:
        return any(re.match(r"-\w*c", word.text) for word in words[1:])
    return len(words) > 1 and (name in TRANSPARENT or (name in WRAPPERS and not WRAPPERS[name].own))


def _place(folder: str, path: str) -> str:
    """A path as the system walks it: behind a link, `..` is not where the name says, so it stays there."""
    if path.startswith("~"):
        return path
    joined = posixpath.join(folder, path)
    parts = [part for part in joined.split("/") if part not in ("", ".")]
    names = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if ".." not in parts[names:]:
        return posixpath.normpath(joined)
    return f"{'/' if joined.startswith('/') else ''}{'/'.join(parts)}"


def _entered(folder: str, path: str) -> str:
    """The place of a path; one that ends in a slash or a dot means the folder that a link leads to."""
    place = _place(folder, path)
    return f"{place}/" if path.endswith(("/", "/.")) or (path == "." and place not in ("", ".")) else place


VERSIONS = frozenset("--version --help -V -VV -Vv -vV -version".split())


def _in_value(name: str, word: Word) -> bool:
    shape = SHAPES.get(name)
    return shape is not None and in_value(word, frozenset(f"{shape.takes} {shape.writes}".split()))


def _asks_for_help(call: ProgramCall) -> bool:
    texts = {word.text for word in call.args}
    if not texts or "/" in call.words[0].text or call.feed.kind == "text":
        return False
    if texts & VERSIONS and texts <= VERSIONS | {"--verbose"}:
        return True
    if len(call.args) != 1 or call.feed.kind != "none":
        return False
    text = call.args[0].text
    known = call.name in ALWAYS or call.name in HANDLERS or call.name in WRAPPERS
    return not known and text in ("-v", "-h", "version", "help")
