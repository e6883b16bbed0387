"""Changed files on the screen: numbers, signs, words that differ, and every character when it is to be approved."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.core.views import FileDiff
from overt.frontends.tui.chat.diffs import diff_head, diff_rows
from overt.frontends.tui.terminal.rows import Row, Span, columns, plain
from overt.lib.diff import file_diff
from overt.lib.translations import set_language

LONG = "".join(f"line {number}\n" for number in range(30))


def shown(file: FileDiff, width: int = 70, *, whole: bool = True, most: int = 40, approval: bool = False) -> list[str]:
    return [plain(row) for row in diff_rows(file, width, whole=whole, most=most, approval=approval)]


def changed(old: str, new: str, path: str = "a.txt") -> FileDiff:
    return file_diff(path, old, new)


def test_both_numbers_stand_beside_a_line_and_hunks_are_apart() -> None:
    new = LONG.replace("line 4\n", "line four\n").replace("line 25\n", "")
    assert shown(changed(LONG, new)) == [
        " 2  2   line 1",
        " 3  3   line 2",
        " 4  4   line 3",
        " 5    - line 4",
        "    5 + line four",
        " 6  6   line 5",
        " 7  7   line 6",
        " 8  8   line 7",
        "      ⋮",
        "23 23   line 22",
        "24 24   line 23",
        "25 25   line 24",
        "26    - line 25",
        "27 26   line 26",
        "28 27   line 27",
        "29 28   line 28",
    ]


def test_a_narrow_screen_shows_one_number() -> None:
    assert shown(changed("a\nb\n", "a\nc\n"), 40) == ["1   a", "2 - b", "2 + c"]


def test_the_words_that_differ_are_marked() -> None:
    assert diff_rows(changed("x = one + two\n", "x = one + three\n"), 70, whole=True) == [
        (Span("1   ", "lineno"), Span("- ", "remove"), Span("x = one + ", "remove"), Span("two", "remove.word")),
        (Span("  1 ", "lineno"), Span("+ ", "add"), Span("x = one + ", "add"), Span("three", "add.word")),
    ]


def test_lines_that_have_little_in_common_are_not_marked() -> None:
    rows = diff_rows(changed("alpha beta\n", "something else entirely\n"), 70, whole=True)
    assert {span.style for row in rows for span in row} == {"lineno", "remove", "add"}


def test_spaces_that_changed_can_be_seen() -> None:
    assert shown(changed("\tx\ny\n", "    x\ny  \n")) == ["1   - →x", "2   - y", "  1 + ····x", "  2 + y··"]
    assert shown(changed("", "x\t \n")) == ["  1 + x→·"]


def test_what_stays_is_coloured_as_code_and_so_is_a_new_file() -> None:
    rows = diff_rows(changed("return 1\nx\n", "return 1\ny\n", "a.py"), 70, whole=True)
    assert rows[0] == (
        Span("1 1 ", "lineno"), Span("  "), Span("return", "tok.keyword"), Span(" "), Span("1", "tok.number"),
    )  # fmt: skip
    assert diff_rows(file_diff("a.py", None, "return\n"), 70, whole=True) == [
        (Span("1 ", "lineno"), Span("+ ", "add"), Span("return", "tok.keyword"))
    ]
    assert shown(file_diff("a.py", "x\ny\n", None)) == ["1 - x", "2 - y"]


def test_long_lines_go_on_beside_the_gutter() -> None:
    assert shown(changed("", "0123456789" * 2 + "中文中文\n"), 20) == ["1 + 0123456789012345", "    6789中文中文"]


def test_a_long_change_is_cut_in_the_open() -> None:
    file = changed("", "".join(f"{number}\n" for number in range(100)))
    rows = shown(file, whole=False)
    assert rows == [*(f"    {number + 1:>3} + {number}" for number in range(40)), "… 60 more lines"]
    assert len(shown(file)) == 100
    assert len(shown(changed("", "x\n" * 43), whole=False)) == 43
    assert shown(file, whole=False, most=2)[2:] == ["… 98 more lines"]


def test_remarks_are_ours_and_in_the_language_of_the_person() -> None:
    file = changed("a", "b")
    assert shown(file) == [
        "1   - a",
        "      no line end at the end of the file",
        "  1 + b",
        "      no line end at the end of the file",
    ]
    huge = changed("", "x\n" * 5000)
    assert shown(huge)[-1].strip() == "… 1001 more lines"
    set_language("zh")
    try:
        assert shown(huge)[-1].strip() == "… 还有 1001 行"
    finally:
        set_language("en")


def test_a_line_that_looks_like_a_remark_is_a_line() -> None:
    assert shown(changed("", "\\ No newline at end of file\n@@ -1 +1 @@\n")) == [
        "  1 + \\ No newline at end of file",
        "  2 + @@ -1 +1 @@",
    ]


def test_the_head_names_the_file_and_counts() -> None:
    assert diff_head(changed("a\n", "b\nc\n", "x\x1b.py")) == (
        Span("x\\x1b.py", "bold"),
        Span(" +2", "add"),
        Span(" -1", "remove"),
    )
    assert plain(diff_head(file_diff("a", None, "x\n"))) == "a new +1"
    assert plain(diff_head(file_diff("a", "x\n", None))) == "a deleted -1"


def test_a_renamed_file_is_shown_with_both_names_and_only_its_changes() -> None:
    change = changed("a\n", "b\n")
    renamed = FileDiff(
        path="new.py",
        diff=f"rename from old\x1b.py\nrename to new.py\n{change.diff}",
        change="updated",
        added=1,
        removed=1,
    )
    assert plain(diff_head(renamed)) == "old\\x1b.py → new.py +1 -1"
    assert shown(renamed) == ["1   - a", "  1 + b"]


def test_nothing_changed_is_no_row() -> None:
    assert diff_rows(changed("a", "a"), 70, whole=True) == []


@pytest.mark.parametrize("approval", [False, True])
def test_a_change_cannot_drive_the_terminal(approval: bool) -> None:
    file = changed("a\x1b[2J\r\nb\n", "a\x9b2J\u202e\r\nb\x07\n", "a.py")
    rows = diff_rows(file, 70, whole=True, approval=approval)
    assert all(span.text.isprintable() for row in rows for span in row)


def test_for_an_approval_spaces_that_are_none_are_shown() -> None:
    file = changed("rm a\nkeep\xa0b\n", "rm\xa0a\nkeep\xa0b\n")
    assert shown(file, approval=True) == ["1   - rm·a", "  1 + rm\\xa0a", "2 2   keep\\xa0b"]


def unwrapped(rows: list[Row], gutter: int) -> list[str]:
    """The lines of the change, put together again from their rows."""
    lines: list[str] = []
    for row in rows:
        text = plain(row)
        if text[:gutter].strip():
            lines.append(text[gutter - 2 :])
        else:
            lines[-1] += text[gutter:]
    return lines


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab=+-()中é1._"), min_size=1, max_size=60), min_size=1, max_size=6))
def test_no_character_is_lost_where_lines_wrap(lines: list[str]) -> None:
    file = file_diff("a.py", None, "".join(line + "\n" for line in lines))
    rows = diff_rows(file, 24, whole=True, approval=True)
    assert unwrapped(rows, 4) == [f"+ {line}" for line in lines]
    assert max(columns(row) for row in rows) <= 24
