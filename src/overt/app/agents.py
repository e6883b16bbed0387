"""Make the agent of a session: one model with its prefix, tools, gate and capabilities."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from overt.agent.agent import Agent, AgentSpec, Runtime, SpendLimit
from overt.agent.permission_decision import PermissionGate
from overt.agent.request_cost import UncountedRequest
from overt.app.context.context_updates import ContextUpdates
from overt.app.context.prefix import Fragments
from overt.app.mcp.tool_catalog import ToolCatalog, add_catalog_description, add_description
from overt.app.models.session_models import SessionModels, recorded_facts
from overt.app.models.tool_protocol import FormLead, ProtocolParts, ScaffoldContext, ToolProtocol, efforts_of
from overt.app.services import Fallback, ModelSwitch
from overt.app.session import Session
from overt.app.setting import Setting
from overt.context.assemble import Assembler, fingerprint
from overt.core.agents.profile import AgentProfile
from overt.core.capabilities import Effect
from overt.core.errors import OvertError, ProviderError
from overt.core.events import PrefixSet
from overt.core.protocols import Hands, Wire
from overt.core.requests import Params, Prefix
from overt.core.tool import Tool
from overt.lib.redaction.redact import Redactor
from overt.lib.translations import say
from overt.providers.model_choice import ChosenModel
from overt.repair.flatten_schema import flatten_schema
from overt.sessions.resume import ResumedSession

if TYPE_CHECKING:
    from overt.app.hooks.session_hooks import SessionHooks
    from overt.app.subagents.parent_link import ParentLink
    from overt.app.subagents.tool_choice import ToolChoice


USUAL = AgentProfile(name="")
"""The profile of the default main agent."""


class Agents(Struct, frozen=True, kw_only=True):
    """Makes agents that differ in their model only: session, gate, capabilities and context are the same for all.

    `choice` holds the profile of the agent and the tools it may use; None for the default main agent. `offered` returns
    the text about custom agents for the description of `task`. `uncounted` holds the requests that broke off,
    whichever agent has sent them.
    """

    setting: Setting
    session: Session
    models: SessionModels
    gate: PermissionGate
    hands: Hands
    effects: frozenset[Effect]
    fragments: Fragments
    updates: ContextUpdates
    redactor: Redactor
    spend_limit: SpendLimit
    catalog: ToolCatalog
    parent: "ParentLink | None" = None
    choice: "ToolChoice | None" = None
    hooks: "SessionHooks | None" = None
    offered: Callable[[], str] = str
    notices: list[str] = field(default_factory=list)
    uncounted: list[UncountedRequest] = field(default_factory=list)

    async def choose(self, reference: str, effort: str | None = None) -> tuple[Agent, PrefixSet]:
        """Make an agent with another model, or with another effort. An `effort` of "" is the model's own."""
        found = await self.models.find(reference)
        if effort is not None:
            found = replace(found, entry=replace(found.entry, effort=effort))
        return self.make(found, self.models.protocol(found))

    async def switch(self, reference: str, agent: Agent, opening: PrefixSet) -> ModelSwitch:
        """Make an agent with another model for one turn. Raise an OvertError if the server does not list the model."""
        current = self.models.current
        assert current is not None

        def restore() -> tuple[Agent, PrefixSet]:
            again, _ = self.make(current, self.models.protocol(current))
            return Agent(replace(again.spec, prefix=agent.spec.prefix), again.runtime), opening

        found = await self.models.find(reference)
        other, other_opening = self.make(found, self.models.protocol(found))
        try:
            known = await other.runtime.provider.models()
            if known and found.model not in known:
                raise OvertError(f"{other.runtime.provider.name} does not list it")
        except OvertError:
            restore()
            raise
        return ModelSwitch(agent=other, opening=other_opening, restore=restore)

    def fall_back(self, error: ProviderError) -> Fallback | None:
        """Make an agent that calls tools another way, if the server refused the one in use."""
        protocol, found = self.models.fallback(error), self.models.current
        if protocol is None or found is None:
            return None
        agent, opening = self.make(found, protocol)
        return Fallback(agent=agent, opening=opening, notice=say(f"calls.{protocol.calls}", reason=error.message))

    def make(
        self, found: ChosenModel, protocol: ToolProtocol, resumed: ResumedSession | None = None
    ) -> tuple[Agent, PrefixSet]:
        provider = self.models.provider(found)
        self.models.use(found, protocol)
        config, fragments, entry = self.setting.config, self.fragments, found.entry
        self.catalog.flatten, self.catalog.offline = protocol.flatten, bool(self.models.offline)
        own, limits = self.choice.profile if self.choice else USUAL, config.limits
        if self.parent:
            limits = self.parent.limit_steps(limits)
        elif own.max_steps and config.origin("agent.max_steps") != "--max-turns":
            limits = replace(limits, max_steps=own.max_steps)
        context = ScaffoldContext(
            hands=self.hands,
            limits=limits,
            may_read=self.gate.may_read,
            suggest_tools=self.catalog.suggest,
        )
        setup = set_up_protocol(protocol, self._tools(), fragments, wire=provider.wire, context=context)
        prefix = setup.prefix
        if resumed and resumed.prefix and not fragments.asked and not self._moved(resumed):
            # Dates and rules of the project included: the server may remember what it was sent before.
            recorded = resumed.prefix.prefix
            prefix = recorded if recorded.tools == prefix.tools and recorded.shots == prefix.shots else prefix
        if prefix is setup.prefix:
            self.notices.extend(fragments.notices)
        spec = AgentSpec(
            path="main",
            params=Params(
                model=found.model,
                max_tokens=entry.max_tokens,
                temperature=_first_set(own.temperature, config.agent.temperature, setup.temperature),
                top_p=_first_set(own.top_p, config.agent.top_p),
                effort=entry.effort or None,
                thinking=entry.thinking,
            ),
            prefix=prefix,
            tools=setup.tools,
            effects=self.effects,
            limits=setup.limits,
            calls=protocol.calls,
            flatten=protocol.flatten,
            price=recorded_facts(found).price,
            max_output=found.about.output,
            limits_output=bool((found.about.quirks or entry.quirks).limit),
            efforts=efforts_of(found.about, entry.quirks),
            is_small=protocol.compact,
        )
        runtime = Runtime(
            provider=provider,
            gate=self.gate,
            hands=self.hands,
            assembler=Assembler(setup.wire, vendor=provider.name),
            hide=self.redactor.clean,
            lead=setup.lead,
            checks=(*setup.checks, *((self.hooks,) if self.hooks else ())),
            updates=self.updates.collect,
            find_tool=lambda name: self.setting.tools.find(name) or self.catalog.find(name),
            unlisted=self.catalog,
            marks=lambda: self.session.marks,
            budget=self.models.window(found),
            spend_limit=self.spend_limit,
            hooks=self.hooks,
            uncounted=self.uncounted,
        )
        agent = Agent(spec, runtime)
        return agent, _prefix_event(agent, found, own.name)

    def _tools(self) -> dict[str, Tool]:
        """Return the tools that the settings leave. A bare denial removes a tool if it speaks of no other.

        Rare tools are listed only if `tools.enabled` names them.
        """
        config, tools = self.setting.config, self.setting.tools.for_effects(self.effects)
        denied = {rule.tool for rule in config.permissions.rules if rule.action == "deny" and not rule.pattern}
        shared = {tool.family for tool in tools.values() if tool.family != tool.name}
        removed = {*config.tools.disabled, *denied - shared}
        usual = {name for name, tool in tools.items() if not tool.rare} | self.catalog.listed.keys()
        chosen = usual if config.tools.enabled is None else config.tools.enabled
        tools = {**tools, **self.catalog.listed}
        choice = self.choice
        if choice and choice.is_exact:
            away = {name for name, tool in tools.items() if self.catalog.offline and "network" in tool.effects}
            tools |= self.catalog.server_tools()
            removed |= away
            removed |= {"toolsearch", "toolcall"}  # there is nothing that the model was not sent
        elif "toolsearch" in tools and self.catalog.describe():
            tools["toolsearch"] = add_catalog_description(tools["toolsearch"], self.catalog)
        else:
            removed |= {"toolsearch", "toolcall"}
        if "task" in tools and (offered := self.offered()):
            tools["task"] = add_description(tools["task"], offered)
        left = {name: tool for name, tool in tools.items() if name not in removed}
        sent = choice.choose(left, chosen) if choice else {name: left[name] for name in left if name in chosen}
        self.catalog.can_search = "toolsearch" in sent
        return sent

    def _moved(self, resumed: ResumedSession) -> bool:
        """True if the session began in another folder, which its recorded prefix names."""
        return resumed.opened is not None and resumed.opened.workspace != self.setting.roots.workspace


def set_up_protocol(
    protocol: ToolProtocol, tools: dict[str, Tool], fragments: Fragments, *, wire: Wire, context: ScaffoldContext
) -> ProtocolParts:
    if protocol.compact:
        from overt.app.small_model import scaffold as compact  # late: 5 ms

        return compact.set_up_protocol(protocol, tools, fragments, wire=wire, context=context)
    limits = context.limits
    specs = {name: tool.spec for name, tool in tools.items()}
    if protocol.flatten:
        specs = {name: flatten_schema(spec) for name, spec in specs.items()}
    if protocol.calls == "native":
        prefix = Prefix(system=fragments.usual(), tools=tuple(specs.values()))
        return ProtocolParts(tools=tools, prefix=prefix, wire=wire, limits=limits)
    from overt.context.text_calls import TextCallWire, tool_guide  # late: 0.2 ms

    guide = tool_guide(specs.values(), protocol.calls)
    return ProtocolParts(
        tools=tools,
        prefix=Prefix(system=(*fragments.usual(), guide), tools=()),
        wire=TextCallWire(wire, protocol.calls),
        limits=limits,
        lead=FormLead(specs) if protocol.calls == "schema" else None,
    )


def _first_set(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _prefix_event(agent: Agent, found: ChosenModel, profile: str) -> PrefixSet:
    """Return what is recorded of a model and its prefix before the first request."""
    wire = agent.runtime.provider.wire
    return PrefixSet(
        prefix=agent.spec.prefix,
        provider=agent.runtime.provider.name,
        model=agent.spec.params.model,
        wire=wire.name,
        encoder=wire.version,
        fingerprint=fingerprint(wire, agent.spec.prefix, agent.spec.params),
        about=recorded_facts(found),
        calls=agent.spec.calls,
        tool_names=() if agent.spec.calls == "native" else tuple(agent.spec.tools),
        profile=profile,
    )
