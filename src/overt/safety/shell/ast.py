"""What a shell text consists of, in the order in which it stands there."""

from typing import Literal

from msgspec import Struct

from overt.safety.shell.variables import Known
from overt.safety.shell.words import Word


class Feed(Struct, frozen=True, kw_only=True):
    """Standard input: the program's own, a stream of bytes unknown here, or a text written out. `names`: the stream
    lists names of what is there, which lie in `places` where that is known.
    A stream with a `text` is a here-document in which pieces are computed."""

    kind: Literal["none", "stream", "text"] = "none"
    text: str = ""
    names: bool = False
    places: tuple[str, ...] = ()


NO_FEED = Feed()
STREAM = Feed(kind="stream")


class Redirect(Struct, frozen=True, kw_only=True):
    operator: str
    target: Word | None


class Assignment(Struct, frozen=True, kw_only=True):
    name: str
    value: Word


class Simple(Struct, frozen=True, kw_only=True):
    """One simple command. `joined` is `&&` where it runs only after the one before it went well."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    feed: Feed = NO_FEED
    joined: str = ""
    source: str = ""


class Inner(Struct, frozen=True, kw_only=True):
    """A command text that runs in a shell of its own within this one."""

    text: str


class Enter(Struct, frozen=True, kw_only=True):
    """A subshell begins, or the body of a function: what it changes ends with it."""

    function: str = ""


class Leave(Struct, frozen=True, kw_only=True):
    pass


class Doubt(Struct, frozen=True, kw_only=True):
    why: str
    words: str = ""


Item = Simple | Inner | Enter | Leave | Doubt


class ParsedScript(Struct, frozen=True, kw_only=True):
    items: tuple[Item, ...]
    known: Known
