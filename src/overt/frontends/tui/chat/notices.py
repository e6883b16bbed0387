"""What is told in a line or two: notices, repairs, what was remembered, and how a turn ended."""

from overt.core.events import Event, Noticed, TurnEnded
from overt.frontends.describe_events import describe_end, describe_event
from overt.frontends.tui.chat.view_rows import words_rows
from overt.frontends.tui.terminal.formats import count, duration, money
from overt.frontends.tui.terminal.rows import Row
from overt.lib.translations import say

NOTICES = {"info": ("· ", "dim"), "warning": ("! ", "warn"), "error": ("✗ ", "error")}
STOPPED = ("interrupted", "terminated")


def notice_rows(event: Event, room: int) -> list[Row]:
    """Of an event that changes nothing on the screen but that a person should know of."""
    notice = describe_event(event)
    if notice is None or (isinstance(event, Noticed) and event.kind == "waiting"):  # the live region counts the seconds
        return []
    mark, style = NOTICES[notice.level]
    return words_rows(notice.text, room, style, mark=mark)


def end_rows(end: TurnEnded, room: int, *, cost: float | None, attempts: int) -> list[Row]:
    """`attempts` were made in vain before the last request failed for good."""
    rows: list[Row] = []
    if notice := describe_end(end):
        mark, style = NOTICES[notice.level]
        rows += words_rows(notice.text, room, style, mark="⊘ " if end.reason in STOPPED else mark)
    if attempts and end.reason in ("error", "storm"):
        rows += words_rows(say("tui.talk.retried", attempt=attempts), room, "dim")
    if used := usage_words(end, cost):
        rows += words_rows(used, room, "dim")
    return rows


def usage_words(end: TurnEnded, cost: float | None) -> str:
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
