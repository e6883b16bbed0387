"""Text that keeps its own lines: tabs are expanded, control characters shown, and only the screen edge breaks it."""

from collections.abc import Callable, Sequence

from overt.frontends.tui.terminal.rows import Row, Span
from overt.lib.display_width import clusters, fitting_length, width
from overt.lib.text import visible

TAB = 4


def harmless(text: str, show: Callable[[str], str] = visible) -> str:
    """Make one line of foreign text ready for a span: without control characters and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return expand_tabs(show(text))


def one_line(text: str) -> str:
    """Make what others wrote ready for a span, on one line."""
    return visible(text).replace("\t", " ").replace("\n", " ")


def expand_tabs(text: str) -> str:
    if "\t" not in text:
        return text
    pieces = text.split("\t")
    made = pieces[0]
    for piece in pieces[1:]:
        made += " " * (TAB - width(made) % TAB) + piece
    return made


def chop(spans: Sequence[Span], room: int) -> list[Row]:
    """Break a line into rows at the screen edge, keeping every character except spaces at the end of the line."""
    room = max(room, 2)
    rows: list[Row] = []
    made: list[Span] = []
    left = room
    for span in strip_trailing_spaces(spans):
        text, at = span.text, 0
        while at < len(text):
            window = text[at : at + 4 * room]  # never the whole rest: a line may be a megabyte
            size = fitting_length(window, left)
            if not size and not made:
                size = len(clusters(window)[0])
            if size:
                made.append(span if size == len(text) else span._replace(text=window[:size]))
                left -= width(window[:size])
                at += size
            if size < len(window):
                rows.append(tuple(made))
                made, left = [], room
    rows.append(tuple(made))
    return rows


def strip_trailing_spaces(spans: Sequence[Span]) -> list[Span]:
    """Return the spans without the spaces at their end."""
    kept = list(spans)
    while kept:
        last = kept.pop()
        text = last.text.rstrip(" ")
        if text:
            kept.append(last if len(text) == len(last.text) else last._replace(text=text))
            break
    return kept
