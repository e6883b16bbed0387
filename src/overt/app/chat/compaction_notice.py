"""What a person is told of a compaction, in one line."""

from overt.core.events import Compacted
from overt.lib.catalogue import say


def told(event: Compacted) -> str:
    count = event.end - event.start
    what = (
        say("compaction.done.summary", count=count)
        if event.summary
        else say("compaction.done.pruned", count=len(event.pruned))
    )
    return say("compaction.done", before=short(event.before), after=short(event.after), what=what)


def short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
