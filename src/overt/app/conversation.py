"""The one API that frontends use: prompt, interrupt, steer, answer, retry.

A turn runs in a task of its own. Whatever ends it, the history is closed: what had streamed is kept, open calls are
answered, and the end is recorded.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt.agent.agent import Agent, LimitReached
from overt.agent.job_notices import announce_ended_jobs, name_lasting_jobs
from overt.agent.loop import run_turn
from overt.agent.queued_messages import Inbox
from overt.agent.request_cost import count_broken
from overt.agent.user_command import TYPED, run_command
from overt.app.context.cache_meter import LiveCacheMeter
from overt.app.custom.session_commands import SessionCommands
from overt.app.diagnostics.recent_events import RECENT
from overt.app.diagnostics.turn_failure import failed_end, failure_of
from overt.app.services import Services
from overt.app.session import Session
from overt.app.session_title import Titling
from overt.core.errors import OvertError, ProviderError
from overt.core.events import (
    CallStreamed,
    EndReason,
    Event,
    ModelSet,
    ModeSet,
    Noticed,
    PrefixReset,
    PrefixSet,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.history import History, Mark, heal, last_exchange
from overt.core.messages import Image, Message, Text, own_message, said
from overt.core.protocols import Answer, UnsavedEntry
from overt.core.questions import FormAnswer
from overt.core.settings import Mode
from overt.core.spending.spend import Spend
from overt.core.text_fragments import USER, Origin
from overt.sessions.resume import ResumedSession
from overt.tools.bash import bash

if TYPE_CHECKING:
    from overt.app.command_registry import CommandRegistry
    from overt.app.custom.command_files import CommandTurn
    from overt.app.subagents.tree import AgentTree

Work = Callable[[], Awaitable[TurnEnded]]
"""What a turn does after its prompt was recorded."""
Turn = asyncio.Task[TurnEnded]
CLOSE_WITHIN_S = 2.0


class Conversation:
    def __init__(
        self,
        agent: Agent,
        prefix: PrefixSet,
        *,
        session: Session,
        services: Services,
        resumed: ResumedSession | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.agent = agent
        self.session, self.setting = session, session.setting
        self.id, self.path, self.workspace = session.id, session.path, session.workspace
        self.inbox, self.mailbox, self.cache = Inbox(), services.mailbox, LiveCacheMeter()
        self.notices = [self.redact(notice) for notice in notices]
        self._prefix, self._recorded_prefix = prefix, resumed.prefix if resumed else None
        self._services, self.session_workspace = services, services.workspace
        self.skills, self.limits = services.skills, services.limits
        self._healing = resumed.healing if resumed else ()
        self._task: Turn | None = None
        self._end_reason: EndReason = "interrupted"
        self._end, self._ended_turn = TurnEnded(reason="error"), 0
        self._begun = self._stopped = False
        self._notes_for_model: list[Message] = []
        self._restore_agent: Callable[[], tuple[Agent, PrefixSet]] | None = None
        self._session_commands = SessionCommands(self.setting, services)
        self._titling = Titling(services.models, session.emit)
        session.subscribe(self._titling.see, name="title")
        session.subscribe(self.cache.feed, name="cache meter")
        session.subscribe(self._prepare_tool, name="preparation of tools")

    @property
    def history(self) -> History:
        return self.session.history

    @property
    def spend(self) -> Spend:
        return self.session.spend

    @property
    def agents(self) -> "AgentTree | None":
        """The sub-agents of this session; None if it can start none."""
        return self._services.delegation.tree if self._services.delegation else None

    @property
    def commands(self) -> "CommandRegistry":
        return self._session_commands.registry

    @property
    def offline(self) -> str:
        """Why nothing leaves this machine; empty if something may."""
        return self._services.models.offline

    @property
    def window(self) -> int:
        """The context window of the model in tokens; 0 if it is not known."""
        return self.agent.runtime.budget.window if self.agent.runtime.budget else 0

    # ── what frontends call ──────────────────────────────────────────────────────────────────────────────

    def prompt(self, text: str, images: tuple[Image, ...] = (), *, origin: Origin = USER) -> Turn:
        """Start a turn with a prompt of this `origin` and return its task. Cancelling the task interrupts the turn."""
        message = Message(role="user", parts=(*images, Text(text=text)), origin=origin)
        return self._start_turn(message, self._run_loop)

    async def run_prompt_command(self, line: str) -> Turn:
        """Start a turn with the prompt of a command, or raise a UsageError if there is no such command."""
        await self._session_commands.find_prompt(self.commands.parse(line)[0], self.agent.runtime.unlisted)
        outcome = await self.commands.run(self, line)
        assert outcome.play is not None
        return outcome.play()

    def command(self, text: str) -> Turn:
        """Run a command that the user typed. Its output joins the history."""
        emit = self.session.emit
        return self._start_turn(said(f"!{text}", origin=TYPED), lambda: run_command(self.agent, text, bash, emit))

    def run_command_turn(self, turn: "CommandTurn") -> Turn:
        """Start a turn with the prompt of a Markdown file, which is made at its start."""
        return self._start_turn(None, lambda: self._run_command(turn))

    def compact(self, focus: str = "") -> Turn:
        """Make room now: a turn of its own, without a prompt."""
        return self._start_turn(None, lambda: self._run_compaction(focus))

    def retry(self) -> Turn:
        """Drop the last exchange and send its prompt again."""
        exchange = last_exchange(self.history)
        if exchange is None:
            raise OvertError("There is nothing to retry yet: no prompt has been sent in this session.")
        index, message = exchange
        again = replace(message, origin=USER)
        return self._start_turn(again, self._run_loop, reset=PrefixReset(cause="retry", keep=index))

    def rewind(self, to: Mark) -> None:
        """Go back to before a turn. What came after stays in the record, and can be gone back to as well."""
        self._reset(PrefixReset(cause=f"rewind to before turn {to.turn}", keep=to.at, era=to.era, turn=to.turn))

    def record(self, event: Event) -> None:
        """Record a fact from outside of a turn: a name, a pin, files that were put back."""
        self.session.emit(event)

    def tell(self, text: str) -> None:
        """Let the model know, before the next prompt, of something that happened without it."""
        self._notes_for_model.append(own_message(text, "notice"))

    def _reset(self, reset: PrefixReset) -> None:
        self.session.emit(reset)
        self.agent.runtime.assembler.forget()

    def interrupt(self, reason: EndReason = "interrupted") -> bool:
        """Abort the running turn at once; False when none is running."""
        if self._task is None or self._task.done():
            return False
        self._end_reason = reason
        self._stopped = True
        if self._begun:  # cancelled before its first step, a task would end without a word
            self._task.cancel()
        return True

    def redact(self, text: str) -> str:
        """For what a frontend keeps itself: a history of prompts, a title."""
        return self.session.redaction.clean(text)

    def answer(self, question: str, answer: Answer) -> bool:
        return self.mailbox.answer(question, answer)

    def answer_form(self, question: str, answer: FormAnswer) -> bool:
        return self.mailbox.answer_form(question, answer)

    @property
    def mode(self) -> Mode:
        return self.agent.runtime.gate.permissions.mode

    def set_mode(self, mode: Mode, *, by: str = "user") -> None:
        self.agent.runtime.gate.permissions.mode = mode
        self.session.emit(ModeSet(mode=mode, by=by))

    async def set_model(self, reference: str, effort: str | None = None) -> None:
        """Holds from the next turn, is recorded, and is a reset point. An `effort` of "" is the model's own."""
        self._use_agent(*await self._services.agents.choose(reference, effort), by="user")
        if self._task is None or self._task.done():
            self._rest()

    def _use_agent(self, agent: Agent, prefix: PrefixSet, *, by: str) -> None:
        self.agent, self._prefix = agent, prefix
        self.session.emit(ModelSet(provider=prefix.provider, model=prefix.model, by=by))

    async def next_prompt(self) -> str | None:
        """What was typed too late for the last turn, or queued behind it."""
        return self.inbox.next_prompt()

    async def close(self, reason: EndReason = "interrupted") -> tuple[UnsavedEntry, ...]:
        """End and record a turn that still runs, then close the session. Return the entries that were not saved."""
        self.session_workspace.leave()
        if self.interrupt(reason) and self._task is not None:
            await asyncio.wait([self._task], timeout=CLOSE_WITHIN_S)
        try:
            await self._titling.close()
            if self._services.hooks:
                await self._services.hooks.end("other")
            from overt.app.diagnostics.cache_expiry import finish_expiry  # late: 0.1 ms

            finish_expiry()
            self._services.context.close()
            await self.session_workspace.close()
        finally:  # a chat that ends may cut this off
            await self._services.models.close()
        return self.session.close()

    def _rest(self) -> None:
        self.session_workspace.rest()
        self._services.models.close_unused()

    # ── the turn ─────────────────────────────────────────────────────────────────────────────────────────

    def _start_turn(self, spoken: Message | None, work: Work, *, reset: PrefixReset | None = None) -> Turn:
        """Run a turn in a task of its own, so that an interrupt ends the turn and not the caller."""
        self._end_reason = "interrupted"
        self._begun = self._stopped = False
        self._task = asyncio.create_task(self._run_turn(spoken, work, reset))
        return self._task

    async def _run_turn(self, spoken: Message | None, work: Work, reset: PrefixReset | None) -> TurnEnded:
        """Run and close a turn, and return its end. Whatever breaks in it ends this turn only."""
        started = monotonic()
        if reset:
            self._reset(reset)
        failure = await failure_of(self._begin_and_work(spoken, work))
        if failure:
            self._end = failed_end(failure)
        if unclosed := await failure_of(self._settle_and_close(started)):
            self._healing = tuple(heal(self.history))
            late_end = failed_end(unclosed)
            if self._ended_turn != self.session.turn:
                self._end = self._end if failure else late_end
                self.session.publish(self._end)
            else:  # the end was shown before something broke behind it
                RECENT.uncaught += 1
                self.session.publish(Noticed(text=late_end.text, level="error"))
        return self._end

    async def _settle_and_close(self, started: float) -> None:
        """Close the turn once everything is recorded that calls did to files, unless the user presses for it."""
        try:
            await asyncio.shield(asyncio.ensure_future(self.session_workspace.shared.wait_for_records()))
        except asyncio.CancelledError:
            pass  # the turn is over as it is; what is not on record yet follows its end
        finally:
            self._close_turn(self._end, started)

    async def _begin_and_work(self, spoken: Message | None, work: Work) -> None:
        session, emit = self.session, self.session.emit
        self._begun = True
        session.turn += 1
        session.step, session.last_call_denied = 0, False
        emit(TurnStarted(turn=session.turn))
        for outcome in self._healing:
            emit(outcome)
        self._healing = ()
        self._record_prefix()
        if session.mode != self.mode:
            emit(ModeSet(mode=self.mode, by="start"))
        try:
            if spoken and (refusal := await self._speak(spoken)):
                self._end = TurnEnded(reason="denied", text=refusal)
                return
            self._end = TurnEnded(reason=self._end_reason) if self._stopped else await work()
        except asyncio.CancelledError:
            self._end = TurnEnded(reason=self._end_reason)

    async def _speak(self, spoken: Message, own_text: str = "") -> str:
        """Record the prompt after what goes along with it; the prompt is recorded whatever happens to the rest.

        Of a prompt that is not typed, only `own_text` names files. Return why a hook has refused the prompt, which is
        then not recorded.
        """
        along: list[Message] = []
        text = spoken.text() if spoken.origin == USER else own_text
        if self._services.hooks:
            submitted = await self._services.hooks.open_turn(spoken.text(), typed=spoken.origin == TYPED)
            if submitted.refusal:
                return submitted.refusal
            along += submitted.along
        try:
            if text:
                if self.agent.runtime.lead:
                    along += await self.agent.runtime.lead.accompany(text)
                along += await self._services.context.refer(text, self.agent, self.history)
        finally:
            notes, self._notes_for_model = self._notes_for_model, []
            messages = (UserSpoke(message=message) for message in (*notes, *along, spoken))
            for event in (*announce_ended_jobs(self.agent, steered=False), *messages):
                self.session.emit(event)
        if self.session.turn == 1 and text:
            self._titling.want(text)
        return ""

    async def _run_loop(self) -> TurnEnded:
        """Run the loop, and again with another way to call tools if the server refused the first."""
        while True:
            try:
                turn = run_turn(self.agent, lambda: self.history, self.inbox, self.session.emit)
                return await self.limits.end_in_time(turn)
            except ProviderError as error:
                fallback = self._services.agents.fall_back(error)
                if fallback is None:
                    return self._failed_request(error)
            self.agent, self._prefix = fallback.agent, fallback.opening
            self.session.emit(Noticed(text=fallback.notice, level="warning"))
            self._record_prefix()

    async def _run_command(self, turn: "CommandTurn") -> TurnEnded:
        """Run a turn with the rules and the model of a command. Both are as before when it ends."""
        emit = self.session.emit
        if switch := await turn.begin(self._services.agents, self.agent, self._prefix, emit):
            self._restore_agent = switch.restore
            self._use_agent(switch.agent, switch.opening, by="command")
            self._record_prefix()
        prompt = await turn.make_prompt(self.agent, emit)
        if prompt is None:
            return TurnEnded(reason="denied")
        if refusal := await self._speak(prompt.message, prompt.own_text):
            return TurnEnded(reason="denied", text=refusal)
        return await self._run_loop()

    async def _run_compaction(self, focus: str) -> TurnEnded:
        from overt.agent.compaction import compact  # late: 4 ms

        try:
            await compact(self.agent, lambda: self.history, self.session.emit, cause="asked", focus=focus)
        except ProviderError as error:
            return self._failed_request(error)
        except LimitReached as reached:
            return TurnEnded(reason="limit", text=reached.message, kind="budget")
        return TurnEnded(reason="done")

    def _failed_request(self, error: ProviderError) -> TurnEnded:
        return TurnEnded(reason="error", text=self.redact(error.message), kind=error.kind)

    def _close_turn(self, end: TurnEnded, started: float) -> None:
        """Leave a history that is valid whatever ended the turn."""
        session, emit = self.session, self.session.emit
        self.agent.runtime.gate.permissions.end_turn()
        count_broken(self.agent, session.end_turn(), emit)
        for outcome in heal(self.history, self.agent.runtime.printed):
            emit(outcome)
        if restore := self._restore_agent:
            self._restore_agent = None
            self._use_agent(*restore(), by="command")
        ms = round((monotonic() - started) * 1000)
        self._end = replace(end, steps=end.steps or session.step, usage=self.spend.turn.usage, ms=ms)
        for notice in name_lasting_jobs(self.session_workspace.lasting_jobs() if end.reason == "interrupted" else ()):
            emit(notice)
        emit(self._end)
        self._ended_turn = self.session.turn
        session.sync()
        self._rest()
        if end.reason in ("interrupted", "terminated"):
            self.inbox.steering()  # what was said to this turn is not a prompt of its own

    def _record_prefix(self) -> None:
        old, new = self._recorded_prefix, self._prefix
        if old == new:
            return
        if old and old.fingerprint != new.fingerprint:
            from overt.context import changes  # late: 0.1 ms

            self._reset(PrefixReset(cause=changes.describe_prefix_change(old, new)))
        self.session.emit(new)
        self._recorded_prefix = new

    def _prepare_tool(self, event: Event) -> None:
        """Get a tool ready while its call still streams in."""
        if isinstance(event, CallStreamed):
            self.session_workspace.warm(event.name)
            self._services.context.tool_called(event.name)
