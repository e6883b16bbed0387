"""Protocols with several implementations, and the values that they exchange with higher packages."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import Effect, EndedJob
from overt.core.events import Event, PermissionAsked
from overt.core.messages import Message
from overt.core.requests import Delta, Params, Prefix, Reply, Request


class Decoder(Protocol):
    """The state of one reply as its events arrive. Deltas of one feed are merged: one text, not many."""

    def feed(self, payload: bytes) -> None:
        """Take the data of one event; a payload that is not JSON raises ValueError."""
        ...

    def take(self) -> list[Delta]:
        """Return the deltas that have come since the last call."""
        ...

    def end(self) -> Reply:
        """Return the whole reply. Raise a ProviderError if the stream did not end as this wire says it must."""
        ...


class Wire(Protocol):
    """Pure encode and decode of one wire. The body is head + messages joined by commas + tail.

    A wire with `marks` says where the server should cache up to: the last message of a request goes out as
    `marked` gives it, and as `message` gives it from the next request on.
    """

    name: str
    version: int
    marks: bool

    def head(self, prefix: Prefix, params: Params) -> bytes: ...
    def message(self, message: Message) -> bytes: ...
    def marked(self, message: Message) -> bytes: ...
    def tail(self, params: Params) -> bytes: ...
    def decoder(self) -> Decoder: ...


class Provider(Protocol):
    """One endpoint of one vendor. `stream` ends with a Reply or raises ProviderError; closing it aborts."""

    name: str

    @property
    def wire(self) -> Wire: ...

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]: ...
    async def models(self) -> tuple[str, ...]: ...

    async def balance(self) -> str:
        """Return what is left on the account in the words of the vendor, or an empty string if it does not say."""
        ...

    def warm(self, head: bytes = b"") -> None:
        """Open a connection in the background for requests that begin with `head`, while the user still types."""
        ...

    def close(self) -> None:
        """Close the connections that are kept for the next request."""
        ...


class Answer(Struct, frozen=True, kw_only=True):
    """All choices but `deny` allow; `session` also opens the network until the conversation is left.

    `reason` of a denial goes to the model.
    """

    choice: Literal["once", "session", "always", "deny"]
    reason: str = ""


class UnsavedEntry(NamedTuple):
    """An entry of a session that the disk refused: the turn it belongs to and its type."""

    turn: int
    type: str


class Asker(Protocol):
    async def ask(self, question: PermissionAsked) -> Answer: ...


class Journal:
    """Collects what a call of `agent` does through its capabilities, for the session record."""

    def __init__(self, agent: str = "main") -> None:
        self.agent = agent
        self.facts: list[Event] = []
        self.seen: dict[str, str] = {}

    def add(self, fact: Event) -> None:
        self.facts.append(fact if fact.agent == self.agent else replace(fact, agent=self.agent))


class Loan(Struct, frozen=True, kw_only=True):
    """Capabilities lent to one call, by parameter name, and the journal they write to."""

    capabilities: dict[str, Any]
    journal: Journal


class Profile(Struct, frozen=True, kw_only=True):
    """Which box a program runs in: `write` to the workspace, `network`, or `outside` of every wall.

    `reading`: in the same box, but bound so that it cannot write, because it was read as harmless.
    """

    write: bool = True
    network: bool = False
    outside: bool = False
    reading: bool = False


BOXED = Profile()


class SandboxState(Struct, frozen=True, kw_only=True):
    """Which sandbox holds the programs, the walls it lacks, and why it is not a better one.

    `disabled`: there is none because the configuration says so. `isolated`: it holds a copy of the workspace, and
    programs can write nowhere else.
    """

    kind: Literal["bubblewrap", "landlock", "seatbelt", "none"] = "none"
    missing: tuple[str, ...] = ()
    why: str = ""
    disabled: bool = False
    isolated: bool = False

    @property
    def boxed(self) -> bool:
        return self.kind != "none"

    @property
    def walled(self) -> bool:
        """True if every wall stands, so that a command may be approved on its strength."""
        return self.boxed and not self.missing


class ResolvedPath(Struct, frozen=True, kw_only=True):
    """A path as it was spelled and where it really lies, both below the workspace where they can be."""

    spelled: str
    real: str
    links: int = 1


class CommandChange(Struct, frozen=True, kw_only=True):
    """What a command would change. `paths` are counted from the workspace, globs among them.

    `scope` says what of them: the `paths` themselves, folders with all that is in them; what lies `below` them, git's
    own files apart; of that what is `unignored`; files that git has `tracked`; or `everything` in the workspace.
    `follows`: a link at a path is followed.
    """

    scope: Literal["paths", "below", "unignored", "tracked", "everything"]
    paths: tuple[str, ...] = ()
    follows: bool = True


class Loss(Struct, frozen=True, kw_only=True):
    """A file or folder that undo would not bring back, and why not."""

    path: str
    why: str


class Survey(Struct, frozen=True, kw_only=True):
    """What of a change could not be taken back, whether undo brings anything back, and what can be rebuilt."""

    losses: tuple[Loss, ...] = ()
    undone: bool = False
    rebuilt: tuple[str, ...] = ()


class Hands(Protocol):
    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        """With `preview`, writing only collects what would change; running is refused. `box` holds what is run."""
        ...

    def look(self, paths: Sequence[str]) -> tuple[ResolvedPath, ...]: ...

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        """Describe what a command would `delete`, `move` or `change` at each path, for a permission question."""
        ...

    async def survey(self, changes: Sequence[CommandChange]) -> tuple[Survey, ...]:
        """Find out what undo would bring back of each change; the workspace is recorded for this."""
        ...

    def require_undo(self, call_id: str) -> None:
        """Let the command of this call run only with a snapshot before it."""
        ...

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        """Return background commands that have ended and were not announced to the model yet; each is returned once."""
        ...

    def guess(self) -> SandboxState:
        """Return which sandbox will hold programs, as far as is known without starting one."""
        ...

    async def standing(self) -> SandboxState:
        """Start the sandbox if necessary, and return which one holds programs."""
        ...


class Child(Protocol):
    """A started program. Reading its output and waiting for it are separate; `kill` ends all descendants.

    `output` does not block. `left` counts what the program had left running and was ended after it.
    """

    pid: int
    output: int
    left: int

    async def wait(self) -> int:
        """Wait for the program and all its descendants. Return the exit code, negative for a signal."""
        ...

    async def kill(self, *, grace: float = 0.0) -> None: ...

    async def write_record(self) -> bytes | None:
        """Return what it has changed so far, or None if that is not tracked or cannot be read."""
        ...

    def close(self) -> None:
        """Kill what still runs and close `output`."""
        ...


class ServerChild(Child, Protocol):
    """A started server: `stdin` is the end to write its input to, `stdout` the end to read its output from.

    Both block. `output` carries its stderr only.
    """

    stdin: int
    stdout: int

    def close_pipes(self) -> None:
        """Close both ends; `close` does so too. Another process may have received them before."""
        ...


class Tracking(Struct, frozen=True, kw_only=True):
    """Record which files below `roots` a program changes; `since` is the time of the snapshot before it, in ns."""

    roots: tuple[str, ...]
    since: int


class Spawner(Protocol):
    async def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        profile: Profile,
        linger: bool = False,
        track: Tracking | None = None,
    ) -> Child:
        """Start a program in its own session, stdin closed, stdout and stderr joined into `output`.

        With `linger`, what it leaves running lives on and is waited for: a declared background job.
        """
        ...

    async def spawn_server(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        profile: Profile,
        track: Tracking | None = None,
    ) -> ServerChild:
        """Start a program whose standard input and output are pipes; what it leaves running is ended after it."""
        ...

    async def close(self) -> None: ...
