"""Parse the keys of a vi command and compute where its motion leads, as pure functions."""

import re
from typing import Literal, NamedTuple

from overt.frontends.tui.composer.editor import ALONE, EditText, kind, left, line_end, line_start, pieces, right

Reach = Literal["exclusive", "inclusive", "lines"]
QUOTES = "\"'`"
MOTIONS = "hjklwbeWBE0^$G;,"
ACTIONS = "iIaAoOpPu./"
SHORT = {"x": "dl", "X": "dh", "s": "cl", "D": "d$", "C": "c$", "S": "cc", "Y": "yy"}
MOST = 9999
"""The largest count of a command."""


class ViCommand(NamedTuple):
    """A whole command. `times` is 0 when none was typed, `letter` is what follows f, F, t, T, r and i."""

    times: int
    operator: str
    name: str
    letter: str = ""


class Target(NamedTuple):
    """Where a motion leads, and whether an operator stops before it, includes it, or takes whole lines."""

    at: int
    reach: Reach = "exclusive"


def parse(keys: str) -> ViCommand | Literal["more", "bad"]:
    """Return the command that these keys spell, "more" for the beginning of one, or "bad"."""
    count, rest = _split_count(keys)
    rest = SHORT.get(rest, rest)
    operator = rest[0] if rest and rest[0] in "dcy" else ""
    second, rest = _split_count(rest[len(operator) :]) if operator else (0, rest)
    name, letter = rest[:1], rest[1:]
    count = min(max(count, 1) * max(second, 1), MOST) if count or second else 0
    if name in ("f", "F", "t", "T", "g", "i" if operator else "r"):
        if name == "g" and letter:
            return ViCommand(count, operator, "gg") if letter == "g" else "bad"
        if name == "i" and letter not in ("", "w", "W", *QUOTES):
            return "bad"
        return ViCommand(count, operator, name, letter) if letter else "more"
    if name and name == operator:
        return ViCommand(count, operator, "line")
    if name in (MOTIONS if operator else MOTIONS + ACTIONS):
        return ViCommand(count, operator, name) if name else "more"
    return "bad"


def _split_count(keys: str) -> tuple[int, str]:
    digits = re.match("([1-9][0-9]*)?", keys)
    assert digits is not None  # it also matches nothing
    return min(int(digits[0][:5] or 0), MOST), keys[digits.end() :]


def last_place(now: EditText) -> int:
    """The last cluster of the line, which is where the cursor of normal mode stops."""
    end = line_end(now)
    return end if end == line_start(now) else left(EditText(now.text, end))


def first_letter(now: EditText) -> int:
    start, end = line_start(now), line_end(now)
    return start + len(now.text[start:end]) - len(now.text[start:end].lstrip(" \t"))


def move(now: EditText, command: ViCommand, last_find: tuple[str, str]) -> Target | None:
    """Return where a motion leads, or None if it leads nowhere. `last_find` is the last f, F, t or T and its letter."""
    count = max(command.times, 1)
    match command.name:
        case "h" | "l":
            step, edge = (left, line_start(now)) if command.name == "h" else (right, line_end(now))
            while count and now.cursor != edge:
                now, count = now._replace(cursor=step(now)), count - 1
            return Target(now.cursor)
        case "j" | "k" | "line" | "G" | "gg":
            return _line(now, command)
        case "0":
            return Target(line_start(now))
        case "^":
            return Target(first_letter(now))
        case "$":
            return Target(last_place(now), "inclusive")
        case "f" | "F" | "t" | "T":
            return _find(now, command.name, command.letter, count)
        case ";" | ",":
            name = last_find[0] if command.name == ";" else last_find[0].swapcase()
            return _find(now, name, last_find[1], count, again=True) if name else None
        case name:
            return _word(now, name, count, command.operator)


def _line(now: EditText, command: ViCommand) -> Target | None:
    """Where j, k, G, gg and a doubled operator lead: they take whole lines."""
    starts = [0, *(newline.end() for newline in re.finditer("\n", now.text))]
    here, last, count = now.text.count("\n", 0, now.cursor), len(starts) - 1, max(command.times, 1)
    if command.name == "line":
        return Target(starts[min(here + count - 1, last)], "lines")
    if command.name in ("G", "gg"):
        number = min(count - 1, last) if command.times or command.name == "gg" else last
        return Target(first_letter(EditText(now.text, starts[number])), "lines")
    number = here + count if command.name == "j" else here - count
    return Target(starts[number], "lines") if 0 <= number <= last else None


def _runs(text: str, start: int, big: bool) -> list[tuple[str, int, int]]:
    """Cut the line that starts here into runs of one kind. A `big` word is everything between spaces."""
    runs: list[tuple[str, int, int]] = []
    at = start
    for piece in pieces(text[start : line_end(EditText(text, start))]):
        here = "word" if big and kind(piece[0]) != "space" else str(kind(piece[0]))
        begin = runs.pop()[1] if runs and runs[-1][0] == here and here not in ALONE else at
        at += len(piece)
        runs.append((here, begin, at))
    return runs


def _word(now: EditText, name: str, count: int, operator: str) -> Target:
    """Where w, b and e lead. An empty line is a word for w and b; `cw` ends where the word ends."""
    text, at = now
    line, way = line_start(now), name.lower()
    places: list[int] = []
    to_end = operator == "c" and way == "w" and at < len(text) and not text[at].isspace()
    while len(places) < count:
        words = [(start, end) for here, start, end in _runs(text, line, name.isupper()) if here != "space"]
        if to_end:
            places += [end for _, end in words if end > at]
        elif way == "e":
            places += [last for _, end in words if (last := left(EditText(text, end))) > at]
        else:
            starts = [start for start, _ in words] or ([line] if line == line_end(EditText(text, line)) else [])
            places += [start for start in starts if start > at] if way == "w" else [s for s in starts[::-1] if s < at]
        if line == 0 if way == "b" else line_end(EditText(text, line)) == len(text):
            break
        line = line_start(EditText(text, line - 1)) if way == "b" else line_end(EditText(text, line)) + 1
    edge = {"b": 0, "w": len(text), "e": left(EditText(text, len(text)))}[way]
    target = places[count - 1] if len(places) >= count else edge
    if operator and way == "w":
        # An operator leaves the line break behind the last word that it takes.
        newline = text.find("\n", max(len(text[:target].rstrip(" \t\n")), at), target)
        target = target if newline < 0 else newline
    return Target(target, "inclusive" if way == "e" else "exclusive")


def _find(now: EditText, name: str, letter: str, count: int, *, again: bool = False) -> Target | None:
    """Find a letter in the line. A repeated t or T passes the letter it already stands at."""
    text, at = now
    start, end = line_start(now), line_end(now)
    skip = int(again and name in "tT")
    for _ in range(count):
        at = text.find(letter, at + 1 + skip, end) if name in "ft" else text.rfind(letter, start, max(at - skip, start))
        skip = 0
        if at < 0:
            return None
    if name in "tT":
        at = left(EditText(text, at)) if name == "t" else right(EditText(text, at))
    return Target(at, "inclusive" if name in "ft" else "exclusive")


def inside(now: EditText, letter: str) -> tuple[int, int] | None:
    """Return the start and end of what `iw` and `i"` take, or None if there is no such thing in the line."""
    if letter in "wW":
        at = min(now.cursor, last_place(now))
        runs = _runs(now.text, line_start(now), letter == "W")
        return next(((start, end) for _, start, end in runs if start <= at < end), None)
    start, end = line_start(now), line_end(now)
    quotes = [quote.start() + start for quote in re.finditer(rf"(?<!\\){letter}", now.text[start:end])]
    pairs = zip(quotes[::2], quotes[1::2], strict=False)
    return next(((opening + 1, closing) for opening, closing in pairs if now.cursor <= closing), None)
