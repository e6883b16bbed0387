"""Rank short texts by how well they fit a query (BM25), without an index on disk."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

SATURATION, LENGTH_WEIGHT = 1.5, 0.75
"""The usual constants of BM25."""
STOP_WORDS = frozenset("a an the of to in on for and or with by from is are be it this that use using".split())


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without their endings; parts of `snake_case` and `camelCase` are words.

    A text without blanks between words, such as Chinese, is split into pairs of characters.
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", text)
    return [word for part in parts for word in _split(part) if word not in STOP_WORDS]


def _split(part: str) -> list[str]:
    if part.isascii():
        return [_stem(part.lower())]
    return [part[at : at + 2] for at in range(len(part) - 1)] or [part]


def _stem(word: str) -> str:
    """Drop the ending of an English word, so that `issues` and `issue`, `created` and `create` are the same."""
    for ending in ("ings", "ing", "ies", "ied", "es", "ed", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def rank(query: str, texts: Mapping[Key, str], limit: int, *, least_shared: int = 1) -> list[Key]:
    """Return the keys of the texts that share at least so many words with the query, best first."""
    counts = {key: Counter(words(text)) for key, text in texts.items()}
    average = sum(count.total() for count in counts.values()) / max(len(counts), 1) or 1.0
    frequency = Counter(word for count in counts.values() for word in count)
    wanted = dict.fromkeys(words(query))
    scores: dict[Key, float] = {}
    for key, count in counts.items():
        length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * count.total() / average
        score, shared = 0.0, 0
        for word in wanted:
            if times := count[word]:
                shared += 1
                rarity = math.log(1 + (len(counts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                score += rarity * times * (SATURATION + 1) / (times + SATURATION * length)
        if shared >= least_shared:
            scores[key] = score
    return sorted(scores, key=lambda key: -scores[key])[:limit]
