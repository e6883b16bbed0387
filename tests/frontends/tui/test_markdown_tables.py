"""Tables: columns fitted to the screen, cells wrapped by words and by Chinese characters, a list where none fit."""

from overt.frontends.tui.markdown.markdown import Markdown
from overt.frontends.tui.terminal.rows import Row, Span, plain

TABLE = """\
| Name | Value | 说明 |
|:-----|------:|:----:|
| alpha | 1 | 中文说明 |
| a longer name | 12345 | `x` |
"""
CROWDED = """\
| Identifier | Description of it | Another column |
|---|---|---|
| first_identifier | some words that say what it is | yes |
| second_one | | no |
"""


def drawn(text: str, columns: int) -> list[Row]:
    markdown = Markdown()
    markdown.feed(text)
    return markdown.end(columns)


def shown(text: str, columns: int) -> list[str]:
    return [plain(row) for row in drawn(text, columns)]


def test_a_table_that_fits_is_as_wide_as_its_cells() -> None:
    assert shown(TABLE, 60) == [
        "Name          │ Value │   说明",
        "──────────────┼───────┼─────────",
        "alpha         │     1 │ 中文说明",
        "a longer name │ 12345 │    x",
    ]


def test_cells_wrap_by_words_and_by_chinese_characters() -> None:
    assert shown(TABLE, 24) == [
        "Name     │ Value │ 说明",
        "─────────┼───────┼──────",
        "alpha    │     1 │ 中文",
        "         │       │ 说明",
        "─────────┼───────┼──────",
        "a longer │ 12345 │   x",
        "name     │       │",
    ]


def test_the_head_is_bold_and_lines_are_quiet() -> None:
    assert drawn("| a | b |\n|---|---|\n| c | `d` |\n", 40) == [
        (Span("a", "bold"), Span(" │ ", "border"), Span("b", "bold")),
        (Span("──┼──", "border"),),
        (Span("c"), Span(" │ ", "border"), Span("d", "code")),
    ]


def test_columns_that_cannot_stand_beside_each_other_become_lines() -> None:
    assert shown(CROWDED, 30) == [
        "Identifier: first_identifier",
        "Description of it: some",
        "  words that say what it is",
        "Another column: yes",
        "",
        "Identifier: second_one",
        "Another column: no",
    ]


def test_a_column_keeps_its_words_whole_before_others_get_more_room() -> None:
    assert shown(CROWDED, 40) == [
        "Identifier       │ Description │ Another",
        "                 │ of it       │ column",
        "─────────────────┼─────────────┼────────",
        "first_identifier │ some words  │ yes",
        "                 │ that say    │",
        "                 │ what it is  │",
        "─────────────────┼─────────────┼────────",
        "second_one       │             │ no",
    ]


def test_rows_with_too_few_or_too_many_cells_are_drawn_as_the_head_says() -> None:
    assert shown("| a | b |\n|---|---|\n| c |\n| d | e | f |\n", 40) == ["a │ b", "──┼──", "c │", "d │ e"]


def test_a_table_may_follow_a_paragraph_without_a_blank_line() -> None:
    assert shown("text\n| a |\n|---|\n| b |\n\nend", 40) == ["text", "", "a", "─", "b", "", "end"]
