"""The one API that faces use: prompt, interrupt, steer, answer, retry — and the record of all of it.

A turn runs in a task of its own, the pump. The pump records a fact before it passes it on, so what was
shown is on disk; whatever ends the turn, it closes the history: what had streamed is kept, open calls are
answered, and the end is recorded.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from time import monotonic

from msgspec.structs import replace

from overt.app.house import Denial, House, Recorder, Standing
from overt.app.mailbox import Mailbox
from overt.app.metered import Metered
from overt.app.partial import Partial
from overt.app.recent import RECENT
from overt.app.scrub import Scrub
from overt.app.small import Titling
from overt.app.turn_failure import failed_end, failure_of
from overt.core.errors import OvertError, ProviderError
from overt.core.events import (
    TYPE_OF,
    CallStreamed,
    Compacted,
    EndReason,
    Event,
    ModelSet,
    ModeSet,
    Noticed,
    PartialSaved,
    PermissionDecided,
    PrefixReset,
    PrefixSet,
    Replied,
    RequestSent,
    TextStreamed,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.fragments import HARNESS, MODEL, USER
from overt.core.history import Mark, fold, heal, last_exchange, mark, note
from overt.core.messages import Call, Image, Message, Text, said
from overt.core.ports import Answer, UnsavedEntry
from overt.core.settings import Mode
from overt.core.usage import Usage
from overt.engine.agent import Agent
from overt.engine.inbox import Inbox
from overt.engine.job_notices import announce_ended_jobs
from overt.engine.shell import TYPED, run_command
from overt.engine.turn import open_turn
from overt.lib.redact import Redactor
from overt.tools.bash import bash

Consume = Callable[[], Awaitable[TurnEnded]]
CLOSE_WITHIN = 2.0


class Conversation:
    def __init__(
        self,
        agent: Agent,
        *,
        log: Recorder,
        standing: Standing,
        opening: PrefixSet,
        house: House,
        redactor: Redactor | None = None,
    ) -> None:
        self.agent = agent
        self.id = standing.id
        self.workspace = standing.workspace
        self.window, self.offline, self.path = standing.window, standing.offline, standing.path
        self.history, self.turn, self.step = standing.history, standing.turn, 0
        self.marks = list(standing.marks)
        self.usage = Usage()
        self.denials: list[Denial] = []
        self.last_denied = False
        self.inbox, self.mailbox, self.cache = Inbox(), Mailbox(), Metered()
        self._scrub = Scrub(redactor or Redactor(), standing.history.messages)
        self.notices = [self._scrub.clean(notice) for notice in standing.notices]
        self._log, self._opening = log, opening
        self._recorded_prefix = standing.prefix
        self._house = house
        self._healing = standing.healing
        self._pump: asyncio.Task[None] | None = None
        self._shown: asyncio.Queue[Event | None] = asyncio.Queue()
        self._end_reason: EndReason = "interrupted"
        self._end, self._ended = TurnEnded(reason="error"), 0
        self._between: list[Event] = []
        self._recorded_mode = standing.mode
        self._begun = self._stopped = False
        self._partial = Partial(lambda text: log.append(PartialSaved(text=text), turn=self.turn, step=self.step))
        self._told: list[Message] = []
        self._titling = Titling(house, self._happened)
        self.calls: dict[str, Call] = {}

    # ── what faces call ──────────────────────────────────────────────────────────────────────────────────

    def prompt(self, text: str, images: tuple[Image, ...] = ()) -> AsyncGenerator[Event, None]:
        """One turn, from a prompt to rest. Closing the generator early interrupts the turn."""
        return self._play(Message(role="user", parts=(*images, Text(text=text)), origin=USER), self._consume_turn)

    def command(self, text: str) -> AsyncGenerator[Event, None]:
        """A command that the person typed: it runs at once, and what came of it joins the history."""
        return self._play(said(f"!{text}", origin=TYPED), lambda: self._consume_command(text))

    def compact(self, focus: str = "") -> AsyncGenerator[Event, None]:
        """Make room now: a turn of its own, in which nothing is said."""
        return self._play(None, lambda: self._consume_compaction(focus))

    async def _play(self, spoken: Message | None, consume: Consume) -> AsyncGenerator[Event, None]:
        self._shown = asyncio.Queue()
        for earlier in self._between:
            self._shown.put_nowait(earlier)
        self._between = []
        self._end_reason = "interrupted"
        self._begun = self._stopped = False
        self._pump = asyncio.create_task(self._run(spoken, consume))
        try:
            while (event := await self._shown.get()) is not None:
                yield event
        finally:
            self._pump.cancel()
            await asyncio.wait([self._pump])
        self._pump.result()

    async def retry(self) -> AsyncGenerator[Event, None]:
        """Drop the last exchange and send its prompt again."""
        found = last_exchange(self.history)
        if found is None:
            raise OvertError("There is nothing to retry yet: no prompt has been sent in this session.")
        index, message = found
        self._reset(PrefixReset(cause="retry", keep=index))
        images = tuple(part for part in message.parts if isinstance(part, Image))
        async with aclosing(self.prompt(message.text(), images)) as events:
            async for event in events:
                yield event

    def rewind(self, to: Mark) -> None:
        """Go back to before a turn. What came after stays in the record, and can be gone back to as well."""
        self._reset(PrefixReset(cause=f"rewind to before turn {to.turn}", keep=to.at, era=to.era))

    def record(self, event: Event) -> None:
        """A fact from outside of a turn: a name, a pin, files that were put back."""
        self._happened(event)

    def tell(self, text: str) -> None:
        """Let the model know, before the next prompt, of something that happened without it."""
        self._told.append(said(f"[overt] {text}", origin=HARNESS))

    def _reset(self, reset: PrefixReset) -> None:
        self._happened(reset)
        self.agent.assembler.forget()

    def interrupt(self, reason: EndReason = "interrupted") -> bool:
        """Abort the running turn at once; False when none is running."""
        if self._pump is None or self._pump.done():
            return False
        self._end_reason = reason
        self._stopped = True
        if self._begun:  # cancelled before its first step, a task would end without a word
            self._pump.cancel()
        return True

    def redact(self, text: str) -> str:
        """For what a face keeps itself: a history of prompts, a title."""
        return self._scrub.clean(text)

    def answer(self, question: str, answer: Answer) -> bool:
        return self.mailbox.answer(question, answer)

    @property
    def mode(self) -> Mode:
        return self.agent.gate.mode

    def set_mode(self, mode: Mode, *, by: str = "user") -> None:
        self.agent.gate.mode = mode
        self._happened(ModeSet(mode=mode, by=by))

    async def set_model(self, reference: str, effort: str | None = None) -> None:
        """Holds from the next turn, is recorded, and is a reset point. An `effort` of "" is the model's own."""
        self.agent, self._opening = await self._house.choose(reference, effort)
        self._happened(ModelSet(provider=self._opening.provider, model=self._opening.model, by="user"))
        if self._pump is None or self._pump.done():
            self._house.rest()

    async def next_prompt(self) -> str | None:
        """What was typed too late for the last turn, or queued behind it."""
        return self.inbox.next_prompt()

    async def close(self, reason: EndReason = "interrupted") -> tuple[UnsavedEntry, ...]:
        """End and record a turn that still runs, then close the session. Return the entries that were not saved."""
        if self.interrupt(reason) and self._pump is not None:
            await asyncio.wait([self._pump], timeout=CLOSE_WITHIN)
        await self._titling.close()
        await self._house.finish()
        return self._log.close()

    # ── the turn ─────────────────────────────────────────────────────────────────────────────────────────

    async def _run(self, spoken: Message | None, consume: Consume) -> None:
        """Run and close a turn. Whatever breaks in it ends this turn only."""
        started, spent = monotonic(), self.usage
        try:
            failure = await failure_of(self._run_turn(spoken, consume))
            end = failed_end(failure) if failure else self._end
            if unclosed := await failure_of(self._house.settled(lambda: self._close_turn(end, spent, started))):
                self._healing = tuple(heal(self.history))
                late_end = failed_end(unclosed)
                if self._ended != self.turn:
                    self._tell(end if failure else late_end)
                else:  # the end was shown before something broke behind it
                    RECENT.uncaught += 1
                    self._tell(Noticed(text=late_end.text, level="error"))
        finally:
            self._shown.put_nowait(None)

    async def _run_turn(self, spoken: Message | None, consume: Consume) -> None:
        self._begun = True
        self.turn += 1
        self.step, self.last_denied = 0, False
        self._happened(TurnStarted(turn=self.turn))
        for outcome in self._healing:
            self._happened(outcome)
        self._healing = ()
        self._record_prefix()
        if self._recorded_mode != self.mode:
            self._happened(ModeSet(mode=self.mode, by="start"))
        try:
            if spoken:
                await self._speak(spoken)
            self._end = TurnEnded(reason=self._end_reason) if self._stopped else await consume()
        except asyncio.CancelledError:
            self._end = TurnEnded(reason=self._end_reason)

    async def _speak(self, spoken: Message) -> None:
        """The prompt after what goes along with it; recorded whatever happens to the rest."""
        along: list[Message] = []
        try:
            if spoken.origin == USER:
                if self.agent.lead:
                    along += await self.agent.lead.accompany(spoken.text())
                along += await self._house.refer(spoken.text())
        finally:
            told, self._told = self._told, []
            spoke = (UserSpoke(message=message) for message in (*told, *along, spoken))
            for event in (*announce_ended_jobs(self.agent, steered=False), *spoke):
                self._happened(event)
        if self.turn == 1 and spoken.origin == USER:
            self._titling.want(spoken.text())

    async def _consume_turn(self) -> TurnEnded:
        while True:
            end = await self._consume_events()
            if not isinstance(end, ProviderError):
                return end
            switch = self._house.otherwise(end)
            if switch is None:
                return TurnEnded(reason="error", text=self._house.redact(end.message), kind=end.kind)
            self.agent, self._opening = switch.agent, switch.opening
            self._happened(Noticed(text=switch.said, level="warning"))
            self._record_prefix()

    async def _consume_events(self) -> TurnEnded | ProviderError:
        end = TurnEnded(reason="error", text="the turn ended without a word")
        async with open_turn(self.agent, lambda: self.history, self.inbox) as events:
            try:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        end = event
                    else:
                        self._happened(event)
            except ProviderError as error:
                return error
        return end

    async def _consume_compaction(self, focus: str) -> TurnEnded:
        from overt.engine.compaction import compact  # late: 8 ms

        try:
            async with aclosing(compact(self.agent, lambda: self.history, cause="asked", focus=focus)) as events:
                async for event in events:
                    self._happened(event)
        except ProviderError as error:
            return TurnEnded(reason="error", text=self._house.redact(error.message), kind=error.kind)
        return TurnEnded(reason="done")

    async def _consume_command(self, text: str) -> TurnEnded:
        end = TurnEnded(reason="error", text="the command ended without a word")
        async with aclosing(run_command(self.agent, text, bash, self._report)) as events:
            async for event in events:
                if isinstance(event, TurnEnded):
                    end = event
                else:
                    self._happened(event)
        return end

    def _report(self, text: str) -> None:
        self._happened(ToolProgressed(call_id="", text=text))

    def _close_turn(self, end: TurnEnded, spent: Usage, started: float) -> None:
        """Leave a history that is valid whatever ended the turn."""
        for waiting in self._scrub.rest(broken=True):
            self._take(waiting)
        if streamed := self._partial.text():
            kept = Message(role="assistant", parts=(Text(text=streamed),), origin=MODEL)
            self._partial.save()
            self._happened(Replied(message=kept, finish="interrupted", usage=Usage()))
        for outcome in heal(self.history, self.agent.printed):
            self._happened(outcome)
        ms = round((monotonic() - started) * 1000)
        self._happened(replace(end, steps=end.steps or self.step, usage=self.usage - spent, ms=ms))
        self._ended = self.turn
        self._log.sync()
        self._tell_troubles()
        self._house.rest()
        if end.reason in ("interrupted", "terminated"):
            self.inbox.steering()  # what was said to this turn is not a prompt of its own

    def _record_prefix(self) -> None:
        old, new = self._recorded_prefix, self._opening
        if old and (old.fingerprint, old.about, old.calls) == (new.fingerprint, new.about, new.calls):
            return
        if old and old.fingerprint != new.fingerprint:
            from overt.context import changes  # late: 1.2 ms

            self._happened(PrefixReset(cause=changes.why(old, new)))
            self.agent.assembler.forget()
        self._happened(new)
        self._recorded_prefix = new

    def _happened(self, event: Event) -> None:
        """Without secrets from here on, so that the record, the next request and the screen say the same."""
        for scrubbed in self._scrub.events(event):
            self._take(scrubbed)

    def _take(self, event: Event) -> None:
        RECENT.add(event)
        if event.agent != self.agent.path:  # beside the conversation, as for a title: recorded and counted, no more
            self._log.append(event, turn=self.turn, step=0)
            self.usage += event.usage if isinstance(event, Replied) else Usage()
        else:
            if type(event) in TYPE_OF:
                if isinstance(event, UserSpoke) and not event.steered:
                    note(self.marks, mark(self.history, self.turn, event))
                self._log.append(event, turn=self.turn, step=self.step + isinstance(event, RequestSent))
                self.history = fold(self.history, event)
                self._tell_troubles()
            self.cache.feed(event)
            self._follow(event)
            self._tell(event)
        if isinstance(event, RequestSent | Replied | Compacted):
            self._house.book(event, turn=self.turn, step=self.step)

    def _tell(self, event: Event) -> None:
        """What happens between two turns is told at the start of the next."""
        if self._pump is None or self._pump.done():
            self._between.append(event)
        else:
            self._shown.put_nowait(event)

    def _tell_troubles(self) -> None:
        while self._house.troubles:
            self._tell(self._house.troubles.popleft())

    def _follow(self, event: Event) -> None:
        self._titling.see(event)
        match event:
            case RequestSent():
                self.step += 1
                self._partial.begin()
            case TextStreamed(text=text):
                self._partial.add(text)
            case CallStreamed(name=name):
                self._house.warm(name)
            case Compacted(usage=usage):
                self._partial.begin()
                self.agent.assembler.forget()
                self.usage = self.usage + usage
            case Replied(usage=usage):
                self._partial.begin()
                self.usage = self.usage + usage
            case ModeSet(mode=mode):
                self._recorded_mode = mode
            case ToolStarted(call=call):
                self.calls[call.id] = call
            case PermissionDecided(verdict="deny", call_id=call_id, reason=reason) if event.rule != "sandbox":
                if denied := self.calls.get(call_id):  # a command the person typed is no call
                    self.denials.append(Denial(call=denied, reason=reason, decided=event))
            case ToolFinished(code=code):
                self.last_denied = code == "denied"
            case _:
                pass
