"""What a crash file needs to know of the run: the last events and the configuration in use.

Streamed pieces of one kind in a row count as one, so that a long reply does not push everything else out.
"""

from collections import deque
from time import time
from typing import TYPE_CHECKING

from overt.core.events import CallStreamed, Event, ReasoningStreamed, TextStreamed, ToolProgressed
from overt.lib.logs.log import LOG

if TYPE_CHECKING:
    from overt.app.setting import Setting

MAX_EVENTS = 50
STREAMED = (TextStreamed, ReasoningStreamed, CallStreamed, ToolProgressed)


class Recent:
    """`setting` is the last one that was read, None before that."""

    def __init__(self) -> None:
        self.events: deque[tuple[float, Event, int]] = deque(maxlen=MAX_EVENTS)
        self.setting: Setting | None = None
        self.subcommand = ""
        self.uncaught = 0
        """Exceptions in callbacks and threads: the run ends with a code other than 0."""
        self.reporting = False
        """True while a crash file is being written: a second exception then comes from the reporter itself."""

    def add(self, event: Event) -> None:
        if isinstance(event, STREAMED) and self.events and type(self.events[-1][1]) is type(event):
            since, _, count = self.events[-1]
            self.events[-1] = (since, event, count + 1)
            return
        self.events.append((time(), event, 1))
        if LOG.enabled("debug"):
            ms = getattr(event, "ms", 0)
            LOG.debug("event", f"{type(event).__name__}{f' {ms} ms' if ms else ''}")


RECENT = Recent()
