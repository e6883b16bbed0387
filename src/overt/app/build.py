"""Where everything is put together: the only file that names concrete classes."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from overt.app.cache_expiry import finish_expiry, start_expiry
from overt.app.choose import as_before, choose_model
from overt.app.context_updates import ContextUpdates
from overt.app.conversation import Conversation
from overt.app.house import Recorder, Standing, Switch
from overt.app.late_hands import LateHands
from overt.app.manner import Ground, Manner, efforts_of, manner_of
from overt.app.opening import FREE, known_facts, prefix_event
from overt.app.options import Options
from overt.app.prefix import Fragments
from overt.app.purse import SessionPurse
from overt.app.record import Naming, open_record
from overt.app.secrets import make_redactor
from overt.app.setting import Setting, read_setting
from overt.app.small import AGENT as TITLE_AGENT
from overt.app.small import ask_title
from overt.app.tool_protocol import conduct
from overt.app.window import WindowSeeker, budget_of, window_of
from overt.config.always import add_always, load_always
from overt.context.assemble import Assembler
from overt.context.budget import Budget
from overt.core.effects import Effect
from overt.core.errors import OvertError, ProviderError
from overt.core.events import Compacted, Event, Noticed, PrefixSet, Replied, RequestSent
from overt.core.foreign import our_tool
from overt.core.history import History
from overt.core.messages import Message
from overt.core.ports import Provider
from overt.core.requests import Params
from overt.core.settings import Rule
from overt.core.tool import Tool
from overt.engine.agent import Agent
from overt.engine.gate import Gate, Terms, told_of_sandbox
from overt.lib.catalogue import say
from overt.providers.discover import Found, is_local
from overt.providers.registry import make
from overt.safety.policy import Sight
from overt.sessions.resume import Resumed
from overt.tools.registry import tools_for
from overt.world.sandbox.choose import choose as choose_sandbox

EFFECTS: frozenset[Effect] = frozenset({"read", "write", "run", "notes"})


async def open_conversation(options: Options, setting: Setting | None = None) -> Conversation:
    """Open a new or a recorded session. Without `setting`, the configuration is read first."""
    return await Builder(options, setting or read_setting(options)).build()


class Builder:
    """One conversation in the making: configuration in, conversation out."""

    def __init__(self, options: Options, setting: Setting) -> None:
        self._options = options
        self._setting = setting
        self.troubles: deque[Noticed] = deque()
        self._redactor = make_redactor(setting)
        self._hands = LateHands(
            setting,
            lambda: self._conversation.history if self._conversation else History(),
            self._record,
            self._redactor,
        )
        self._sandbox = choose_sandbox(setting.config.sandbox.mode)
        self._found: Found | None = None
        self._manner: Manner | None = None
        self._manners: dict[tuple[str, str], Manner] = {}
        self._fragments = Fragments(options, setting, self._sandbox, self._redactor)
        self._updates = ContextUpdates(setting, self._fragments, self._current_agent)
        self._conversation: Conversation | None = None
        self._providers: list[Provider] = []
        self._small: Found | None = None
        self._used: dict[str, Found] = {}
        self._sent: dict[str, RequestSent] = {}
        self._budgeted: tuple[Found, Budget] | None = None
        self._seeker = WindowSeeker(setting.environment.variables, tell=self.troubles.append, then=self._resized)
        self._books: Any = None
        self._purse: SessionPurse | None = None
        self._notices: list[str] = [*setting.config.warnings, *filter(None, (setting.trust.warning,))]

    async def build(self) -> Conversation:
        if not self._options.resume and not self._options.continue_last:
            self._updates.reads_git_later = not self._options.interactive
            if self._options.interactive:
                self._updates.start_reading_git()
        self._notices.extend(filter(None, (told_of_sandbox(self._sandbox),)))
        record = open_record(self._options, self._setting, self.troubles.append)
        self._hands.recorded = record
        self._purse = SessionPurse(self._setting, record.id)
        self._notices.extend(record.notices)
        resumed = record.resumed
        self._updates.recorded = resumed.prefix.prefix if resumed and resumed.prefix else None
        found = await self._find("", resumed)
        agent = self._agent(found, self._known_manner(found, resumed), gate=self._gate(resumed), resumed=resumed)
        if found.entry.kind == "local":
            self._notices.append(say("local.limits", model=found.model))
        standing = Standing(
            id=record.id,
            setting=self._setting,
            window=window_of(found, self._setting.config),
            mode=resumed.mode if resumed else "",
            path=record.path,
            history=resumed.history if resumed else History(),
            healing=resumed.healing if resumed else (),
            marks=resumed.marks if resumed else (),
            turn=resumed.turn if resumed else 0,
            prefix=resumed.prefix if resumed else None,
            notices=tuple(self._notices),
            offline=found.offline,
        )
        if resumed and resumed.last:
            agent.assembler.recall(resumed.last.stable, resumed.last.stable_length)
        self._conversation = Conversation(
            agent,
            log=self._recorder(record.log),
            standing=standing,
            opening=prefix_event(agent, found),
            house=self,
            redactor=self._redactor,
        )
        if self._options.interactive:
            agent.gate.asker = self._conversation.mailbox
            agent.provider.warm(agent.assembler.opening(agent.prefix, agent.params))
        return self._conversation

    def _recorder(self, log: Recorder) -> Recorder:
        """Under the name that was asked for."""
        if not self._options.name:
            return log
        from overt.app.records.archive import name_of  # late: 9 ms

        name = name_of(self._redactor.clean(self._options.name))
        return Naming(log, name) if name else log

    async def _find(self, reference: str, resumed: Resumed | None = None) -> Found:
        found = await choose_model(self._setting, reference)
        if resumed:
            found = await as_before(self._setting, found, resumed, self._notices.append)
        self._redactor.learn(found.key or "")
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
        self._manners[found.entry.name, found.model] = manner
        self._used[found.model] = found
        config = self._setting.config
        fragments = self._fragments
        ground = Ground(hands=self._hands, limits=config.limits, may_read=gate.may_read)
        made = conduct(manner, self._tools(), fragments, wire=provider.wire, ground=ground)
        prefix = made.prefix
        if resumed and resumed.prefix and not fragments.asked and not self._moved(resumed):
            # Dates and rules of the project included: the server may remember what it was sent before.
            recorded = resumed.prefix.prefix
            prefix = recorded if recorded.tools == prefix.tools and recorded.shots == prefix.shots else prefix
        if prefix is made.prefix:
            self._notices.extend(fragments.notices)
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
            checks=made.checks,
            flatten=manner.flatten,
            nested=self._updates.collect,
            price=FREE if is_local(entry) else found.about.price,
            marks=lambda: self._conversation.marks if self._conversation else (),
            budget=self._budget(found),
            efforts=efforts_of(found.about, entry.quirks),
            purse=self._purse,
        )

    def _known_manner(self, found: Found, resumed: Resumed | None = None) -> Manner:
        """As its server took it before, in this process or an earlier one, unless somebody says how."""
        manner, before = manner_of(found.about), resumed.prefix if resumed else None
        if before and not found.about.calls and (before.provider, before.model) == (found.entry.name, found.model):
            manner = replace(manner, calls=before.calls)
        return self._manners.get((found.entry.name, found.model), manner)

    def _budget(self, found: Found) -> Budget:
        """What was learnt of a model stays with it, however it is led."""
        before = self._budgeted
        if before is None or (before[0].entry.name, before[0].model) != (found.entry.name, found.model):
            self._budgeted = before = (found, budget_of(found, self._setting.config))
        return before[1]

    def _resized(self, window: int) -> None:
        if self._conversation:
            self._conversation.window = window

    def redact(self, text: str) -> str:
        return self._redactor.clean(text)

    def _tools(self) -> dict[str, Tool]:
        settings = self._setting.config.tools
        denied = {our_tool(rule.tool) for rule in self._setting.config.permissions.rules if _removes(rule)}
        tools = tools_for(EFFECTS, without=frozenset(settings.disabled) | denied)
        chosen = tools if settings.enabled is None else settings.enabled
        return {name: tool for name, tool in tools.items() if name in chosen}

    def _moved(self, resumed: Resumed) -> bool:
        """The recorded prefix says where the session began, which may not be here."""
        return resumed.opened is not None and resumed.opened.workspace != self._setting.roots.workspace

    def _gate(self, resumed: Resumed | None) -> Gate:
        environment, project = self._setting.environment, self._setting.roots.project
        permissions, sandbox = self._setting.config.permissions, self._setting.config.sandbox
        always = load_always(environment, project)
        self._notices += filter(None, [always.warning])
        mode = permissions.mode
        if resumed and resumed.mode and self._setting.config.origin("permissions.mode") == "default":
            mode = resumed.mode  # type: ignore[assignment]
        return Gate(
            Terms(
                rules=(*permissions.rules, *always.rules),
                fallback=permissions.fallback,
                dont_ask=permissions.dont_ask,
                dangerous_policy=permissions.dangerous_policy,
                bare=sandbox.mode == "none",
                write=sandbox.write,
                network=sandbox.network,
            ),
            mode=mode,
            sight=Sight(
                root=self._setting.roots.workspace,
                exists=self._exists,
                look=self._hands.look,
                also=frozenset(permissions.dangerous),
            ),
            hands=self._hands,
            remember=lambda rule: add_always(environment, project, rule),
        )

    async def choose(self, reference: str, effort: str | None = None) -> tuple[Agent, PrefixSet]:
        """The same agent on another model, or thinking harder."""
        found = await self._find(reference)
        if effort is not None:
            found = replace(found, entry=replace(found.entry, effort=effort))
        return self._led(found, self._known_manner(found))

    async def title(self, prompt: str, record: Callable[[Event], None]) -> None:
        """By `small_model`; without one by the model in use, unless it works on this machine and has enough to do."""
        wanted = self._setting.config.small_model
        if self._options.name or not self._options.interactive or self._found is None:
            return
        if not self._setting.config.ui.titles or (not wanted and is_local(self._found.entry)):
            return
        try:
            found = await self._find(wanted) if wanted else self._found
            provider = make(found.entry, found.key, found.model, self._setting.environment.variables)
        except OvertError as error:
            self.troubles.append(Noticed(text=self.redact(f"small_model: {error.message}"), level="warning"))
            return
        try:
            self._small = found
            # As it will be recorded: the request can be made again, and no secret goes out beside the conversation.
            await ask_title(provider, known_facts(found), self.redact(prompt), record)
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
        self._conversation.window = agent.budget.window if agent.budget else 0
        return agent, prefix_event(agent, found)

    async def refer(self, prompt: str) -> tuple[Message, ...]:
        """What a prompt points at, and the rules that hold for it."""
        if self._conversation is None:
            return ()
        agent, history = self._conversation.agent, self._conversation.history
        found: tuple[Message, ...] = ()
        if "@" in prompt:
            from overt.app.references import references  # late: 2 ms

            found, notices = await references(
                prompt,
                self._hands,
                agent.gate.may_read,
                exists=self._exists,
                limit=agent.result_limit(),
                led=self._manner is not None and self._manner.compact,
            )
            self.troubles.extend(notices)
        named = {message.origin.where: message.origin.hash for message in found}
        updates = self._updates.collect(replace(history, seen=history.seen | named))
        return (*found, *(message for message in updates if message.origin.where not in named))

    def _current_agent(self) -> Agent | None:
        return self._conversation.agent if self._conversation else None

    def _exists(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self._setting.roots.workspace, path))

    def book(self, event: RequestSent | Replied | Compacted, *, turn: int, step: int) -> None:
        """Whoever books is loaded with the first reply, when nothing waits for it any more."""
        if isinstance(event, RequestSent):
            self._sent[event.agent] = event
            self._updates.request_sent()
            return
        if isinstance(event, Replied) and self._budgeted and event.agent == "main":
            self._seeker.seek(*self._budgeted)
        if self._books is None and self._conversation:
            places = self._setting
            from overt.app.ledger import Books  # late: 3 ms

            self._books = Books(
                places.environment.data_dir, places.roots.project, self._conversation.id, self.troubles.append
            )
        # A turn goes on with the model it began with, whichever was chosen since.
        sent = self._sent.pop(event.agent, None)
        used = self._used.get(sent.params.model) if sent else None
        found = self._small if event.agent == TITLE_AGENT else used
        if self._books and found:
            self._books.enter(event, sent=sent, found=found, turn=turn, step=step)

    def warm(self, tool: str) -> None:
        self._hands.warm(tool)
        self._updates.tool_called(tool)

    def rest(self) -> None:
        self._hands.rest()
        start_expiry(self._setting.environment.cache_dir, self._setting.config.cache)
        while len(self._providers) > 1:
            self._providers.pop(0).close()

    async def settled(self, then: Callable[[], None]) -> None:
        """What calls did to files is recorded before the turn ends, unless somebody presses for it."""
        try:
            await asyncio.shield(asyncio.ensure_future(self._hands.settled()))
        except asyncio.CancelledError:
            pass  # the turn is over as it is; what is not on record yet follows its end
        finally:
            then()

    def _record(self, fact: Event) -> None:
        if self._conversation:
            self._conversation.record(fact)

    async def finish(self) -> None:
        finish_expiry()
        self._updates.close()
        await self._seeker.close()
        await self._hands.close()
        for provider in self._providers:
            provider.close()


def _removes(rule: Rule) -> bool:
    """A bare denial of a tool takes it out of the model's list."""
    return rule.action == "deny" and not rule.pattern and our_tool(rule.tool) != "edit"
