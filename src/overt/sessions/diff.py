"""Two sessions side by side: turns are paired, and the first place where they part is named."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from overt.core.events import (
    Compacted,
    Event,
    PrefixSet,
    Replied,
    RequestSent,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.spending.spend import Charge, Spend, fold_spend
from overt.core.spending.usage import Usage
from overt.sessions.entries import Entry

What = Literal["prompt", "request", "reply", "calls", "outcomes", "end", "missing"]


class ComparedCall(Struct, kw_only=True):
    """`outcome` is what the model was told of it, None if nothing was recorded."""

    name: str
    arguments: str
    outcome: str | None = None
    failed: bool = False


class ComparedStep(Struct, kw_only=True):
    """`digest` and `length` are of the request; empty for what the person ran without a model."""

    digest: str = ""
    length: int = 0
    said: str = ""
    calls: tuple[ComparedCall, ...] = ()
    usage: Usage = Usage()
    replied: bool = False


class ComparedTurn(Struct, kw_only=True):
    """One turn. `cost` is None if the price of one of its requests is not known."""

    number: int
    prompt: str = ""
    steps: tuple[ComparedStep, ...] = ()
    usage: Usage = Usage()
    cost: float | None = 0.0
    reason: str = ""
    model: str = ""


class Divergence(Struct, frozen=True, kw_only=True):
    """The first difference: turns as each session numbers them (0: it has none), the step, what and in which words."""

    what: What
    turns: tuple[int, int]
    step: int
    left: str
    right: str


class TurnPair(Struct, frozen=True, kw_only=True):
    left: ComparedTurn | None
    right: ComparedTurn | None
    parting: Divergence | None = None


class SessionDifference(Struct, frozen=True, kw_only=True):
    """`first` is the first difference of any kind; `behaviour` the first in what was said, called or came of it."""

    pairs: tuple[TurnPair, ...]
    first: Divergence | None
    behaviour: Divergence | None


class _TurnReader:
    """Puts the entries of one agent into turns."""

    def __init__(self) -> None:
        self.turns: dict[int, ComparedTurn] = {}
        self._model = ""
        self._is_waiting = self._is_summary = False
        """Whether the last request of a step is unanswered, and whether the last request asked for a summary."""
        self._calls: dict[str, ComparedCall] = {}

    def turn(self, number: int) -> ComparedTurn:
        return self.turns.setdefault(number, ComparedTurn(number=number, model=self._model))

    def take(self, entry: Entry[Event]) -> None:
        match entry.data:
            case PrefixSet(model=model):
                self._model = model
            case UserSpoke(message=message, steered=False) if message.origin.kind == "user":
                turn = self.turn(entry.turn)
                turn.prompt, turn.model = turn.prompt or message.text(), self._model
            case RequestSent(digest=digest, length=length, purpose="step"):
                self._add_step(entry.turn, ComparedStep(digest=digest, length=length))
                self._is_waiting, self._is_summary = True, False
            case RequestSent():
                self._is_summary = True
            case Replied() if not self._is_summary:
                self._take_reply(self.turn(entry.turn), entry.data)
            case Replied() | Compacted():  # a summary, of use or not
                self._is_summary = False
            case ToolStarted(call=call) if call.id not in self._calls:
                compared = ComparedCall(name=call.name, arguments=call.arguments)
                self._add_step(entry.turn, ComparedStep(calls=(compared,)))
            case ToolFinished(result=result) if result.call_id in self._calls:
                # It may stand in a later turn: what a crash left open is answered when the session goes on.
                compared = self._calls[result.call_id]
                compared.outcome = result.text()
                compared.failed = result.error
            case TurnEnded(reason=reason):
                self.turn(entry.turn).reason = reason
            case _:
                pass

    def pay(self, number: int, charge: Charge) -> None:
        """Add what a request cost to its turn, whichever agent sent it."""
        turn = self.turn(number)
        turn.usage += charge.usage
        turn.cost = None if charge.cost is None or turn.cost is None else turn.cost + charge.cost

    def _add_step(self, number: int, step: ComparedStep) -> None:
        turn = self.turn(number)
        turn.steps = (*turn.steps, step)

    def _take_reply(self, turn: ComparedTurn, reply: Replied) -> None:
        if not turn.steps:
            turn.steps = (ComparedStep(),)
        step = turn.steps[-1]
        step.said, step.usage, step.replied = reply.message.text(), reply.usage, True
        if self._is_waiting:
            calls = reply.message.calls()
            self._calls = {call.id: ComparedCall(name=call.name, arguments=call.arguments) for call in calls}
            step.calls = tuple(self._calls[call.id] for call in calls)
        self._is_waiting = False


def read_turns(entries: Iterable[Entry[Event]], *, agent: str = "main") -> tuple[ComparedTurn, ...]:
    """The turns of one agent in which something was said or asked, with what other agents cost meanwhile.

    A `/compact` is one as well: nothing is said in it, but its summary was paid for.
    """
    reader, spend = _TurnReader(), Spend()
    for entry in entries:
        if entry.agent == agent:
            reader.take(entry)
        before, spend = spend, fold_spend(spend, entry.data)
        if spend.last and spend.last is not before.last:
            reader.pay(entry.turn, spend.last)
    return tuple(turn for turn in reader.turns.values() if turn.prompt or turn.steps or turn.usage != Usage())


def compare_turns(left: Sequence[ComparedTurn], right: Sequence[ComparedTurn]) -> SessionDifference:
    pairs = tuple(
        TurnPair(left=one, right=other, parting=_parting(one, other)) for one, other in pair_turns(left, right)
    )
    behaviour = next(
        (divergence for one in pairs if (divergence := _parting(one.left, one.right, bytes_too=False))), None
    )
    return SessionDifference(
        pairs=pairs, first=next((one.parting for one in pairs if one.parting), None), behaviour=behaviour
    )


def pair_turns(
    left: Sequence[ComparedTurn], right: Sequence[ComparedTurn]
) -> list[tuple[ComparedTurn | None, ComparedTurn | None]]:
    """Turns with the same prompt belong together; between them, those in the same place."""
    import difflib  # late: 0.9 ms

    matcher = difflib.SequenceMatcher(
        None, [turn.prompt for turn in left], [turn.prompt for turn in right], autojunk=False
    )
    pairs: list[tuple[ComparedTurn | None, ComparedTurn | None]] = []
    for _, a, b, c, d in matcher.get_opcodes():
        pairs += zip_longest(left[a:b], right[c:d])
    return pairs


def _parting(left: ComparedTurn | None, right: ComparedTurn | None, *, bytes_too: bool = True) -> Divergence | None:
    if left is None or right is None:
        one = left or right
        assert one is not None
        turns = (left.number if left else 0, right.number if right else 0)
        prompt = one.prompt or "(no prompt)"
        return Divergence(
            what="missing", turns=turns, step=0, left=prompt if left else "", right=prompt if right else ""
        )
    numbers = left.number, right.number
    for what, step, one_side, other_side in _compared(left, right):
        if one_side != other_side and (bytes_too or what != "request"):
            return Divergence(what=what, turns=numbers, step=step, left=one_side, right=other_side)
    return None


def _compared(left: ComparedTurn, right: ComparedTurn) -> Iterator[tuple[What, int, str, str]]:
    """Everything of two turns that should be the same, in the order in which it came to be."""
    yield "prompt", 0, left.prompt, right.prompt
    for number, (one, other) in enumerate(zip_longest(left.steps, right.steps), 1):
        if one is None or other is None:
            yield "calls", number, _did(one), _did(other)
            return
        yield "request", number, _request(one), _request(other)
        yield "reply", number, one.said, other.said
        yield "calls", number, _calls(one), _calls(other)
        yield "outcomes", number, _outcomes(one), _outcomes(other)
    yield "end", len(left.steps), left.reason, right.reason


def _did(step: ComparedStep | None) -> str:
    if step is None:
        return "(the turn was over)"
    return _calls(step) or step.said or "(one more request)"


def _request(step: ComparedStep) -> str:
    return f"{step.length} bytes, {step.digest[:12]}" if step.digest else ""


def _calls(step: ComparedStep) -> str:
    return "\n".join(f"{call.name} {call.arguments}" for call in step.calls)


def _outcomes(step: ComparedStep) -> str:
    return "\n".join("" if call.outcome is None else call.outcome for call in step.calls)
