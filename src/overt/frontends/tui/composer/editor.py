"""Editing as pure operations on a text and a cursor: where a move leads, what stands there after a change.

The cursor stands between clusters, never inside of one, and a fold is a cluster of its own. Words are runs of letters,
digits and `_`. A Chinese character is a word by itself, because a run of them up to the next mark is a whole sentence;
Japanese kana are words by their script. Ctrl+W takes everything back to a space, as readline does, but only one such
word of Chinese or Japanese.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from overt.frontends.tui.composer.folded_pastes import RESERVED, is_fold
from overt.lib.display_width import JOINING, clusters

Kind = Literal["space", "letter", "han", "hiragana", "katakana", "fold", "mark"]
ALONE = ("han", "fold")
"""One cluster of these is a word."""
SIMPLE = "[ -~\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uff01-\uff60]*"
"""Most of what people write: each is a cluster, unless something that is not among these joins it to another."""
WORDS = ("letter", "han", "hiragana", "katakana", "fold")


class EditText(NamedTuple):
    text: str = ""
    cursor: int = 0


Motion = Callable[[EditText], int]


def pieces(line: str) -> list[str]:
    """The clusters of a line; whatever follows a fold, it stays alone."""
    if line.isascii():
        return list(line)
    if re.fullmatch(SIMPLE, line):
        return list(line)
    if not re.search(RESERVED, line):
        return clusters(line)
    return [piece for part in re.split(f"({RESERVED})", line) if part for piece in clusters(part)]


def sure(text: str, at: int) -> bool:
    """Whether a cluster begins there whatever else the text holds."""
    if at <= 0 or at >= len(text):
        return True
    char, behind = text[at], text[at - 1]
    if char == "\n" or behind == "\n" or is_fold(char) or is_fold(behind):
        return True
    return behind != JOINING and (
        " " <= char <= "~"
        or "\u4e00" <= char <= "\u9fff"
        or "\u3001" <= char <= "\u3029"
        or "\u3041" <= char <= "\u3096"
        or "\uff01" <= char <= "\uff60"
    )


def _ends(text: str, at: int) -> list[int]:
    """Where clusters begin and end in the stretch around `at` that is surely made of whole ones."""
    start, end = at, at + 1
    while not sure(text, start):
        start -= 1
    while not sure(text, end):
        end += 1
    found = [start]
    for piece in pieces(text[start:end]):
        found.append(found[-1] + len(piece))
    return found


def snap(text: str, at: int) -> int:
    """The first place from `at` on where the cursor may stand."""
    if sure(text, at):
        return min(max(at, 0), len(text))
    return next(end for end in _ends(text, at) if end >= at)


def left(now: EditText) -> int:
    text, at = now
    if at <= 0:
        return 0
    if sure(text, at - 1):
        return at - 1
    return max(end for end in _ends(text, at - 1) if end < at)


def right(now: EditText) -> int:
    text, at = now
    if at >= len(text):
        return len(text)
    if sure(text, at + 1):
        return at + 1
    return min(end for end in _ends(text, at) if end > at)


def line_start(now: EditText) -> int:
    return now.text.rfind("\n", 0, now.cursor) + 1


def line_end(now: EditText) -> int:
    found = now.text.find("\n", now.cursor)
    return len(now.text) if found < 0 else found


def text_start(now: EditText) -> int:
    return 0


def text_end(now: EditText) -> int:
    return len(now.text)


def kind(char: str) -> Kind:
    if char.isascii():
        return "letter" if char.isalnum() or char == "_" else "space" if char.isspace() else "mark"
    if is_fold(char):
        return "fold"
    if "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" or "\U00020000" <= char <= "\U0003ffff":
        return "han"
    if "\u3041" <= char <= "\u309f":
        return "hiragana"
    if "\u30a1" <= char <= "\u30ff" or "\uff66" <= char <= "\uff9f":
        return "katakana"
    return "letter" if char.isalnum() else "space" if char.isspace() else "mark"


def _behind(now: EditText) -> Kind:
    return kind(now.text[left(now)])


def back_over(now: EditText, kinds: tuple[str, ...]) -> EditText:
    while now.cursor > 0 and _behind(now) in kinds:
        now = now._replace(cursor=left(now))
    return now


def on_over(now: EditText, kinds: tuple[str, ...]) -> EditText:
    while now.cursor < len(now.text) and kind(now.text[now.cursor]) in kinds:
        now = now._replace(cursor=right(now))
    return now


def word_left(now: EditText) -> int:
    now = back_over(now, ("space", "mark"))
    if now.cursor == 0:
        return 0
    here = _behind(now)
    return left(now) if here in ALONE else back_over(now, (here,)).cursor


def word_right(now: EditText) -> int:
    now = on_over(now, ("space", "mark"))
    if now.cursor >= len(now.text):
        return len(now.text)
    here = kind(now.text[now.cursor])
    return right(now) if here in ALONE else on_over(now, (here,)).cursor


def rubout_left(now: EditText) -> int:
    """Where Ctrl+W leads."""
    now = back_over(now, ("space",))
    if now.cursor == 0:
        return 0
    here = _behind(now)
    if here in ("letter", "mark"):
        return back_over(now, ("letter", "mark")).cursor
    return left(now) if here in ALONE else back_over(now, (here,)).cursor


def end_or_break(now: EditText) -> int:
    """To the end of the line, and at the end over the line break."""
    end = line_end(now)
    return end if end > now.cursor else right(now)


def start_or_break(now: EditText) -> int:
    start = line_start(now)
    return start if start < now.cursor else left(now)


def place_cursor(text: str, at: int) -> EditText:
    return EditText(text, snap(text, at))


def insert_text(now: EditText, piece: str) -> EditText:
    return place_cursor(now.text[: now.cursor] + piece + now.text[now.cursor :], now.cursor + len(piece))


def remove_range(now: EditText, start: int, end: int) -> EditText:
    return place_cursor(now.text[:start] + now.text[end:], start)


def replace_range(now: EditText, start: int, end: int, piece: str) -> EditText:
    """Something else in place of a stretch, the cursor behind it."""
    return place_cursor(now.text[:start] + piece + now.text[end:], start + len(piece))


def transpose_characters(now: EditText) -> EditText:
    """The clusters before and after the cursor change places; at the end of a line, the last two."""
    if now.cursor == line_end(now):
        now = now._replace(cursor=left(now))
    start, end = left(now), right(now)
    if start < line_start(now) or start == now.cursor or end == now.cursor:
        return now
    return replace_range(now, start, end, now.text[now.cursor : end] + now.text[start : now.cursor])


def transpose_words(now: EditText) -> EditText:
    """The word before the cursor and the one after it change places."""
    end = word_right(now)
    second = word_left(now._replace(cursor=end))
    first = word_left(now._replace(cursor=second))
    gap = word_right(now._replace(cursor=first))
    if not first < gap <= second < end:
        return now
    text = now.text
    return replace_range(now, first, end, text[second:end] + text[gap:second] + text[first:gap])


def change_case(now: EditText, way: Literal["upper", "lower", "capitalise"]) -> EditText:
    """The word from the cursor on in other letters."""
    end = word_right(now)
    piece = now.text[now.cursor : end]
    if way == "capitalise":
        found = next((at for at, char in enumerate(piece) if char.isalnum()), 0)
        piece = piece[:found] + piece[found : found + 1].title() + piece[found + 1 :].lower()
    else:
        piece = piece.upper() if way == "upper" else piece.lower()
    return replace_range(now, now.cursor, end, piece)
