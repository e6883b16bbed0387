"""The definition of an agent: built-in, or from a Markdown file, a table of the configuration or a flag."""

from typing import Literal

from msgspec import Struct

from overt.core.capabilities import Effect
from overt.core.settings import Rule

AgentMode = Literal["primary", "subagent", "all"]


class AgentProfile(Struct, frozen=True, kw_only=True):
    """`tools` None means all tools of the agent that starts it; `effects` None means all of its effects.

    `prompt` replaces the system prompt, and `addition` is appended to it. `rules` are permission rules on top of those
    of the session. An empty `model` is that of the parent. `planning`: it may not write, whatever the mode. `agents`
    are the agents that it may start (None: all). A `hidden` one is not offered, a `disabled` one cannot be started.
    Entries of `tools` are names of tools, `mcp__server` for all of a server, or patterns. `warnings` name
    parts of the definition that are not used.
    """

    name: str
    description: str = ""
    mode: AgentMode = "subagent"
    prompt: str | None = None
    addition: str = ""
    model: str = ""
    effort: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    effects: frozenset[Effect] | None = None
    rules: tuple[Rule, ...] = ()
    planning: bool = False
    max_steps: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    isolated: bool = False
    agents: tuple[str, ...] | None = None
    hidden: bool = False
    disabled: bool = False
    origin: str = ""
    warnings: tuple[str, ...] = ()
