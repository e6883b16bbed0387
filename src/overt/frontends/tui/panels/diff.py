"""The diff inspector: every file that the session changed, as it stood before and as it stands now."""

from overt.app.inspect.inspector_values import Changes
from overt.frontends.tui.chat.diffs import diff_head, diff_rows
from overt.frontends.tui.panels.pager import Pager, PanelInputs
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, wrap
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say


def make(_inputs: PanelInputs) -> Pager:
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
        writer = found.agents.get(file.path)
        head_row = (*diff_head(file), Span(f"  {one_line(writer)}", "muted")) if writer else diff_head(file)
        rows += [head_row, *diff_rows(file, columns, whole=True), BLANK]
    if found.others:
        rows += wrap([Span(say("tui.rewind.others"), "muted")], columns)
        for name in found.others:
            rows += wrap([Span(one_line(name))], columns, first=(Span("• ", "muted"),), rest=(Span("  "),))
    return rows
