"""Finished rows are in the scrollback once and in order, whatever happens to the live region and the terminal."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.frontends.tui.screen_kit import Paper, on_paper

from overt.frontends.tui.terminal.device import Gone
from overt.frontends.tui.terminal.rows import Row, Span, row
from overt.frontends.tui.terminal.screen import EMPTY, Frame, Terminal
from overt.frontends.tui.terminal.theme import theme

COMPOSER = Frame((row("› hello"), row("status")), (0, 7))


def frame(*lines: str, cursor: tuple[int, int] | None = None) -> Frame:
    return Frame(tuple(row(line) for line in lines), cursor)


def test_finished_rows_stand_above_the_live_region_and_scroll_away_once() -> None:
    terminal, paper = on_paper(20, 5)
    for number in range(8):
        terminal.commit([row(f"done {number}")])
        terminal.show(COMPOSER)
    assert (paper.scrollback(), paper.display(), paper.cursor) == (
        [f"done {number}" for number in range(5)],
        ["done 5", "done 6", "done 7", "› hello", "status"],
        (3, 7),
    )


def test_a_row_that_is_wider_than_the_screen_is_finished_whole() -> None:
    terminal, paper = on_paper(10, 6)
    terminal.commit([row("0123456789abcdef"), row("中文字符宽度测试")])
    terminal.show(frame("live"))
    assert paper.display() == ["0123456789", "abcdef", "中文字符宽", "度测试", "live"]


def test_a_live_row_that_is_wider_than_the_screen_is_cut() -> None:
    terminal, paper = on_paper(10, 6)
    terminal.show(frame("0123456789abcdef", "中文字符宽度测试", "ok"))
    assert paper.display() == ["012345678…", "中文字符…", "ok"]


def test_a_live_region_that_is_too_high_loses_its_top() -> None:
    terminal, paper = on_paper(10, 4)
    terminal.commit([row("done")])
    terminal.show(frame("a", "b", "c", "d", "e", cursor=(4, 1)))
    assert (paper.everything(), paper.cursor) == (["done", "c", "d", "e"], (3, 1))


@pytest.mark.parametrize("size", [(10, 3), (2, 2), (11, 4), (200, 60)])
def test_it_works_at_any_size(size: tuple[int, int]) -> None:
    terminal, paper = on_paper(*size)
    terminal.commit([row("ab"), row("cd")])
    terminal.show(frame("x", "y", "z", cursor=(2, 1)))
    terminal.leave()
    assert "".join(paper.logical()) == "abcd"


def test_a_typed_character_costs_a_few_bytes() -> None:
    terminal, paper = on_paper()
    terminal.show(Frame((row("tail of the stream"), row("› ", "hello"), row("status")), (1, 7)))
    paper.taken()
    terminal.show(Frame((row("tail of the stream"), row("› ", "hello!"), row("status")), (1, 8)))
    assert paper.sent == ["!"]
    terminal.show(Frame((row("tail of the stream"), row("› ", "hello!中"), row("status")), (1, 10)))
    assert paper.sent == ["!", "中"]
    terminal.show(Frame((row("tail of the stream"), row("› ", "hell!中"), row("status")), (1, 6)))
    assert paper.sent[2:] == ["\x1b[7G!中\x1b[K\x1b[7G"]


def test_what_is_on_the_screen_is_not_written_again() -> None:
    terminal, paper = on_paper()
    terminal.show(COMPOSER)
    paper.taken()
    terminal.show(Frame((row("› hello"), row("status")), (0, 7)))
    terminal.show(Frame(COMPOSER.rows, (0, 3)))
    assert paper.sent == ["\x1b[4G"]


def test_more_than_one_changed_row_is_shown_at_once_with_the_cursor_hidden() -> None:
    terminal, paper = on_paper()
    terminal.show(frame("one a of many", "one b of many", "c", cursor=(2, 0)))
    paper.taken()
    terminal.show(frame("one a of manx", "one b of many and more", "c", cursor=(2, 0)))
    terminal.show(frame("one a of many", "one b of many and more", "d", cursor=(2, 0)))
    assert paper.sent == [
        "\x1b[?2026h\x1b[?25l\x1b[2A\x1b[13Gx\r\n\x1b[14G and more\r\n\x1b[?25h\x1b[?2026l",
        "\x1b[?2026h\x1b[?25l\x1b[2A\x1b[13Gy\r\n\nd\r\x1b[?25h\x1b[?2026l",
    ]


def test_a_row_that_becomes_shorter_leaves_nothing_behind() -> None:
    terminal, paper = on_paper(20, 6)
    terminal.show(frame("a long row of text", "second", cursor=(1, 0)))
    terminal.show(frame("a short", "second", cursor=(1, 0)))
    terminal.show(frame("a short", cursor=(0, 0)))
    assert (paper.display(), paper.cursor) == (["a short"], (0, 0))


def test_a_cursor_that_is_not_given_is_hidden_and_comes_back() -> None:
    terminal, paper = on_paper()
    terminal.show(frame("a", "b"))
    hidden = 25 in paper.on
    terminal.show(frame("a", "b", cursor=(0, 1)))
    assert (hidden, 25 in paper.on, paper.cursor) == (False, True, (0, 1))


def test_an_accent_that_is_added_or_taken_away_reaches_the_screen() -> None:
    terminal, paper = on_paper()
    seen = []
    for text in ("cafe", "cafe\u0301", "cafe\u0301s", "cafes", "cafe"):
        terminal.show(frame(text, cursor=(0, 4)))
        seen.append(paper.display())
    assert seen == [["cafe"], ["cafe\u0301"], ["cafe\u0301s"], ["cafes"], ["cafe"]]


def test_where_terminals_differ_on_a_width_the_row_itself_leads_to_the_cursor() -> None:
    terminal, paper = on_paper()
    terminal.show(frame("› 👨\u200d👩\u200d👧 family", cursor=(0, 9)))
    paper.taken()
    terminal.show(frame("› 👨\u200d👩\u200d👧 families", cursor=(0, 9)))
    assert paper.sent == ["\r\x1b[K› 👨\u200d👩\u200d👧 families\r› 👨\u200d👩\u200d👧 "]


def test_a_row_that_some_terminals_find_too_wide_cannot_wrap() -> None:
    terminal, paper = on_paper(10, 5)
    terminal.show(frame("●●●●●●●●●", "ok"))
    assert "\x1b[?7l●●●●●●●●●\x1b[?7h" in paper.taken()
    assert 7 in paper.on


def test_a_clear_screen_loses_nothing() -> None:
    terminal, paper = on_paper(20, 6)
    terminal.commit([row("one"), row("two")])
    terminal.show(COMPOSER)
    terminal.clear()
    assert (paper.scrollback(), paper.display(), paper.cursor) == (["one", "two"], ["› hello", "status"], (0, 7))


def test_a_new_theme_is_seen_on_all_live_rows() -> None:
    terminal, paper = on_paper()
    terminal.show(Frame((row(Span("x", "error")), row("plain"))))
    before = paper.cell(0, 0).fg
    terminal.theme = theme("light", depth=256)
    terminal.repaint()
    assert (before, paper.cell(0, 0).fg, paper.display()) == ("ff5f5f", "d70000", ["x", "plain"])


# ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────


def test_leaving_puts_every_mode_back_and_stands_below_the_finished_rows() -> None:
    terminal, paper = on_paper()
    terminal.commit([row("done")])
    terminal.show(COMPOSER)
    terminal.open_full(mouse=True)
    paper.taken()
    terminal.leave()
    terminal.leave()
    sent = paper.taken()
    assert (paper.everything(), paper.cursor, paper.on, paper.mode) == (["done"], (1, 0), {7, 25}, "usual")
    assert (sent.count("\x1b[<u"), sent.count("\x1b[>4;0m")) == (2, 2)


def test_what_was_finished_and_never_shown_is_printed_on_leaving() -> None:
    terminal, paper = on_paper()
    terminal.commit([row("last words")])
    terminal.leave()
    assert paper.everything() == ["last words"]


def test_all_is_put_back_when_it_is_left() -> None:
    paper = Paper()
    terminal = Terminal(paper, theme("dark", depth=0))
    terminal.enter()
    terminal.show(COMPOSER)
    terminal.leave()
    assert (paper.everything(), paper.on, paper.mode) == ([], {7, 25}, "usual")


def test_after_a_stop_the_live_region_is_drawn_again_below() -> None:
    terminal, paper = on_paper()
    terminal.commit([row("done")])
    terminal.show(COMPOSER)
    stop: Callable[[], None] = paper.stop

    def shell() -> None:
        stop()
        paper.write("$ fg\r\n")
        assert (paper.mode, paper.on) == ("usual", {7, 25})

    paper.stop = shell  # type: ignore[method-assign]
    terminal.suspend()
    assert paper.display() == ["done", "$ fg", "› hello", "status"]
    assert (paper.mode, paper.cursor, paper.stopped) == ("raw", (2, 7), 1)
    terminal.enter()
    assert paper.display() == ["done", "$ fg", "› hello", "status"]


def test_a_program_that_was_stopped_unasked_takes_the_terminal_back() -> None:
    terminal, paper = on_paper()
    terminal.show(COMPOSER)
    paper.mode = "usual"
    paper.write("\r\n\n$ fg\r\n")
    terminal.enter()
    assert (paper.mode, paper.display()[-3:]) == ("raw", ["$ fg", "› hello", "status"])


def test_a_terminal_that_went_away_is_told_as_one_thing() -> None:
    paper = Paper()

    def broken(_text: str) -> None:
        raise Gone(5, "gone")

    terminal = Terminal(paper, theme("dark", depth=0))
    terminal.enter()
    paper.write = broken  # type: ignore[assignment, method-assign]
    with pytest.raises(Gone):
        terminal.show(COMPOSER)
    terminal.leave()
    assert paper.mode == "usual"


# ── the whole screen ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_inspector_leaves_the_screen_below_as_it_was() -> None:
    terminal, paper = on_paper(20, 6)
    terminal.commit([row(f"done {number}") for number in range(9)])
    terminal.show(COMPOSER)
    before = paper.everything(), paper.cursor
    terminal.open_full()
    terminal.show_full([row(f"line {number}") for number in range(40)], (2, 3))
    inside = paper.display(), paper.cursor
    terminal.show_full([row("short")])
    emptied = paper.display()
    terminal.close_full()
    assert inside == ([f"line {number}" for number in range(6)], (2, 3))
    assert (emptied, paper.everything(), paper.cursor) == (["short"], *before)


def test_what_is_finished_while_an_inspector_is_open_comes_after_it() -> None:
    terminal, paper = on_paper(20, 6)
    terminal.show(COMPOSER)
    terminal.open_full()
    terminal.commit([row("done")])
    terminal.show(frame("tail", "› hello", "status", cursor=(1, 7)))
    terminal.show_full([row("inspector")])
    inside = paper.display()
    terminal.close_full()
    assert (inside, paper.display()) == (["inspector"], ["done", "tail", "› hello", "status"])


def test_the_mouse_is_asked_for_only_on_the_whole_screen_and_only_if_wanted() -> None:
    terminal, paper = on_paper()
    seen = []
    for mouse in (False, True):
        terminal.open_full(mouse=mouse)
        seen.append(paper.on & {1000, 1006})
        terminal.close_full()
        seen.append(paper.on & {1000, 1006})
    assert seen == [set(), set(), {1000, 1006}, set()]


def test_only_changed_lines_of_the_whole_screen_are_written() -> None:
    terminal, paper = on_paper(20, 6)
    terminal.open_full()
    terminal.show_full([row("a"), row("b")])
    paper.taken()
    terminal.show_full([row("a"), row("c")])
    assert paper.taken() == "\x1b[?2026h\x1b[2;1H\x1b[Kc\x1b[?25l\x1b[?2026l"


# ── signs ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_signs_hold_nothing_that_others_could_smuggle_in() -> None:
    terminal, paper = on_paper()
    terminal.notify("a\x07b\x1b]0;x t\x9b1m")
    terminal.bell()
    done = terminal.copy("中\x1b"), terminal.copy("x" * 100_000)
    terminal.ask_colour()
    assert (done, paper.sent) == (
        (True, False),
        [
            "\x1b]9;a\\x07b\\x1b]0;x t\\x9b1m\a",
            "\a",
            "\x1b]52;c;5LitGw==\a",
            "\x1b]11;?\x1b\\",
        ],
    )


# ── resizing ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_resize_redraws_the_live_region_where_reflow_has_brought_it() -> None:
    terminal, paper = on_paper(40, 12)
    terminal.commit([row(f"done {number}") for number in range(4)])
    terminal.show(frame("a row of thirty-five columns, or so..", "› a composer with some text", "s", cursor=(1, 26)))
    paper.resize(15, 12)
    assert terminal.resized()
    terminal.flush()
    assert (paper.everything(), paper.cursor, terminal.resized()) == (
        ["done 0", "done 1", "done 2", "done 3", "a row of thirt…", "› a composer w…", "s"],
        (2, 14),
        False,
    )


def test_a_terminal_that_does_not_reflow_is_redrawn_in_place() -> None:
    terminal, paper = on_paper(40, 12, reflows=False)
    terminal.commit([row(f"done {number}") for number in range(4)])
    terminal.show(frame("a row of thirty-five columns, or so..", "› a composer", "s", cursor=(1, 12)))
    paper.resize(15, 12, reflows=False)
    terminal.flush()
    assert paper.everything() == ["done 0", "done 1", "done 2", "done 3", "a row of thirt…", "› a composer", "s"]


def test_nothing_is_drawn_until_the_size_is_still() -> None:
    terminal, paper = on_paper(40, 12)
    terminal.show(COMPOSER)
    terminal.settle = 60
    paper.taken()
    paper.resize(30, 12)
    terminal.commit([row("done")])
    terminal.show(frame("new"))
    waits = terminal.wait
    terminal.flush()
    assert (paper.sent, waits is not None and 50 < waits <= 60) == ([], True)
    terminal.flush(now=True)
    assert (paper.display(), terminal.wait) == (["done", "new"], None)


Step = tuple[str, int, int]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(1, 4), st.integers(1, 90)),
        st.tuples(st.just("show"), st.integers(0, 6), st.integers(0, 70)),
        st.tuples(st.just("resize"), st.integers(10, 70), st.integers(3, 16)),
        st.tuples(st.just("full"), st.integers(10, 70), st.integers(3, 16)),
        st.tuples(st.just("clear"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


def _live(rows: int, columns: int, wide: bool) -> Frame:
    made: list[Row] = [row(("測" if wide else "L") * max(columns - 7 * at, 0)) for at in range(rows)]
    return Frame(tuple(made), (rows // 2, min(columns, 9)) if rows else None)


def _run(played: list[Step], reflows: bool, wide: bool) -> tuple[list[str], Paper]:
    terminal, paper = on_paper(40, 8, reflows=reflows)
    finished: list[str] = []
    for what, first, second in played:
        if what == "commit":
            for _ in range(first):
                text = f"c{len(finished)}" + "." * (second if reflows else min(second, 6))
                finished.append(text)
                terminal.commit([row(text)])
            terminal.flush()
        elif what == "show":
            terminal.show(_live(first, second, wide))
        elif what == "resize":
            paper.resize(first, second, reflows=reflows)
            terminal.flush()
        elif what == "full":
            terminal.open_full()
            terminal.show_full([row("inspector")] * 9)
            if reflows:
                paper.resize(first, second)
                terminal.show_full([row("inspector")] * 9)
            terminal.close_full()
        else:
            terminal.clear()
    terminal.show(EMPTY)
    terminal.leave()
    return finished, paper


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans())
def test_every_finished_row_is_there_once_and_in_order(played: list[Step], wide: bool) -> None:
    finished, paper = _run(played, reflows=True, wide=wide)
    assert re.findall(r"c\d+\.+", "\n".join(paper.logical())) == finished


@settings(max_examples=80, deadline=None)
@given(steps, st.booleans())
def test_every_finished_row_is_there_once_where_nothing_reflows(played: list[Step], wide: bool) -> None:
    finished, paper = _run(played, reflows=False, wide=wide)
    assert [line for line in paper.everything() if line.startswith("c")] == finished


class Slow(Paper):
    """Tells the program of a resize later than it happens, as tmux does."""

    told: tuple[int, int] | None = None

    def size(self) -> tuple[int, int]:
        return self.told or super().size()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("commit"), st.integers(1, 2), st.integers(1, 30)),
            st.tuples(st.just("show"), st.integers(0, 5), st.integers(0, 70)),
            st.tuples(st.just("point"), st.integers(0, 5), st.integers(0, 70)),
            st.tuples(st.just("resize"), st.integers(10, 70), st.integers(6, 20)),
            st.tuples(st.just("hear"), st.just(0), st.just(0)),
        ),
        max_size=30,
    )
)
@example([("commit", 3, 1), ("show", 4, 0), ("resize", 10, 6), ("show", 3, 0)])  # moves down stop at the last line
@example([("commit", 1, 1), ("resize", 10, 6), ("show", 2, 48), ("hear", 0, 0)])  # rows that the terminal cuts
@example([("commit", 1, 1)] * 2 + [("show", 1, 21), ("resize", 10, 6), ("show", 4, 0), ("resize", 11, 6)])
@example([("commit", 2, 1), ("show", 2, 21), ("point", 0, 9), ("resize", 10, 6), ("point", 1, 0), ("resize", 40, 6)])
def test_nothing_finished_is_lost_while_the_program_does_not_know_of_a_resize(played: list[Step]) -> None:
    paper = Slow(40, 14)
    terminal = Terminal(paper, theme("dark", depth=0), settle=0)
    terminal.enter()
    finished: list[str] = []
    shown = EMPTY
    for what, first, second in played:
        if what == "commit":
            made = [f"c{len(finished) + at}" + "." * second for at in range(first)]
            finished += made
            terminal.commit([row(text) for text in made])
            terminal.flush()
        elif what == "show":
            shown = _live(first, second, wide=False)
            terminal.show(shown)
        elif what == "point":  # only the cursor moves
            terminal.show(Frame(shown.rows, (first, second) if first < len(shown.rows) else None))
        elif what == "resize":
            paper.told = paper.size()
            paper.resize(first, second)
        else:
            paper.told = None
            terminal.flush()
    paper.told = None
    terminal.leave()
    assert re.findall(r"c\d+\.+", "\n".join(paper.logical())) == finished


def test_an_answer_of_eighteen_kilobytes_in_many_pieces_takes_less_than_eighty_on_the_terminal() -> None:
    terminal, paper = on_paper(80, 24)
    words = ("the quick brown fox jumps over the lazy dog and back again " * 320)[:18_000]
    tail = ""
    for at in range(0, 18_000, 24 * 8):  # 760 pieces at 250 a second, drawn 30 times a second
        tail += words[at : at + 24 * 8]
        lines = [tail[start : start + 76] for start in range(0, len(tail), 76)]
        if len(lines) > 6:
            terminal.commit([row(line) for line in lines[:-1]])
            tail, lines = lines[-1], lines[-1:]
        shown = [row(Span(line, "answer")) for line in lines]
        terminal.show(Frame((*shown, row(""), row(Span("› ", "user")), row(Span("status " * 9, "muted"))), (6, 2)))
    sent = len(paper.taken().encode())
    assert sent < 60_000
