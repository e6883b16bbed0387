"""Undo has a size: limits hold without anyone asking, and pruning and deleting give the space back."""

import os
import re
import time
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PATIENT, Place, call, calls, overt_after

from overt.workspace.undo.shadow_store import disk_bytes

MB = 1024**2
REWRITE = "import os\nopen('data.bin', 'wb').write(os.urandom(1_000_000))\n"


@pytest.fixture(autouse=True)
def snapshots_may_take_long(place: Place) -> None:
    place.under = PATIENT


def impatient(place: Place) -> tuple[str, ...]:
    """Words that run the program with a first snapshot whose time is up when the first contents are stored."""
    return overt_after(
        f"sys.path.append({str(Path(__file__).parents[2])!r})",
        "import pathlib, threading",
        "from overt.workspace.undo import first_snapshot, snapshot_keeper",
        "from tests.workspace.keeping_kit import timer_until_stored",
        "first_snapshot.FIRST_SNAPSHOT_LIMIT_S, snapshot_keeper.FIRST_PATIENCE = 0.2, 100.0",
        f"threading.Timer = timer_until_stored(pathlib.Path({str(place.home)!r}))",
    )


def configure(place: Place, text: str) -> None:
    folder = place.home / ".config/overt"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def stored(place: Place) -> int:
    data = place.home / ".local/share/overt"
    return disk_bytes(str(data / "shadow")) + disk_bytes(str(data / "snapshots"))


def rewriting(count: int) -> list[Turn]:
    """Each reply runs a command that fills one file with bytes that do not compress."""
    return [
        *(calls(call("bash", command=f"python3 -B rewrite.py {number}")) for number in range(count)),
        Turn(text="done."),
    ]


def assert_only_closing(err: str) -> None:
    """Nothing was said but the closing line, with the files that changed."""
    assert " changed " in err and err.count("\n") == 1, err


def work_on(place: Place, turns: list[Turn]) -> Path:
    """Run one session; return its file."""
    before = set(place.sessions())
    (place.work / "rewrite.py").write_text(REWRITE)
    with ModelServer(turns) as server:
        done = place.run("run", "go", "--yolo", server=server, patience=400)
    assert (done.code, done.out) == (0, "done.\n")
    assert_only_closing(done.err)
    (session,) = set(place.sessions()) - before
    return session


def id_of(session: Path) -> str:
    return session.stem.rpartition("-")[2]


@pytest.mark.timeout(400)
def test_many_rewrites_of_one_file_stay_below_the_limit(place: Place) -> None:
    configure(place, "[undo]\nmax_size = '5 MB'\n")
    work_on(place, rewriting(25))
    assert stored(place) <= 5 * MB
    refused = place.run("undo")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("overt: Turn 1 can no longer be put back: its snapshots were removed")


def test_the_oldest_turns_go_first_and_the_newest_can_still_be_put_back(place: Place) -> None:
    configure(place, "[undo]\nmax_size = '5 MB'\n")
    (place.work / "data.bin").write_bytes(b"first")
    oldest = work_on(place, rewriting(1))
    for _ in range(6):
        work_on(place, rewriting(1))
    before = (place.work / "data.bin").read_bytes()
    work_on(place, rewriting(1))
    assert stored(place) <= 5 * MB
    assert "can no longer be put back" in place.run("undo", id_of(oldest)).err
    undone = place.run("undo")
    assert (undone.code, undone.out) == (0, "Put back as before turn 1: data.bin\n")
    assert (place.work / "data.bin").read_bytes() == before


def test_a_deleted_session_takes_its_snapshots_along_and_leaves_those_of_others(place: Place) -> None:
    first = work_on(place, rewriting(4))
    (place.work / "note.txt").write_text("a note\n")
    edits = [calls(call("read", path="note.txt")), calls(call("write", path="note.txt", content="new\n"))]
    second = work_on(place, [*edits, *rewriting(1)])
    before = stored(place)
    assert place.run("sessions", "delete", id_of(first)).out == f"deleted {first}\n"
    assert before - stored(place) > 2.8 * MB
    undone = place.run("undo", id_of(second))
    assert undone.code == 0, undone.err
    assert (place.work / "note.txt").read_text() == "a note\n"
    place.run("sessions", "delete", id_of(second))
    assert stored(place) < 100_000


def test_a_fork_keeps_what_it_shares_with_a_deleted_session(place: Place) -> None:
    (place.work / "data.bin").write_bytes(b"first")
    session = work_on(place, rewriting(1))
    fork = place.run("sessions", "fork", id_of(session)).out.strip()
    place.run("sessions", "delete", id_of(session))
    undone = place.run("undo", fork)
    assert (undone.code, (place.work / "data.bin").read_bytes()) == (0, b"first"), undone.err


def test_usage_and_prune_say_what_is_stored_and_what_was_freed(place: Place) -> None:
    assert "0 B of 2 GB. No turn can be put back." in place.run("undo", "--usage").out
    session = work_on(place, rewriting(3))
    usage = place.run("undo", "--usage").out
    today = time.strftime("%Y-%m-%d", time.localtime(session.stat().st_mtime))
    assert re.search(rf": [23](\.\d)? MB of 2 GB. Turns that can be put back: 1, the oldest from {today} ", usage), (
        usage
    )
    assert "Turns are removed after 30 days." in usage
    assert re.fullmatch(r"Freed \d (B|KB)\.\n", place.run("undo", "--prune").out)
    os.unlink(session)  # as a session that was deleted by hand or by an older version
    state = next(place.home.rglob("shadow/*/recent"))
    old = re.sub(r" \d+", " 1", state.read_text())
    state.write_text(old)
    freed = place.run("undo", "--prune").out
    assert re.fullmatch(r"Freed [23](\.\d)? MB\.\n", freed), freed
    assert stored(place) < 100_000


def test_prune_all_removes_everything_and_undo_works_for_the_next_turn(place: Place) -> None:
    work_on(place, rewriting(2))
    pruned = place.run("undo", "--prune", "--all").out
    assert re.fullmatch(r"Freed [12](\.\d)? MB. Turns that can no longer be put back: 1\.\n", pruned), pruned
    assert stored(place) < 100_000
    assert "can no longer be put back" in place.run("undo").err
    before = (place.work / "data.bin").read_bytes()
    work_on(place, rewriting(1))
    assert place.run("undo").out == "Put back as before turn 1: data.bin\n"
    assert (place.work / "data.bin").read_bytes() == before


def test_a_turn_of_which_a_part_is_lost_is_put_back_in_part_and_that_is_said(place: Place) -> None:
    (place.work / "note.txt").write_text("a note\n")
    edits = [calls(call("read", path="note.txt")), calls(call("write", path="note.txt", content="new\n"))]
    work_on(place, [*edits, *rewriting(2)])
    for path in place.home.rglob("shadow/*/objects/??/*"):
        path.unlink()
    after = (place.work / "data.bin").read_bytes()
    undone = place.run("undo")
    assert undone.code == 3
    assert "Part of turn 1 can no longer be put back" in undone.out
    assert (place.work / "note.txt").read_text() == "a note\n"
    assert (place.work / "data.bin").read_bytes() == after


def test_snapshots_of_old_turns_are_removed(place: Place) -> None:
    configure(place, "[undo]\nmax_age = '2 days'\n")
    session = work_on(place, rewriting(2))
    aged = re.sub(rb'"ts":(\d+)', lambda found: b'"ts":%d' % (int(found[1]) - 3 * 86400), session.read_bytes())
    pruned_before = stored(place)
    copy = session.read_bytes()
    session.write_bytes(aged)
    assert "Turns that can no longer be put back: 1." in place.run("undo", "--prune").out
    session.write_bytes(copy)
    assert pruned_before - stored(place) > 0.9 * MB


def test_switched_off_undo_stores_nothing_and_says_so(place: Place) -> None:
    configure(place, "[undo]\nenabled = false\n")
    (place.work / "note.txt").write_text("old\n")
    edits = [calls(call("read", path="note.txt")), calls(call("write", path="note.txt", content="new\n"))]
    work_on(place, [*edits, *rewriting(1)])
    assert (place.work / "note.txt").read_text() == "new\n"
    assert stored(place) == 0
    refused = place.run("undo")
    assert (refused.code, refused.err) == (
        1,
        "overt: Undo is switched off (`undo.enabled = false`). Set it to true to use undo.\n",
    )
    assert "Undo is switched off" in place.run("undo", "--usage").out


def test_a_folder_that_is_too_large_is_tried_once_and_again_on_request(place: Place) -> None:
    for number in range(80):
        (place.work / f"{number}.bin").write_bytes(os.urandom(1_000_000))
    (place.work / "note.py").write_text("import time\nopen('note.txt', 'w').write(str(time.time()))\n")
    turns = [calls(call("bash", command="python3 -B note.py")), Turn(text="done.")]
    for _ in range(2):
        with ModelServer(turns) as server:
            done = place.run("run", "go", "--yolo", server=server, under=impatient(place))
        assert (done.code, done.out) == (0, "done.\n")
        assert "What commands change here cannot be undone (the first snapshot of 8" in done.err
        assert "Changes by edit, write and patch can." in done.err
        assert stored(place) < 100_000
    assert "Undo does not cover changes by commands here: the first snapshot of 8" in place.run("undo", "--usage").out
    assert (
        place.run("undo", "--retry").out == f"The next run will try to take a first snapshot of {place.work} again.\n"
    )
    assert place.run("undo", "--retry").out.startswith("Nothing to retry")
    with ModelServer(turns) as server:
        assert_only_closing(place.run("run", "go", "--yolo", server=server).err)
    assert place.run("undo").out.startswith("Put back as before turn 1: note.txt")


def test_pruning_beside_a_running_session_takes_nothing_from_it(place: Place) -> None:
    (place.work / "data.bin").write_bytes(b"first")
    (place.work / "rewrite.py").write_text(REWRITE)
    pruned = 0
    with ModelServer(rewriting(12)) as server, place.started("run", "go", "--yolo", server=server) as child:
        while child.poll() is None:
            assert place.run("undo", "--prune").code == 0
            pruned += 1
        assert child.returncode == 0
    assert pruned > 1
    undone = place.run("undo")
    assert (undone.code, (place.work / "data.bin").read_bytes()) == (0, b"first"), undone.err
    assert "no longer" not in undone.out


def test_a_chat_says_that_undo_is_switched_off_and_still_rewinds_the_conversation(place: Place) -> None:
    configure(place, "[undo]\nenabled = false\n")
    with ModelServer([Turn(text="one."), Turn(text="two.")]) as server, place.chat(server=server) as terminal:
        for prompt, reply in (("first", "one."), ("second", "two.")):
            terminal.line(prompt)
            terminal.expect(reply)
        terminal.line("/undo")
        terminal.expect("Undo is switched off")
        terminal.line("/rewind 2 conversation")
        terminal.expect("The conversation goes on from before turn 2.")
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_flags_that_do_not_go_together_are_named(place: Place) -> None:
    assert "--all needs --prune" in place.run("undo", "--all").err
    assert "--usage takes no session" in place.run("undo", "--usage", "--prune").err
    assert "--prune takes no session" in place.run("undo", "--prune", "abcd").err
