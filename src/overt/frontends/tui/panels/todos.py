"""The todos inspector: the checklist, as it changes."""

from collections.abc import Sequence

from overt.app.inspect.inspector_values import Todos
from overt.core.views import Todo
from overt.frontends.tui.panels.pager import Pager, PanelInputs
from overt.frontends.tui.terminal.rows import Row, Span, wrap
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

MARKS = {"pending": "☐ ", "in_progress": "▸ ", "completed": "☑ "}
STYLES = {"pending": "", "in_progress": "bold accent", "completed": "muted"}
OFTEN = 1.0


def make(_inputs: PanelInputs) -> Pager:
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
        rows += wrap([Span(one_line(said), style)], columns, first=(mark,), rest=(Span("  "),))
    return rows
