"""How well a name matches what was typed: by its beginning before anything else."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

SEAMS = "/-_. :"
LOOSE = 5
"""From this rank on, letters only come in the same order."""


def rank(word: str, name: str) -> int | None:
    """Return 0 for the best match, None for no match. Large and small letters count as the same, nearly."""
    if name.startswith(word):
        return 0 if len(name) == len(word) or not word else 1
    small, wanted = name.lower(), word.lower()
    at = small.find(wanted)
    if at == 0:
        return 2
    if at > 0:
        return 3 if any(seam + wanted in small for seam in SEAMS) else 4
    letters = iter(small)
    return LOOSE if all(char in letters for char in wanted) else None


def best_matches(items: Iterable[T], word: str, names: Callable[[T], tuple[str, ...]]) -> list[T]:
    """Return the items that match, the best first and otherwise in their order.

    Loose matches only count where nothing matches better. The first of `names` is what is typed; the others are words
    about it, in which the word must stand as it is.
    """
    matches: list[tuple[int, T]] = []
    for item in items:
        first, *others = names(item)
        place = rank(word, first)
        if (place is None or place >= LOOSE) and any(word.lower() in other.lower() for other in others):
            place = LOOSE - 1
        if place is not None:
            matches.append((place, item))
    close = [match for match in matches if match[0] < LOOSE]
    return [item for _, item in sorted(close or matches, key=lambda match: match[0])]
