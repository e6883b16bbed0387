"""The loop: ask the model, run what it calls, feed the results back, until it has nothing more to call.

`emit` records an event, folds it into the history and publishes it, so `history()` holds everything emitted so far.
An error of the provider leaves as an exception and an abort as a cancellation; the session closes the history then.
"""

from collections.abc import Callable
from itertools import count

from overt.agent.agent import Agent, LimitReached
from overt.agent.ask_model import ask
from overt.agent.job_notices import announce_ended_jobs
from overt.agent.queued_messages import Inbox
from overt.agent.tool_calls import run_calls
from overt.core.events import Emit, Noticed, TurnEnded, UserSpoke
from overt.core.history import History
from overt.core.messages import Message, own_message
from overt.core.text_fragments import STEERED
from overt.lib.translations import say
from overt.repair.repeat_guard import RepeatGuard

NUDGE = "The last reply was empty. Go on with the task, or say in words that it is done."
LIMIT = (
    "This turn has reached its step limit: answer now, without calls, with a summary of what is done, "
    "what is not, and what to do next. The user's next message lifts the limit."
)
CUT = {"length": "turn.cut", "filter": "turn.filtered"}


async def run_turn(agent: Agent, history: Callable[[], History], inbox: Inbox, emit: Emit) -> TurnEnded:
    """Run one turn and return how it ended. The caller emits the end, after it has closed the history."""
    try:
        return await _run_steps(agent, history, inbox, emit)
    except LimitReached as reached:
        return TurnEnded(agent=agent.spec.path, reason="limit", text=reached.message, kind="budget")


async def _run_steps(agent: Agent, history: Callable[[], History], inbox: Inbox, emit: Emit) -> TurnEnded:
    repeats = RepeatGuard()
    limit = agent.spec.limits.max_steps
    for step in range(1, limit + 1) if limit else count(1):
        if step > 1:
            await _pass_on_news(agent, history(), inbox, emit, step=step)
        _warn_of_limits(agent, emit)

        reply = await ask(agent, history, emit)
        calls, text = reply.message.calls(), reply.message.text()
        if calls:
            await run_calls(agent, calls, repeats, emit, truncated=reply.finish == "length")
            if agent.runtime.hooks and (stop := agent.runtime.hooks.take_stop_reason()):
                return TurnEnded(agent=agent.spec.path, reason="denied", text=stop, steps=step)
        elif not text.strip():
            repeats.empty()
            if not repeats.over():
                _tell_model(agent, "nudge", NUDGE, emit)
        elif objection := await _find_objection(agent, history()):
            _tell_model(agent, "objection", objection, emit)
        elif step == limit or not inbox.has_steering():  # what the user typed too late opens the next turn
            if reply.finish in CUT:
                emit(Noticed(agent=agent.spec.path, text=say(CUT[reply.finish]), level="warning"))
            return TurnEnded(agent=agent.spec.path, reason="done", text=text, steps=step)

        if over := repeats.over():
            return TurnEnded(agent=agent.spec.path, reason="storm", text=over, steps=step)

    _tell_model(agent, "limit", LIMIT, emit)
    summary = await ask(agent, history, emit, final=True)
    return TurnEnded(agent=agent.spec.path, reason="limit", text=summary.message.text(), steps=limit)


def _warn_of_limits(agent: Agent, emit: Emit) -> None:
    """Tell the user and the model of limits of which 80 % are used."""
    for notice in agent.runtime.spend_limit.check() if agent.runtime.spend_limit else ():
        emit(Noticed(agent=agent.spec.path, text=notice.text, level="warning"))
        emit(UserSpoke(agent=agent.spec.path, message=own_message(notice.advice, "limits"), steered=True))


async def _pass_on_news(agent: Agent, history: History, inbox: Inbox, emit: Emit, *, step: int) -> None:
    """Add what happened since the last request: the user's words, rules of folders, changed facts, ended jobs."""
    updates = agent.runtime.updates(agent, history) if agent.runtime.updates else ()
    for message in (*inbox.messages(step, agent.spec.limits.max_steps), *updates):
        along = await _submit_steering(agent, message) if agent.runtime.hooks else (message,)
        for each in along:
            emit(UserSpoke(agent=agent.spec.path, message=each, steered=True))
    for event in announce_ended_jobs(agent, steered=True):
        emit(event)


async def _submit_steering(agent: Agent, message: Message) -> tuple[Message, ...]:
    """Ask hooks about what the user typed during the turn. Return it with what they add, or nothing."""
    if agent.runtime.hooks is None or message.origin != STEERED:
        return (message,)
    submitted = await agent.runtime.hooks.submit_prompt(message.text())
    return () if submitted.refusal else (*submitted.along, message)


async def _find_objection(agent: Agent, history: History) -> str:
    """Return the first objection that a check has to the answer, or an empty string if all accept it."""
    for check in agent.runtime.checks:
        if objection := await check.find_objection(history):
            return objection
    return ""


def _tell_model(agent: Agent, occasion: str, text: str, emit: Emit) -> None:
    emit(UserSpoke(agent=agent.spec.path, message=own_message(text, occasion)))
