"""What a shell command may do: the types of the answer that `read_command` gives."""

from typing import Literal

from msgspec import Struct

Hazard = Literal["harmless", "ordinary", "dangerous"]
Kind = Literal[
    "files",
    "unpack",
    "untracked",
    "worktree",
    "rebuild",
    "process",
    "environment",
    "code",
    "history",
    "published",
    "listed",
    "system",
]
"""What a dangerous command changes, from which its reach follows (see `reach`).

`files` what it names (a folder: all that is in it) · `unpack` files below a folder, by names it does not show ·
`untracked` files that git does not know · `worktree` tracked files, branches and stashes · `rebuild` what a tool makes
again · `process` · `environment` which code the rest of the command runs · `code` anything: it cannot be read ·
`history` commits beyond the reflog · `published` what others have · `listed` a program on the user's list · `system`.
"""
Verb = Literal["delete", "move", "change"]


class Reason(str):
    """Why a command is dangerous, for people, with the kind of change it is."""

    kind: Kind
    verb: Verb

    def __new__(cls, text: str, kind: Kind = "system", verb: Verb = "change") -> "Reason":
        reason = super().__new__(cls, text)
        reason.kind, reason.verb = kind, verb
        return reason


class Cause(Struct, frozen=True, kw_only=True):
    """Why a command is more than harmless: its words, what they do, and what they would touch.

    `touches` are paths counted from the workspace, globs among them; `unknown`: it touches more than can be named.
    `key` are the words that a rule must hold to allow this; without any, no rule can.
    """

    words: str
    why: str
    kind: Kind = "system"
    verb: Verb = "change"
    touches: tuple[str, ...] = ()
    unknown: bool = False
    key: tuple[str, ...] = ()
    dangerous: bool = True


class CommandReading(Struct, frozen=True, kw_only=True):
    """What a shell command may do.

    `commands` are the simple commands after unwrapping, one text each, for the rules to match; `notable` are those that
    are not harmless or connect to anything: the others need no rule. `writes` are the files written to, as far as their
    names are known, relative to the workspace; with `redirects`, some files are written by redirection and so not named
    in the commands. A command that is `opaque` could not be understood, so no rule may allow it. One that `sends` lets
    data leave that its words do not show, such as the output of another command.
    """

    hazard: Hazard
    causes: tuple[Cause, ...] = ()
    commands: tuple[str, ...] = ()
    opaque: bool = False
    network: bool = False
    writes: tuple[str, ...] = ()
    redirects: bool = False
    notable: tuple[str, ...] = ()
    sends: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cause.words for cause in self.dangers))

    @property
    def dangers(self) -> tuple[Cause, ...]:
        return tuple(cause for cause in self.causes if cause.dangerous)
