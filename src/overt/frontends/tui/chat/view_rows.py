"""Views as rows: what of an outcome stays on the screen for good, a few lines of it; Ctrl+O opens the rest."""

import re
from collections.abc import Iterator
from typing import NamedTuple, assert_never

from msgspec.structs import replace

from overt.core.views import Checklist, Diffs, Excerpt, Failure, FileDiff, Listing, Output, Plain, Todo, View
from overt.frontends.tui.chat.live_region import headline_on_one_line, label
from overt.frontends.tui.terminal.formats import duration
from overt.frontends.tui.terminal.rows import Row, Span, columns, cut, row, wrap
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.text import visible
from overt.lib.translations import say

HEAD, TAIL = 8, 4
"""Lines of an output that are shown."""
NOTEWORTHY = 1000
"""Milliseconds from which on it is told how long a call took."""
PROMPT_ROWS = 20
WORDS_ROWS = 12
CHECKS: dict[str, tuple[str, str]] = {
    "pending": ("☐", ""),
    "in_progress": ("▸", "bold accent"),
    "completed": ("☑", "dim"),
}
COLOURS = "\x1b\\[[0-9;:]*m"
"""A program's wish for colour, which is not obeyed and only in the way."""


class FinishedCall(NamedTuple):
    """One call that has come to its end, as far as a person is to see it."""

    agent: str
    name: str
    headline: str
    view: View
    ms: int = 0
    failed: bool = False
    denied: bool = False
    approved: bool = False
    """Its change was shown in full when it was asked about."""


def tool_rows(ended: FinishedCall, room: int) -> list[Row]:
    """One entry: the mark of how it ended, what it was, and a few lines of what came of it."""
    view, headline = ended.view, headline_on_one_line(ended.headline)
    files = view.files if isinstance(view, Diffs) else ()
    alone = len(files) == 1 and files[0].path == ended.headline
    after = (*((Span(" "), *file_head(files[0])[1:]) if alone else ()), *_taken(ended.ms))
    head = row(*label(ended.agent), _mark(ended), Span(one_line(ended.name), "bold"))
    rows = wrap((*head, *((Span(f"  {headline}"),) if headline else ())), room, rest=row("    "))
    if len(rows) > 2:
        rows = [rows[0], cut((*rows[1], Span(" " * room)), room - columns(after))]
    if columns(rows[-1]) + columns(after) <= room:
        rows[-1] = (*rows[-1], *after)
    else:
        rows.append(row("  ", *after))
    for file in files:
        rows += [] if alone else [cut(row("  ", *file_head(file)), room)]
        rows += [] if ended.approved else _diff(file, room)
    return rows if files else [*rows, *view_rows(view, room)]


def view_rows(view: View, room: int, *, head: int = HEAD, tail: int = TAIL) -> list[Row]:
    """Two columns in, so that nothing of it stands at the margin."""
    match view:
        case Plain(text=text):
            return list(_some(_lines(text), room, head, tail))
        case Diffs(files=files):
            return [each for file in files for each in (cut(row("  ", *file_head(file)), room), *_diff(file, room))]
        case Excerpt(path=path, first=first, last=last, total=total):
            words = say("view.excerpt", path=one_line(path), first=first, last=last, total=total or "…")
            return [cut(row("  ", Span(words, "dim")), room)]
        case Listing(count=count, more=more):
            return [row("  ", Span(say("view.found", count=f"{count}{'+' if more else ''}"), "dim"))]
        case Output(text=text, code=code, note=note):
            rows = list(_some(_lines(text), room, head, tail))
            if note:
                rows += words_rows(note, room, "warn" if not code else "error")
            elif code:
                rows.append(row("  ", Span(say("tui.talk.exit", code=code), "error")))
            return rows or [row("  ", Span(say("tui.talk.no_output"), "dim"))]
        case Checklist(items=items):
            return [each for item in items for each in todo_rows(item, room)]
        case Failure(text=text, label=label):
            return words_rows(text[label:], room, "error")
        case _:
            assert_never(view)


def todo_rows(item: Todo, room: int) -> list[Row]:
    mark, style = CHECKS[item.status]
    text = item.active_form if item.status == "in_progress" and item.active_form else item.content
    return wrap((Span(one_line(text), style),), room, first=row("  ", Span(f"{mark} ", style)), rest=row("    "))


def words_rows(text: str, room: int, style: str, *, mark: str = "  ", most: int = WORDS_ROWS) -> list[Row]:
    """Words of ours or of others, wrapped; their later rows stay away from the margin.

    Unlike what a program prints, nothing in them is written over: others could rub out our words before theirs.
    """
    rows: list[Row] = []
    lines = _lines(text)
    for number, line in enumerate(lines):
        rows += _wrapped_line(re.sub(COLOURS, "", line.rstrip("\r"))[: most * room].rstrip(), room, style, mark)
        mark = "  "
        if len(rows) >= most:
            left = len(lines) - number - 1
            return [*rows[:most], *([row("  ", Span(say("tui.talk.more", lines=left), "dim"))] if left else [])]
    return rows


def _wrapped_line(line: str, room: int, style: str, mark: str) -> list[Row]:
    first = row(Span(mark, style if mark.strip() else ""))
    return wrap((Span(visible(line).expandtabs(4), style),), room, first=first, rest=row("  "))


def prompt_rows(text: str, room: int, *, mark: str = "› ", style: str = "user", note: str = "") -> list[Row]:
    """What a person said; of a long text, pasted for example, only its beginning."""
    lines = text.rstrip("\n").split("\n")
    rows: list[Row] = []
    for number, line in enumerate(lines):
        rows += _wrapped_line(line[: PROMPT_ROWS * room], room, style, mark)
        mark, left = "  ", len(lines) - number - 1
        if len(rows) > PROMPT_ROWS or (len(rows) == PROMPT_ROWS and left):
            more = say("tui.talk.more", lines=left) if left else say("tui.talk.more_text")
            rows = [*rows[:PROMPT_ROWS], row("  ", Span(more, "dim"))]
            break
    noted = Span(f" ({note})", "dim")
    if note and columns((*rows[-1], noted)) <= room:
        rows[-1] = (*rows[-1], noted)
    elif note:
        rows.append(row(" ", noted))
    return rows


def file_head(file: FileDiff) -> Row:
    """The name of a file, on one line whatever is in it, and how many lines came and went."""
    named = file if "\n" not in file.path else replace(file, path=file.path.replace("\n", "\\x0a"))
    from overt.frontends.tui.chat import diffs  # late: 4 ms

    head: Row = diffs.diff_head(named)
    return head


def _taken(ms: int) -> Row:
    return (Span(f"  {duration(ms / 1000)}", "dim"),) if ms >= NOTEWORTHY else ()


def _diff(file: FileDiff, room: int) -> list[Row]:
    from overt.frontends.tui.chat import diffs  # late: 4 ms

    return [row("  ", *each) for each in diffs.diff_rows(file, room - 2, whole=False)]


def _mark(ended: FinishedCall) -> Span:
    if ended.denied:
        return Span("⊘ ", "warn")
    if ended.failed:
        return Span("✗ ", "error")
    wrong = isinstance(ended.view, Output) and ended.view.code
    return Span("● ", "warn" if wrong else "good")


def _some(lines: list[str], room: int, head: int, tail: int) -> Iterator[Row]:
    left = len(lines) - head - tail
    for line in lines if left <= 0 else lines[:head]:
        yield cut(row("  ", Span(_printed(line, 2 * room), "dim")), room)
    if left > 0:
        yield cut(row("  ", Span(say("tui.talk.more_open", lines=left), "muted")), room)
        for line in lines[-tail:]:
            yield cut(row("  ", Span(_printed(line, 2 * room), "dim")), room)


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text.strip() else []


def _printed(line: str, most: int) -> str:
    """A line as a screen would have left it: what was written over is gone, as are wishes for colour."""
    left = re.sub(COLOURS, "", line.rstrip("\r").rsplit("\r", 1)[-1])[:most]
    return visible(left).expandtabs(4).rstrip()
