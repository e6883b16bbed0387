"""What a reply cost in tokens, as the server reported it."""

from msgspec import Struct


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`input` counts every prompt token; `cached` and `cache_write` are parts of it, `reasoning` of `output`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def uncached(self) -> int:
        """All tokens except those read from a cache."""
        return max(0, self.input - self.cached) + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return self._joined(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._joined(other, -1)

    def _joined(self, other: "Usage", sign: int) -> "Usage":
        return Usage(
            input=self.input + sign * other.input,
            output=self.output + sign * other.output,
            cached=self.cached + sign * other.cached,
            cache_write=self.cache_write + sign * other.cache_write,
            reasoning=self.reasoning + sign * other.reasoning,
        )
