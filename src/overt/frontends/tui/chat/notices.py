"""What is told in a line or two: notices, repairs, what was remembered, and how a turn ended."""

from overt.core.events import BudgetSet, Compacted, Event, Noticed, PermissionDecided, PrefixReset, Repaired, TurnEnded
from overt.frontends.tui.chat.views import words_rows
from overt.frontends.tui.terminal.formats import count, duration, money
from overt.frontends.tui.terminal.rows import Row
from overt.lib.catalogue import say

NOTICES = {"info": ("· ", "dim"), "warning": ("! ", "warn"), "error": ("✗ ", "error")}


def noted_rows(event: Event, room: int) -> list[Row]:
    """Of an event that changes nothing on the screen but that a person should know of."""
    match event:
        case Noticed(text=text, level=level, kind=kind) if kind != "waiting":  # the live region counts the seconds
            mark, style = NOTICES[level]
            return words_rows(text, room, style, mark=mark)
        case Repaired(note=note):
            return words_rows(say("turn.repaired", note=note), room, "dim", mark="· ")
        case PermissionDecided(remembered=rule) if rule:
            return words_rows(say("ask.remembered", rule=rule), room, "dim", mark="· ")
        case Compacted():
            from overt.app.chat.compaction_notice import told  # late: 0.6 ms

            return words_rows(told(event), room, "dim", mark="· ")
        case BudgetSet():
            from overt.app.chat.budget_notice import describe_budget  # late: 1.0 ms

            return words_rows(describe_budget(event), room, "dim", mark="· ")
        case PrefixReset(cause=cause):
            return words_rows(say("turn.reset", cause=cause), room, "dim", mark="· ")
        case _:
            return []


def ended_rows(end: TurnEnded, room: int, *, cost: float | None, attempts: int) -> list[Row]:
    """`attempts` were made in vain before the last request failed for good."""
    rows: list[Row] = []
    match end.reason:
        case "error" | "storm":
            rows += words_rows(end.text, room, "error", mark="✗ ")
            if attempts:
                rows += words_rows(say("tui.talk.retried", attempt=attempts), room, "dim")
        case "limit":
            told = end.text if end.kind == "budget" else say("turn.limit", steps=end.steps)
            rows += words_rows(told, room, "warn", mark="! ")
        case "interrupted" | "terminated":
            rows += words_rows(say("turn.interrupted"), room, "warn", mark="⊘ ")
        case _:
            pass
    if used := used_words(end, cost):
        rows += words_rows(used, room, "dim")
    return rows


def used_words(end: TurnEnded, cost: float | None) -> str:
    """`1.2k in (80% cached) · 320 out · $0.004 · 8.1s`; empty where nothing was spent."""
    used = end.usage
    if not (used.input or used.output):
        return ""
    share = round(100 * used.cached / used.input) if used.input else 0
    parts = (
        say("tui.talk.in_cached", count=count(used.input), share=share)
        if used.cached
        else say("tui.talk.in", count=count(used.input)),
        say("tui.talk.out", count=count(used.output)),
        money(cost) if cost is not None else "",
        duration(end.ms / 1000),
    )
    return " · ".join(filter(None, parts))


def refusal_words(reason: str) -> str:
    """Describe a call that the user denied, with the reason they gave."""
    return say("tui.talk.denied_why", reason=reason) if reason else say("tui.talk.denied")
