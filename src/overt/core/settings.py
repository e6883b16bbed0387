"""Settings that several packages use, already checked; `config` knows where each came from."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.core.redaction import Exact

Mode = Literal["review", "auto", "plan", "yolo"]
Action = Literal["allow", "ask", "deny"]
DangerousPolicy = Literal["reach", "always"]
SandboxMode = Literal["auto", "bubblewrap", "landlock", "none"]
Calls = Literal["native", "schema", "text"]
"""How a model calls tools: through its server, as one JSON object a reply, or written out in its text."""


class Timeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds. `headers` and `between` are raised to 600 for loopback servers, which read slowly on a CPU."""

    connect: float = 10.0
    headers: float = 60.0
    between: float = 120.0
    total: float = 3600.0
    notice: float = 10.0


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens; None is unknown, which is not the same as free."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    cache_write: float | None = None


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where an endpoint or a model differs from the usual on its wire.

    `limit` names the field for the most tokens of a reply; `system` the role of the system text; `reasoning` the
    field in which a thinking model's reasoning goes back (empty: it does not). `effort` says how an effort is
    asked for (empty: it is not understood, and not sent); `thinking` how thinking is switched on and off.
    `usage`: the server takes `stream_options`. `cache_marks`: it takes Anthropic's marks for its cache.
    `flatten`: deep or wide schemas are sent with dotted names. `extra` goes into every request as it stands.
    """

    limit: Literal["max_tokens", "max_completion_tokens", "max_output_tokens", ""] = "max_tokens"
    system: Literal["system", "developer", "user"] = "system"
    reasoning: Literal["", "reasoning_content", "reasoning", "reasoning_details"] = "reasoning_content"
    effort: Literal["", "reasoning_effort", "reasoning", "output_config"] = "reasoning_effort"
    thinking: Literal["", "thinking", "enable_thinking", "chat_template_kwargs", "reasoning", "budget", "adaptive"] = ""
    usage: bool = True
    temperature: bool = True
    cache_marks: bool = True
    flatten: bool = False
    balance: str = ""
    extra: dict[str, Any] = {}


class ModelFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of one model; 0, None and empty mean unknown. `quirks` takes the place of its endpoint's."""

    name: Exact
    window: int = 0
    output: int = 0
    price: Price | None = None
    images: bool | None = None
    documents: bool | None = None
    reasons: bool | None = None
    efforts: tuple[str, ...] = ()
    calls: Calls | None = None
    compact: bool | None = None
    quirks: Quirks | None = None


class ProviderEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One vendor endpoint: data, never code. `api_key_env` names the variable, never the key.

    `calls`, `compact`, `effort` and `thinking` are what a person set, and win over what is known of a model.
    """

    name: str
    kind: str = "openai"
    base_url: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    default: str = ""
    api_key_env: str = ""
    context_window: int = 0
    max_tokens: int | None = None
    headers: dict[str, str] = {}
    timeouts: Timeouts = Timeouts()
    attempts: int = 4
    max_answer: int = 8 * 1024 * 1024
    max_event: int = 16 * 1024 * 1024
    quirks: Quirks = Quirks()
    known: tuple[ModelFacts, ...] = ()
    calls: Calls | None = None
    compact: bool | None = None
    effort: str = ""
    thinking: bool | None = None
    proxy: str = ""
    ca_file: str = ""
    client_cert: str = ""
    client_key: str = ""

    def facts(self, model: str) -> ModelFacts:
        """What is known of a model here, the endpoint's own quirks and window filled in."""
        about = next((each for each in self.known if each.name == model), ModelFacts(name=model))
        return replace(
            about,
            window=about.window or self.context_window,
            output=self.max_tokens or about.output,
            calls=self.calls or about.calls,
            compact=self.compact if self.compact is not None else about.compact,
            quirks=about.quirks or self.quirks,
        )


class Rule(Struct, frozen=True, kw_only=True):
    """`tool` or `tool(pattern)`; `origin` is the file and line, or the flag, that set it. `of_project`: a project's
    configuration did, which cannot allow what is final.

    `network`: commands that the rule allows may use the network. `exact`: the pattern is one command, letter for
    letter, as an answer with *always* may store it.
    """

    action: Action
    tool: str
    pattern: str = ""
    origin: str = "default"
    network: bool = False
    exact: bool = False
    of_project: bool = False

    def text(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    def shown(self) -> str:
        return f"{self.text()} with the network" if self.network else self.text()


class OAuthClient(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An OAuth client that was registered by hand. `metadata_url` is a Client ID Metadata Document; without either,
    Overt registers itself where the server lets it. `callback_port` 0 takes a free one."""

    client_id: str = ""
    client_secret: str = ""
    metadata_url: str = ""
    callback_port: int = 0


class ServerEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One MCP server of the configuration, with its variables filled in.

    A `stdio` server is a `command` that runs in the sandbox, with `network` if it may use the network; the others have
    a `url`. `headers_helper` is a command that prints further headers as JSON. `timeout_ms` is for one call.

    `read_only`: the user says that the server changes nothing. With `elicitation` "defaults", questions of the server
    are answered with the defaults of their schema. `origin` is the file or flag that set it; `of_project`: it came with
    the project. `folder` is where the program of a plugin starts, if not in the workspace. `shown` is the command or
    address to show if variables were filled into the real one.
    """

    name: str
    kind: Literal["stdio", "http", "sse"] = "stdio"
    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    headers_helper: str = ""
    timeout_ms: int = 120_000
    enabled: bool = True
    network: bool = False
    read_only: bool = False
    elicitation: Literal["ask", "defaults"] = "ask"
    oauth: OAuthClient = OAuthClient()
    origin: str = ""
    of_project: bool = False
    folder: str = ""
    shown: str = ""


class HookTable(Struct, frozen=True, kw_only=True):
    """One group of hooks as a file has it: the JSON `text` of a table with `matcher` and `hooks`, for one event.

    `root` and `data` are the folder of the plugin that it belongs to and the folder for its data.
    """

    event: str
    text: str
    origin: str
    of_project: bool = False
    root: str = ""
    data: str = ""


class Sandbox(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which walls programs run behind: `auto` takes the best there is; `write` is to the workspace."""

    mode: SandboxMode = "auto"
    network: bool = False
    write: bool = True


class WebSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The service that `websearch` asks. `search_url` is its address; `api_key_env` names the variable with its key."""

    search: Literal["", "searxng", "brave", "mojeek"] = ""
    search_url: str = ""
    api_key_env: str = ""


class SkillSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which skills there are. All but `paths` hold names or patterns; `paths` are further folders with skills.

    `include` (None: all), `exclude` and `order` are for the list that the model is sent; a `disabled` skill does not
    exist.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`max_steps` is the most requests of a turn; 0: no limit.

    `result_bytes` and `result_tokens` bound what one call may say to the model; 0: the context window decides.
    The others limit what a session, a turn or each sub-agent may spend: US dollars, uncached tokens and seconds of its
    turns; 0: no limit. `budget_usd` is for a session with all its sub-agents.
    """

    max_steps: int = 0
    max_parallel: int = 10
    result_bytes: int = 0
    result_tokens: int = 0
    budget_usd: float = 0.0
    turn_usd: float = 0.0
    agent_usd: float = 0.0
    session_tokens: int = 0
    turn_tokens: int = 0
    agent_tokens: int = 0
    session_seconds: float = 0.0
    turn_seconds: float = 0.0
    agent_seconds: float = 0.0


class Compaction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When and how the history is shortened.

    `threshold` is the share of the window above which it happens; 0 or `auto` False switch it off. With `prune`
    False old tool results are never removed one by one; only the summary of the older middle replaces them.
    """

    auto: bool = True
    threshold: float = 0.8
    prune: bool = True


class CacheSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days after which unused entries of the cache folder are deleted; 0 keeps them."""

    max_age: float = 30.0
    models_max_age: float = 0.0


class UndoSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What undo may keep. Sizes are in bytes, `max_age` is in days; `max_size` is for one project, on disk.

    Files above `max_file` are not in the snapshots around commands.
    """

    enabled: bool = True
    max_size: int = 2 * 1024**3
    max_age: float = 30.0
    max_file: int = 10 * 1024**2


class Logs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`max_size` is in bytes; `keep` counts the files, the current one included."""

    level: Literal["debug", "info", "warning", "error", "off"] = "warning"
    max_size: int = 5 * 1024**2
    keep: int = 5


class Interface(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the terminal chat looks and behaves. `auto` is decided by what the terminal is and can.

    `notify_after`: a turn that took so many seconds tells of its end. `status` is a template, empty for the usual
    line; `editor` a command, empty for `$VISUAL` or `$EDITOR`. `history`: prompts are kept across sessions. `titles`:
    a small model is asked for the title of a new session.
    """

    theme: Literal["auto", "dark", "light"] = "auto"
    keys: Literal["emacs", "vi"] = "emacs"
    face: Literal["auto", "plain"] = "auto"
    notify: Literal["auto", "bell", "osc9", "off"] = "auto"
    notify_after: float = 20.0
    status: str = ""
    mouse: bool = True
    links: Literal["auto", "on", "off"] = "auto"
    editor: str = ""
    history: bool = True
    titles: bool = True


CAPS = {
    "system": 32 * 1024,
    "global": 16 * 1024,
    "project": 32 * 1024,
    "instructions": 32 * 1024,
    "memory": 8000,
    "notes": 8000,
    "skills": 5000,
    "environment": 2000,
    "append": 16 * 1024,
    "nested": 16 * 1024,
}
"""The most characters of each; `memory` is OVERT.md, `notes` each place of private notes, `nested` each file."""


class Recipe(Struct, frozen=True, kw_only=True):
    """`sources` None means all of them in their usual order; names that are none of ours are files.

    `strict` leaves out what lies outside of the project.

    `foreign`: files that are meant for other agents are read where ours are missing, unless it is strict.
    `caps` holds those that differ from the usual.
    """

    sources: tuple[str, ...] | None = None
    instructions: tuple[str, ...] = ()
    strict: bool = False
    foreign: bool = True
    caps: dict[str, int] = {}

    def cap(self, name: str, usual: int = 0) -> int:
        return self.caps.get(name) or CAPS.get(name, usual)


def is_file_name(source: str) -> bool:
    """True if a name in a recipe means a file: it has an ending, a slash or a pattern."""
    return any(mark in source for mark in "./~*?[")
