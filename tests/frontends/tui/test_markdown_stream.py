"""Markdown as it streams: every block is given once, as early as it can be, and the same however the text is cut."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from overt.frontends.tui.markdown import block_boundaries
from overt.frontends.tui.markdown.markdown import Markdown
from overt.frontends.tui.terminal.rows import Row, columns, plain

LINES = (
    "alpha|**b** `c`|中文|- a|- |-|  - b|    - c|1. one|2. two|10) ten|1986. x|> q|> - q|> ```|# h|## |```|```py|~~~|"
    "````|---|===|***|* * *|+ x|* y|<div>|</div>|<!-- c|-->|<b>x|[a]: /u|see [a]|    code|  two|   three|\tt|- [x] t|"
    "x  |y\\|&amp;|lazy||||"
).split("|") + ["# h | i", "```py|z", "- a | b", "1. c | d", "| a | b |", "|---|---|", "| x | y |", "|:-|-:|"]
DOCUMENTS = st.lists(st.sampled_from(LINES), max_size=16).map("\n".join)


def rows_of(pieces: Sequence[str], width: int = 30) -> list[Row]:
    markdown = Markdown()
    rows: list[Row] = []
    for piece in pieces:
        markdown.feed(piece)
        assert len(markdown.tail(width, 5)) <= 5
        rows += markdown.take(width)
    return [*rows, *markdown.end(width)]


def taken(markdown: Markdown, text: str) -> list[str]:
    markdown.feed(text)
    return [plain(row) for row in markdown.take(30)]


@settings(deadline=None)
@given(DOCUMENTS, st.randoms(use_true_random=False))
@example("see [a]\n\n[a]: /u\n\nlazy", random.Random(1))
@example("- x\n- a | b\n|---|---|\n# a | b\n|---|---|\n\n```a | b\n|---|---|", random.Random(1))
@example("# h [a]\n[a]: /u\n- x [a]\n\n\n- y\n1. z\n1. z", random.Random(1))
def test_the_rows_do_not_depend_on_how_the_text_was_cut(text: str, source: random.Random) -> None:
    pieces, at = [], 0
    while at < len(text):
        pieces.append(text[at : at + source.randint(1, 9)])
        at += len(pieces[-1])
    whole = rows_of([text])
    assert rows_of(text) == whole
    assert rows_of(pieces) == whole


@settings(deadline=None)
@given(DOCUMENTS)
def test_no_row_is_too_wide_or_ends_in_a_space(text: str) -> None:
    rows = rows_of([text], 20)
    assert [row for row in rows if columns(row) > 20 or plain(row).endswith(" ")] == []


@settings(deadline=None)
@example("- x\n- a | b\n|---|---|\n| c | d |")
@example("1. x\n  2. a | b\n|---|---|")
@example("# a | b\n|---|---|\n\n```a | b\n|---|---|")
@given(DOCUMENTS.filter(lambda text: "[a]" not in text))
def test_the_blocks_are_those_of_the_whole_text(text: str) -> None:
    assert shape_of_pieces(text) == shape_of_whole(text)


class Watched(Markdown):
    """Keeps the tokens of every block as it is drawn; items say whether their list began before."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Any, ...]] = []

    def _cut(self, cut: Any, lines: Sequence[str], drawn: int, columns: int) -> list[Row]:
        if cut.unit.kind == "item" and not self._goes_on:
            self.seen.append(("list",))
        made = super()._cut(cut, lines, drawn, columns)
        self.seen += [("fence",)] if cut.unit.kind == "fence" else map(told, cut.unit.tokens)
        return made


def told(token: Any) -> tuple[Any, ...]:
    return token.type, token.tag, token.markup, token.info, token.content, token.nesting


def shape_of_pieces(text: str) -> list[tuple[Any, ...]]:
    markdown = Watched()
    for char in text:
        markdown.feed(char)
        markdown.take(40)
    markdown.end(40)
    return markdown.seen


def shape_of_whole(text: str) -> list[tuple[Any, ...]]:
    """Where lists begin is kept, where they end follows; what is inside of a fence is not cut by markdown-it."""
    shapes: list[tuple[Any, ...]] = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text.removesuffix("\n") + "\n"):
        if token.level == 0 and token.type.endswith("_list_open"):
            shapes.append(("list",))
        elif token.level == 0 and token.type == "fence":
            shapes.append(("fence",))
        elif not (token.level == 0 and token.type.endswith("_list_close")):
            shapes.append(told(token))
    return shapes


def test_a_heading_is_given_at_once_and_a_paragraph_at_its_blank_line() -> None:
    markdown = Markdown()
    assert taken(markdown, "# He") == []
    assert taken(markdown, "ad\n") == ["Head"]
    assert taken(markdown, "text\nmore\n") == []
    assert taken(markdown, "\n") == ["text more"]
    assert taken(markdown, "next\n") == []
    assert taken(markdown, "## Two\n") == ["", "next", "", "Two"]


def test_items_are_given_one_by_one() -> None:
    markdown = Markdown()
    assert taken(markdown, "1. one\n") == []
    assert taken(markdown, "1. two\n") == ["1. one"]
    assert taken(markdown, "   more\n   - inner\n\n") == []
    assert taken(markdown, "1. three\n") == ["2. two more", "   - inner".replace("-", "◦")]
    assert taken(markdown, "\nend\n") == ["", "3. three"]
    assert [plain(row) for row in markdown.end(30)] == ["", "end"]


def test_code_is_given_in_batches_and_its_colours_go_on() -> None:
    markdown = Markdown()
    assert taken(markdown, '```python\nx = """\n') == []
    rows = []
    for number in range(40):
        markdown.feed(f"if {number}\n")
        rows += markdown.take(30)
    assert [plain(row) for row in rows] == ["  python", '  x = """', *(f"  if {number}" for number in range(31))]
    assert {row[1].style for row in rows[2:]} == {"tok.string"}
    assert [plain(row) for row in markdown.end(30)] == [f"  if {number}" for number in range(31, 40)]


def test_a_long_table_is_given_in_parts_with_one_head_and_the_same_columns() -> None:
    lines = ["| a | bb |", "|---|---|", *(f"| {number} | x |" for number in range(450))]
    rows = [plain(row) for row in rows_of([line + "\n" for line in lines])]
    assert rows == ["a   │ bb", "────┼───", *(f"{number:<3} │ x" for number in range(450))]


def test_the_tail_shows_the_unfinished_block_and_forgets_it_when_it_is_given() -> None:
    markdown = Markdown()
    markdown.feed("one\n\ntwo **thr")
    assert [plain(row) for row in markdown.take(30)] == ["one"]
    assert [plain(row) for row in markdown.tail(30, 5)] == ["", "two thr"]
    markdown.feed("ee**\n\n```\nco")
    assert [plain(row) for row in markdown.take(30)] == ["", "two three"]
    assert [plain(row) for row in markdown.tail(30, 5)] == ["  co"]
    markdown.feed("de\n``")
    assert [plain(row) for row in markdown.tail(30, 5)] == ["  code"]
    markdown.feed("`\n")
    assert [plain(row) for row in markdown.take(30)] == ["", "  code"]
    assert markdown.tail(30, 5) == []


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a **b", "a b"),
        ("a **b c ", "a b c"),
        ("a **", "a"),
        ("a `b", "a b"),
        ("a `", "a"),
        ("a `b` **c** d", "a b c d"),
        ("- ```\n  f(**k", "•   f(**k"),
        ("    `x", "  `x"),
    ],
)
def test_the_tail_closes_what_is_still_open_but_not_in_code(text: str, row: str) -> None:
    markdown = Markdown()
    markdown.feed(text)
    assert [plain(made) for made in markdown.tail(30, 5)][-1] == row


def test_the_tail_keeps_the_last_rows_and_a_table_its_head() -> None:
    markdown = Markdown()
    markdown.feed("".join(f"word{number} " for number in range(20000)))
    assert [plain(row) for row in markdown.tail(20, 2)] == ["word19997 word19998", "word19999"]
    table = Markdown()
    taken(table, "| a | b |\n|---|---|\n" + "".join(f"| {number} | x |\n" for number in range(190)))
    rows = [plain(row) for row in table.tail(30, 200)]
    assert rows[:2] + rows[-1:] == ["a   │ b", "────┼──", "189 │ x"]


@pytest.mark.parametrize(
    "line",
    ["alpha beta\n", "#alpha\n", "> alpha\n", "- alpha\n", "  - a\n", "| a | b |\n", "[a]: /u\n", "<b>\n", "alpha "],
)  # fmt: skip
def test_what_is_read_grows_with_the_text_and_not_with_its_square(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "| a | b |\n|---|---|\n" * line.startswith("|") + "- a\n" * line.startswith(" ")
    text = head + line * (60_000 // len(line))
    read = [0]
    blocks = block_boundaries.blocks

    def counted(lines: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
        read[0] += sum(map(len, lines))
        assert read[0] < 12 * len(text)
        return blocks(lines)

    monkeypatch.setattr("overt.frontends.tui.markdown.markdown.blocks", counted)
    markdown = Markdown()
    for at in range(0, len(text), 24):
        markdown.feed(text[at : at + 24])
        markdown.take(60)
    markdown.end(60)
    assert read[0] > len(text) // 2


def test_after_the_end_a_new_text_begins() -> None:
    markdown = Markdown()
    markdown.feed("1. a\n\n[x]: https://a.org\n\n```\ncode")
    markdown.end(30)
    assert markdown.tail(30, 5) == []
    markdown.feed("1. b\n\n[x]")
    assert [plain(row) for row in markdown.end(30)] == ["1. b", "", "[x]"]
