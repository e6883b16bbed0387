"""The conversation as a fold over facts: the only way a history comes to be, live or from disk.

A history is always a valid message list: results wait in `pending` until every call of the last reply is
answered, then join as one message, in the order of the calls. `heal` answers what was left open.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.core.events import (
    BudgetSet,
    Compacted,
    Event,
    Noticed,
    Pinned,
    PrefixReset,
    Replied,
    TitleSet,
    TodoSet,
    ToolFinished,
    UserSpoke,
)
from overt.core.messages import Call, Message, Result, Text
from overt.core.text_fragments import HARNESS, USER, Origin
from overt.core.views import Failure, Todo

INTERRUPTED = (
    "[overt] Interrupted before it finished: the call may or may not have taken effect. Check before relying on it."
)

ALONG = ("file", "environment")
"""Origins of what the program put before a prompt."""


class History(Struct, frozen=True, kw_only=True):
    """`seen`: path → hash of the content the model last saw; it guards against blind overwriting.

    `eras` are the messages as they stood before each compaction, retry and rewind, so that every turn can be gone
    back to. `pins` are texts of the person that no compaction touches, `spend_limit` and
    `token_limit` what they said it may spend, in dollars and uncached tokens. `title` is the name that a person gave
    the session last (`named`), else the last one that a model found.
    """

    messages: tuple[Message, ...] = ()
    pending: tuple[Result, ...] = ()
    todos: tuple[Todo, ...] = ()
    seen: dict[str, str] = {}
    eras: tuple[tuple[Message, ...], ...] = ()
    pins: tuple[str, ...] = ()
    spend_limit: float | None = None
    token_limit: int | None = None
    title: str = ""
    named: bool = False


class Mark(Struct, frozen=True, kw_only=True):
    """Where a turn began: `at` messages stood before it in `era`, the number of eras there were."""

    turn: int
    era: int
    at: int
    text: str = ""


def add_mark(marks: list[Mark], history: History, turn: int, event: UserSpoke, *, settled: int = 0) -> None:
    """Mark where a turn begins: with what goes along with its prompt. Its text is the person's."""
    text = event.message.text() if event.message.origin.kind == "user" else ""
    if marks and marks[-1].turn == turn:
        marks[-1] = replace(marks[-1], text=marks[-1].text or text)
    else:
        marks.append(Mark(turn=turn, era=len(history.eras), at=settled + len(history.messages), text=text))


def open_calls(history: History) -> tuple[Call, ...]:
    """Return the calls of the last reply that have no result yet, in order."""
    if not history.messages or history.messages[-1].role != "assistant":
        return ()
    answered = {result.call_id for result in history.pending}
    return tuple(call for call in history.messages[-1].calls() if call.id not in answered)


def fold(history: History, event: Event) -> History:
    match event:
        case UserSpoke(message=message):
            history = _append(history, message)
            origin = message.origin  # a file that was put before a prompt has been seen
            pasted = origin.kind == "file" and origin.hash
            return replace(history, seen=history.seen | {origin.where: origin.hash}) if pasted else history
        case Replied(message=message, forced=False) if message.parts:
            return _append(history, message)
        case ToolFinished(result=result, seen=seen):
            history = _answer(history, result)
            return replace(history, seen=history.seen | seen) if seen else history
        case TodoSet(items=items):
            return replace(history, todos=items)
        case PrefixReset(keep=int(keep), era=era):
            source = history.messages if era is None or era >= len(history.eras) else history.eras[era]
            return replace(history, messages=source[:keep], pending=(), eras=(*history.eras, history.messages))
        case Compacted():
            return replace(
                history, messages=_compacted(history.messages, event), eras=(*history.eras, history.messages)
            )
        case BudgetSet(dollars=dollars, tokens=tokens):
            spend_limit = history.spend_limit if dollars is None else dollars
            token_limit = history.token_limit if tokens is None else tokens
            return replace(history, spend_limit=spend_limit, token_limit=token_limit)
        case Noticed(budget=float(dollars)):
            return replace(history, spend_limit=dollars)
        case TitleSet(title=title, model=model) if title and not (model and history.named):
            return replace(history, title=title, named=not model)
        case Pinned(text=text, off=off):
            kept = tuple(pin for pin in history.pins if pin != text)
            return replace(history, pins=kept if off else (*kept, text))
        case _:
            return history


def fold_all(
    history: History, events: Iterable[Event], *, marks: list[Mark] | None = None, turns: Sequence[int] = ()
) -> History:
    """Fold many at once: the same history, in time proportional to the events.

    `marks` collects where each turn began, when `turns` gives the turn of every event.

    Only resets and compactions look further back than the last message, so the rest can wait beside a short history.
    """
    settled: list[Message] = []
    seen: dict[str, str] = {}
    for number, event in enumerate(events):
        if isinstance(event, PrefixReset | Compacted):
            history = replace(history, messages=(*settled, *history.messages))
            settled = []
        elif len(history.messages) > 32:
            settled += history.messages[:-1]
            seen |= history.seen
            history = replace(history, messages=history.messages[-1:], seen={})
        if marks is not None and isinstance(event, UserSpoke) and not event.steered:
            add_mark(marks, history, turns[number], event, settled=len(settled))
        history = fold(history, event)
    return replace(history, messages=(*settled, *history.messages), seen=seen | history.seen)


def heal(history: History, printed: Mapping[str, str] | None = None) -> tuple[ToolFinished, ...]:
    """Return the outcomes that must be folded (and recorded) so that no call is left without its result.

    `printed` is what interrupted calls had printed, by their ids.
    """
    return tuple(_interrupted(call, (printed or {}).get(call.id, "")) for call in open_calls(history))


def _interrupted(call: Call, printed: str) -> ToolFinished:
    before = f"{printed.rstrip()}\n" if printed.strip() else ""
    text = Text(text=f"{before}{INTERRUPTED}")
    return ToolFinished(
        result=Result(call_id=call.id, parts=(text,), error=True, harness=not before, cause="interrupted"),
        view=Failure(text=f"{before}interrupted"),
        code="interrupted",
    )


def last_exchange(history: History) -> tuple[int, Message] | None:
    """Return the index at which the last prompt and what went along with it begin, and the prompt, for `/retry`."""
    for index in range(len(history.messages) - 1, -1, -1):
        message = history.messages[index]
        of_command = message.origin.kind == "user" and message.origin.where.startswith("/")
        if message.role == "user" and (message.origin == USER or of_command):
            while index and history.messages[index - 1].origin.kind in ALONG:
                index -= 1
            return index, message
    return None


def _compacted(messages: tuple[Message, ...], event: Compacted) -> tuple[Message, ...]:
    """Pruned first: `start` and `end` count the messages as they stood before."""
    if event.pruned:
        gone = frozenset(event.pruned)
        messages = tuple(_pruned(message, gone, event.text) for message in messages)
    return (*messages[: event.start], *event.summary, *messages[event.end :])


def _pruned(message: Message, gone: frozenset[str], text: str) -> Message:
    if message.role != "tool" or not any(isinstance(part, Result) and part.call_id in gone for part in message.parts):
        return message
    parts = (
        _emptied(part, text) if isinstance(part, Result) and part.call_id in gone else part for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def _emptied(result: Result, text: str) -> Result:
    """`{characters}` in the text becomes the length of what left."""
    note = text.replace("{characters}", str(len(result.text())))
    return replace(result, parts=(Text(text=note),), harness=True, cause="removed", reason="")


def _append(history: History, message: Message) -> History:
    for outcome in heal(history):
        history = _answer(history, outcome.result)
    return replace(history, messages=history.messages + (message,))


def _answer(history: History, result: Result) -> History:
    calls = open_calls(history)
    if result.call_id not in {call.id for call in calls}:
        return history
    pending = (*history.pending, result)
    if any(call.id != result.call_id for call in calls):
        return replace(history, pending=pending)
    by_id = {done.call_id: done for done in pending}
    ordered = tuple(by_id[call.id] for call in history.messages[-1].calls())
    origin = Origin(kind="tool", where=",".join(done.call_id for done in ordered))
    message = Message(role="tool", parts=ordered, origin=origin if ordered else HARNESS)
    return replace(history, messages=history.messages + (message,), pending=())
