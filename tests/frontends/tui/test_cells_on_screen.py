"""What is counted is what a screen takes: the cursor stands where the text ends, whatever it is made of."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.tui.screen_kit import on_paper

from overt.frontends.tui.terminal.rows import row
from overt.frontends.tui.terminal.screen import Frame
from overt.lib.display_width import clusters, width

PIECES = [
    "a", " ", "中", "文", "，", "か\u3099", "한", "\u1112\u1161\u11ab", "é", "e\u0301", "👍🏽", "👨\u200d👩\u200d👧",
    "🇨🇳", "❤\ufe0f", "1\ufe0f\u20e3", "\u0939\u093f", "…", "“", "ﬁ", "\u0e01\u0e47",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=6), st.integers(0, 40))
def test_the_cursor_stands_where_the_counted_columns_end(drafts: list[str], place: int) -> None:
    """Each text replaces the one before on the same row, so that differences are drawn too."""
    terminal, paper = on_paper(120, 6)
    for text in drafts:
        before = "".join(clusters(text)[:place])
        terminal.show(Frame((row("above"), row("› ", text), row("below")), (1, 2 + width(before))))
        assert (paper.cursor, paper.display()) == ((1, 2 + width(before)), ["above", f"› {text}".rstrip(), "below"])
