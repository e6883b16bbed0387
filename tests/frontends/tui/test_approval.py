"""Approvals: all of what would happen, to the letter; one key answers, and no key that was meant for something else."""

import re
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.tui.transcript_kit import call, lines

from overt.core.events import PermissionAsked, PermissionDecided, ToolFinished, TurnEnded
from overt.core.messages import Result
from overt.core.protocols import Answer
from overt.core.views import Diffs, FileDiff, Plain, View
from overt.frontends.tui.chat.approval import CALM, PAUSE, Approval, Approvals, marked
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.rows import columns as taken
from overt.lib.diff import file_diff
from overt.lib.display_width import max_width

ENTER, ESC, CTRL_C = Key("enter"), Key("esc"), Key("ctrl-c")


def asked(text: str = "make test", *, view: View | None = None, **values: Any) -> PermissionAsked:
    given: dict[str, Any] = {"id": "q1", "call": call(), "headline": text, "why": "", "view": view or Plain(text=text)}
    return PermissionAsked(**(given | values))


def typed(text: str) -> list[Key]:
    return [Key("text", letter) for letter in text]


def pressed(approval: Approval, *keys: Key) -> object:
    """What the last of the keys gave; none before it gave anything."""
    *before, last = keys
    assert [approval.press(key) for key in before] == [None] * len(before)
    return approval.press(last)


def panel(approval: Approval, columns: int = 80, most: int = 5) -> list[str]:
    return lines(approval.draw(columns, most)[0])


# ── what is printed once ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_is_shown_behind_an_edge_with_all_that_is_known() -> None:
    question = asked(
        "make test\nmake install",
        why="to see it · not known",
        affects=("would delete build/ (3 files)",),
        dangerous=True,
    )
    assert lines(Approval(question).opening(80)) == [
        "? bash wants to run:",
        "  │ make test",
        "  │ make install",
        "It would delete build/ (3 files)",
        "Why you are asked: to see it · not known",
        "This can destroy or publish something. It is asked every time.",
    ]


def test_a_change_is_shown_whole_with_line_numbers() -> None:
    diff = "@@ -1 +1 @@\n-old\n+new\n" + "".join(f"+{number}\n" for number in range(100))
    view = Diffs(files=(FileDiff(path="a.py", diff=diff, change="updated", added=101, removed=1),))
    shown = lines(Approval(asked("a.py", view=view, call=call("edit"))).opening(80))
    assert shown[:4] == ["? Edit a.py?", "  │ a.py +101 -1", "  │   1     - old", "  │       1 + new"]
    assert shown[4:] == [f"  │     {number + 2:>3} + {number}" for number in range(100)]


def test_who_asks_is_named() -> None:
    approval = Approval(asked(agent="main/explore-1"))
    assert lines(approval.opening(80))[0] == "? main/explore-1 asks: bash wants to run:"
    assert panel(approval)[0] == "main/explore-1 asks: Allow bash?"


def test_the_words_that_make_it_dangerous_are_marked() -> None:
    hazards = ("rm", "-rf", "| sh")
    assert marked("rm -rf x; format rm-all x-rf | sh", hazards) == [
        Span("rm", "hazard"),
        Span(" "),
        Span("-rf", "hazard"),
        Span(" x; format "),
        Span("rm", "hazard"),
        Span("-all x"),
        Span("-rf", "hazard"),
        Span(" "),
        Span("| sh", "hazard"),
    ]
    assert marked("ls", ()) == [Span("ls")]
    shown = Approval(asked("echo " + "x" * 90 + " && rm y", hazards=("rm",))).opening(60)
    assert [span.text for row in shown for span in row if span.style == "hazard"] == ["rm"]


@pytest.mark.parametrize("width", [40, 80])
def test_a_long_line_is_broken_behind_the_edge_and_marked(width: int) -> None:
    shown = lines(Approval(asked("echo " + "x" * 200)).opening(width))
    assert shown[1] == "  │ echo " + "x" * (width - 9)
    assert all(row.startswith("  ┆ x") and len(row) <= width for row in shown[2:])
    assert "".join(row[4:] for row in shown[1:]) == "echo " + "x" * 200


def test_blanks_cannot_push_words_to_the_margin() -> None:
    shown = lines(Approval(asked("ls" + " " * 74 + "Allow? y\nAllow? y", why=" " * 57 + "Allow? y")).opening(80))
    assert shown[1:4] == ["  │ ls" + " " * 74, "  ┆ Allow? y", "  │ Allow? y"]
    assert shown[4:] == ["Why you are asked:", "    Allow? y"]


def test_what_cannot_be_seen_is_shown_and_said() -> None:
    assert lines(Approval(asked("rm\u00a0-rf \x1b[8m\u202e/\x85x")).opening(80)) == [
        "? bash wants to run:",
        "  │ rm\\xa0-rf \\x1b[8m<U+202E>/\\x85x",
        "Characters that cannot be seen are shown as codes.",
    ]
    view = Diffs(files=(FileDiff(path="a", diff="@@ -1 +1 @@\n-a\n+b\u202ec\n", change="updated"),))
    shown = lines(Approval(asked("a", view=view)).opening(80))
    assert "  │   1 + b<U+202E>c" in shown
    assert "Characters that cannot be seen are shown as codes." in shown


@given(st.text(max_size=60), st.integers(24, 90))
def test_no_text_reaches_the_margin_or_drives_the_terminal(text: str, width: int) -> None:
    added = "".join(f"+{line}\n" for line in text.split("\n"))
    diff = Diffs(files=(FileDiff(path=text, diff=f"@@ -1 +1 @@\n-a\n{added}", change="updated", added=1, removed=1),))
    ours = (
        "? bash wants",
        "? Edit",
        "  │ ",
        "  │",
        "  ┆ ",
        "Characters that",
        "It",
        "Why you are asked",
        "    ",
        "“Always”",
        "It needs the",
        "The model says",
    )
    needed: dict[str, Any] = {"network": True, "network_reason": text}
    for view in (Plain(text=text), diff):
        approval = Approval(
            asked(text, view=view, why=text, affects=(text,), hazards=(text,), always=f"bash({text})", **needed)
        )
        rows = [*approval.opening(width), *approval.draw(width, 40)[0]]
        assert [row for row in rows if taken(row) > width] == []
        shown = lines(approval.opening(width))
        assert [row for row in shown if row and not row.startswith(ours)] == []
        assert not re.search("[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]", "".join(lines(rows)))


# ── the panel and its keys ───────────────────────────────────────────────────────────────────────────────────────


def test_the_panel_shows_the_exact_rule() -> None:
    assert panel(Approval(asked(always="bash(make test *)"))) == [
        "Allow bash?",
        "y once · a always: bash(make test *) · n no, with a reason · Esc no",
    ]
    assert panel(Approval(asked())) == ["Allow bash?", "y once · n no, with a reason · Esc no"]
    assert panel(Approval(asked(dangerous=True))) == ["Allow bash?", "y once · n no, with a reason · Esc no"]


def test_a_rule_too_long_for_the_panel_is_printed_with_the_question() -> None:
    rule = "bash(" + "word " * 60 + "*)"
    approval = Approval(asked(always=rule))
    assert " ".join("".join(lines(approval.opening(300))).split()) == "? bash wants to run: │ make test"
    shown = lines(approval.opening(60))
    stored = "".join(row.removeprefix("    ") for row in shown[2:])
    assert stored.replace(" ", "") == f"“Always” would store: {rule}".replace(" ", "")
    assert panel(approval, 60) == [
        "Allow bash?",
        "y once · a always, by the rule above · n no, with a reason ·",
        "Esc no",
    ]


def test_a_question_about_the_network_says_so_and_what_always_would_store() -> None:
    question = asked("pip install x", network=True, network_reason="to get x", always="bash(pip install x)")
    assert lines(Approval(question).opening(80)) == [
        "? bash wants to run:",
        "  │ pip install x",
        "It needs the network, which the sandbox keeps closed.",
        "The model says why it needs the network: to get x",
    ]
    assert " ".join(panel(Approval(question), 200)) == (
        "Allow bash? y once · s network for this session · "
        "a always, with the network: exactly bash(pip install x) · n no, with a reason · Esc no"
    )


def test_a_long_command_that_always_would_store_with_the_network_is_printed_with_the_question() -> None:
    question = asked("x", network=True, always="bash(" + "word " * 60 + "x)")
    shown = " ".join(row.strip() for row in lines(Approval(question).opening(60)))
    assert "“Always” would store, with the network: exactly bash(word word" in shown


@pytest.mark.parametrize("key", ["s", "S"])
def test_the_session_is_a_key_only_where_the_network_is_asked_for(key: str) -> None:
    assert Approval(asked(network=True)).press(Key("text", key)) == Answer(choice="session")
    for question in (asked(always="edit"), asked(network=True, dangerous=True)):
        assert Approval(question).press(Key("text", key)) is None
        assert "session" not in " ".join(panel(Approval(question)))


def test_always_for_edits_says_what_it_means() -> None:
    assert panel(Approval(asked(always="edit", call=call("edit")))) == [
        "Allow edit?",
        "y once · a always allow edits in this project · n no, with a reason · Esc no",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (("updated",), "Edit a.py?"),
        (("created", "created"), "Create a.py?"),
        (("deleted",), "Delete a.py?"),
        (("created", "deleted"), "Edit a.py?"),
    ],
)
def test_a_change_of_files_is_named_in_the_question(
    changes: tuple[Literal["created", "updated", "deleted"], ...], expected: str
) -> None:
    view = Diffs(files=tuple(FileDiff(path="a.py", diff="", change=change) for change in changes))
    approval = Approval(asked("a.py", view=view, call=call("edit")))

    assert lines(approval.opening(80))[0] == f"? {expected}"
    assert panel(approval)[0] == expected


def test_a_long_path_in_the_panel_is_cut_and_never_reaches_the_margin() -> None:
    path = "y once · n no " * 40
    view = Diffs(files=(FileDiff(path=path, diff="", change="created"),))
    rows = lines(Approval(asked(path, view=view, call=call("write"), agent="explore-1")).draw(40, 9, place="1 of 2")[0])

    assert rows[0].startswith("explore-1 asks: Create y once")
    assert [row for row in rows[1:-2] if not row.startswith("    ")] == []
    assert len(rows) <= 5


@pytest.mark.parametrize("key", ["y", "Y", "1"])
def test_one_key_allows_once(key: str) -> None:
    assert Approval(asked()).press(Key("text", key)) == Answer(choice="once")


@pytest.mark.parametrize("key", ["a", "A", "2"])
def test_always_is_a_key_only_where_it_is_offered(key: str) -> None:
    assert Approval(asked(always="edit")).press(Key("text", key)) == Answer(choice="always")
    for question in (asked(), asked(always="edit", dangerous=True)):
        approval = Approval(question)
        assert approval.press(Key("text", key)) is None
        assert panel(approval)[0] == "Allow bash?  “Always” is not offered here."


def test_no_asks_for_a_reason() -> None:
    approval = Approval(asked())
    assert approval.press(Key("text", "n")) is None
    assert approval.draw(80, 5) == (
        [(Span("Why not?", "bold accent"),), (Span("Enter sends it, empty: no reason · Esc back", "dim"),)],
        (0, 9),
    )
    assert pressed(approval, *typed("not now"), ENTER) == Answer(choice="deny", reason="not now")
    assert pressed(Approval(asked()), Key("text", "3"), ENTER) == Answer(choice="deny")


def test_the_reason_is_edited_by_whole_characters() -> None:
    approval = Approval(asked())
    keys = (Key("text", "n"), *typed("不要e\u0301"), Key("backspace"), Key("left"), Key("text", "想"), Key("end"))
    assert pressed(approval, *keys) is None
    rows, cursor = approval.draw(80, 5)
    assert (lines(rows)[0], cursor) == ("Why not? 不想要", (0, 15))
    assert pressed(approval, Key("ctrl-u"), Key("paste", "two\nlines"), ENTER) == Answer(
        choice="deny", reason="two lines"
    )


def test_a_reason_longer_than_the_row_scrolls() -> None:
    approval = Approval(asked())
    pressed(approval, Key("text", "n"), Key("paste", "读" * 50))
    rows, cursor = approval.draw(30, 5)
    assert lines(rows)[0] == "Why not? " + "读" * 10
    assert cursor == (0, 29)
    pressed(approval, Key("home"))
    assert approval.draw(30, 5)[1] == (0, 9)


def test_escape_leaves_the_reason_and_then_says_no() -> None:
    approval = Approval(asked())
    assert pressed(approval, Key("text", "n"), *typed("y"), ESC) is None
    assert panel(approval)[0] == "Allow bash?"
    assert approval.press(ESC) == Answer(choice="deny")


def test_control_c_stops_the_turn_whatever_is_on_screen() -> None:
    approval = Approval(asked())
    assert approval.press(CTRL_C) == "interrupt"
    assert pressed(approval, Key("text", "n"), CTRL_C) == "interrupt"


@pytest.mark.parametrize("key", [Key("text", "yes"), Key("text", "x"), ENTER, Key("tab"), Key("paste", "y"), Key("up")])
def test_other_keys_answer_nothing(key: Key) -> None:
    approval = Approval(asked(always="edit"))
    assert approval.press(key) is None
    assert panel(approval)[0] == "Allow bash?  Press one of the keys above."


@pytest.mark.parametrize("columns", [20, 24, 40, 80])
@pytest.mark.parametrize("most", [1, 2, 3, 6])
def test_the_panel_fits(columns: int, most: int) -> None:
    approval = Approval(asked(always="bash(npm run build *)", agent="main/探索者-1"))
    for keys in ((), (Key("text", "x"),), (Key("text", "n"),)):
        for key in keys:
            approval.press(key)
        rows, cursor = approval.draw(columns, most)
        assert 1 <= len(rows) <= most
        assert [row for row in rows if taken(row) > columns] == []
        assert cursor is None or cursor[1] < columns


# ── several, and when a key counts ───────────────────────────────────────────────────────────────────────────────


def waiting(*questions: PermissionAsked) -> Approvals:
    approvals = Approvals()
    for question in questions:
        approvals.feed(question)
    return approvals


def opened(approvals: Approvals, now: float) -> list[str]:
    shown = lines(approvals.opening(80))
    approvals.painted(now)
    return shown


def test_several_are_answered_in_order() -> None:
    approvals = waiting(
        asked("one", id="q1", call=call(call_id="c1")),
        asked("two", id="q2", call=call(call_id="c2"), agent="main/explore-1"),
        asked("three", id="q3", call=call(call_id="c3")),
    )
    seen: list[object] = []
    for now in (10.0, 20.0, 30.0):
        seen += [opened(approvals, now)[1], lines(approvals.draw(80, 5)[0])[0]]
        assert approvals.opening(80) == []
        seen.append(approvals.press(Key("text", "y"), now))
    once = Answer(choice="once")
    assert seen == [
        "  │ one", "Allow bash?  1 of 3", ("q1", once),
        "  │ two", "main/explore-1 asks: Allow bash?  2 of 3", ("q2", once),
        "  │ three", "Allow bash?  3 of 3", ("q3", once),
    ]  # fmt: skip
    assert (approvals.current, approvals.draw(80, 5)) == (None, ([], None))


def test_no_key_answers_before_the_question_is_on_the_screen() -> None:
    approvals = waiting(asked())
    assert not approvals.armed(100.0, typed_at=0.0)
    approvals.opening(80)
    assert not approvals.armed(100.0, typed_at=0.0)
    approvals.painted(100.0)
    assert approvals.armed(100.0, typed_at=0.0)


def test_keys_of_a_person_who_is_typing_belong_to_the_draft() -> None:
    approvals = waiting(asked())
    opened(approvals, 100.0)
    assert not approvals.armed(100.1, typed_at=99.9)
    assert not approvals.armed(100.5, typed_at=100.3)
    assert approvals.armed(100.3 + CALM, typed_at=100.3)
    assert approvals.armed(100.9, typed_at=100.85)  # it has been seen at rest once


def test_a_key_pressed_twice_does_not_answer_the_next_question_too() -> None:
    approvals = waiting(asked(id="q1"), asked(id="q2", call=call(call_id="c2")))
    opened(approvals, 99.0)
    assert approvals.armed(100.0, typed_at=0.0)
    assert approvals.press(Key("text", "y"), 100.0) == ("q1", Answer(choice="once"))
    assert not approvals.armed(100.01, typed_at=0.0)
    opened(approvals, 100.02)
    assert not approvals.armed(100.05, typed_at=0.0)
    assert approvals.armed(100.01 + PAUSE, typed_at=0.0)


def test_what_follows_a_paste_at_once_answers_nothing() -> None:
    approvals = waiting(asked())
    opened(approvals, 99.0)
    assert approvals.armed(100.0, typed_at=0.0)
    given = [approvals.press(key, 100.0) for key in (Key("paste", "y\ny"), Key("text", "y"), ENTER, ESC)]
    assert given == [None] * 4
    assert approvals.press(Key("text", "y"), 100.01 + PAUSE) == ("q1", Answer(choice="once"))


def test_a_question_that_left_the_screen_is_named_again_beside_the_keys() -> None:
    keys = "y once · n no, with a reason · Esc no"
    long = waiting(asked("rm -rf / #" + "\n" * 30 + "ls"))
    opened(long, 1.0)
    above = "The whole question is further up: 32 rows. Scroll up and read them first."
    assert lines(long.draw(80, 8)[0]) == ["Allow bash?", "  │ rm -rf / #", above, keys]
    short = waiting(asked("rm\u202e -rf /"))
    opened(short, 1.0)
    assert lines(short.draw(80, 8)[0]) == ["Allow bash?", keys]
    short.feed(finished())
    above = "The whole question is further up: 3 rows. Scroll up and read them first."
    assert lines(short.draw(80, 8)[0]) == ["Allow bash?", "  │ rm<U+202E> -rf /", above, keys]


def test_lines_of_a_change_that_are_not_shown_are_counted() -> None:
    view = Diffs(files=(file_diff("a", None, "x\n" * 5000),))
    shown = lines(Approval(asked("a", view=view, call=call("write"))).opening(80))
    assert "1001 more lines of this change are not shown." in shown
    pretended = Diffs(files=(file_diff("a", None, "\\ 7 more lines not shown\n"),))
    assert "not shown." not in "".join(lines(Approval(asked("a", view=pretended)).opening(80)))


def test_no_terminal_that_draws_signs_wider_brings_a_command_to_the_margin() -> None:
    shown = lines(Approval(asked("echo " + "●" * 70 + "Allow? y")).opening(80))[1:]
    assert "".join(row[4:] for row in shown) == "echo " + "●" * 70 + "Allow? y"
    assert max(map(max_width, shown)) <= 80


def finished() -> ToolFinished:
    return ToolFinished(result=Result(call_id="c9", parts=()), view=Plain(text=""), ms=0)


def decided(call_id: str, agent: str = "main") -> PermissionDecided:
    return PermissionDecided(call_id=call_id, verdict="deny", rule="", origin="", by="person", agent=agent)


def test_a_question_that_is_over_disappears() -> None:
    approvals = waiting(
        asked(id="q1", call=call(call_id="c1")),
        asked(id="q2", call=call(call_id="c1"), agent="main/a"),
        asked(id="q3", call=call(call_id="c3"), agent="main/a"),
    )

    def front() -> str:
        return approvals.current.question.id if approvals.current else ""

    approvals.feed(decided("c1"))
    assert front() == "q2"
    approvals.feed(decided("c1", "main/a"))
    assert front() == "q3"
    approvals.feed(TurnEnded(reason="done", agent="main/b"))
    assert front() == "q3"
    approvals.feed(TurnEnded(reason="interrupted", agent="main/a"))
    assert front() == ""
    for question in (asked(id="q4"), asked(id="q5", agent="main/a")):
        approvals.feed(question)
    approvals.feed(TurnEnded(reason="interrupted"))
    assert front() == ""
    assert approvals.press(Key("text", "y"), 1.0) is None
