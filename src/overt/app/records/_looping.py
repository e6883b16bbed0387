"""One run of the real loop over a recorded stretch of a turn: whether it comes to the same requests by itself."""

from typing import NoReturn

from msgspec.structs import replace

from overt.agent.agent import Agent, AgentSpec, Runtime
from overt.agent.loop import run_turn
from overt.app.records._recorded import (
    STOPPED,
    Recorded,
    RecordedGate,
    RecordedHands,
    RecordedInbox,
    RecordedLead,
    RecordedModel,
    Stretch,
    replayed,
)
from overt.app.records.rebuild import wire_of
from overt.context.assemble import Assembler
from overt.core.capabilities import AVAILABLE
from overt.core.errors import ProviderError
from overt.core.events import Event, PrefixSet, Replied, RequestSent, ToolFinished, ToolStarted, TurnEnded, UserSpoke
from overt.core.history import History, fold
from overt.core.messages import Call, Message, Result
from overt.core.requests import Request
from overt.core.settings import Limits
from overt.core.tool import Tool
from overt.lib.redaction.redact import HIDDEN
from overt.tools.registry import BUILT_IN

ENDINGS = ("done", "limit", "storm")
"""Ends that the loop comes to by itself; the others came from outside."""
BOUNDLESS = Limits(max_parallel=10, result_bytes=1 << 40, result_tokens=1 << 40)
"""What was recorded was bounded already."""


class Unable(Exception):
    """The loop cannot be driven from this step to the next; the message says why."""


class Looping:
    """The loop over one stretch. `passed` steps were asked for with the same bytes, one after the other.

    `unlike` is the first difference: the step, what it is, and the request where it lies there. `unable` says why
    the loop was not driven any further.
    """

    def __init__(
        self, found: Stretch, history: History, opening: PrefixSet, assembler: Assembler, *, fresh: bool
    ) -> None:
        self.passed = 0
        self.unlike: tuple[Recorded, str, Request | None] | None = None
        self.unable = ""
        self._found = found
        self._steps = found.steps
        self._history = history
        self._opening = opening
        self._assembler = assembler
        self._fresh = fresh
        self._asked = 0
        self._taken = 0
        self._inbox = RecordedInbox()
        self._stopped = False

    async def run(self, path: str) -> None:
        if self._steps[0].sent.forced:
            self.unable = "it was the answer at the step limit"
            return
        try:
            end = await run_turn(self._agent(path), self._present, self._inbox, self._emit)
            if not self._stopped:
                self._ended(end)
        except ProviderError as error:
            if error.kind != STOPPED:
                raise
        except Unable as why:
            self.unable = str(why)

    def _agent(self, path: str) -> Agent:
        opening, first = self._opening, self._steps[0]
        tools = replayed(tools_of(opening))
        hands = RecordedHands(self._step)
        lead = RecordedLead(self._coming)
        forced = next((number for number, step in enumerate(self._steps) if step.sent.forced), None)
        spec = AgentSpec(
            path=path,
            params=replace(first.sent.params, form=None, tool_choice="auto"),
            prefix=opening.prefix,
            tools=tools,
            effects=AVAILABLE,
            limits=BOUNDLESS if forced is None else replace(BOUNDLESS, max_steps=forced),
            calls=opening.calls,
            flatten=flattened(opening),
        )
        runtime = Runtime(
            provider=RecordedModel(opening, wire_of(opening), self._step, self._compare),
            gate=RecordedGate(self._step),
            hands=hands,
            assembler=self._assembler,
            hide=lambda text: text,
            lead=lead,
            checks=(lead,),
            updates=lambda agent, history: self._nested(),
        )
        return Agent(spec, runtime)

    # ── what the loop asks for ───────────────────────────────────────────────────────────────────────────

    def _step(self) -> Recorded:
        return self._steps[self._asked - 1]

    def _coming(self) -> Recorded | None:
        return self._steps[self._asked] if self._asked < len(self._steps) else None

    def _present(self) -> History:
        """The history as it stands; a compaction takes place where it was recorded, before the next request."""
        coming = self._coming()
        waiting = coming.before[self._taken :] if coming and self._asked else ()
        for event in waiting:
            if isinstance(event, UserSpoke):
                break
            self._history = fold(self._history, event)
            self._assembler.forget()
            self._taken += 1
        return self._history

    def _nested(self) -> tuple[Message, ...]:
        coming = self._coming()
        return coming.nested() if coming and self._asked else ()

    def _compare(self, request: Request) -> None:
        step = self._step()
        sent = step.sent
        if (request.digest, request.length) == (sent.digest, sent.length):
            self.passed = self._asked
            return
        made = f"{request.length} bytes with the hash {request.digest[:12]}"
        if len(request.messages) != sent.messages:
            what = f"it had {sent.messages} messages, and the loop makes {len(request.messages)}"
        else:
            what = f"it was {sent.length} bytes with the hash {sent.digest[:12]}, and the loop makes {made}"
        self.unlike = step, what, request
        raise ProviderError(what, kind=STOPPED)

    # ── what the loop does ───────────────────────────────────────────────────────────────────────────────

    def _emit(self, event: Event) -> None:
        """Compare one event with the record. After a difference, the loop is stopped at its next request."""
        match event:
            case RequestSent():
                if self._stopped or self._asked == len(self._steps):
                    self._stop()
                self._asked += 1
                self._taken = 0
            case _ if self._stopped:
                return
            case Replied():
                self._replied(event)
            case UserSpoke():
                self._spoken(event)
            case ToolStarted():
                self._started(event)
            case ToolFinished():
                self._finished(event)
            case _:
                pass
        self._history = fold(self._history, event)
        self._stopped = self.unlike is not None

    def _stop(self) -> NoReturn:
        end = self._found.end
        if not self._stopped and end and end.reason in ENDINGS and (self._fresh or end.reason != "storm"):
            self._differ(f"the turn ended ({end.reason}), and the loop asks once more")
        raise ProviderError("the record ends here", kind=STOPPED)

    def _replied(self, event: Replied) -> None:
        reply = self._step().reply
        assert reply is not None
        if event.message != reply.message:
            if self._step().scavenged:
                raise Unable("its reply was repaired in a way that the record does not show")
            self._differ(f"the loop reads the reply of step {self._step().entry.step} another way")
            return
        known = tools_of(self._opening)
        for call in reply.message.calls():
            self._repeatable(call, known)
        coming = self._coming()
        for text in coming.steering() if coming else ():
            self._inbox.steer(text)

    def _repeatable(self, call: Call, known: dict[str, Tool]) -> None:
        if HIDDEN in call.arguments:
            raise Unable("a secret was taken out of a call of its reply")
        told = {spec.name for spec in self._opening.prefix.tools}
        if call.name in told and call.name not in known:
            raise Unable(f"this version has no tool called {call.name}")

    def _spoken(self, event: UserSpoke) -> None:
        coming = self._coming()
        before = coming.before if coming else ()
        if coming is None or self._taken >= len(before):
            end = self._found.end
            if end and end.reason in ENDINGS:
                self._differ(f"the loop says what was not said then: {event.message.text()[:200]}")
            return
        if before[self._taken] != event:
            self._differ(f"the loop says something else before step {coming.entry.step}: {event.message.text()[:200]}")
        self._taken += 1

    def _started(self, event: ToolStarted) -> None:
        then = self._step().started.get(event.call.id)
        if then and then.call != event.call:
            self._differ(f"the call {event.call.name} was read as {then.call.name} {then.call.arguments[:200]}")

    def _finished(self, event: ToolFinished) -> None:
        """What was interrupted was answered by the conversation, not by the loop."""
        then = self._step().outcomes.get(event.result.call_id)
        if then and then.code != "interrupted" and _read_by_model(then.result) != _read_by_model(event.result):
            self._differ(f"the call {event.result.call_id} comes to something else")

    def _ended(self, event: TurnEnded) -> None:
        end = self._found.end
        left = len(self._steps) - self._asked
        if left:
            self._differ(f"the loop ends the turn ({event.reason}), and {left} more requests were sent")
        elif end and end.reason in ENDINGS and end.reason != event.reason:
            self._differ(f"the turn ended ({end.reason}), and the loop ends it with {event.reason}")

    def _differ(self, what: str) -> None:
        self.unlike = self.unlike or (self._step(), what, None)


def _read_by_model(result: Result) -> tuple[object, ...]:
    return result.parts, result.error


def flattened(opening: PrefixSet) -> bool:
    """Whether the model was told of the tools with dotted names."""
    return bool(opening.about and opening.about.quirks and opening.about.quirks.flatten)


def tools_of(opening: PrefixSet) -> dict[str, Tool]:
    """The tools the model was told of, as far as this version has them."""
    compact = opening.about is not None and opening.about.compact
    known = {tool.name: tool for tool in BUILT_IN}
    if compact:
        from overt.app.small_model.scaffold import compact_tools  # late: 13 ms

        known = compact_tools()
    if opening.calls == "native":
        names = [spec.name for spec in opening.prefix.tools]
    else:
        names = [name for name in known if name in opening.tool_names] or list(known)
    return {name: known[name] for name in names if name in known}
