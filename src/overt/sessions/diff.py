"""Two sessions side by side: turns are paired, and the first place where they part is named."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

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
from overt.core.messages import Text
from overt.core.spending.spend import Charge, Spend, fold_spend
from overt.core.spending.usage import Usage
from overt.sessions.entries import Entry

What = Literal["prompt", "request", "reply", "calls", "outcomes", "end", "missing"]


class MadeCall(Struct, frozen=True, kw_only=True):
    """`outcome` is what the model was told of it, None when nothing was recorded."""

    name: str
    arguments: str
    outcome: str | None = None
    failed: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """`digest` and `length` are of the request; empty for what the person ran without a model."""

    digest: str = ""
    length: int = 0
    said: str = ""
    calls: tuple[MadeCall, ...] = ()
    usage: Usage = Usage()
    replied: bool = False


class Told(Struct, frozen=True, kw_only=True):
    """One turn. `cost` is None when the price of one of its requests is not known."""

    number: int
    prompt: str = ""
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    cost: float | None = 0.0
    reason: str = ""
    model: str = ""


class Parting(Struct, frozen=True, kw_only=True):
    """The first difference: turns as each session numbers them (0: it has none), the step, what and in which words."""

    what: What
    turns: tuple[int, int]
    step: int
    left: str
    right: str


class Pair(Struct, frozen=True, kw_only=True):
    left: Told | None
    right: Told | None
    parting: Parting | None = None


class Difference(Struct, frozen=True, kw_only=True):
    """`first` is the first difference of any kind; `behaviour` the first in what was said, called or came of it."""

    pairs: tuple[Pair, ...]
    first: Parting | None
    behaviour: Parting | None


class _Telling:
    """Entries become turns."""

    def __init__(self) -> None:
        self.turns: dict[int, Told] = {}
        self._model = ""
        self._sent = self._aside = False
        self._calls: dict[str, tuple[int, int, int]] = {}

    def take(self, entry: Entry[Event]) -> None:
        match entry.data:
            case PrefixSet(model=model):
                self._model = model
            case UserSpoke(message=message, steered=False) if message.origin.kind == "user":
                told = self._turn(entry.turn)
                self._put(replace(told, prompt=told.prompt or message.text(), model=self._model))
            case RequestSent(digest=digest, length=length, purpose="step"):
                self._step(entry.turn, Step(digest=digest, length=length))
                self._sent, self._aside = True, False
            case RequestSent():
                self._aside = True
            case Replied() if not self._aside:
                self._reply(entry.turn, entry.data)
            case Replied() | Compacted():  # a summary, of use or not
                self._aside = False
            case ToolStarted(call=call) if call.id not in self._calls:
                self._step(entry.turn, Step(calls=(MadeCall(name=call.name, arguments=call.arguments),)))
            case ToolFinished(result=result):
                text = "".join(part.text for part in result.parts if isinstance(part, Text))
                self._outcome(result.call_id, text, failed=result.error)
            case TurnEnded(reason=reason):
                self._put(replace(self._turn(entry.turn), reason=reason))
            case _:
                pass

    def pay(self, turn: int, charge: Charge) -> None:
        """Add what a request cost to its turn, whichever agent sent it."""
        told = self._turn(turn)
        total = None if charge.cost is None or told.cost is None else told.cost + charge.cost
        self._put(replace(told, usage=told.usage + charge.usage, cost=total))

    def _turn(self, number: int) -> Told:
        return self.turns.get(number) or Told(number=number, model=self._model)

    def _put(self, told: Told) -> None:
        self.turns[told.number] = told

    def _step(self, turn: int, step: Step) -> None:
        told = self._turn(turn)
        self._put(replace(told, steps=(*told.steps, step)))

    def _reply(self, turn: int, reply: Replied) -> None:
        message = reply.message
        made = tuple(MadeCall(name=call.name, arguments=call.arguments) for call in message.calls())
        told = self._turn(turn)
        if not told.steps:
            told = replace(told, steps=(Step(),))
        *before, last = told.steps
        calls = made if self._sent else last.calls
        step = replace(last, said=message.text(), calls=calls, usage=reply.usage, replied=True)
        self._put(replace(told, steps=(*before, step)))
        if self._sent:
            self._calls = {call.id: (turn, len(before), index) for index, call in enumerate(message.calls())}
        self._sent = False

    def _outcome(self, call_id: str, text: str, *, failed: bool) -> None:
        """It may stand in a later turn: what a crash left open is answered when the session goes on."""
        if call_id not in self._calls:
            return
        turn, at, index = self._calls[call_id]
        told = self.turns[turn]
        step = told.steps[at]
        calls = list(step.calls)
        calls[index] = replace(calls[index], outcome=text, failed=failed)
        steps = (*told.steps[:at], replace(step, calls=tuple(calls)), *told.steps[at + 1 :])
        self._put(replace(told, steps=steps))


def turns(entries: Iterable[Entry[Event]], *, agent: str = "main") -> tuple[Told, ...]:
    """The turns of one agent in which something was said or asked, with what other agents cost meanwhile.

    A `/compact` is one as well: nothing is said in it, but its summary was paid for.
    """
    telling, spend = _Telling(), Spend()
    for entry in entries:
        if entry.agent == agent:
            telling.take(entry)
        before, spend = spend, fold_spend(spend, entry.data)
        if spend.last and spend.last is not before.last:
            telling.pay(entry.turn, spend.last)
    return tuple(told for told in telling.turns.values() if told.prompt or told.steps or told.usage != Usage())


def compare(left: Sequence[Told], right: Sequence[Told]) -> Difference:
    pairs = tuple(Pair(left=one, right=other, parting=_parting(one, other)) for one, other in pair(left, right))
    behaviour = next((found for one in pairs if (found := _parting(one.left, one.right, bytes_too=False))), None)
    return Difference(pairs=pairs, first=next((one.parting for one in pairs if one.parting), None), behaviour=behaviour)


def pair(left: Sequence[Told], right: Sequence[Told]) -> list[tuple[Told | None, Told | None]]:
    """Turns with the same prompt belong together; between them, those in the same place."""
    import difflib  # late: 0.7 ms

    matcher = difflib.SequenceMatcher(
        None, [told.prompt for told in left], [told.prompt for told in right], autojunk=False
    )
    found: list[tuple[Told | None, Told | None]] = []
    for _, a, b, c, d in matcher.get_opcodes():
        found += zip_longest(left[a:b], right[c:d])
    return found


def _parting(left: Told | None, right: Told | None, *, bytes_too: bool = True) -> Parting | None:
    if left is None or right is None:
        one = left or right
        assert one is not None
        turns = (left.number if left else 0, right.number if right else 0)
        told = one.prompt or "(no prompt)"
        return Parting(what="missing", turns=turns, step=0, left=told if left else "", right=told if right else "")
    numbers = left.number, right.number
    for what, step, one_side, other_side in _compared(left, right):
        if one_side != other_side and (bytes_too or what != "request"):
            return Parting(what=what, turns=numbers, step=step, left=one_side, right=other_side)
    return None


def _compared(left: Told, right: Told) -> Iterator[tuple[What, int, str, str]]:
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


def _did(step: Step | None) -> str:
    if step is None:
        return "(the turn was over)"
    return _calls(step) or step.said or "(one more request)"


def _request(step: Step) -> str:
    return f"{step.length} bytes, {step.digest[:12]}" if step.digest else ""


def _calls(step: Step) -> str:
    return "\n".join(f"{call.name} {call.arguments}" for call in step.calls)


def _outcomes(step: Step) -> str:
    return "\n".join("" if call.outcome is None else call.outcome for call in step.calls)
