"""Rows of styled text: what everything on the screen is made of before it becomes bytes.

A style is one or more names of the theme, separated by spaces (`dim`, `bold accent`). Text in a span holds no line
break and no tab; what others wrote must have gone through `visible` or `exact` before its width is counted.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from overt.lib.display_width import JOINING, after, column_starts, fitting_length, width

ELLIPSIS = "…"
CLOSING = frozenset("，。、；：！？）」』】》〉〕〗’”…—～·％,.;:!?)]}%»›ー々〜")
"""No row begins with one of these if it can be avoided."""
OPENING = frozenset("（「『【《〈〔〖‘“([{«‹￥＄")
"""No row ends with one of these if it can be avoided."""
NARROWEST = 4


class Span(NamedTuple):
    """`link` is where it leads in a terminal that can follow links."""

    text: str
    style: str = ""
    link: str = ""


Row = tuple[Span, ...]
BLANK: Row = ()


def row(*parts: str | Span) -> Row:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts if part)


def plain(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)


def columns(spans: Iterable[Span]) -> int:
    return sum(width(span.text) for span in spans)


def common_length(one: str, other: str) -> int:
    """Return how many characters two texts begin with together."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def cut(spans: Row, room: int) -> Row:
    """The row, or as much of it as fits with a mark that says so."""
    if columns(spans) <= room:
        return spans
    kept: list[Span] = []
    left = max(room - 1, 0)
    for span in spans:
        size = width(span.text)
        if size > left:
            part = span.text[: fitting_length(span.text, left)]
            kept += [span._replace(text=part)] if part else []
            break
        kept.append(span)
        left -= size
    return (*kept, Span(ELLIPSIS, spans[0].style)) if room > 0 else ()


def pad(spans: Row, room: int) -> Row:
    """At least so many columns wide."""
    missing = room - columns(spans)
    return (*spans, Span(" " * missing)) if missing > 0 else spans


def wrap(spans: Sequence[Span], room: int, *, first: Row = (), rest: Row | None = None) -> list[Row]:
    """Broken at words, and inside of a word that is longer than a row. `first` and `rest` stand before the rows."""
    heads = (first, first if rest is None else rest)
    room = max(room - max(columns(head) for head in heads), NARROWEST)
    text = plain(spans)
    if "  " not in text and text[-1:] != " " and width(text) <= room:
        return [(*first, *_merged(spans))]
    ends = _words(text, room) if text.isascii() else _mixed(text, room)
    return [(*heads[bool(number)], *_merged(made)) for number, made in enumerate(_sliced(spans, ends))]


def _words(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Where rows begin and end in a text of ASCII."""
    at, size = 0, len(text.rstrip())
    while size - at > room:
        edge = text.rfind(" ", at, at + room + 1)
        if edge <= at or text[at:edge].isspace():
            edge = at + room
        yield at, at + len(text[at:edge].rstrip())
        at = edge
        while text[at] == " ":
            at += 1
    yield at, max(size, at)


def _mixed(text: str, room: int) -> Iterator[tuple[int, int]]:
    """The same where characters differ in width and some of them stick to their neighbours."""
    at, size, begins = 0, len(text.rstrip(" ")), column_starts(text)
    while begins[size] - begins[at] > room:
        most = bisect_right(begins, begins[at] + room, at) - 1
        while most < size and begins[most + 1] == begins[most]:
            most += 1  # an accent takes no room
        first = at + len(text[at:most]) - len(text[at:most].lstrip(" "))
        edge = most
        while edge > first and not _may_end(text, edge):
            edge -= 1
        if edge == first:
            edge = max(at + fitting_length(text[at:most], room), first)
            if edge == first:
                edge = after(text, first)
        yield at, at + len(text[at:edge].rstrip(" "))
        at = edge
        while at < size and text[at] == " ":
            at += 1
    yield at, max(size, at)


def _may_end(text: str, at: int) -> bool:
    """Whether a row may end before this character: at a space, or beside a wide one that does not stick to it."""
    before, char = text[at - 1], text[at]
    if char == " " or before == " ":
        return True
    if char in CLOSING or before in OPENING or before == JOINING or "\U0001f3fb" <= char <= "\U0001f3ff":
        return False
    return width(char) > 0 and 2 in (width(char), width(before))


def _sliced(spans: Sequence[Span], ends: Iterable[tuple[int, int]]) -> Iterator[list[Span]]:
    """The spans between those places of their text."""
    number = offset = 0
    for begin, end in ends:
        made: list[Span] = []
        while number < len(spans):
            span = spans[number]
            text = span.text[max(begin - offset, 0) : max(end - offset, 0)]
            if text:
                made.append(span if text == span.text else span._replace(text=text))
            if offset + len(span.text) > end:
                break
            offset += len(span.text)
            number += 1
        yield made


def _merged(made: Iterable[Span]) -> Iterator[Span]:
    held: Span | None = None
    for span in made:
        if held and (held.style, held.link) == (span.style, span.link):
            held = held._replace(text=held.text + span.text)
            continue
        if held:
            yield held
        held = span
    if held:
        yield held
