"""Inspectors on a real terminal made of paper: what is on it, through resizes, and what they leave behind."""

import pytest
from tests.frontends.tui.panel_kit import PANELS, filled, key, text_of
from tests.frontends.tui.screen_kit import on_paper

from overt.frontends.tui.panels.inspector import Inspector
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.screen import Frame

SIZES = [(40, 12), (160, 50), (99, 20), (100, 20), (200, 60), (80, 24)]


@pytest.mark.parametrize("name", PANELS)
def test_the_scrollback_is_untouched_when_an_inspector_is_left(name: str) -> None:
    terminal, paper = on_paper(80, 24)
    terminal.commit([(Span(f"finished {number}"),) for number in range(60)])
    terminal.show(Frame([(Span("› a draft"),)], (0, 9)))
    before, cursor = paper.everything(), paper.cursor
    inspector = Inspector(filled(name), terminal, lambda request: None, mouse=True)
    inspector.open(1.0)
    for word in ("down", "enter", "down", "esc", "tab", "esc"):
        inspector.press(key(word))
    inspector.close()
    assert (paper.everything(), paper.cursor) == (before, cursor)
    assert paper.on == {7, 25, 2004}


@pytest.mark.parametrize("name", PANELS)
def test_what_is_on_the_screen_is_what_was_drawn_for_its_size(name: str) -> None:
    terminal, paper = on_paper(80, 24)
    inspector = Inspector(filled(name), terminal, lambda request: None)
    inspector.open(1.0)
    for size in SIZES:
        paper.resize(*size)
        terminal.resized()
        inspector.show()
        wanted = text_of(filled(name).draw(*size))
        while wanted and not wanted[-1]:
            wanted.pop()
        assert paper.display() == wanted
    inspector.close()
