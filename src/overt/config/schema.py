"""What the configuration may say, as one frozen tree whose every value knows its origin."""

from typing import Any

from msgspec import Struct

from overt.core.settings import (
    CAPS,
    Action,
    CacheSettings,
    Compaction,
    DangerousPolicy,
    HookTable,
    Interface,
    Limits,
    Logs,
    Mode,
    ProviderEntry,
    Recipe,
    Rule,
    Sandbox,
    ServerEntry,
    SkillSettings,
    Timeouts,
    UndoSettings,
    WebSettings,
)


class SettingValue(Struct, frozen=True, kw_only=True):
    """One value under its dotted key; `origin` is ``file:line``, a flag, a variable or ``default``."""

    key: str
    value: Any
    origin: str


class AgentSettings(Struct, frozen=True, kw_only=True):
    """`system_prompt` None means the built-in one; it also has the text of a `system_prompt_file`. The step limit is
    `Config.limits.max_steps`. None for `temperature` and `top_p` leaves them to the server.

    Sub-agents are nested at most `max_depth` levels deep. `subagent_model` is their model; empty: that of the parent.
    `subagent_models` has models by the name of the agent.
    """

    system_prompt: str | None = None
    system_prompt_file: str = ""
    append_system_prompt: str = ""
    max_depth: int = 2
    subagent_model: str = ""
    subagent_models: dict[str, str] = {}
    temperature: float | None = None
    top_p: float | None = None


class AgentTable(Struct, frozen=True, kw_only=True):
    """A table `[agent.NAME]` of the configuration, its values checked. `of_project`: a project's file has it."""

    name: str
    fields: dict[str, object]
    rules: tuple[Rule, ...] = ()
    origin: str = ""
    of_project: bool = False


class Permissions(Struct, frozen=True, kw_only=True):
    """`fallback` None leaves it to the mode; with `dont_ask`, what would ask is denied.

    `dangerous` are names of programs that join the dangerous class. `rules` hold the agent's own already.
    """

    rules: tuple[Rule, ...] = ()
    fallback: Action | None = None
    mode: Mode = "review"
    dont_ask: bool = False
    dangerous: tuple[str, ...] = ()
    dangerous_policy: DangerousPolicy = "reach"


class ToolSettings(Struct, frozen=True, kw_only=True):
    """`enabled` None means all tools; `disabled` is taken away from either.

    `mcp_tokens` is how many tokens the schemas of MCP tools may take that are sent with every request.
    `packages` are installed Python packages whose code adds tools and providers inside of Overt.
    """

    enabled: tuple[str, ...] | None = None
    disabled: tuple[str, ...] = ()
    mcp_tokens: int = 2000
    packages: tuple[str, ...] = ()


class Config(Struct, frozen=True, kw_only=True):
    """The whole configuration, checked. `settings` holds what was set and by whom; the rest is default."""

    default_model: str = ""
    small_model: str = ""
    language: str = "auto"
    offline: bool = False
    base_url: str = ""
    kind: str = ""
    agent: AgentSettings = AgentSettings()
    agents: tuple[AgentTable, ...] = ()
    providers: tuple[ProviderEntry, ...] = ()
    permissions: Permissions = Permissions()
    sandbox: Sandbox = Sandbox()
    tools: ToolSettings = ToolSettings()
    limits: Limits = Limits()
    compaction: Compaction = Compaction()
    timeouts: Timeouts = Timeouts()
    context_window: int = 0
    recipe: Recipe = Recipe()
    env_pass: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    redact_allow: tuple[str, ...] = ()
    ui: Interface = Interface()
    cache: CacheSettings = CacheSettings()
    undo: UndoSettings = UndoSettings()
    logs: Logs = Logs()
    mcp_servers: tuple[ServerEntry, ...] = ()
    """Servers of configuration files as they are written, all of one name; `load_servers` chooses among them."""
    hooks: tuple[HookTable, ...] = ()
    web: WebSettings = WebSettings()
    skills: SkillSettings = SkillSettings()
    warnings: tuple[str, ...] = ()
    settings: tuple[SettingValue, ...] = ()
    files: tuple[str, ...] = ()

    def origin(self, key: str) -> str:
        """Who set the value of a dotted key last."""
        return next((each.origin for each in reversed(self.settings) if each.key == key), "default")


FIELDS = {
    "agent.max_steps": "limits.max_steps",
    "context.context_window": "context_window",
    "context.sources": "recipe.sources",
    "context.instructions": "recipe.instructions",
    "context.strict": "recipe.strict",
    "context.foreign": "recipe.foreign",
    **{f"context.caps.{name}": f"recipe.caps.{name}" for name in CAPS},
    "env.pass": "env_pass",
    "workspace.allow_read": "allow_read",
    "workspace.allow_write": "allow_write",
    "redact.allow": "redact_allow",
}
"""Where a key is in Config, if not under its own name."""


def is_agent_key(key: str) -> bool:
    """True for the keys of a table `[agent.NAME]`."""
    return key.startswith("agent.") and key.count(".") > 1 and not key.startswith("agent.permissions.")


def default_of(key: str) -> Any:
    """Return the default of a key outside of `providers`, or None if it is not set by default."""
    field = FIELDS.get(key, key)
    if key.startswith("context.caps."):
        return CAPS[key.rpartition(".")[2]]
    if key.rpartition(".")[2] in ("allow", "ask", "deny"):
        return ()
    value: Any = Config()
    for name in field.split("."):
        value = getattr(value, name)
    return None if key == "context.context_window" else value
