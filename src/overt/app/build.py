"""Where everything is put together: the only file that names concrete classes."""

import os
from collections import deque

from msgspec.structs import replace

from overt.app.choose import choose_model
from overt.app.conversation import Conversation
from overt.app.house import Standing, Switch
from overt.app.late_hands import LateHands
from overt.app.manner import Ground, Manner, conduct, manner_of
from overt.app.options import Options
from overt.app.prefix import Fragments
from overt.app.record import open_record
from overt.app.secrets import known_secrets
from overt.app.setting import Setting, read_setting
from overt.app.small import titled
from overt.config.always import add_always, load_always
from overt.context.assemble import Assembler, fingerprint
from overt.core.effects import Effect
from overt.core.errors import OvertError, ProviderError
from overt.core.events import Noticed, PrefixSet, TitleSet
from overt.core.foreign import our_tool
from overt.core.history import History
from overt.core.late import late
from overt.core.ports import Provider, SandboxState
from overt.core.requests import Params
from overt.core.settings import Rule
from overt.core.tool import Tool
from overt.engine.agent import Agent
from overt.engine.gate import Gate, Terms, told_of_sandbox
from overt.lib.catalogue import say
from overt.lib.redact import Redactor
from overt.providers.discover import Found, is_local
from overt.providers.registry import make
from overt.safety.policy import Sight
from overt.sessions.resume import Resumed
from overt.tools.registry import tools_for

EFFECTS: frozenset[Effect] = frozenset({"read", "write", "run", "notes"})


async def open_conversation(options: Options) -> Conversation:
    return await Builder(options, read_setting(options)).build()


class Builder:
    """One conversation in the making: configuration in, conversation out."""

    def __init__(self, options: Options, setting: Setting) -> None:
        self._options = options
        self._setting = setting
        self.troubles: deque[Noticed] = deque()
        self._hands = LateHands(setting, lambda: self._conversation.history if self._conversation else History())
        self._sandbox: SandboxState = late("sandbox")(setting.config.sandbox.mode)
        self._found: Found | None = None
        self._manner: Manner | None = None
        self._redactor = Redactor(known_secrets(setting))
        self._conversation: Conversation | None = None
        self._providers: list[Provider] = []
        self._notices: list[str] = [*setting.config.warnings]
        if setting.trust.warning:
            self._notices.append(setting.trust.warning)

    async def build(self) -> Conversation:
        if told := told_of_sandbox(self._sandbox):
            self._notices.append(told)
        record = open_record(self._options, self._setting, self.troubles.append)
        self._notices.extend(record.notices)
        resumed = record.resumed
        found = await self._find("", resumed)
        agent = self._agent(found, manner_of(found.about), gate=self._gate(resumed), resumed=resumed)
        if found.entry.kind == "local":
            self._notices.append(say("local.limits", model=found.model))
        standing = Standing(
            id=record.id,
            workspace=self._setting.roots.workspace,
            window=self._setting.config.context_window or found.about.window,
            mode=resumed.mode if resumed else "",
            path=record.path,
            history=resumed.history if resumed else History(),
            healing=resumed.healing if resumed else (),
            turn=resumed.turn if resumed else 0,
            fingerprint=resumed.prefix.fingerprint if resumed and resumed.prefix else "",
            notices=tuple(self._notices),
            offline=found.offline,
        )
        self._conversation = Conversation(
            agent,
            log=record.log,
            standing=standing,
            opening=_opening(agent),
            house=self,
            redactor=self._redactor,
        )
        if self._options.interactive:
            agent.gate.asker = self._conversation.mailbox
            agent.provider.warm(agent.assembler.opening(agent.prefix, agent.params))
        return self._conversation

    async def _find(self, reference: str, resumed: Resumed | None = None) -> Found:
        found = await choose_model(self._setting, reference)
        unsaid = not reference and self._setting.config.origin("default_model") == "default"
        if resumed and unsaid and resumed.model and resumed.provider == found.entry.name:
            found = replace(found, model=resumed.model)
        if found.key:
            self._redactor.learn(found.key)
        return found

    def _provider(self, found: Found) -> Provider:
        """The one in use where it is the same: a server may stand behind it, and remember."""
        before, wanted = self._found, (found.entry, found.key, found.model)
        if before is None or (before.entry, before.key, before.model) != wanted:
            self._providers.append(make(found.entry, found.key, found.model, self._setting.environment.variables))
        return self._providers[-1]

    def _agent(self, found: Found, manner: Manner, *, gate: Gate, resumed: Resumed | None = None) -> Agent:
        provider = self._provider(found)
        self._found, self._manner = found, manner
        config = self._setting.config
        fragments = Fragments(self._options, self._setting, self._sandbox, self._redactor)
        ground = Ground(hands=self._hands, limits=config.limits, may_read=gate.may_read)
        made = conduct(manner, self._tools(), fragments, wire=provider.wire, ground=ground)
        prefix = made.prefix
        if resumed and resumed.prefix and not fragments.asked and not self._moved(resumed):
            # Dates and rules of the project included: the server may remember what it was sent before.
            recorded = resumed.prefix.prefix
            prefix = recorded if recorded.tools == prefix.tools and recorded.shots == prefix.shots else prefix
        entry = found.entry
        return Agent(
            path="main",
            provider=provider,
            params=Params(
                model=found.model,
                max_tokens=entry.max_tokens,
                temperature=made.temperature,
                effort=entry.effort or None,
                thinking=entry.thinking,
            ),
            prefix=prefix,
            tools=made.tools,
            effects=EFFECTS,
            limits=made.limits,
            gate=gate,
            hands=self._hands,
            assembler=Assembler(made.wire, vendor=provider.name),
            hide=self._redactor.clean,
            calls=manner.calls,
            lead=made.lead,
            flatten=manner.flatten,
        )

    def redact(self, text: str) -> str:
        return self._redactor.clean(text)

    def _tools(self) -> dict[str, Tool]:
        settings = self._setting.config.tools
        denied = {our_tool(rule.tool) for rule in self._setting.config.permissions.rules if _removes(rule)}
        tools = tools_for(EFFECTS, without=frozenset(settings.disabled) | denied)
        if settings.enabled is not None:
            tools = {name: tool for name, tool in tools.items() if name in settings.enabled}
        return tools

    def _moved(self, resumed: Resumed) -> bool:
        """The recorded prefix says where the session began, which may not be here."""
        return resumed.opened is not None and resumed.opened.workspace != self._setting.roots.workspace

    def _gate(self, resumed: Resumed | None) -> Gate:
        environment, project = self._setting.environment, self._setting.roots.project
        permissions, sandbox = self._setting.config.permissions, self._setting.config.sandbox
        always = load_always(environment, project)
        if always.warning:
            self._notices.append(always.warning)
        mode = permissions.mode
        if resumed and resumed.mode and self._setting.config.origin("permissions.mode") == "default":
            mode = resumed.mode  # type: ignore[assignment]
        return Gate(
            Terms(
                rules=(*permissions.rules, *always.rules),
                fallback=permissions.fallback,
                dont_ask=permissions.dont_ask,
                bare=sandbox.mode == "none",
                write=sandbox.write,
                network=sandbox.network,
            ),
            mode=mode,
            sight=Sight(
                root=self._setting.roots.workspace,
                exists=lambda path: os.path.lexists(os.path.join(self._setting.roots.workspace, path)),
                look=self._hands.look,
                also=frozenset(permissions.dangerous),
            ),
            hands=self._hands,
            remember=lambda rule: add_always(environment, project, rule),
        )

    async def choose(self, reference: str) -> tuple[Agent, PrefixSet]:
        """The same agent on another model."""
        found = await self._find(reference)
        return self._led(found, manner_of(found.about))

    async def title(self, prompt: str) -> TitleSet | None:
        """By `small_model`; without one by the model in use, unless it works on this machine and has enough to do."""
        wanted = self._setting.config.small_model
        if not self._options.interactive or self._found is None or not (wanted or not is_local(self._found.entry)):
            return None
        try:
            found = await self._find(wanted) if wanted else self._found
            provider = make(found.entry, found.key, found.model, self._setting.environment.variables)
        except OvertError as error:
            self.troubles.append(Noticed(text=self.redact(f"small_model: {error.message}"), level="warning"))
            return None
        try:
            return await titled(provider, found.model, prompt)
        finally:
            provider.close()

    def otherwise(self, error: ProviderError) -> Switch | None:
        """The same model, led another way, when its server refuses the one in use."""
        manner = self._manner.after(error) if self._manner else None
        if manner is None or self._found is None:
            return None
        agent, opening = self._led(self._found, manner)
        return Switch(agent=agent, opening=opening, said=say(f"calls.{manner.calls}", reason=error.message))

    def _led(self, found: Found, manner: Manner) -> tuple[Agent, PrefixSet]:
        assert self._conversation is not None
        agent = self._agent(found, manner, gate=self._conversation.agent.gate)
        return agent, _opening(agent)

    def warm(self, tool: str) -> None:
        self._hands.warm(tool)

    def rest(self) -> None:
        self._hands.rest()
        while len(self._providers) > 1:
            self._providers.pop(0).close()

    async def finish(self) -> None:
        await self._hands.close()
        for provider in self._providers:
            provider.close()


def _removes(rule: Rule) -> bool:
    """A bare denial of a tool takes it out of the model's list."""
    return rule.action == "deny" and not rule.pattern and our_tool(rule.tool) != "edit"


def _opening(agent: Agent) -> PrefixSet:
    return PrefixSet(
        prefix=agent.prefix,
        provider=agent.provider.name,
        model=agent.params.model,
        wire=agent.provider.wire.name,
        encoder=agent.provider.wire.version,
        fingerprint=fingerprint(agent.provider.wire, agent.prefix, agent.params),
    )
