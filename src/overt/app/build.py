"""Where everything is put together: the only file that names concrete classes."""

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from time import strftime
from typing import Any

from msgspec.structs import replace

from overt.app.choose import choose_model
from overt.app.conversation import Conversation, Standing
from overt.app.options import Options
from overt.app.record import open_record
from overt.app.setting import Setting, read_setting
from overt.config.always import add_always, load_always
from overt.config.regular import read_regular
from overt.context.assemble import Assembler, fingerprint
from overt.context.recipe import built_in_prompt, environment, given_prompt, project_rules
from overt.core.effects import Effect
from overt.core.errors import OvertError
from overt.core.events import Noticed, PrefixSet
from overt.core.foreign import our_tool
from overt.core.fragments import Fragment, Origin
from overt.core.history import History
from overt.core.late import late
from overt.core.ports import Loan, Provider
from overt.core.requests import Params, Prefix
from overt.core.settings import Rule
from overt.core.tool import Tool
from overt.engine.agent import Agent
from overt.engine.gate import Gate, Terms
from overt.lib.redact import Redactor
from overt.providers.registry import make
from overt.sessions.resume import Resumed
from overt.tools.registry import tools_for

RULES, RULES_MOST = "AGENTS.md", 1024 * 1024
PROGRAM_TOOLS = ("bash", "jobs")
EFFECTS: frozenset[Effect] = frozenset({"read", "write", "run", "notes"})


class LateHands:
    """The hands, loaded when the first call streams in: until then nothing needs them."""

    def __init__(self, setting: Setting, history: Callable[[], History]) -> None:
        self._setting = setting
        self._history = history
        self._found: Any = None
        self._closed = False
        self._warmed: set[str] = set()

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
    ) -> Loan:
        loan: Loan = self._real().lend(call_id, needs, preview=preview, report=report)
        return loan

    def warm(self, tool: str) -> None:
        if self._closed or tool in self._warmed:
            return
        self._warmed.add(tool)
        try:
            hands = self._real()
            if our_tool(tool) in PROGRAM_TOOLS:
                hands.warm()
        except OvertError:
            pass  # whoever runs the first command is told

    async def close(self) -> None:
        self._closed = True
        if self._found is not None:
            await self._found.close()

    def _real(self) -> Any:
        if self._found is None:
            self._found = late("hands")(self._setting, history=self._history)
        return self._found


async def open_conversation(options: Options) -> Conversation:
    return await Builder(options, read_setting(options)).build()


class Builder:
    """One conversation in the making: configuration in, conversation out."""

    def __init__(self, options: Options, setting: Setting) -> None:
        self._options = options
        self._setting = setting
        self.troubles: deque[Noticed] = deque()
        self._hands = LateHands(setting, lambda: self._conversation.history if self._conversation else History())
        self._window = 0
        self._max_tokens: int | None = None
        self._secrets = list(setting.environment.secrets())
        self._redactor = Redactor(self._secrets)
        self._conversation: Conversation | None = None
        self._providers: list[Provider] = []
        self._notices: list[str] = [*setting.config.warnings]
        if setting.trust.warning:
            self._notices.append(setting.trust.warning)

    async def build(self) -> Conversation:
        config = self._setting.config
        record = open_record(self._options, self._setting, self.troubles.append)
        self._notices.extend(record.notices)
        resumed = record.resumed
        provider, model = await self._provider("", resumed)
        tools = self._tools()
        prefix = self._prefix(tools, resumed)
        gate = self._gate(resumed)
        agent = Agent(
            path="main",
            provider=provider,
            params=Params(model=model, max_tokens=self._max_tokens),
            prefix=prefix,
            tools=tools,
            effects=EFFECTS,
            limits=config.limits,
            gate=gate,
            hands=self._hands,
            assembler=Assembler(provider.wire),
            hide=lambda text: self._redactor.hide(text),
        )
        standing = Standing(
            id=record.id,
            workspace=self._setting.roots.workspace,
            window=config.context_window or self._window,
            mode=resumed.mode if resumed else "",
            path=record.path,
            history=resumed.history if resumed else History(),
            healing=resumed.healing if resumed else (),
            turn=resumed.turn if resumed else 0,
            fingerprint=resumed.prefix.fingerprint if resumed and resumed.prefix else "",
            notices=tuple(self._notices),
        )
        self._conversation = Conversation(
            agent,
            log=record.log,
            standing=standing,
            opening=_opening(agent),
            house=self,
        )
        if self._options.interactive:
            gate.asker = self._conversation.mailbox
        return self._conversation

    async def _provider(self, reference: str, resumed: Resumed | None = None) -> tuple[Provider, str]:
        found = await choose_model(self._setting, reference)
        unsaid = not reference and self._setting.config.origin("default_model") == "default"
        if resumed and unsaid and resumed.model and resumed.provider == found.entry.name:
            found = replace(found, model=resumed.model)
        if found.key:
            self._secrets.append(found.key)
        self._redactor = Redactor(self._secrets)
        self._window = found.entry.context_window
        self._max_tokens = found.entry.max_tokens
        self._providers.append(make(found.entry, found.key))
        return self._providers[-1], found.model

    def redact(self, text: str) -> str:
        return self._redactor.clean(text)

    def _tools(self) -> dict[str, Tool]:
        settings = self._setting.config.tools
        denied = {our_tool(rule.tool) for rule in self._setting.config.permissions.rules if _removes(rule)}
        tools = tools_for(EFFECTS, without=frozenset(settings.disabled) | denied)
        if settings.enabled is not None:
            tools = {name: tool for name, tool in tools.items() if name in settings.enabled}
        return tools

    def _prefix(self, tools: dict[str, Tool], resumed: Resumed | None) -> Prefix:
        """A resumed session keeps its recorded prefix, dates and rules included, unless something else was asked."""
        options, agent = self._options, self._setting.config.agent
        specs = tuple(tool.spec for tool in tools.values())
        asked = options.system_prompt is not None or options.append_system_prompt
        if resumed and resumed.prefix and not asked and not self._moved(resumed):
            recorded = resumed.prefix.prefix
            if recorded.tools == specs:
                return recorded
        fragments: list[Fragment] = []
        if options.system_prompt is not None:
            origin = Origin(kind="flag", where=options.system_prompt_origin)
            fragments.append(given_prompt("system", options.system_prompt, origin=origin))
        elif agent.system_prompt is not None:
            origin = Origin(kind="file", where=self._setting.config.origin("agent.system_prompt"))
            fragments.append(given_prompt("system", agent.system_prompt, origin=origin))
        else:
            fragments.append(built_in_prompt())
        if rules := self._rules_of_project():
            fragments.append(rules)
        fragments.append(environment(self._facts()))
        if options.append_system_prompt:
            origin = Origin(kind="flag", where="--append-system-prompt")
            fragments.append(given_prompt("appended", options.append_system_prompt, origin=origin))
        elif agent.append_system_prompt:
            origin = Origin(kind="file", where=self._setting.config.origin("agent.append_system_prompt"))
            fragments.append(given_prompt("appended", agent.append_system_prompt, origin=origin))
        return Prefix(system=tuple(fragments), tools=specs)

    def _moved(self, resumed: Resumed) -> bool:
        """The recorded prefix says where the session began, which may not be here."""
        return resumed.opened is not None and resumed.opened.workspace != self._setting.roots.workspace

    def _rules_of_project(self) -> Fragment | None:
        """A link is not followed and a pipe not waited for: the project may be anybody's."""
        try:
            content, _ = read_regular(os.path.join(self._setting.roots.project, RULES), RULES_MOST, os.O_NOFOLLOW)
        except OSError:
            return None
        return project_rules(RULES, content[:RULES_MOST])

    def _facts(self) -> dict[str, str]:
        return {
            "Workspace": self._setting.roots.workspace,
            "Platform": sys.platform,
            "Date": strftime("%Y-%m-%d"),
        }

    def _gate(self, resumed: Resumed | None) -> Gate:
        environment, project = self._setting.environment, self._setting.roots.project
        permissions = self._setting.config.permissions
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
                unanswered="deny" if permissions.dont_ask else "allow",
            ),
            mode=mode,
            root=self._setting.roots.workspace,
            exists=lambda path: os.path.lexists(os.path.join(self._setting.roots.workspace, path)),
            remember=lambda rule: add_always(environment, project, rule),
        )

    async def choose(self, reference: str) -> tuple[Agent, PrefixSet]:
        """The same agent on another model."""
        assert self._conversation is not None
        provider, model = await self._provider(reference)
        agent = replace(
            self._conversation.agent,
            provider=provider,
            params=replace(self._conversation.agent.params, model=model, max_tokens=self._max_tokens),
            assembler=Assembler(provider.wire),
        )
        return agent, _opening(agent)

    def warm(self, tool: str) -> None:
        self._hands.warm(tool)

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
