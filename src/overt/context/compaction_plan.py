"""What gives way when the window fills: which old results, which messages, and what stands in their place.

Pure: nothing is sent and nothing is changed here. Taking an old result out makes every later token new to the
server's cache, so it is weighed by cost: what the coming steps save against what is read anew once.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from overt.context.compaction_facts import (
    REMOVED,
    arguments_of,
    calls_with_results,
    collect_facts,
    paths_of,
    section_limits,
    sections,
)
from overt.core.history import ALONG, History, Mark
from overt.core.messages import Message, Result, Text, said
from overt.core.requests import Finish
from overt.core.settings import Price
from overt.core.text_fragments import USER, Origin
from overt.core.tool import ToolLookup
from overt.lib.package_data import read_text

LARGE = 0.2
"""A result above this share of the end that stays is large. It may be removed there, and counts as so much then: else
the end would reach back over any number of results that were removed, and nothing would be summed up."""
SMALLEST = 160
"""Tokens below which taking a result out is not worth the words that say so."""
FEWEST, MOST = 4, 40
"""Bounds of the steps that are still expected."""
USUAL, IN_TIME = (1.0, 0.1), (1.0, 0.02)
"""A token read anew and one read from the cache: at most vendors, and in time where it costs no money."""
SHINGLE, LEAST_TEXT = 24, 400

Size = Callable[[Message], int]


class PrunableResult(Struct, frozen=True, kw_only=True):
    """A result that may go: where its message stands and the tokens that would be saved."""

    call_id: str
    at: int
    tokens: int


class TokenRates(Struct, frozen=True, kw_only=True):
    """What a prompt token costs, read anew and from the cache."""

    full: float
    cached: float


class MessageRange(Struct, frozen=True, kw_only=True):
    """Messages `start` to `end`, not included, may give way to a summary. `tokens` is their size, where it is known."""

    start: int
    end: int
    tokens: int = 0


class HistoryTail(Struct, frozen=True, kw_only=True):
    """The end that stays: messages from `start` on, without the results in `large`."""

    start: int
    large: tuple[PrunableResult, ...] = ()


# ── what may go ──────────────────────────────────────────────────────────────────────────────────────────


def find_tail(
    messages: Sequence[Message], tokens: int, size: Size, *, find_tool: ToolLookup, prune: bool = True
) -> HistoryTail:
    """Find the longest end of a history that fits into `tokens`, at least its last exchange.

    It never starts at a result without its call, nor between a prompt and its files. With `prune`, a large result
    that does not fit is given up and the end goes on before it. Results in the last message stay: the model has not
    read them yet.
    """
    left, least = tokens, max(SMALLEST, round(LARGE * tokens))
    spared = (_spared(messages, find_tool) | _shared(messages)) if prune else set[str]()
    start, removed, pending = len(messages), list[PrunableResult](), list[PrunableResult]()
    for at in range(len(messages) - 1, -1, -1):
        needed = size(messages[at])
        for old in _of_message(messages[at], at, size) if prune and at < len(messages) - 1 and needed > left else ():
            if needed > left and old.tokens >= least and old.call_id not in spared:
                needed -= old.tokens - least
                pending.append(old)
        if needed > left and start < len(messages):
            break
        left -= needed
        if at == 0 or _opens(messages, at):
            start = at
            removed += pending
            pending.clear()
    return HistoryTail(start=start, large=tuple(sorted(removed, key=lambda old: old.at)))


def _opens(messages: Sequence[Message], at: int) -> bool:
    before, here = messages[at - 1], messages[at]
    together = before.role == here.role == "user" and before.origin.kind in (*ALONG, "harness")
    return here.role != "tool" and not together


def find_middle(messages: Sequence[Message], end: int) -> MessageRange | None:
    """What a summary would replace: all between the first prompt and the end that stays. None: there is too little.

    Facts that were told ahead of the first prompt stay with it.
    """
    first = next((at for at, message in enumerate(messages) if message.origin.kind != "environment"), 0)
    start = first + 1 if messages and messages[first].origin == USER else 0
    fresh = [message for message in messages[start:end] if message.origin.kind != "summary"]
    return MessageRange(start=start, end=end) if len(fresh) > 1 else None


def find_prunable(messages: Sequence[Message], end: int, size: Size, *, find_tool: ToolLookup) -> list[PrunableResult]:
    """Results before `end` that may go: no todo list, and no failure that nothing has answered yet."""
    spared = _spared(messages, find_tool) | _shared(messages)
    old = [old for at, message in enumerate(messages[:end]) for old in _of_message(message, at, size)]
    return sorted((each for each in old if each.call_id not in spared), key=lambda each: each.at)


def find_results(messages: Sequence[Message], size: Size) -> list[PrunableResult]:
    """Every result that would free room, the largest first: for when there is no other way."""
    shared = _shared(messages)
    old = [old for at, message in enumerate(messages) for old in _of_message(message, at, size)]
    return sorted((each for each in old if each.call_id not in shared), key=lambda each: -each.tokens)


def _of_message(message: Message, at: int, size: Size) -> list[PrunableResult]:
    """The results of one message that would free room, the largest first."""
    old = list[PrunableResult]()
    for part in message.parts if message.role == "tool" else ():
        if isinstance(part, Result):
            whole = size(Message(role="tool", parts=(part,), origin=message.origin))
            saved = whole - size(Message(role="tool", parts=(_emptied(part),), origin=message.origin))
            old += [PrunableResult(call_id=part.call_id, at=at, tokens=saved)] if saved >= SMALLEST else []
    return sorted(old, key=lambda each: -each.tokens)


def _emptied(result: Result) -> Result:
    return Result(call_id=result.call_id, parts=(Text(text=REMOVED),), error=result.error)


def _shared(messages: Sequence[Message]) -> set[str]:
    """Ids that a server has given to more than one call: by such an id a new result would go with an old one."""
    ids = [part.call_id for message in messages for part in message.parts if isinstance(part, Result)]
    return {id for id, times in Counter(ids).items() if times > 1}


def _spared(messages: Sequence[Message], find_tool: ToolLookup) -> set[str]:
    spared: set[str] = set()
    failed: dict[tuple[str, str], list[str]] = {}
    for call, result in calls_with_results(messages):
        tool = find_tool(call.name)
        about = (
            tool.name if tool else call.name,
            " ".join(paths_of(call)) or str(arguments_of(call).get("command", "")),
        )
        if (tool and "notes" in tool.effects) or result.reason:
            spared.add(result.call_id)
        elif result.error:
            failed.setdefault(about, []).append(call.id)
        else:
            failed.pop(about, None)
    return spared.union(*failed.values())


# ── whether it pays ──────────────────────────────────────────────────────────────────────────────────────


def token_rates(price: Price | None) -> TokenRates:
    """By the vendor's prices where they are known; what costs nothing costs time."""
    if price is None or price.input is None:
        return TokenRates(full=USUAL[0], cached=USUAL[1])
    if not price.input:
        return TokenRates(full=IN_TIME[0], cached=IN_TIME[1])
    cached = price.input * USUAL[1] if price.cached is None else price.cached
    return TokenRates(full=max(price.input, price.cache_write or 0.0), cached=cached)


def expected_steps(messages: Sequence[Message]) -> int:
    """As many as there were already, within bounds: a session that has gone on long goes on."""
    return min(MOST, max(FEWEST, sum(message.role == "assistant" for message in messages)))


def choose_pruning(
    old: Sequence[PrunableResult], sizes: Sequence[int], *, steps: int, rates: TokenRates
) -> tuple[PrunableResult, ...]:
    """The results to take out so that the most is saved, from some place on to the last; none when nothing pays.

    What goes would be read from the cache at each of the coming steps. What stands behind the first that goes is
    read once more at the full rate.
    """
    best, chosen = 0.0, tuple[PrunableResult, ...]()
    saved, behind, at = 0, 0, len(sizes)
    for number in range(len(old) - 1, -1, -1):
        behind += sum(sizes[old[number].at : at])
        at = old[number].at
        saved += old[number].tokens
        gain = saved * rates.cached * steps - (behind - saved) * (rates.full - rates.cached)
        if gain > best:
            best, chosen = gain, tuple(old[number:])
    return chosen


# ── what stands in their place ───────────────────────────────────────────────────────────────────────────


def summary_instruction(focus: str = "") -> Message:
    """What asks the model for the summary; it is no part of the history."""
    text = read_text("overt.context", "prompts/summary.md").strip()
    if focus:
        text += f"\n\nThe user wants this above all to be kept: {focus}"
    return said(text, origin=Origin(kind="harness", where="context/prompts/summary.md"))


def build_replacement(
    history: History, span: MessageRange, *, written: str, turns: str, window: int, find_tool: ToolLookup
) -> tuple[Message, ...]:
    """The messages that stand where the span was: the first prompt, the summary, and the prompt being worked on.

    Without `written` the summary holds only what the history itself tells, and what an earlier summary said.
    """
    messages, gone = history.messages, history.messages[span.start : span.end]
    prompts = [at for at, message in enumerate(messages) if message.origin == USER]
    left = {at for at in prompts if span.start <= at < span.end}
    opening = tuple(messages[at] for at in prompts[:1] if at in left)
    current = tuple(messages[at] for at in prompts[1:][-1:] if at in left)
    stays = (*messages[: span.start], *opening, *current, *messages[span.end :])
    facts = collect_facts(gone, stays=stays, written=written.strip(), find_tool=find_tool)
    texts, facts = sections(facts, pins=history.pins, todos=history.todos, scale=section_limits(window))
    parts = (_label(turns, len(gone), span.tokens, modelled=bool(written.strip())), *texts)
    summary = Message(role="user", parts=parts, origin=Origin(kind="summary", where=turns), facts=facts)
    return (*opening, summary, *current)


def _label(turns: str, messages: int, tokens: int, *, modelled: bool) -> Text:
    how = "" if modelled else " No model has summarised it, so only what the record itself tells stands here."
    return Text(
        text=f"[overt] Summary of {turns}: {messages} messages of about {tokens} tokens left this conversation to make "
        "room, and this stands in their place. Nothing is lost: the user reads what was sent then with `overt context "
        f"--turn N --full`; read a file again where its content matters.{how} Go on with the task.\n"
    )


def describe_turns(history: History, span: MessageRange, marks: Sequence[Mark]) -> str:
    """`turn 3` or `turns 1-7`: which turns the span holds at least a part of."""
    era = len(history.eras)
    here = [mark for mark in marks if mark.era == era]
    begun = [mark.turn for mark in here if mark.at < span.end]
    later = [mark.turn - 1 for mark in here if mark.at >= span.end]
    prompts = sum(message.origin == USER for message in history.messages[: span.end])
    first = min((mark.turn for mark in marks), default=1)
    last = max(begun, default=min(later, default=marks[-1].turn if marks else prompts))
    return f"turn {first}" if last <= first else f"turns {first}-{last}"


def summary_fault(text: str, finish: Finish) -> str:
    """Why a reply is no summary: `empty`, `cut` or `loops`; nothing when it may be one."""
    if not text.strip():
        return "empty"
    if finish in ("length", "filter", "interrupted"):
        return "cut"
    plain = "".join(text.split())
    pieces = [plain[at : at + SHINGLE] for at in range(len(plain) - SHINGLE)]
    return "loops" if len(plain) >= LEAST_TEXT and len(set(pieces)) < len(pieces) / 2 else ""
