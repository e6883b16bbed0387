"""Run the tool calls of one reply: each is repaired, judged, run and answered exactly once.

Neighbouring calls that only read run together. Every other call is judged and run alone, in order, so that an
approval shows the files as they are at that moment.
"""

import asyncio
from time import monotonic
from typing import Literal

from msgspec import to_builtins
from msgspec.structs import replace

from overt.agent.agent import Agent
from overt.agent.permission_decision import CallRequest, Decision
from overt.agent.run_tool import attempt, contain
from overt.core.codec import compact
from overt.core.errors import ToolError
from overt.core.events import Emit, Event, Repaired, ToolFinished, ToolProgressed, ToolStarted
from overt.core.interruption import Interrupted
from overt.core.messages import Call, Result, Text
from overt.core.text_fragments import LABEL
from overt.core.tool import Outcome, Tool
from overt.core.views import Failure, Output, Plain
from overt.lib.redaction.redact import HIDDEN
from overt.repair.repair_call import MendedCall, mend
from overt.repair.repeat_guard import RepeatGuard


async def run_calls(
    agent: Agent, calls: tuple[Call, ...], repeats: RepeatGuard, emit: Emit, *, truncated: bool = False
) -> None:
    """Run all calls of a reply. If the reply was `truncated` at its token limit, a call may be half."""
    together: list[CallRequest] = []
    for call in calls:
        mended = await _mend(agent, call, truncated=truncated)
        if mended.notes:
            emit(Repaired(agent=agent.spec.path, call_id=call.id, note="; ".join(mended.notes)))
        problem = mended.error or _hidden(mended)
        is_poll = mended.tool is not None and "mcp" in mended.tool.effects  # a server may answer anew
        repeated = "" if problem or is_poll else repeats.advice(mended.call.name, _meant(mended))
        if problem or repeated:
            repeats.ran(mended.call.name, _meant(mended), mutating=False, failed=True)
            emit(ToolStarted(agent=agent.spec.path, call=mended.call))
            emit(_refused(agent, call.id, problem or repeated, code="repeated" if repeated else "invalid"))
            continue
        request = agent.runtime.gate.receive(mended)
        if request.parallel:
            together.append(request)
            continue
        await _decide_and_run(agent, together, repeats, emit)
        await _decide_and_run(agent, [request], repeats, emit)
        together = []
    await _decide_and_run(agent, together, repeats, emit)


async def run_single_call(agent: Agent, call: Call, tools: dict[str, Tool], emit: Emit) -> ToolFinished:
    """Run a call that no reply holds, such as a command in the text of a prompt, through the same gate and sandbox."""
    finished: list[ToolFinished] = []

    def record(event: Event) -> None:
        if isinstance(event, ToolFinished) and event.result.call_id == call.id:
            finished.append(event)
        emit(event)

    await _decide_and_run(agent, [agent.runtime.gate.receive(mend(call, tools))], RepeatGuard(), record)
    return finished[0]


async def _mend(agent: Agent, call: Call, *, truncated: bool) -> MendedCall:
    """Repair a call. A tool that is not known may belong to a server that has to be asked first."""
    spec, unlisted = agent.spec, agent.runtime.unlisted
    if unlisted is None:
        return mend(call, spec.tools, cut=truncated, flatten=spec.flatten)
    mended = mend(call, spec.tools, cut=truncated, flatten=spec.flatten, find_unlisted=unlisted.find)
    if not mended.unknown:
        return mended
    if problem := await unlisted.load(mended.unknown):
        return replace(mended, error=problem)
    return mend(call, spec.tools, cut=truncated, flatten=spec.flatten, find_unlisted=unlisted.find)


async def _decide_and_run(agent: Agent, batch: list[CallRequest], repeats: RepeatGuard, emit: Emit) -> None:
    """Decide about each call of a batch, then run the allowed ones at the same time."""
    allowed: list[tuple[CallRequest, Decision]] = []
    for request in batch:
        call, effects = request.mended.call, tuple(sorted(request.tool.effects))
        emit(ToolStarted(agent=agent.spec.path, call=call, effects=effects, headline=_headline(request)))
        decision = await agent.runtime.gate.decide(request, agent.spec.path, emit)
        if decision.allowed:
            allowed.append((decision.request or request, decision))
        elif decision.failure:
            repeats.ran(call.name, _meant(request.mended), mutating=False, failed=True)
            emit(_failed(agent, call.id, decision.failure.message, code=decision.failure.code))
        else:
            denied = _refused(agent, call.id, decision.refusal, code="denied", label=decision.label)
            emit(replace(denied, result=replace(denied.result, reason=_bounded(agent, decision.denial_reason))))
    places = asyncio.Semaphore(agent.spec.limits.max_parallel)
    async with asyncio.TaskGroup() as tasks:
        for request, decision in allowed:
            tasks.create_task(_perform(agent, request, decision, repeats, emit, places))


async def _perform(
    agent: Agent, request: CallRequest, decision: Decision, repeats: RepeatGuard, emit: Emit, places: asyncio.Semaphore
) -> None:
    """Run one tool; whatever happens to it becomes an outcome."""
    call = request.mended.call
    async with places:
        try:
            events = await contain(call.name, _run_tool(agent, request, decision, emit))
        except ToolError as error:
            events = [_failed(agent, call.id, error.message, code=error.code)]
        except Interrupted as stopped:
            agent.runtime.printed[call.id] = _bounded(agent, stopped.text)
            raise
    finished = events[-1]
    assert isinstance(finished, ToolFinished)
    if agent.runtime.hooks and (added := await agent.runtime.hooks.after_call(request, finished)):
        events[-1] = finished = _add_text(finished, _bounded(agent, added))
    repeats.ran(call.name, _meant(request.mended), mutating=request.changes, failed=finished.result.error)
    for event in events:
        emit(event)


async def _run_tool(agent: Agent, request: CallRequest, decision: Decision, emit: Emit) -> list[Event]:
    """Run the tool, and once more with wider access if the sandbox stopped it and that is approved."""
    call_id, started = request.id, monotonic()

    def report(text: str) -> None:
        emit(ToolProgressed(agent=agent.spec.path, call_id=call_id, text=text))

    limit, box = agent.result_limit(), decision.box
    outcome, journal = await attempt(request.mended, agent.runtime.hands, report=report, box=box, limit=limit)
    if blocked := agent.runtime.gate.blocked(request, box, outcome):
        wider = await agent.runtime.gate.widen(request, box, blocked, agent.spec.path, emit)
        if wider and wider.allowed:
            outcome, journal = await attempt(
                request.mended, agent.runtime.hands, report=report, box=wider.box, limit=limit
            )
        else:
            refusal = wider.refusal if wider else ""
            outcome = _noted(outcome, f"[{blocked.advise()}]", refusal and f"[overt] {refusal}")
    outcome = _noted(outcome, decision.note and f"[overt] {decision.note}")
    repairs = [Repaired(agent=agent.spec.path, call_id=call_id, note=outcome.repaired)] if outcome.repaired else []
    ms = round((monotonic() - started) * 1000)
    return [*repairs, *journal.facts, _finished(agent, call_id, outcome, journal.seen, ms)]


def _add_text(finished: ToolFinished, text: str) -> ToolFinished:
    """Add what hooks say to the result."""
    first, *others = finished.result.parts
    assert isinstance(first, Text)  # every result begins with a text
    parts = (Text(text=f"{first.text}\n{LABEL}{text}"), *others)
    return replace(finished, result=replace(finished.result, parts=parts))


def _noted(outcome: Outcome, *notes: str) -> Outcome:
    """Add what the model has to know beside what the tool returned."""
    fresh = [note for note in notes if note and note not in outcome.text]
    return replace(outcome, text="\n".join([outcome.text, *fresh])) if fresh else outcome


def _finished(agent: Agent, call_id: str, outcome: Outcome, seen: dict[str, str], ms: int) -> ToolFinished:
    text = Text(text=_bounded(agent, outcome.text))
    result = Result(call_id=call_id, parts=(text, *outcome.parts), ended=outcome.ended, unchanged=outcome.unchanged)
    result = replace(result, outside=outcome.outside) if outcome.outside else result
    view = outcome.view
    if isinstance(view, Output | Plain):
        view = replace(view, text=agent.runtime.hide(view.text))
    return ToolFinished(agent=agent.spec.path, result=result, view=view, seen=seen, ms=ms)


def _failed(agent: Agent, call_id: str, message: str, *, code: str) -> ToolFinished:
    text = _bounded(agent, message)
    return ToolFinished(
        agent=agent.spec.path,
        result=Result(call_id=call_id, parts=(Text(text=text),), error=True),
        view=Failure(text=text),
        code=code,
    )


def _refused(
    agent: Agent, call_id: str, message: str, *, code: Literal["denied", "invalid", "repeated"], label: str = LABEL
) -> ToolFinished:
    """Answer a call without running it. The label tells the model, and only the model, that Overt says so."""
    failed = _failed(agent, call_id, f"{label}{message}", code=code)
    result = replace(failed.result, harness=True, cause="" if code == "invalid" else code)
    return replace(failed, result=result, view=replace(failed.view, label=len(label)))


def _meant(mended: MendedCall) -> str:
    """Return the arguments as they were understood, so that calls which differ in ignored ones count as the same."""
    return mended.call.arguments if mended.args is None else compact(to_builtins(mended.args, order="sorted"))


def _hidden(mended: MendedCall) -> str:
    """Return why a call with a removed secret in it is not run: the mark would be written in place of the secret."""
    if (
        mended.tool is None
        or not mended.tool.effects & {"write", "run", "network"}
        or HIDDEN not in mended.call.arguments
    ):
        return ""
    return (
        f"{HIDDEN} stands for a secret that was taken out of what you saw; it is still in its place, and this call "
        "would not work or would overwrite it. Nothing was run. Leave it out: change only the text around it, or let "
        "the program read the secret from its file or variable."
    )


def _bounded(agent: Agent, text: str) -> str:
    return agent.result_limit().clip(agent.runtime.hide(text))


def _headline(request: CallRequest) -> str:
    """Return what the call is about, in a few words: the pattern, if there is one, and the paths or the command.

    Arguments that are about something else say so themselves with `headline()`.
    """
    if headline := getattr(request.mended.args, "headline", None):
        return str(headline())
    pattern = getattr(request.mended.args, "pattern", "")
    places = [value for value in request.subject.values if not (pattern and value == ".")]
    return " ".join((*((pattern,) if pattern else ()), ", ".join(places))).strip()
