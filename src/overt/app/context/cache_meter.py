"""The cache of a conversation as it runs, measured after each reply: before a request nothing waits for it."""

from typing import TYPE_CHECKING

from overt.core.events import Compacted, Event, PrefixReset, Replied, RequestSent
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.context.cache import CacheMeter


class LiveCacheMeter:
    def __init__(self) -> None:
        self._waiting: list[Event] = []
        self._meter: CacheMeter | None = None

    def feed(self, event: Event) -> None:
        if isinstance(event, RequestSent | PrefixReset):
            self._waiting.append(event)
        elif isinstance(event, Replied | Compacted):
            if self._meter is None:
                from overt.context.cache import CacheMeter  # late: 0.4 ms

                self._meter = CacheMeter()
            for earlier in (*self._waiting, event):
                self._meter.feed(earlier)
            self._waiting = []

    def told(self) -> tuple[str, ...]:
        """How much of what was possible came from the cache, and the last tokens that need not have been read again."""
        if self._meter is None or not self._meter.steps:
            return ()
        steps, totals = self._meter.steps, self._meter.totals()
        if not totals.reported:
            return (say("cache.unreported", possible=totals.possible),)
        share = "–" if totals.kept is None else f"{100 * totals.kept:.1f} %"
        line = say("cache.so_far", cached=totals.cached, possible=totals.possible, kept=share, resets=totals.resets)
        last = next((step for step in reversed(steps) if step.missed), None)
        return (line, say("cache.missed", number=last.number, missed=last.missed)) if last else (line,)
