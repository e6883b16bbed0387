"""Every view as rows: what matters of it, indented, no wider than the screen and without anything that drives it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.tui.transcript_kit import lines

from overt.core.views import Checklist, Diffs, Excerpt, Failure, FileDiff, Listing, Output, Plain, Todo, View
from overt.frontends.tui.chat.view_rows import FinishedCall, prompt_rows, tool_rows, view_rows
from overt.frontends.tui.terminal.rows import columns as taken

LONG = "\n".join(f"line {number}" for number in range(40))
HEAD = [f"  line {number}" for number in range(8)]
TAIL = [f"  line {number}" for number in range(36, 40)]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (Plain(text="hello\nthere\n"), ["  hello", "  there"]),
        (Plain(text=""), []),
        (Excerpt(path="a.py", first=1, last=20, total=80), ["  a.py, lines 1–20 of 80"]),
        (Listing(what="files", count=3), ["  3 found"]),
        (Listing(what="files", count=100, more=True), ["  100+ found"]),
        (Output(command="x", text="ok\n", code=0), ["  ok"]),
        (Output(command="x", text="", code=0), ["  no output"]),
        (Output(command="x", text="bad\n", code=2), ["  bad", "  exit code 2"]),
        (Output(command="x", text="", note="killed after 120 s"), ["  killed after 120 s"]),
        (Output(command="x", text=LONG, code=0), [*HEAD, "  … 28 more lines · Ctrl+O opens", *TAIL]),
        (Output(command="x", text="  0%\r 50%\r100%\r\ndone", code=0), ["  100%", "  done"]),
        (Output(command="x", text="\x1b[31mred\x1b[0m \x1b[2J", code=0), ["  red \\x1b[2J"]),
        (Output(command="x", text="a\tb", code=0), ["  a   b"]),
        (Failure(text="[overt] no such file: x", label=8), ["  no such file: x"]),
        (
            Checklist(
                items=(
                    Todo(content="read", status="completed"),
                    Todo(content="fix", status="in_progress", active_form="fixing"),
                    Todo(content="judge", status="in_progress"),
                    Todo(content="test"),
                )
            ),
            ["  ☑ read", "  ▸ fixing", "  ▸ judge", "  ☐ test"],
        ),
    ],
)
def test_each_view_as_rows(view: View, expected: list[str]) -> None:
    assert lines(view_rows(view, 60)) == expected


def test_several_changed_files_are_each_named() -> None:
    files = tuple(
        FileDiff(path=name, diff="@@ -0,0 +1 @@\n+x\n", change="created", added=1) for name in ("a.py", "b.py")
    )
    shown = lines(tool_rows(FinishedCall("main", "patch", "a.py, b.py", Diffs(files=files)), 60))
    assert shown[0] == "● patch  a.py, b.py"
    assert [line for line in shown if "+1" in line and "py" in line] == ["  a.py new +1", "  b.py new +1"]
    assert lines(tool_rows(FinishedCall("main", "patch", "a.py, b.py", Diffs(files=files), approved=True), 60)) == [
        "● patch  a.py, b.py",
        "  a.py new +1",
        "  b.py new +1",
    ]


def test_marks_say_how_a_call_ended() -> None:
    def mark(**values: bool) -> tuple[str, str]:
        head = tool_rows(FinishedCall("main", "bash", "x", Plain(text=""), **values), 60)[0][0]
        return head.text, head.style

    assert mark() == ("● ", "good")
    assert mark(failed=True) == ("✗ ", "error")
    assert mark(failed=True, denied=True) == ("⊘ ", "warn")
    failed = tool_rows(FinishedCall("main", "bash", "x", Output(command="x", text="", code=1)), 60)[0][0]
    assert (failed.text, failed.style) == ("● ", "warn")


def test_a_headline_takes_two_rows_at_most() -> None:
    ended = FinishedCall("main", "bash", "echo " + "word " * 40, Plain(text=""), ms=3100)
    assert lines(tool_rows(ended, 40)) == [
        "● bash  echo word word word word",
        "    word word word word word word…  3.1s",
    ]
    assert lines(tool_rows(ended._replace(headline="one\n\ttwo"), 40)) == ["● bash  one⏎  two  3.1s"]


def test_a_headline_is_shown_to_the_letter() -> None:
    ended = FinishedCall("main", "bash", "rm\u00a0-rf \u202ex", Plain(text=""))
    assert lines(tool_rows(ended, 60)) == ["● bash  rm\\xa0-rf <U+202E>x"]


@given(st.text(max_size=80), st.integers(20, 90))
def test_no_row_is_wider_than_the_screen(text: str, room: int) -> None:
    views: tuple[View, ...] = (
        Plain(text=text),
        Output(command=text, text=text, code=1, note=text),
        Failure(text=text),
        Excerpt(path=text, first=1, last=2),
        Checklist(items=(Todo(content=text),)),
        Diffs(files=(FileDiff(path=text, diff="@@ -1 +1 @@\n-a\n+" + text.replace("\n", " "), change="updated"),)),
    )
    rows = [row for view in views for row in tool_rows(FinishedCall("main", "bash", text, view), room)]
    rows += prompt_rows(text, room, note="steering")
    assert [row for row in rows if taken(row) > room] == []
