"""What a server could have had in its cache, what it had, and why it was less.

The best that is possible for a request is what it has in common with the one before it: `shared` bytes, counted in
the tokens that the server reported for that one. A recorded reset makes less possible, and is told with its cause;
where nothing was reset and the server still had clearly less than it could, it did not keep it.
"""

from collections.abc import Iterable

from msgspec import Struct

from overt.core.events import Compacted, Event, PrefixReset, Replied, RequestSent
from overt.core.spending.cache_estimate import CacheEstimate
from overt.core.spending.usage import Usage

SLACK_TOKENS = 1024
SLACK_SHARE = 0.02
"""Servers cache in blocks of 64 to 1024 tokens, so a little is always missing; below a minimum they cache nothing."""
NOT_KEPT = "the server did not keep it"


class CacheStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request that was answered. `possible`: tokens it shared with the request before; `ideal`: what it would have
    shared without the reset whose causes are `resets`. `missed` tells of tokens that need not have been read again."""

    number: int
    input: int = 0
    cached: int = 0
    output: int = 0
    possible: int = 0
    ideal: int = 0
    summary: bool = False
    resets: tuple[str, ...] = ()
    missed: str = ""

    @property
    def ratio(self) -> float | None:
        """Of what was possible; None when nothing was."""
        return self.cached / self.possible if self.possible else None


class CacheTotals(Struct, frozen=True, kw_only=True):
    """Of a session. `kept` leaves the requests after a reset aside, `reached` counts what the resets cost as missed.

    `reported` is false as long as the server has never spoken of a cache: then nothing is known.
    """

    requests: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    possible: int = 0
    ideal: int = 0
    kept: float | None = None
    reached: float | None = None
    resets: int = 0
    reported: bool = False


class CacheMeter:
    """Fed with what happens, live or from the file; each reply adds a step."""

    def __init__(self) -> None:
        self.steps: list[CacheStep] = []
        self._estimate = CacheEstimate()
        self._resets: tuple[str, ...] = ()
        self.requests = 0
        self._reports = False

    def feed(self, event: Event) -> CacheStep | None:
        """The step that this event ends, if it does."""
        match event:
            case RequestSent():
                self.requests += 1
                self._estimate = self._estimate.send(event)
            case PrefixReset(cause=cause) if cause not in self._resets:
                self._resets = (*self._resets, cause)
            case Replied(message=message, usage=usage) if message.origin.kind == "model":
                return self._answered(usage)
            case Compacted(cause=cause, usage=usage):
                request = self._estimate.waiting
                step = self._answered(usage) if request and request.purpose == "summary" else None
                self._resets = (*self._resets, f"compaction ({cause})")
                return step
            case _:
                pass
        return None

    def totals(self) -> CacheTotals:
        return sum_steps(self.steps)

    def _answered(self, usage: Usage) -> CacheStep | None:
        estimate, self._estimate = self._estimate, self._estimate.receive(usage)
        if estimate.waiting is None or not usage.input:
            return None  # an answer that broke off, or a server that counts nothing
        before = estimate.answered[0] if estimate.answered else 0
        possible = estimate.possible(usage)
        main = estimate.waiting.purpose == "step"
        resets = self._resets if main else ()
        step = CacheStep(
            number=self.requests,
            input=usage.input,
            cached=usage.cached,
            output=usage.output,
            possible=possible,
            ideal=max(possible, before) if resets else possible,
            summary=not main,
            resets=resets,
            missed=self._missed(possible, usage.cached, resets, lost=before),
        )
        self._reports = self._reports or usage.cached > 0
        if main:
            self._resets = ()
        self.steps.append(step)
        return step

    def _missed(self, possible: int, cached: int, resets: tuple[str, ...], *, lost: int) -> str:
        if resets and lost - cached > _slack(lost):
            return f"{lost - cached} tokens: {'; '.join(resets)}"
        if not resets and self._reports and possible - cached > _slack(possible):
            return f"{possible - cached} tokens: {NOT_KEPT}"
        return ""


def sum_steps(steps: Iterable[CacheStep]) -> CacheTotals:
    steps = tuple(steps)
    unbroken = [step for step in steps if not step.resets]
    cached, ideal = sum(step.cached for step in steps), sum(step.ideal for step in steps)
    return CacheTotals(
        requests=len(steps),
        input=sum(step.input for step in steps),
        cached=cached,
        output=sum(step.output for step in steps),
        possible=sum(step.possible for step in steps),
        ideal=ideal,
        kept=_ratio(sum(step.cached for step in unbroken), sum(step.possible for step in unbroken)),
        reached=_ratio(cached, ideal),
        resets=sum(1 for step in steps if step.resets),
        reported=cached > 0,
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _slack(tokens: int) -> float:
    return SLACK_TOKENS + SLACK_SHARE * tokens
