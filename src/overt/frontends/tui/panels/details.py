"""The details inspector: what the transcript kept, read from its end."""

from collections.abc import Sequence

from overt.frontends.tui.panels.pager import Pager, PanelInputs
from overt.frontends.tui.terminal.rows import Row, Span
from overt.lib.translations import say


def make(inputs: PanelInputs) -> Pager:

    def lines(columns: int) -> Sequence[Row]:
        return inputs.details(columns) or [(Span(say("tui.details.none"), "muted"),)]

    return Pager(say("tui.details.title"), lines, note=say("tui.details.note"), end=True)
