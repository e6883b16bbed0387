"""How much of a request a server could have had in its cache."""

from msgspec import Struct
from msgspec.structs import replace

from overt.core.events import RequestSent
from overt.core.spending.usage import Usage


class CacheEstimate(Struct, frozen=True, kw_only=True):
    """The best that is possible is what a request has in common with the last answered one of its agent.

    `answered` holds the tokens (as the server counted them) and the bytes of that request, `waiting` is the request
    that has no reply yet. `bound` is what a request that was never answered had in common with the last answered one:
    whether the server has read more than that is not known.
    """

    answered: tuple[int, int] | None = None
    waiting: RequestSent | None = None
    bound: int | None = None

    def send(self, request: RequestSent) -> "CacheEstimate":
        unanswered = self.waiting
        bound = self._shared(unanswered) if unanswered and unanswered.purpose == "step" else self.bound
        return replace(self, waiting=request, bound=bound)

    def possible(self, usage: Usage) -> int:
        """Return how many prompt tokens of the waiting request could have come from the cache."""
        if self.waiting is None:
            return 0
        tokens, length = self.answered or (usage.input, self.waiting.length)
        common = tokens * min(self._shared(self.waiting), length) // length if length else 0
        return min(usage.input, max(common, usage.cached))

    def receive(self, usage: Usage) -> "CacheEstimate":
        """Take the reply to the waiting request. Only a step that was counted is compared with later requests."""
        request = self.waiting
        if request is None or request.purpose != "step" or not usage.input:
            return replace(self, waiting=None)
        return CacheEstimate(answered=(usage.input, request.length))

    def _shared(self, request: RequestSent) -> int:
        return request.shared if self.bound is None else min(request.shared, self.bound)
