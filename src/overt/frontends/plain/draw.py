"""Views as lines of text for any terminal."""

from collections.abc import Callable, Iterator
from typing import assert_never

from overt.core.events import PermissionAsked
from overt.core.views import Checklist, Diffs, Excerpt, Failure, FileDiff, Listing, Output, Plain, View
from overt.frontends.describe_events import headline_words, permission_lines
from overt.lib.text import exact, visible, wide
from overt.lib.translations import say

SHOWN = 12
NARROWEST = 20
CODES = {"bold": 1, "dim": 2, "error": 31, "warn": 31, "remove": 31, "add": 32, "good": 32, "tool": 36, "hunk": 36}
"""What the styles are on a terminal of which nothing is known."""
LINE, WRAPPED, INDENT = "  │ ", "  ┆ ", "    "
"""The edge of what is approved. No row of it begins at the margin, so nothing in it can pass for our own words."""


class Ink:
    """Paints a text in a style: `ink("dim", "words")`. Without colour it is left as it is."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def __call__(self, style: str, text: str) -> str:
        code = CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and code and text else text


def draw(view: View, ink: Ink, *, whole: bool = False) -> str:
    """`whole` leaves nothing out: an approval shows exactly what it approves."""
    match view:
        case Plain(text=text):
            return _some(text, whole=whole)
        case Diffs(files=files):
            return "\n".join(_diff(file, ink, whole=whole) for file in files)
        case Excerpt(path=path, first=first, last=last, total=total):
            return ink("dim", say("view.excerpt", path=visible(path), first=first, last=last, total=total or "…"))
        case Listing(count=count, more=more):
            return ink("dim", say("view.found", count=f"{count}{'+' if more else ''}"))
        case Output(text=text, code=code, note=note):
            tail = f"[{visible(note)}]" if note else (f"[exit code {code}]" if code else "")
            return "\n".join(part for part in (_some(text.rstrip("\n"), whole=whole), ink("error", tail)) if part)
        case Checklist(items=items):
            return "\n".join(visible(item.line()) for item in items)
        case Failure(text=text):
            return ink("error", _some(text, whole=whole))
        case _:
            assert_never(view)


def draw_question(asked: PermissionAsked, ink: Ink, *, width: int = 80) -> str:
    """Everything a person should know before the answer: what exactly would run, what it changes, and why."""
    room = max(width - len(LINE), NARROWEST)
    lines = [ink("bold", headline_words(asked, visible)), *_edged(asked.view, ink, room)]
    for line in permission_lines(asked):
        lines += [ink(line.style, row) for row in _indented(line.text, room)]
    return "\n".join(lines)


def hanging(text: str) -> str:
    """Words of others below their first line stay away from the margin."""
    return visible(text).replace("\n", f"\n{INDENT}")


def _edged(view: View, ink: Ink, width: int) -> Iterator[str]:
    if not isinstance(view, Diffs):
        text = view.text if isinstance(view, Plain) else draw(view, Ink(colour=False), whole=True)
        yield from (row for line in text.split("\n") for row in _rows(line, width))
        return
    for file in view.files:
        yield ink("bold", f"{LINE}{visible(file.path)} ({file.change}, +{file.added} -{file.removed})")
        for line in _lines(file.diff):
            yield from (ink(_style(line), row) for row in _rows(line, width))


def edged(text: str, width: int, show: Callable[[str], str] = visible) -> Iterator[str]:
    """Give words of others as rows behind an edge, so that none of them can pass for our own."""
    for line in text.split("\n"):
        yield from _rows(line, max(width - len(LINE), NARROWEST), show)


def _rows(line: str, width: int, show: Callable[[str], str] = exact) -> Iterator[str]:
    """One line, broken where the terminal would break it, with a mark that says so."""
    first, *rest = _broken(show(line).expandtabs(4), width)
    yield LINE + first
    yield from (WRAPPED + row for row in rest)


def _indented(text: str, width: int) -> Iterator[str]:
    """Our own words with others' behind them: only the first row begins at the margin."""
    first, *rest = (row for line in visible(text).expandtabs(4).split("\n") for row in _broken(line, width))
    yield first
    yield from (INDENT + row for row in rest)


def _broken(line: str, width: int) -> Iterator[str]:
    row, cells = "", 0
    for char in line:
        taken = wide(char)
        if cells + taken > width:
            yield row
            row, cells = "", 0
        row, cells = row + char, cells + taken
    yield row


def _diff(file: FileDiff, ink: Ink, *, whole: bool) -> str:
    head = ink("bold", f"{visible(file.path)} ({file.change}, +{file.added} -{file.removed})")
    lines = [ink(_style(line), visible(line)) for line in _lines(file.diff)]
    return "\n".join([head, *_clipped(lines, 40, whole=whole)])


def _style(line: str) -> str:
    return {"+": "add", "-": "remove", "@": "hunk"}.get(line[:1], "dim")


def _some(text: str, *, whole: bool) -> str:
    return "\n".join(_clipped([visible(line) for line in _lines(text.replace("\r\n", "\n"))], SHOWN, whole=whole))


def _lines(text: str) -> list[str]:
    """At line feeds only: `splitlines` would swallow the separators that are to be shown."""
    return text.removesuffix("\n").split("\n") if text else []


def _clipped(lines: list[str], most: int, *, whole: bool) -> list[str]:
    if whole or len(lines) <= most:
        return lines
    head, tail = most * 2 // 3, most // 3
    return [*lines[:head], say("view.more", lines=len(lines) - head - tail), *lines[-tail:]]
