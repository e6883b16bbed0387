"""Resume a session: fold its entries as a live session does, then answer every call that was left open."""

from collections.abc import Sequence

from msgspec import Struct

from overt.core.agents.agent_events import AgentCharged, AgentEnded, AgentStarted
from overt.core.events import Event, ModelSet, ModeSet, PrefixSet, RequestSent, SessionOpened, ToolFinished, TurnStarted
from overt.core.history import History, Mark, fold, fold_all, heal
from overt.core.spending.spend import Spend, fold_spend
from overt.sessions.entries import Entry


class ResumedSession(Struct, frozen=True, kw_only=True):
    """`history` already holds the `healing` outcomes; they are recorded before the session continues.

    `turn` and `step` are the last that were used. `provider` and `model` are the last that were chosen or used.
    `last` is the last request that was sent, `marks` where each turn began. `spend` counts all agents, and `agents` is
    what was recorded of sub-agents.
    """

    history: History
    healing: tuple[ToolFinished, ...] = ()
    turn: int = 0
    step: int = 0
    opened: SessionOpened | None = None
    prefix: PrefixSet | None = None
    mode: str = ""
    provider: str = ""
    model: str = ""
    last: RequestSent | None = None
    marks: tuple[Mark, ...] = ()
    spend: Spend = Spend()
    agents: tuple[Event, ...] = ()


def resume(entries: Sequence[Entry[Event]], *, agent: str = "main") -> ResumedSession:
    """Fold what one agent of a session lived through; the others' entries are their own."""
    turn = step = 0
    opened: SessionOpened | None = None
    prefix: PrefixSet | None = None
    last: RequestSent | None = None
    mode = provider = model = ""
    facts: list[Event] = []
    mine = [entry for entry in entries if entry.agent == agent]
    for entry in mine:
        if (entry.turn, entry.step) > (turn, step):
            turn, step = entry.turn, entry.step
        facts.append(entry.data)
        match entry.data:
            case SessionOpened():
                opened = entry.data
            case PrefixSet():
                prefix, provider, model = entry.data, entry.data.provider, entry.data.model
            case ModeSet():
                mode = entry.data.mode
            case RequestSent(purpose="step"):
                last = entry.data
            case ModelSet():
                provider, model = entry.data.provider, entry.data.model
            case _:
                pass
    marks: list[Mark] = []
    history = fold_all(History(), facts, marks=marks, turns=[entry.turn for entry in mine])
    healing = heal(history)
    for outcome in healing:
        history = fold(history, outcome)
    return ResumedSession(
        history=history,
        healing=healing,
        turn=turn,
        step=step,
        opened=opened,
        prefix=prefix,
        mode=mode,
        provider=provider,
        model=model,
        last=last,
        marks=tuple(marks),
        spend=session_spend(entries),
        agents=tuple(
            entry.data for entry in entries if isinstance(entry.data, AgentStarted | AgentCharged | AgentEnded)
        ),
    )


def session_spend(entries: Sequence[Entry[Event]]) -> Spend:
    """Return what a session cost. What a fork copied was paid in the session it was copied from."""
    copied = _count_copied(entries)
    spend = _fold(Spend(), entries[:copied])
    return _fold(Spend(agents=spend.agents, turn_number=spend.turn_number), entries[copied:])


def _fold(spend: Spend, entries: Sequence[Entry[Event]]) -> Spend:
    for entry in entries:
        if entry.turn > spend.turn_number:
            spend = fold_spend(spend, TurnStarted(turn=entry.turn))
        spend = fold_spend(spend, entry.data)
    return spend


def _count_copied(entries: Sequence[Entry[Event]]) -> int:
    """Return how many entries at the start of a fork are copies: they are older than its own header."""
    header = entries[0] if entries else None
    if header is None or not isinstance(header.data, SessionOpened) or not header.data.parent or header.data.agent_path:
        return 0
    return next((at for at, entry in enumerate(entries) if entry.ts > header.ts), len(entries))
