"""Rank short texts by how well they fit a query (BM25), without an index on disk."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

SATURATION, LENGTH_WEIGHT = 1.5, 0.75
"""The usual constants of BM25."""
PARTLY = 0.4
"""How much a word counts that is only the beginning or the end of another one, as `vacuum` of `autovacuum`."""
SHORTEST_PART = 4
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been being but by can cannot could did do does doing
    done each either every everybody everyone everything for from had has have having he her here him his how i if in
    into is it its itself just like may me might more most much must my neither no nobody none nor not nothing of on
    only or other our ours out over own per please really same shall she should since so some somebody someone
    something still such than that the their them then there these they thing things this those though through to too
    until up us use used uses using very via was we were what when where whether which while who whom whose why will
    with would yet you your""".split()
)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without their endings; parts of `snake_case` and `camelCase` are words.

    A text without blanks between words, such as Chinese, is split into pairs of characters.
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", text)
    return [word for part in parts for word in _split(part)]


def _split(part: str) -> list[str]:
    if part.isascii():
        word = part.lower()
        return [] if word in STOP_WORDS or (len(word) == 1 and not word.isdigit()) else [_stem(word)]
    return [part[at : at + 2] for at in range(len(part) - 1)] or [part]


def _stem(word: str) -> str:
    """Drop the ending of an English word, so that `issues` and `issue`, `created` and `creation` are the same."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


ENDINGS = tuple("ments ment ions ion ities ity ness ings ing ers er ors or als al ies ied ly es ed s e y".split())


def rank(query: str, texts: Mapping[Key, str], limit: int, *, min_shared_words: int = 1) -> list[Key]:
    """Return the keys of the texts that share at least so many words with the query, best first."""
    counts = {key: Counter(words(text)) for key, text in texts.items()}
    average = sum(count.total() for count in counts.values()) / max(len(counts), 1) or 1.0
    frequency = Counter(word for count in counts.values() for word in count)
    wanted = {word: _related(word, frequency) for word in dict.fromkeys(words(query))}
    scores: dict[Key, float] = {}
    for key, count in counts.items():
        length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * count.total() / average
        score, shared = 0.0, 0
        for related in wanted.values():
            best = 0.0
            for word, weight in related.items():
                if times := count[word]:
                    rarity = math.log(1 + (len(counts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                    best = max(best, weight * rarity * times * (SATURATION + 1) / (times + SATURATION * length))
            score += best
            shared += best > 0
        if shared >= min_shared_words:
            scores[key] = score
    return sorted(scores, key=lambda key: -scores[key])[:limit]


def _related(word: str, known: Iterable[str]) -> dict[str, float]:
    """Return the words that a word of a query may mean, each with its weight: itself, and those that it begins or ends
    with, or that begin or end with it."""
    related = {word: 1.0}
    if len(word) < SHORTEST_PART or not word.isascii():
        return related
    for other in known:
        short, long = sorted((word, other), key=len)
        if SHORTEST_PART <= len(short) < len(long) and (long.startswith(short) or long.endswith(short)):
            related[other] = PARTLY
    return related
