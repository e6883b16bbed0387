"""What Overt and the MCP host process say to each other.

    Overt ── commands, one JSON object a line ──▶ host ── the protocol of MCP ──▶ servers
    Overt ◀── reports, one JSON object a line ── host

The host is a process because the MCP SDK takes 0.7 s of CPU time to import. The two talk over a socket pair. A stdio
server is started by Overt, in the sandbox, when the host asks for it (`StartServer`); its pipes go to the host as two
descriptors that accompany `ServerStarted`: the end to write its input to, and the end to read its output from.

The host connects to a server with the first command that names it, and keeps the connection. It ends when the socket
closes.
"""

from typing import Literal

from msgspec import Raw, Struct

from overt.core.settings import ServerEntry
from overt.mcp.manifest import Era, Manifest


class Content(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a result: `text`, or with a `media` type the bytes of an image or another file."""

    text: str = ""
    media: str = ""
    data: bytes = b""


class ToolOutput(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="output"):
    """What a tool returned. Structured content is a text of JSON, unless a text already says the same.

    `notes` are for the model: that a question of the server was declined because nobody could be asked.
    """

    parts: tuple[Content, ...] = ()
    error: bool = False
    notes: tuple[str, ...] = ()


class PromptText(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="prompt"):
    """A prompt as its messages, each with the role `user` or `assistant`."""

    messages: tuple[tuple[str, Content], ...] = ()


class ResourceContents(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="resource"):
    parts: tuple[Content, ...] = ()


class LoggedIn(Struct, frozen=True, kw_only=True, tag="logged_in"):
    """A login has succeeded. `issuer` is the authorization server that gave the tokens."""

    issuer: str


Value = Manifest | ToolOutput | PromptText | ResourceContents | LoggedIn


# ── Overt to the host ────────────────────────────────────────────────────────────────────────────────────


class Configure(Struct, frozen=True, kw_only=True, tag="configure"):
    """The first command. `roots` are the folders that servers may be told of; tokens are stored in the keyring, or
    below `token_folder`. Without `interactive` nobody can answer a question or log in."""

    servers: tuple[ServerEntry, ...]
    eras: dict[str, Era]
    roots: tuple[str, ...]
    token_folder: str
    version: str
    interactive: bool
    browser: str = ""


class ListEverything(Struct, frozen=True, kw_only=True, tag="list"):
    """If `may_log_in`, somebody is shown the page where a login is needed; otherwise the command fails then."""

    id: int
    server: str
    may_log_in: bool = False


class CallTool(Struct, frozen=True, kw_only=True, tag="call"):
    """If `repeatable`, the call is made once more when its connection is cut: the server says that this is safe."""

    id: int
    server: str
    tool: str
    arguments: Raw
    timeout_ms: int
    repeatable: bool = False


class GetPrompt(Struct, frozen=True, kw_only=True, tag="prompt"):
    id: int
    server: str
    prompt: str
    arguments: dict[str, str]
    timeout_ms: int


class ReadResource(Struct, frozen=True, kw_only=True, tag="read"):
    id: int
    server: str
    uri: str
    timeout_ms: int


class Login(Struct, frozen=True, kw_only=True, tag="login"):
    """Log in to a remote server, in a browser, although tokens may be stored."""

    id: int
    server: str


class Cancel(Struct, frozen=True, kw_only=True, tag="cancel"):
    """Stop the command with this id. It is not answered any more."""

    id: int


class ServerStarted(Struct, frozen=True, kw_only=True, tag="started"):
    """Answers `StartServer`. Two descriptors come with it, unless `problem` says why the server did not start."""

    start: int
    problem: str = ""


class ServerExited(Struct, frozen=True, kw_only=True, tag="exited"):
    """A server process has ended. `last_line` is the last line of its error output."""

    start: int
    code: int
    last_line: str = ""


class QuestionAnswered(Struct, frozen=True, kw_only=True, tag="answered"):
    question: int
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, str | int | float | bool | tuple[str, ...]] = {}


class Disconnect(Struct, frozen=True, kw_only=True, tag="disconnect"):
    """Close the connection to a server. The next command that names it connects again, with a new count of restarts."""

    server: str


class HelperFinished(Struct, frozen=True, kw_only=True, tag="helped"):
    """Answers `RunHelper` with what the command printed, or with the `problem`, a phrase that follows its name."""

    run: int
    output: str = ""
    problem: str = ""


HostCommand = (
    Configure
    | ListEverything
    | CallTool
    | GetPrompt
    | ReadResource
    | Login
    | Cancel
    | ServerStarted
    | ServerExited
    | QuestionAnswered
    | Disconnect
    | HelperFinished
)


# ── the host to Overt ────────────────────────────────────────────────────────────────────────────────────


class Succeeded(Struct, frozen=True, kw_only=True, tag="succeeded"):
    id: int
    value: Value


class Failed(Struct, frozen=True, kw_only=True, tag="failed"):
    """A command has failed. `may_have_run`: the server had received the call when the connection was cut.

    `kind`: `start` (its process did not start or ended), `unreachable`, `timeout`, `protocol` (it does not speak MCP as
    it should), `error` (it answered with an error), `login` (it wants a login), `cut` (the connection was lost).
    """

    id: int
    kind: Literal["start", "unreachable", "timeout", "protocol", "error", "login", "cut"]
    message: str
    may_have_run: bool = False


class Progressed(Struct, frozen=True, kw_only=True, tag="progress"):
    id: int
    text: str


class StartServer(Struct, frozen=True, kw_only=True, tag="start"):
    """Start the process of a stdio server. `start` is the number of this start, which the answer repeats."""

    start: int
    server: str


class StopServer(Struct, frozen=True, kw_only=True, tag="stop"):
    """End the process of that start."""

    start: int


class RunHelper(Struct, frozen=True, kw_only=True, tag="helper"):
    """Run the `headers_helper` of a server in the sandbox. `run` numbers this run, and the answer repeats it."""

    run: int
    server: str


class ServerQuestion(Struct, frozen=True, kw_only=True, tag="asks"):
    """A server has a question for the user while the command `id` runs: a form with this JSON `schema` of flat fields,
    or, with a `url`, a page to open."""

    question: int
    id: int
    server: str
    message: str
    schema: Raw = Raw(b"{}")
    url: str = ""


class OpenPage(Struct, frozen=True, kw_only=True, tag="page"):
    """Show the user this page to log in to a server; the host waits for the redirect."""

    id: int
    server: str
    url: str


class OffersChanged(Struct, frozen=True, kw_only=True, tag="changed"):
    """A server offers other things than before. Its manifest can be asked for again."""

    server: str


class Logged(Struct, frozen=True, kw_only=True, tag="log"):
    """A line for the log."""

    server: str
    level: Literal["debug", "info", "warning", "error"]
    text: str


HostReport = (
    Succeeded
    | Failed
    | Progressed
    | StartServer
    | StopServer
    | RunHelper
    | ServerQuestion
    | OpenPage
    | OffersChanged
    | Logged
)
