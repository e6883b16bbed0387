"""How well a name fits what was typed: by its beginning before anything else."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

SEAMS = "/-_. :"
LOOSE = 5
"""From this rank on, letters only come in the same order."""


def rank(word: str, name: str) -> int | None:
    """0 for the best fit; None when it does not fit at all. Large and small letters count as the same, nearly."""
    if name.startswith(word):
        return 0 if len(name) == len(word) or not word else 1
    small, wanted = name.lower(), word.lower()
    at = small.find(wanted)
    if at == 0:
        return 2
    if at > 0:
        return 3 if _at_seam(small, wanted, at) else 4
    return LOOSE if _in_order(wanted, small) else None


def _at_seam(name: str, word: str, at: int) -> bool:
    while at > 0:
        if name[at - 1] in SEAMS:
            return True
        at = name.find(word, at + 1)
    return False


def _in_order(word: str, name: str) -> bool:
    at = -1
    for char in word:
        at = name.find(char, at + 1)
        if at < 0:
            return False
    return True


def ranked(items: Iterable[T], word: str, names: Callable[[T], tuple[str, ...]]) -> list[T]:
    """Those that fit, the best first and otherwise in their order.

    Loose fits only count where nothing fits better. The first of `names` is what is typed; the others are words
    about it, in which the word must stand as it is.
    """
    found: list[tuple[int, T]] = []
    for item in items:
        first, *others = names(item)
        place = rank(word, first)
        if (place is None or place >= LOOSE) and any(word.lower() in other.lower() for other in others):
            place = LOOSE - 1
        if place is not None:
            found.append((place, item))
    if any(place < LOOSE for place, _ in found):
        found = [pair for pair in found if pair[0] < LOOSE]
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]
