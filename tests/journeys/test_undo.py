"""Files put back: exactly, never over what somebody else did meanwhile, in the chat and from the shell."""

import os
import stat
import time
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, Terminal, call, calls, entries, messages

SCRIPT = """import os, shutil
shutil.rmtree("gone")
os.chmod("deep/mode.txt", 0o640)
os.chmod("script.sh", 0o755)
os.chmod("deep", 0o755)
open("deep/made.txt", "w").write("made")
open("win.txt", "w", newline="").write("other\\r\\n")
os.makedirs("empty/within")
os.remove("链接")
"""
COMMAND = "python3 -B change.py"


def tree(folder: Path) -> dict[str, tuple[str, object]]:
    """Everything below, with kind, permissions and content."""
    found: dict[str, tuple[str, object]] = {}
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(top, name)
            mode = path.lstat().st_mode
            held = os.readlink(path) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else ""
            found[str(path.relative_to(folder))] = (stat.filemode(mode), held)
    return found


@pytest.fixture
def project(place: Place) -> dict[str, tuple[str, object]]:
    work = place.work
    (work / "deep").mkdir(mode=0o750)
    (work / "gone").mkdir()
    (work / "empty").mkdir()
    for name in ("one.txt", "two.txt", "deep/three.txt", "deep/mode.txt", "gone/数据.txt"):
        (work / name).write_text(f"the old {name}\n")
    (work / "win.txt").write_bytes(b"dos\r\nlines\r\n")
    (work / "script.sh").write_text("#!/bin/sh\n")
    (work / "change.py").write_text(SCRIPT)
    (work / ".gitattributes").write_text("* text=auto eol=crlf\n*.txt filter=evil ident\n")
    os.chmod(work / "deep/mode.txt", 0o600)
    os.chmod(work / "script.sh", 0o700)
    (work / "链接").symlink_to("one.txt")
    return tree(work)


def edits() -> list[Turn]:
    """Edits three files, creates two, deletes one through bash, changes modes."""
    return [
        calls(*(call("read", path=name) for name in ("one.txt", "two.txt", "deep/three.txt"))),
        calls(*(call("edit", path=n, old_string="old", new_string="new") for n in ("one.txt", "two.txt"))),
        calls(call("edit", path="deep/three.txt", old_string="old", new_string="new")),
        calls(
            call("write", path="made/by/tool.txt", content="made\n"), call("write", path="second.txt", content="2\n")
        ),
        calls(call("bash", command=COMMAND)),
        Turn(text="All done."),
    ]


def leave(terminal: Terminal) -> None:
    terminal.line("/exit")
    assert terminal.wait() == 0


def work_on(place: Place, server: ModelServer, *more: str) -> None:
    done = place.run("run", "change it all", "--yolo", *more, server=server)
    assert (done.code, done.out) == (0, "All done.\n"), done.err


def test_a_rewind_gives_back_the_tree_byte_for_byte_and_mode_for_mode(
    place: Place, project: dict[str, tuple[str, object]]
) -> None:
    turns = [*edits(), Turn(text="I see.")]
    with ModelServer(turns) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("change it all")
        terminal.expect("All done.")
        terminal.expect(PROMPT)
        changed = tree(place.work)
        assert changed != project
        terminal.line("/rewind")
        assert "   1  " in terminal.expect("change it all")
        terminal.expect(PROMPT)
        terminal.line("/rewind 1")
        terminal.expect("Put back as before turn 1")
        terminal.expect("The conversation goes on from before turn 1.")
        terminal.expect(PROMPT)
        assert tree(place.work) == project
        terminal.line("/redo")
        terminal.expect("Brought back")
        terminal.expect(PROMPT)
        assert tree(place.work) == changed
        terminal.line("/undo")
        terminal.expect("Put back")
        terminal.expect(PROMPT)
        assert tree(place.work) == project
        terminal.line("what now?")
        terminal.expect("I see.")
        leave(terminal)
        said = [message["content"] for message in messages(server) if message["role"] == "user"]
        assert "change it all" not in said and said[-1] == "what now?"
        *restored, mode = said[:-1]
        assert mode.startswith("[overt] Mode is now: yolo")
        assert [text.partition(".")[0] for text in restored] == ["[overt] The user put files back"] * 3


def test_a_manual_edit_in_between_is_not_overwritten_silently(
    place: Place, project: dict[str, tuple[str, object]]
) -> None:
    with ModelServer(edits()) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("change it all")
        terminal.expect("All done.")
        terminal.expect(PROMPT)
        (place.work / "two.txt").write_text("my own words\n")
        mine = tree(place.work)
        terminal.line("/rewind 1 files")
        assert "Not put back, changed after turn 1: two.txt" in terminal.expect("/undo --force")
        terminal.expect(PROMPT)
        assert tree(place.work) == project | {"two.txt": mine["two.txt"]}
        terminal.line("/undo --force")
        terminal.expect("Put back as before turn 1: two.txt")
        terminal.expect(PROMPT)
        assert tree(place.work) == project
        for _ in range(2):
            terminal.line("/redo")
            terminal.expect("Brought back")
            terminal.expect(PROMPT)
        assert tree(place.work) == mine
        leave(terminal)


def test_the_shell_undoes_the_newest_session_and_the_model_learns_of_it(
    place: Place, project: dict[str, tuple[str, object]]
) -> None:
    with ModelServer([*edits(), Turn(text="I see.")]) as server:
        work_on(place, server)
        changed = tree(place.work)
        listed = place.run("undo", "--list")
        assert listed.code == 0 and "change it all" in listed.out
        undone = place.run("undo")
        assert (undone.code, undone.out.startswith("Put back as before turn 1")) == (0, True), undone
        assert tree(place.work) == project
        assert place.run("undo") == (1, "", f"overt: {NOTHING}\n")
        assert place.run("undo", "--redo").code == 0
        assert tree(place.work) == changed
        (place.work / "one.txt").write_text("mine\n")
        partly = place.run("undo", "--turn", "1")
        assert (partly.code, "Not put back, changed after turn 1: one.txt" in partly.out) == (3, True)
        assert (place.work / "one.txt").read_text() == "mine\n"
        assert place.run("undo", "--force").code == 0
        assert tree(place.work) == project
        assert place.run("run", "-c", "what now?", server=server).out == "I see.\n"
        told = [message["content"] for message in messages(server) if message["role"] == "user"]
        assert [text.partition(".")[0] for text in told[1:]] == [*["[overt] The user put files back"] * 4, "what now?"]


NOTHING = "There is nothing to undo: no turn of this session changed files, or all are undone."


def test_undo_is_refused_while_the_session_is_being_written(
    place: Place, project: dict[str, tuple[str, object]]
) -> None:
    with ModelServer(edits()) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("change it all")
        terminal.expect("All done.")
        terminal.expect(PROMPT)
        before = tree(place.work)
        refused = place.run("undo")
        assert (refused.code, refused.out) == (1, "")
        assert tree(place.work) == before
        leave(terminal)


def test_a_command_that_only_reads_costs_no_snapshot(place: Place) -> None:
    (place.work / "a.txt").write_text("a\n")
    with ModelServer([calls(call("bash", command="ls -l && cat a.txt")), Turn(text="All done.")]) as server:
        work_on(place, server)
    kinds = [entry["type"] for entry in entries(place.session())]
    assert "tree" not in kinds and "snapshot" not in kinds


def test_what_is_kept_lies_where_only_the_owner_looks(place: Place, project: dict[str, tuple[str, object]]) -> None:
    with ModelServer(edits()) as server:
        work_on(place, server)
    data = place.home / ".local/share/overt"
    kept = [path for name in ("snapshots", "shadow") for path in (data / name).rglob("*")]
    assert any(path.read_bytes() == b"the old one.txt\n" for path in kept if path.is_file())
    assert [str(path) for path in kept if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--turn", "0"), 2, "--turn must be a whole number above 0"),
        (("--turn", "９"), 2, "--turn must be a whole number above 0"),
        (("--turn", "7"), 1, "There is no turn 7"),
        (("zzzz",), 1, "No session has an id"),
        (("a", "b"), 2, "unexpected 'b'"),
        (("--redo", "--turn", "1"), 2, "--redo"),
        (("--redo",), 1, "There is nothing to redo."),
    ],
)
def test_wrong_words_are_answered_in_one_line(place: Place, words: tuple[str, ...], code: int, said: str) -> None:
    with ModelServer([Turn(text="All done.")]) as server:
        work_on(place, server)
    found = place.run("undo", *words)
    assert (found.code, found.out) == (code, "")
    assert said in found.err and found.err.count("\n") == 1


def test_without_any_session_that_is_said(place: Place) -> None:
    found = place.run("undo")
    assert (found.code, found.out) == (1, "") and found.err.count("\n") == 1


def test_undo_asks_about_the_changes_of_a_command_whose_end_was_not_seen(place: Place) -> None:
    (place.work / "a.txt").write_text("old")
    (place.work / "change.sh").write_text("echo new > a.txt; echo made > made.txt; sleep 60")
    was = tree(place.work)
    with (
        ModelServer([calls(call("bash", command="sh change.sh"))]) as server,
        place.started("run", "go", "--yolo", server=server) as child,
    ):
        deadline = time.monotonic() + 60
        while not (place.work / "made.txt").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        child.kill()
        child.wait()
    while place.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    asked = place.run("undo")
    assert (asked.code, "changed while `sh change.sh` ran and possibly by you: a.txt, made.txt" in asked.out) == (
        3,
        True,
    ), asked
    assert (place.work / "a.txt").read_text() == "new\n"
    assert place.run("undo", "--yes").code == 0
    assert tree(place.work) == was
    assert place.run("undo", "--redo").code == 0
    assert (place.work / "made.txt").exists()
