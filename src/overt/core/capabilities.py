"""Capabilities: a tool declares what it may do by what its signature asks for.

`workspace` implements these and refuses what lies outside the workspace. Paths given to them are relative to the
workspace root or absolute. Paths they return are relative to the root, with `/` and odd bytes as `\\xNN`, which is
accepted back.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from overt.core.messages import Document, Image
from overt.core.questions import FormAnswer, QuestionForm
from overt.core.requests import ToolSpec
from overt.core.views import FileDiff, Todo

Effect = Literal["read", "write", "run", "network", "ask", "delegate", "notes", "mcp", "discover", "skills", "memory"]

WRITING: frozenset[Effect] = frozenset({"write", "run", "network", "delegate", "mcp", "memory"})
"""Effects that change something outside the conversation; calls without any of them run in parallel."""


class FileText(Struct, frozen=True, kw_only=True):
    """A whole text file. Line ends are `\\n` when the file used one kind throughout; otherwise as they are."""

    path: str
    text: str
    hash: str


class Lines(Struct, frozen=True, kw_only=True):
    """A window of a text file. `total` is None when the file is too large to count at once; `note` says how
    it was decoded when that was a guess."""

    path: str
    first: int
    lines: tuple[str, ...]
    total: int | None
    hash: str
    note: str = ""


class Blob(Struct, frozen=True, kw_only=True):
    """A file that is not text, with its media type."""

    path: str
    media: str
    data: bytes
    hash: str


class FolderEntry(Struct, frozen=True, kw_only=True):
    """One entry of a folder; `depth` counts from the folder that was listed."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    depth: int


class FoundFiles(Struct, frozen=True, kw_only=True):
    """`total` counts the matching files when there are more than `paths` holds; None where that would take long."""

    paths: tuple[str, ...]
    more: bool
    total: int | None = None


class Query(Struct, frozen=True, kw_only=True):
    """A search as ripgrep understands it."""

    pattern: str
    path: str = "."
    mode: Literal["content", "files", "count"] = "content"
    before: int = 0
    after: int = 0
    ignore_case: bool = False
    type: str = ""
    glob: str = ""
    limit: int = 200
    multiline: bool = False


class Matches(Struct, frozen=True, kw_only=True):
    """`text` is ready for the model; `count` the lines, files or counts it holds.

    Lines start with their path, unless the query names one file."""

    text: str
    count: int
    more: bool


class Change(Struct, frozen=True, kw_only=True):
    """One file to be written (`content`), deleted (`content` None) or moved (as it is when `content` is None).

    `base` is the hash the new content was made from, `"seen"` for the one the model last saw, `"absent"`
    when the file must not exist. Anything else on disk by then refuses the change as stale. `raw` is content that need
    not be text; it is written as it is, and `executable` says whether the file can be run.
    """

    path: str
    content: str | None
    base: str
    move_to: str = ""
    raw: bytes | None = None
    executable: bool | None = None


class ReadFiles(Protocol):
    async def lines(self, path: str, *, offset: int, limit: int) -> Lines: ...
    async def text(self, path: str) -> FileText: ...
    async def blob(self, path: str) -> Blob | None: ...
    async def list(self, path: str, *, depth: int, limit: int) -> tuple[tuple[FolderEntry, ...], bool]: ...
    async def find(self, pattern: str, *, path: str, limit: int) -> FoundFiles: ...
    async def search(self, query: Query) -> Matches: ...


class WriteFiles(Protocol):
    async def text(self, path: str) -> FileText: ...
    async def change(self, changes: Sequence[Change]) -> tuple[FileDiff, ...]:
        """Apply all changes or none, each atomically, keeping mode, encoding, BOM and line ends."""
        ...


class Blocked(Struct, frozen=True, kw_only=True):
    """An access that the sandbox refused to a command, as far as the output of the command shows.

    `path` is as the program spelled it, empty if the output names none. A `hidden` file may not be read; a `write` goes
    outside the workspace, or to a `protected` file, or to git's own configuration and hooks (`git`).
    """

    kind: Literal["network", "hidden", "write", "protected", "git"]
    path: str = ""

    def describe(self) -> str:
        """Return what was refused as a clause for a person."""
        if self.kind == "network":
            return "network access was blocked by the sandbox"
        if self.kind == "hidden":
            return f"{self.path} is hidden by the sandbox: reading it was blocked"
        target = f"write to {self.path}" if self.path else "a write"
        return f"{target} was blocked by the sandbox{BLOCKED_WRITES[self.kind]}"

    def advise(self) -> str:
        """Return what was refused and what to do about it, for the model."""
        return f"{self.describe()}{BLOCKED_ADVICE.get(self.kind, '')}"


BLOCKED_WRITES = {
    "write": "",
    "protected": ": it is protected",
    "git": ": git's configuration and hooks can only be changed by the user",
}
BLOCKED_ADVICE = {
    "network": "; if the command needs it, call bash again with the reason in `network`",
    "git": "; tell them what to run",
}


class FinishedCommand(Struct, frozen=True, kw_only=True):
    """A finished command. `text` is bounded head and tail; `code` is None when it was killed.

    Where the text is cut, `hint` is the part of it that says where the rest is.
    `blocked` is what the sandbox refused it.
    `remark` says what else happened: a repository was moved aside, a program was ended.
    """

    text: str
    code: int | None
    size: int
    timed_out: bool
    hint: str = ""
    blocked: Blocked | None = None
    remark: str = ""


class JobState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A background command. `ready` is the line (an address, mostly) that showed it was up."""

    id: str
    command: str
    state: Literal["running", "exited", "stopped"]
    code: int | None = None
    size: int = 0
    seconds: float = 0.0
    ready: str = ""


class EndedJob(Struct, frozen=True, kw_only=True):
    """A background command that has ended, and the last line it printed."""

    job: JobState
    last_line: str


class JobOutput(Struct, frozen=True, kw_only=True):
    """Output from byte `since` on; ask again with `next` for what came later."""

    job: JobState
    text: str
    next: int


class RunPrograms(Protocol):
    async def run(self, command: str, *, timeout_ms: int, workdir: str = "") -> FinishedCommand: ...
    async def start(self, command: str, *, wait_ms: int, workdir: str = "") -> JobOutput: ...
    async def jobs(self) -> tuple[JobState, ...]: ...
    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput: ...
    async def stop(self, id: str) -> JobState: ...

    async def wait(self, id: str, *, since: int, tail: int, filter: str, wait_ms: int) -> JobOutput:
        """Wait for the end of a job, then give its output from `since` on, or what was not given yet."""
        ...


class Notes(Protocol):
    """The todo list of the conversation."""

    def todos(self) -> tuple[Todo, ...]: ...
    def set_todos(self, items: tuple[Todo, ...]) -> None: ...


class AskUser(Protocol):
    async def ask(self, form: QuestionForm) -> FormAnswer:
        """Put a form to the user and wait for the answer. A non-interactive run declines at once (`unattended`)."""
        ...


class ServerResult(Struct, frozen=True, kw_only=True):
    """What a tool of an MCP server returned. `error`: the server says that the tool failed."""

    text: str
    parts: tuple[Image | Document, ...] = ()
    error: bool = False


class CallServers(Protocol):
    """Calls tools of MCP servers."""

    async def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> ServerResult: ...


class SkillSummary(Struct, frozen=True, kw_only=True):
    name: str
    description: str


class ToolMatches(Struct, frozen=True, kw_only=True):
    """The tools and skills that fit a query, best first, of `total`. `problems` say which servers could not be
    searched."""

    specs: tuple[ToolSpec | SkillSummary, ...]
    total: int
    problems: tuple[str, ...] = ()


class FindTools(Protocol):
    """Looks up tools and skills that the model has not been told of."""

    async def search(self, query: str, limit: int) -> ToolMatches: ...


class LoadedSkill(Struct, frozen=True, kw_only=True):
    """The text of a skill with its arguments filled in. `files` are relative to its `folder`.

    If the skill was `run_by` a sub-agent, the text is the answer of that agent.
    """

    name: str
    text: str
    folder: str
    files: tuple[str, ...] = ()
    run_by: str = ""

    def for_model(self) -> str:
        if self.run_by:
            return f"Skill {self.name} was run by {self.run_by}, which answers:\n\n{self.text.strip()}"
        files = "".join(f"\n- {file}" for file in self.files)
        listed = (
            f"\nIts files, relative to that folder; read or run them when the text says so:{files}" if files else ""
        )
        return f"Skill {self.name}, from the folder {self.folder}{listed}\n\n{self.text.strip()}"


class LoadSkills(Protocol):
    """Loads skills; the permission rules of a skill hold until the turn ends."""

    async def load(self, name: str, arguments: str) -> LoadedSkill: ...


class RecalledNote(Struct, frozen=True, kw_only=True):
    """A note. `stale` says which files it speaks of have changed since it was written."""

    name: str
    text: str
    stale: str = ""


class AgentResult(Struct, frozen=True, kw_only=True):
    """The last answer of a sub-agent. `path` is its place in the tree, `session` the id of its session.

    `reason` is why it ended; unless it is `done`, the text says what is missing.
    """

    text: str
    path: str
    session: str
    reason: str = "done"
    steps: int = 0
    tokens: int = 0


class Delegate(Protocol):
    """Starts sub-agents. Cancelling `run` ends the agent with everything that it has started."""

    async def run(self, agent: str, prompt: str, description: str) -> AgentResult: ...


class Memory(Protocol):
    """Notes for later sessions. What is written is shown to the user, who can take it back."""

    def remember(self, text: str, *, everywhere: bool) -> str:
        """Write a note for this project or for every project, and return its name."""
        ...

    def recall(self, query: str) -> tuple[RecalledNote, ...]: ...

    def forget(self, name: str) -> str:
        """Delete a note and return its whole name."""
        ...


class FetchedPage(Struct, frozen=True, kw_only=True):
    """The text of a web page, or the answer to the question about it (`answered`). `url` is where it came from last.

    `redirect` is a URL on another host that the page leads to; then there is no text. `note` says why a question was
    not answered.
    """

    url: str
    title: str = ""
    media: str = ""
    text: str = ""
    status: int = 0
    answered: bool = False
    cached: bool = False
    truncated: bool = False
    redirect: str = ""
    note: str = ""


class SearchHit(Struct, frozen=True, kw_only=True):
    title: str
    url: str
    snippet: str = ""


class Network(Protocol):
    """Web pages at public addresses, and the search service that the user has configured."""

    async def fetch(self, url: str, question: str) -> FetchedPage:
        """Fetch a page and answer a question about it; without a question, return its text."""
        ...

    async def search(
        self, query: str, *, allowed: tuple[str, ...], blocked: tuple[str, ...], limit: int
    ) -> tuple[SearchHit, ...]:
        """Search the web. If domains are `allowed`, only hits on them and their subdomains are returned."""
        ...


EFFECT_OF: dict[type, Effect] = {
    ReadFiles: "read",
    WriteFiles: "write",
    RunPrograms: "run",
    AskUser: "ask",
    Notes: "notes",
    CallServers: "mcp",
    FindTools: "discover",
    LoadSkills: "skills",
    Network: "network",
    Memory: "memory",
    Delegate: "delegate",
}

AVAILABLE: frozenset[Effect] = frozenset(EFFECT_OF.values())
"""Effects that this version implements. The main agent of a session holds all of them."""
