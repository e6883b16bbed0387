"""What a run without a chat says on stderr: what the tools do, and the closing line."""

import pytest

from overt.core.events import Event, Repaired, ToolFinished, ToolStarted, TreeTaken
from overt.core.messages import Call, Result, Text
from overt.core.views import Diffs, FileDiff, Output, Plain, View
from overt.frontends.headless.closing_lines import RunSummary, closing_line
from overt.frontends.headless.narrate import Narrator
from overt.lib.translations import set_language

NOTHING = Plain(text="")


def started(id: str, name: str = "read", headline: str = "") -> ToolStarted:
    return ToolStarted(call=Call(id=id, name=name, arguments="{}"), headline=headline or f"{id}.py")


def finished(id: str, text: str, *, error: bool = False, view: View = NOTHING) -> ToolFinished:
    return ToolFinished(result=Result(call_id=id, parts=(Text(text=text),), error=error), view=view)


def narrated(*events: Event) -> list[str]:
    narrator = Narrator()
    return [line for event in events for line in narrator.narrate(event)]


def test_a_result_right_below_its_call_needs_no_name() -> None:
    assert narrated(started("a"), finished("a", "one\ntwo")) == ["→ read a.py", "  ✓ one\n    two"]


def test_results_that_come_in_another_order_name_their_calls() -> None:
    repaired = Repaired(call_id="b", note="Read → read")
    assert narrated(
        repaired, started("a"), started("b"), finished("a", "A"), finished("b", "B", error=True), started("c")
    ) == [
        *("→ read a.py", "→ read b.py", "  repaired: Read → read"),
        *("← read a.py", "  ✓ A", "← read b.py", "  ✗ B", "→ read c.py"),
    ]


def test_a_command_that_failed_is_not_ticked_off() -> None:
    view = Output(command="x", text="", code=3)
    assert narrated(started("a", "bash", "x"), finished("a", "[exit code 3]", view=view))[1] == "  ✗ [exit code 3]"


def test_a_long_result_is_cut_in_the_open() -> None:
    assert narrated(started("a"), finished("a", "x" * 300))[1] == f"  ✓ {'x' * 200} …"


def changed(path: str, added: int, removed: int, change: str = "updated") -> FileDiff:
    return FileDiff(path=path, diff="", change=change, added=added, removed=removed)  # type: ignore[arg-type]


def test_files_are_counted_once_and_their_lines_each_time() -> None:
    counter = RunSummary()
    same = changed("b", 0, 0, "unchanged")
    counter.count(finished("1", "", view=Diffs(files=(changed("a", 2, 1), same))))
    counter.count(finished("2", "", view=Diffs(files=(changed("a", 1, 0),))))
    counter.count(TreeTaken(call_id="3", before="x", after="y", changed=4))
    assert (counter.files, counter.added, counter.removed, counter.command_files) == ({"a"}, 3, 1, 4)


FILES = {"a", "b"}


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (RunSummary(steps=1, tokens=950, session="ab12"), "1 step · 950 tokens · session ab12"),
        (RunSummary(steps=2, tokens=0), "2 steps · 0 tokens"),
        (RunSummary(steps=2, tokens=9, cost="$0.0120", session="ab12"), "2 steps · 9 tokens · $0.0120 · session ab12"),
        (
            RunSummary(files=FILES, added=3, removed=1, steps=12, tokens=45_200, session="ab12", undoable=True),
            "2 files changed (+3 -1) · 12 steps · 45k tokens · session ab12 · undo: `overt undo`",
        ),
        (
            RunSummary(command_files=1, steps=3, tokens=1_000, session="ab12", undoable=True),
            "1 file changed by commands · 3 steps · 1.0k tokens · session ab12 · undo: `overt undo`",
        ),
        (RunSummary(files=FILES, steps=1, tokens=1), "2 files changed (+0 -0) · 1 step · 1 tokens"),
        (RunSummary(steps=1, tokens=5, undoable=True), "1 step · 5 tokens"),
    ],
)
def test_the_closing_line_says_only_what_there_is_to_say(run: RunSummary, line: str) -> None:
    assert closing_line(run) == line


def test_the_closing_line_speaks_the_language_of_the_person() -> None:
    set_language("zh")
    try:
        assert closing_line(RunSummary(steps=2, tokens=5)) == "2 步 · 5 token"
    finally:
        set_language("en")
