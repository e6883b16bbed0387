"""What a text takes on a screen, and where a person sees one character end and the next begin.

Widths are summed per code point, as terminals and tmux count them. Letters that belong together (an accent and its
letter, the parts of an emoji) are one cluster: the cursor never stops inside of one and deleting takes it whole.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

JOINING = "\u200d"
ENDS = ("\n", "\r", "\r\n")
# Text, not compiled: compiling costs milliseconds that a start-up without such letters would pay.
CLUSTER = (
    "[\U0001f1e6-\U0001f1ff]{2}|\r\n"
    "|[\u1100-\u115f\ua960-\ua97c]*[\u1160-\u11a7\ud7b0-\ud7c6]+[\u11a8-\u11ff\ud7cb-\ud7fb]*"
    "|."
)
SIGNS = "\xad\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Of the characters that only tell how to set others, those that are drawn."""
FAR = 64
"""How far a cluster may reach when one is looked for inside of a text; longer ones are cut there."""


class _Widths(dict[str, int]):
    """The columns of every character met so far."""

    def __missing__(self, char: str) -> int:
        import unicodedata as table  # late: 0.2 ms

        category = table.category(char)
        if category in ("Mn", "Me") or (category == "Cf" and char not in SIGNS):
            taken = 0
        elif "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb":
            taken = 0  # the later parts of a Korean syllable stand in its first
        elif category == "Cn":
            # Newer than the table of this Python: pictures and Chinese characters are wide wherever they come to be.
            taken = 2 if "\U0001f300" <= char <= "\U0001faff" or "\U00020000" <= char <= "\U0003fffd" else 1
        else:
            taken = 2 if table.east_asian_width(char) in ("W", "F") else 1
        self[char] = taken
        return taken


_WIDTHS = _Widths()


def width(text: str) -> int:
    """Columns: two for a Chinese character, none for one that joins the one before."""
    return len(text) if text.isascii() else sum(map(_WIDTHS.__getitem__, text))


def column_starts(text: str) -> list[int]:
    """The column at which every character begins, and the one after the last."""
    return [0, *accumulate(map(_WIDTHS.__getitem__, text))]


def max_width(text: str) -> int:
    """Columns at the most: some terminals take two for what others draw in one (`…`, `●`, signs that ask for a
    picture)."""
    if text.isascii():
        return len(text)
    import unicodedata  # late: 0.2 ms

    east = unicodedata.east_asian_width
    return width(text) + sum(1 for char in text if char == "\ufe0f" or (_WIDTHS[char] == 1 and east(char) == "A"))


def has_certain_width(text: str) -> bool:
    """Whether all terminals agree on the columns of every part of the text."""
    return text.isascii() or (
        width(text) == max_width(text)
        and JOINING not in text
        and not any("\U0001f1e6" <= char <= "\U0001f1ff" or "\U0001f3fb" <= char <= "\U0001f3ff" for char in text)
    )


def clusters(text: str) -> list[str]:
    """The text in the pieces that a person takes for one character."""
    if text.isascii() and "\r" not in text:
        return list(text)
    return list(_joined(text))


def _joined(text: str) -> Iterator[str]:
    import unicodedata  # late: 0.2 ms

    category = unicodedata.category
    held = ""
    for found in re.finditer(CLUSTER, text, re.DOTALL):
        piece = found[0]
        first = piece[0]
        if held and held not in ENDS and (_extends(first, category(first)) or _joins(held, category(first))):
            held += piece
            continue
        if held:
            yield held
        held = piece
    if held:
        yield held


def _extends(char: str, category: str) -> bool:
    return (
        category in ("Mn", "Me", "Mc")
        or char == JOINING
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _joins(held: str, category: str) -> bool:
    """A picture behind a joiner is part of it; so is an Indic letter behind a sign that takes its vowel away."""
    if held[-1] == JOINING:
        return category not in ("Cc", "Zs")
    return held[-1] in "\u094d\u09cd\u0acd\u0d4d" and category == "Lo"


def after(text: str, at: int) -> int:
    """Where the cluster that begins at `at` ends."""
    line = text.find("\n", at, at + FAR)
    piece = text[at : at + FAR if line < 0 or line == at else line]
    return at + len(clusters(piece)[0]) if piece else at


def before(text: str, at: int) -> int:
    """Where the cluster that ends at `at` begins."""
    start = max(text.rfind("\n", 0, at - 1) + 1 if at else 0, at - FAR)
    piece = text[start:at]
    return at - len(clusters(piece)[-1]) if piece else at


def fitting_length(text: str, columns: int) -> int:
    """How many characters of the text, in whole clusters, fit into so many columns."""
    if text.isascii():
        return max(min(len(text), columns), 0)
    taken = place = 0
    for piece in _joined(text):
        taken += width(piece)
        if taken > columns:
            break
        place += len(piece)
    return place
