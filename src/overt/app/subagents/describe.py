"""Describe agents for `/agents` and `overt agents`: origin, tools, rules, and fields that are not used."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from overt.app.setting import Setting
from overt.app.subagents.profiles import BUILT_IN, INTERNAL, AgentLibrary, denial
from overt.app.subagents.tool_choice import ToolChoice
from overt.core.agents.profile import AgentProfile
from overt.core.capabilities import AVAILABLE
from overt.lib.text import shorten
from overt.lib.translations import say

LONGEST_ABOUT = 90


class AgentRow(Struct, frozen=True, kw_only=True):
    """One agent for display. `state` says why it cannot be started; `tools` None means all tools.

    An empty `model` means the model of the agent that starts it.
    """

    name: str
    mode: str
    state: str
    origin: str
    description: str
    model: str = ""
    effort: str = ""
    tools: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    rules: tuple[str, ...] = ()
    max_steps: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    planning: bool = False
    isolated: bool = False
    prompt: str = ""
    warnings: tuple[str, ...] = ()


def agent_rows(library: AgentLibrary, setting: Setting, *, internal: bool = False) -> tuple[AgentRow, ...]:
    """Return all agents, also shadowed ones. With `internal`, include hidden agents and internal requests."""
    rules = setting.config.permissions.rules
    rows = []
    for profile in library.profiles.values():
        rule = denial(profile, rules)
        state = say("agents.denied", rule=rule.text(), origin=rule.origin) if rule else ""
        state = say("agents.disabled") if profile.disabled else state
        if internal or not profile.hidden:
            rows.append(_row(profile, state or (say("agents.hidden") if profile.hidden else ""), setting))
    for each in library.shadowed:
        if each.profile not in BUILT_IN:
            rows.append(_row(each.profile, say("agents.shadowed", where=each.by), setting))
    if internal:
        hidden = (replace(profile, mode="primary", tools=(), origin="built-in") for profile in INTERNAL)
        rows += [_row(profile, say("agents.internal"), setting) for profile in hidden]
    return tuple(rows)


def _row(profile: AgentProfile, state: str, setting: Setting) -> AgentRow:
    models = setting.config.agent.subagent_models
    return AgentRow(
        name=profile.name,
        mode=profile.mode,
        state=state,
        origin=profile.origin,
        description=profile.description,
        model=models.get(profile.name) or profile.model,
        effort=profile.effort,
        tools=_resolve_tools(profile, setting),
        agents=profile.agents,
        rules=tuple(f"{rule.action} {rule.text()}" for rule in profile.rules),
        max_steps=profile.max_steps,
        temperature=profile.temperature,
        top_p=profile.top_p,
        planning=profile.planning,
        isolated=profile.isolated,
        prompt=profile.prompt or profile.addition,
        warnings=profile.warnings,
    )


def _resolve_tools(profile: AgentProfile, setting: Setting) -> tuple[str, ...] | None:
    """Return the names of the tools that the profile leaves, None if it leaves all of them. MCP tools are
    shown as the profile lists them, because the tools of a server are known only while it runs."""
    choice, every = ToolChoice(profile=profile), setting.tools.by_name
    usable = setting.tools.for_effects(AVAILABLE if profile.effects is None else profile.effects)
    own = tuple(name for name, tool in usable.items() if choice.allows(tool))
    if profile.tools is None:
        return None if len(own) == len(every) else own
    return (*own, *(name for name in profile.tools if name not in every))


def row_lines(rows: tuple[AgentRow, ...]) -> Iterator[str]:
    """Return a line for each agent, and one for each thing that is not used."""
    for row in rows:
        state = f", {row.state}" if row.state else ""
        model = f", {row.model}" if row.model else ""
        yield f"{row.name}  [{row.mode}{state}]  {row.origin}{model}  {shorten(row.description, LONGEST_ABOUT)}"
        yield from (f"    {warning}" for warning in row.warnings)


def detail_lines(row: AgentRow) -> Iterator[str]:
    """Return everything about one agent, its prompt last."""
    yield from row_lines((row,))
    facts = {
        "tools": say("agents.all_tools") if row.tools is None else ", ".join(row.tools) or say("agents.no_tools"),
        "agents": ", ".join(row.agents or ()),
        "model": row.model or say("agents.same_model"),
        "effort": row.effort,
        "rules": "; ".join(row.rules),
        "max_steps": row.max_steps,
        "temperature": row.temperature,
        "top_p": row.top_p,
        "mode": "plan" if row.planning else "",
        "isolation": "worktree" if row.isolated else "",
    }
    for name, value in facts.items():
        if value not in ("", None):
            yield f"  {name}: {value}"
    yield from ("", *row.prompt.splitlines()) if row.prompt else ()
