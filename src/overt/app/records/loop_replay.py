"""One run of the agent loop over recorded steps: does it make the same requests?"""

from typing import NamedTuple, NoReturn

from msgspec.structs import replace

from overt.agent.agent import Agent, AgentSpec, Runtime
from overt.agent.loop import run_turn
from overt.app.records.recorded_services import (
    STOPPED,
    RecordedGate,
    RecordedHands,
    RecordedInbox,
    RecordedLead,
    RecordedLimit,
    RecordedModel,
    RecordedUnlisted,
    with_recorded_outcomes,
)
from overt.app.records.recorded_steps import RecordedStep, RecordedSteps, flattens_arguments, tools_of
from overt.context.assemble import Assembler
from overt.core.capabilities import AVAILABLE
from overt.core.errors import ProviderError
from overt.core.events import Event, PrefixSet, Replied, RequestSent, ToolFinished, ToolStarted, TurnEnded, UserSpoke
from overt.core.history import History, fold
from overt.core.messages import Call, Message
from overt.core.protocols import Wire
from overt.core.requests import Request
from overt.core.settings import Limits
from overt.lib.redaction.redact import HIDDEN

ENDINGS = ("done", "limit", "storm")
"""Ends that the loop itself decides on; the others came from outside."""
BOUNDLESS = Limits(max_parallel=10, result_bytes=1 << 40, result_tokens=1 << 40)
"""What was recorded was bounded already."""


class Unrepeatable(Exception):
    """The loop cannot be led from this step to the next; the message says why."""


class LoopDifference(NamedTuple):
    """The first difference: the step, what it is in words, and the request of the loop if the difference is in it."""

    step: RecordedStep
    what: str
    request: Request | None


class LoopReplay:
    """Leads the loop through recorded steps. `passed` of them were asked for with the same bytes, one after the other.

    `unable` says why the loop was not led any further. `is_first` is set if the turn began with these steps.
    """

    def __init__(
        self,
        recorded: RecordedSteps,
        history: History,
        opening: PrefixSet,
        assembler: Assembler,
        *,
        wire: Wire,
        is_first: bool,
    ) -> None:
        self.passed = 0
        self.difference: LoopDifference | None = None
        self.unable = ""
        self._steps = recorded.steps
        self._end = recorded.end if recorded.end and recorded.end.kind != "time" else None
        self._history = history
        self._opening = opening
        self._assembler = assembler
        self._wire = wire
        self._is_first = is_first
        self._asked = 0
        """Requests that the loop has made so far."""
        self._said = 0
        """Events before the next step that the loop has already come to."""
        self._inbox = RecordedInbox()

    async def run(self, path: str) -> None:
        if self._steps[0].sent.forced:
            self.unable = "it was the answer at the step limit"
            return
        try:
            end = await run_turn(self._agent(path), self._current_history, self._inbox, self._compare_event)
            if not self.difference:
                self._compare_end(end)
        except ProviderError as error:
            if error.kind != STOPPED:
                raise
        except Unrepeatable as why:
            self.unable = str(why)

    def _agent(self, path: str) -> Agent:
        opening, lead = self._opening, RecordedLead(self._next_step)
        forced = next((number for number, step in enumerate(self._steps) if step.sent.forced), None)
        spec = AgentSpec(
            path=path,
            params=replace(self._steps[0].sent.params, form=None, tool_choice="auto", output_limit=None),
            prefix=opening.prefix,
            tools=with_recorded_outcomes(tools_of(opening)),
            effects=AVAILABLE,
            limits=BOUNDLESS if forced is None else replace(BOUNDLESS, max_steps=forced),
            calls=opening.calls,
            flatten=flattens_arguments(opening),
        )
        runtime = Runtime(
            provider=RecordedModel(opening, self._wire, self._step, self._compare_request),
            gate=RecordedGate(self._step),
            hands=RecordedHands(self._step),
            assembler=self._assembler,
            hide=lambda text: text,
            find_tool=tools_of(opening).get,
            unlisted=RecordedUnlisted(self._step),
            spend_limit=RecordedLimit(self._next_step, stopped=self._end is not None and self._end.kind == "budget"),
            lead=lead,
            checks=(lead,),
            updates=lambda agent, history: self._updates(),
        )
        return Agent(spec, runtime)

    # ── what the loop asks for ───────────────────────────────────────────────────────────────────────────

    def _step(self) -> RecordedStep:
        return self._steps[self._asked - 1]

    def _next_step(self) -> RecordedStep | None:
        return self._steps[self._asked] if self._asked < len(self._steps) else None

    def _current_history(self) -> History:
        """A compaction takes place where it was recorded, before the next request."""
        coming = self._next_step()
        for event in coming.before[self._said :] if coming and self._asked else ():
            if isinstance(event, UserSpoke):
                break
            self._history = fold(self._history, event)
            self._assembler.forget()
            self._said += 1
        return self._history

    def _updates(self) -> tuple[Message, ...]:
        coming = self._next_step()
        return coming.updates() if coming and self._asked else ()

    # ── what the loop does ───────────────────────────────────────────────────────────────────────────────

    def _compare_request(self, request: Request) -> None:
        sent = self._step().sent
        if (request.digest, request.length) == (sent.digest, sent.length):
            self.passed = self._asked
            return
        if len(request.messages) != sent.messages:
            what = f"it had {sent.messages} messages, and the loop makes {len(request.messages)}"
        else:
            what = (
                f"it was {sent.length} bytes with the hash {sent.digest[:12]}, and the loop makes {request.length} "
                f"bytes with the hash {request.digest[:12]}"
            )
        self.difference = LoopDifference(self._step(), what, request)
        raise ProviderError(what, kind=STOPPED)

    def _compare_event(self, event: Event) -> None:
        """Compare one event with the record. After a difference, the loop is stopped at its next request."""
        if self.difference and not isinstance(event, RequestSent):
            return
        match event:
            case RequestSent():
                if self.difference or self._asked == len(self._steps):
                    self._stop()
                self._asked += 1
                self._said = 0
            case Replied():
                self._compare_reply(event)
            case UserSpoke():
                self._compare_message(event)
            case ToolStarted(call=call):
                then = self._step().started.get(call.id)
                if then and then.call != call:
                    self._differ(f"the call {call.name} was read as {then.call.name} {then.call.arguments[:200]}")
            case ToolFinished(result=result):
                outcome = self._step().outcomes.get(result.call_id)
                # What was interrupted was answered by the session, not by the loop.
                known = outcome.result if outcome and outcome.code != "interrupted" else result
                if (known.parts, known.error) != (result.parts, result.error):
                    self._differ(f"the call {result.call_id} comes to something else")
            case _:
                pass
        self._history = fold(self._history, event)

    def _stop(self) -> NoReturn:
        end = self._end
        if not self.difference and end and end.reason in ENDINGS and (self._is_first or end.reason != "storm"):
            self._differ(f"the turn ended ({end.reason}), and the loop asks once more")
        raise ProviderError("the record ends here", kind=STOPPED)

    def _compare_reply(self, event: Replied) -> None:
        step, coming = self._step(), self._next_step()
        assert step.reply is not None
        if event.message != step.reply.message:
            if step.scavenged:
                raise Unrepeatable("its reply was repaired in a way that the record does not show")
            self._differ(f"the loop reads the reply of step {step.entry.step} another way")
            return
        for call in event.message.calls():
            self._check_repeatable(call)
        for text in coming.steering() if coming else ():
            self._inbox.steer(text)

    def _check_repeatable(self, call: Call) -> None:
        if HIDDEN in call.arguments:
            raise Unrepeatable("a secret was taken out of a call of its reply")

    def _compare_message(self, event: UserSpoke) -> None:
        coming, text = self._next_step(), event.message.text()[:200]
        if coming is None or self._said >= len(coming.before):
            if self._end and self._end.reason in ENDINGS:
                self._differ(f"the loop says what was not said then: {text}")
            return
        if coming.before[self._said] != event:
            self._differ(f"the loop says something else before step {coming.entry.step}: {text}")
        self._said += 1

    def _compare_end(self, event: TurnEnded) -> None:
        end = self._end
        left = len(self._steps) - self._asked
        if left:
            self._differ(f"the loop ends the turn ({event.reason}), and {left} more requests were sent")
        elif end and end.reason in ENDINGS and end.reason != event.reason:
            self._differ(f"the turn ended ({end.reason}), and the loop ends it with {event.reason}")

    def _differ(self, what: str) -> None:
        self.difference = LoopDifference(self._step(), what, None)
