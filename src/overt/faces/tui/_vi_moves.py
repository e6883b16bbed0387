"""Where the motions of vi lead and what its text objects take, as pure functions."""

from typing import Literal, NamedTuple

from overt.faces.tui.editor import ALONE, Motion, Text, kind, left, line_end, line_start, right

Reach = Literal["exclusive", "inclusive", "lines"]
PAIRS = {
    letter: (pair[0], pair[1])
    for letters, pair in (("()b", "()"), ("[]", "[]"), ("{}B", "{}"), ("<>", "<>"))
    for letter in letters
}
QUOTES = "\"'`"


class Target(NamedTuple):
    """Where a motion leads, and what an operator takes on the way: up to there, that too, or whole lines."""

    at: int
    reach: Reach = "exclusive"


class Command(NamedTuple):
    """`times` is 0 when none was given; `op` is an operator that waits for `name`; `arg`: the letter after f, r, i …"""

    times: int
    op: str
    name: str
    arg: str = ""


MOTIONS = "hjklwbeWBE0^$G;,%{}"
ACTIONS = "xXsSDCY~JpPuoOiIaAvV./"
ON_SELECTED = "dxXDyYcsSCovV~uUJpP"


def parse(keys: str, *, visual: bool) -> Command | Literal["more", "bad"]:
    """What the keys so far say: a whole command, the beginning of one, or nothing."""
    first, rest = _count(keys)
    op = rest[0] if rest and rest[0] in "dcy" and not visual else ""
    second, rest = _count(rest[len(op) :]) if op else (0, rest)
    if not rest:
        return "more"
    count = max(first, 1) * max(second, 1) if first or second else 0
    head, tail = rest[0], rest[1:]
    takes = head in "fFtTg" or (head == "r" and not op and not visual) or (head in "ia" and (op or visual))
    if takes:
        if not tail:
            return "more"
        if head == "g":
            return Command(count, op, f"g{tail}") if tail in "ge" else "bad"
        return Command(count, op, head, tail)
    if op and head == op:
        return Command(count, op, "line")
    allowed = MOTIONS + ("" if op else ON_SELECTED if visual else ACTIONS)
    return Command(count, op, head) if head in allowed else "bad"


def _count(keys: str) -> tuple[int, str]:
    digits = 0
    while digits < len(keys) and (keys[digits] in "123456789" or (digits and keys[digits] == "0")):
        digits += 1
    return (min(int(keys[:digits]), 9999) if digits else 0), keys[digits:]


def last_place(now: Text) -> int:
    """The last cluster of the line, where the cursor of normal mode may stand."""
    end = line_end(now)
    return end if end == line_start(now) else left(Text(now.text, end))


def first_letter(now: Text) -> int:
    at, end = line_start(now), line_end(now)
    while at < end and now.text[at] in " \t":
        at += 1
    return at


def move(now: Text, command: Command, sought: tuple[str, str]) -> Target | None:
    """None when it leads nowhere. `sought` is the last f, F, t or T with its letter."""
    count = max(command.times, 1)
    match command.name:
        case "h":
            return Target(_steps(now, count, left, line_start(now)))
        case "l":
            return Target(_steps(now, count, right, line_end(now)))
        case "j" | "k":
            return _lines(now, count if command.name == "j" else -count)
        case "w" | "W" | "b" | "B" | "e" | "E" | "ge":
            return _words(now, command.name, count)
        case "0":
            return Target(line_start(now))
        case "^":
            return Target(first_letter(now))
        case "$":
            down = _lines(now, count - 1) if count > 1 else Target(now.cursor)
            return down and Target(last_place(now._replace(cursor=down.at)), "inclusive")
        case "G" | "gg":
            return _numbered(now, command)
        case "f" | "F" | "t" | "T":
            return _find(now, command.name, command.arg, count)
        case ";" | "," if sought[0]:
            name = sought[0] if command.name == ";" else sought[0].swapcase()
            return _find(now, name, sought[1], count, again=True)
        case "%":
            return _partner(now)
        case "{" | "}":
            return _paragraph(now, command.name, count)
        case _:
            return None


def _steps(now: Text, count: int, step: Motion, edge: int) -> int:
    for _ in range(count):
        if now.cursor == edge:
            break
        now = now._replace(cursor=step(now))
    return now.cursor


def _lines(now: Text, by: int) -> Target | None:
    """So many lines down or up; whole lines for an operator."""
    at = line_start(now)
    column = now.cursor - at
    for _ in range(abs(by)):
        if by > 0:
            end = line_end(Text(now.text, at))
            if end == len(now.text):
                return None
            at = end + 1
        else:
            if at == 0:
                return None
            at = line_start(Text(now.text, at - 1))
    return Target(min(at + column, line_end(Text(now.text, at))), "lines")


def _numbered(now: Text, command: Command) -> Target:
    number = command.times or (1 if command.name == "gg" else now.text.count("\n") + 1)
    at = 0
    for _ in range(number - 1):
        found = now.text.find("\n", at)
        if found < 0:
            break
        at = found + 1
    return Target(first_letter(Text(now.text, at)), "lines")


def _class(char: str, big: bool) -> str:
    found = kind(char)
    return "word" if big and found != "space" else found


def _empty_line(now: Text) -> bool:
    return now.text[now.cursor : now.cursor + 1] == "\n" and now.text[now.cursor - 1 : now.cursor] in ("", "\n")


def _words(now: Text, name: str, count: int) -> Target:
    big = name.isupper()
    for _ in range(count):
        match name.lower():
            case "w":
                now = _word_on(now, big)
            case "b":
                now = _word_back(now, big)
            case "e":
                now = _word_end(now, big)
            case _:
                now = _end_back(now)
    return Target(now.cursor, "inclusive" if name.lower() in ("e", "ge") else "exclusive")


def _go(now: Text) -> Text:
    return now._replace(cursor=right(now))


def _back(now: Text) -> Text:
    return now._replace(cursor=left(now))


def _is(now: Text, big: bool) -> str:
    return _class(now.text[now.cursor], big) if now.cursor < len(now.text) else "end"


def _word_on(now: Text, big: bool) -> Text:
    here = _is(now, big)
    if here in ALONE:
        now = _go(now)
    elif here != "space":
        while now.cursor < len(now.text) and _is(now, big) == here:
            now = _go(now)
    elif _empty_line(now):
        now = _go(now)
    while _is(now, big) == "space" and not _empty_line(now):
        now = _go(now)
    return now


def _word_back(now: Text, big: bool) -> Text:
    now = _back(now)
    while now.cursor and _is(now, big) == "space" and not _empty_line(now):
        now = _back(now)
    return _to_start(now, big)


def _to_start(now: Text, big: bool) -> Text:
    here = _is(now, big)
    if here in (*ALONE, "space", "end"):
        return now
    while now.cursor and _is(_back(now), big) == here:
        now = _back(now)
    return now


def _word_end(now: Text, big: bool) -> Text:
    now = _go(now)
    while _is(now, big) == "space":
        now = _go(now)
    if now.cursor >= len(now.text):
        return _back(now)
    return _to_end(now, big)


def _to_end(now: Text, big: bool) -> Text:
    here = _is(now, big)
    if here in (*ALONE, "end"):
        return now
    while _is(_go(now), big) == here:
        now = _go(now)
    return now


def words_end(now: Text, command: Command) -> Target:
    """Where `cw` ends: unlike `e`, it stays in the word it stands at the end of."""
    big = command.name == "W"
    now = _to_end(now, big)
    for _ in range(command.times - 1):
        now = _word_end(now, big)
    return Target(now.cursor, "inclusive")


def _end_back(now: Text) -> Text:
    here = _is(now, False)
    if here not in (*ALONE, "space", "end"):
        now = _to_start(now, False)
    now = _back(now)
    while now.cursor and _is(now, False) == "space":
        now = _back(now)
    return now


def _find(now: Text, name: str, letter: str, count: int, *, again: bool = False) -> Target | None:
    """In the line only. A repeated t does not stop before the letter it already stands at."""
    text, at = now
    start, end = line_start(now), line_end(now)
    skip = again and name in "tT"
    for number in range(count):
        if name in "ft":
            at = text.find(letter, at + 1 + (skip and number == 0), end)
        else:
            at = text.rfind(letter, start, max(at - (skip and number == 0), start))
        if at < 0:
            return None
    if name == "t":
        at = left(Text(text, at))
    elif name == "T":
        at = right(Text(text, at))
    return Target(at, "inclusive" if name in "ft" else "exclusive")


def _partner(now: Text) -> Target | None:
    text, end = now.text, line_end(now)
    at = next((at for at in range(now.cursor, end) if text[at] in "()[]{}"), -1)
    if at < 0:
        return None
    one, other = next(pair for pair in PAIRS.values() if text[at] in pair)
    found = _closing(text, at + 1, one, other) if text[at] == one else _opening(text, at, one, other)
    return None if found < 0 else Target(found, "inclusive")


def _closing(text: str, at: int, one: str, other: str) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == one) - (text[place] == other)
        if depth < 0:
            return place
    return -1


def _opening(text: str, at: int, one: str, other: str) -> int:
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += (text[place] == other) - (text[place] == one)
        if depth < 0:
            return place
    return -1


def _paragraph(now: Text, name: str, count: int) -> Target:
    text, at = now
    for _ in range(count):
        if name == "}":
            while at < len(text) and text[at] == "\n":
                at += 1
            found = text.find("\n\n", at)
            at = len(text) if found < 0 else found + 1
        else:
            while at > 0 and text[at - 1] == "\n":
                at -= 1
            found = text.rfind("\n\n", 0, at)
            at = 0 if found < 0 else found + 1
    return Target(at)


def around(now: Text, command: Command) -> tuple[int, int] | None:
    """What `iw`, `a(`, `i"` … take: from where to where."""
    whole, letter = command.name == "a", command.arg
    if letter in "wW":
        return _word_object(now, letter == "W", whole)
    if letter in QUOTES:
        return _quoted(now, letter, whole)
    if letter not in PAIRS:
        return None
    one, other = PAIRS[letter]
    text, at = now
    start = at if text[at : at + 1] == one else _opening(text, at, one, other)
    end = _closing(text, start + 1, one, other) if start >= 0 else -1
    if end < 0:
        return None
    return (start, end + 1) if whole else (start + 1, end)


def _word_object(now: Text, big: bool, whole: bool) -> tuple[int, int] | None:
    """With `a`, the spaces behind it go along, or those before it when there are none."""
    if line_start(now) == line_end(now):
        return None
    low, high = line_start(now), line_end(now)
    if now.cursor >= high:
        now = _back(now)

    def run(text: Text) -> tuple[int, int]:
        here = _is(text, big)
        start, end = text, _go(text)
        if here not in ALONE:
            while start.cursor > low and _is(_back(start), big) == here:
                start = _back(start)
            while end.cursor < high and _is(end, big) == here:
                end = _go(end)
        return start.cursor, min(end.cursor, high)

    start, end = run(now)
    if not whole:
        return start, end
    on_space = _is(now, big) == "space"
    if end < high and (on_space or now.text[end].isspace()):
        return start, run(now._replace(cursor=end))[1]
    if not on_space and start > low and now.text[start - 1].isspace():
        return run(now._replace(cursor=start - 1))[0], end
    return start, end


def _quoted(now: Text, quote: str, whole: bool) -> tuple[int, int] | None:
    low, high = line_start(now), line_end(now)
    places = [at for at in range(low, high) if now.text[at] == quote and (at == low or now.text[at - 1] != "\\")]
    for start, end in zip(places[::2], places[1::2], strict=False):
        if now.cursor <= end:
            return (start, end + 1) if whole else (start + 1, end)
    return None
