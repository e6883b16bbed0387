"""Inspectors that are one text: todos, details, what the session changed."""

from collections.abc import Sequence

from overt.app.inspect.values import Changes, Todos
from overt.core.views import Todo
from overt.frontends.tui.chat.diffs import diff_head, diff_rows
from overt.frontends.tui.panels.pager import Lay, Pager, shown
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, wrap
from overt.lib.catalogue import say

MARKS = {"pending": "☐ ", "in_progress": "▸ ", "completed": "☑ "}
STYLES = {"pending": "", "in_progress": "bold accent", "completed": "muted"}
OFTEN = 1.0


def details_panel(lay: Lay | None) -> Pager:
    """What the transcript kept, read from its end."""

    def lines(columns: int) -> Sequence[Row]:
        found = lay(columns) if lay else ()
        return found or [(Span(say("tui.details.none"), "muted"),)]

    return Pager(say("tui.details.title"), lines, note=say("tui.details.note"), end=True)


def todos_panel() -> Pager:
    """The checklist, as it changes."""
    pager = Pager(say("tui.todos.title"), query="todos", fill=_fill_todos)
    pager.every = OFTEN
    return pager


def _fill_todos(pager: Pager, value: object) -> None:
    if isinstance(value, Todos):
        items = value.items
        done = sum(item.status == "completed" for item in items)
        pager.note = say("tui.todos.note", done=done, all=len(items)) if items else ""
        pager.body.set(lambda columns: checklist(items, columns))


def checklist(items: Sequence[Todo], columns: int) -> list[Row]:
    if not items:
        return wrap([Span(say("tui.todos.none"), "muted")], columns)
    rows: list[Row] = []
    for item in items:
        style = STYLES[item.status]
        said = item.active_form if item.status == "in_progress" and item.active_form else item.content
        mark = Span(MARKS[item.status], "good" if item.status == "completed" else style)
        rows += wrap([Span(shown(said), style)], columns, first=(mark,), rest=(Span("  "),))
    return rows


def diff_panel() -> Pager:
    """Every file that the session changed, as it stood before and as it stands now."""
    loading = [(Span(say("tui.panel.loading"), "muted"),)]
    return Pager(say("tui.changes.title"), loading, note=say("tui.changes.note"), query="diff", fill=_fill_diff)


def _fill_diff(pager: Pager, value: object) -> None:
    if isinstance(value, Changes):
        pager.body.set(lambda columns: changed(value, columns, none=say("tui.changes.none")), end=False)


def changed(found: Changes, columns: int, *, none: str, head: str = "") -> list[Row]:
    """Differences, then what is only named."""
    rows: list[Row] = []
    if not found.files and not found.others:
        return wrap([Span(none, "muted")], columns)
    if found.files and head:
        rows += [*wrap([Span(head, "muted")], columns), BLANK]
    for file in found.files:
        rows += [diff_head(file), *diff_rows(file, columns, whole=True), BLANK]
    if found.others:
        rows += wrap([Span(say("tui.rewind.others"), "muted")], columns)
        for name in found.others:
            rows += wrap([Span(shown(name))], columns, first=(Span("• ", "muted"),), rest=(Span("  "),))
    return rows
