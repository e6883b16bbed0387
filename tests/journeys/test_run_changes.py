"""Changes of a run without a chat: a patch inside of a command goes the way of every change, and the closing line."""

import json

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import OVERT, Place, Terminal, call, calls, entries, results

COMMAND = (
    "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n"
    "*** Add File: new.py\n+y = 1\n*** End Patch\nEOF\n"
)


def prepare(place: Place) -> ModelServer:
    (place.work / "src").mkdir()
    (place.work / "src/a.py").write_text("x = 1\n")
    return ModelServer([calls(call("bash", command=COMMAND)), Turn(text="Done.")])


def test_a_patch_inside_a_command_is_applied_shown_as_repaired_and_undone(place: Place) -> None:
    with prepare(place) as server:
        done = place.run("run", "--verbose", "change it", server=server)
        assert (done.code, done.out) == (0, "Done.\n")
        assert results(server)[-1] == "updated src/a.py (+1 -1), line 1\ncreated src/new.py (+1 -0)"
    assert "repaired: apply_patch in bash → patch" in done.err
    assert "→ patch src/a.py, src/new.py" in done.err
    assert (place.work / "src/a.py").read_text() == "x = 2\n"
    started = [entry["data"]["call"]["name"] for entry in entries(place.session()) if entry["type"] == "call"]
    assert started == ["patch"]
    assert place.run("undo").code == 0
    assert (place.work / "src/a.py").read_text() == "x = 1\n"
    assert not (place.work / "src/new.py").exists()


def test_a_rule_for_edits_holds_for_a_patch_inside_a_command(place: Place) -> None:
    with prepare(place) as server:
        done = place.run("run", "--disallowedTools", "edit(src/**)", "change it", server=server)
        assert done.code == 3
        assert "Denied" in results(server)[-1]
    assert (place.work / "src/a.py").read_text() == "x = 1\n"
    assert not (place.work / "src/new.py").exists()


def test_in_a_terminal_a_run_that_changed_nothing_has_a_closing_line_too(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server:
        terminal = Terminal([OVERT, "run", "hi"], cwd=place.work, env=place.environment(server, {"TERM": "xterm"}))
        try:
            assert terminal.wait() == 0
            assert "\n1 step · " in terminal.text().replace("\r", "")
            assert "overt undo" not in terminal.text()
        finally:
            terminal.close()


def test_a_run_that_was_not_recorded_names_no_session_and_no_undo(place: Place) -> None:
    with prepare(place) as server:
        done = place.run("run", "--no-session-persistence", "change it", server=server)
    assert done.err.startswith("2 files changed (+2 -1) · 2 steps · ") and done.err.endswith(" tokens\n")


def test_denied_calls_are_counted_in_the_closing_line(place: Place) -> None:
    with prepare(place) as server:
        done = place.run("run", "--disallowedTools", "edit(src/**)", "change it", server=server)
    assert done.err.splitlines()[-1] == "Denied calls: 1 of 1. Your rules deny: edit(src/**)"


def test_readers_of_the_stream_find_the_path_of_a_file_and_a_command_that_failed(place: Place) -> None:
    (place.work / "a.txt").write_text("x\n")
    turns = [calls(call("read", path="a.txt"), call("grep", pattern="x", path="a.txt"), call("bash", command="exit 3"))]
    with ModelServer([*turns, Turn(text="Done.")]) as server:
        done = place.run("run", "look", "--output-format", "stream-json", server=server)
    blocks = [
        block
        for line in map(json.loads, done.out.splitlines())
        if line["type"] in ("assistant", "user")
        for block in line["message"]["content"]
    ]
    inputs = {block["name"]: block["input"] for block in blocks if block["type"] == "tool_use"}
    assert inputs["Read"] == {"file_path": "a.txt"}
    assert inputs["Grep"] == {"pattern": "x", "path": "a.txt"}
    failed = {block["content"]: block["is_error"] for block in blocks if block["type"] == "tool_result"}
    assert failed == {"     1\tx": False, "1:x": False, "[exit code 3]": True}


def test_a_file_that_a_patch_has_replaced_comes_back_with_undo(place: Place) -> None:
    (place.work / "a.py").write_text("x = 1\n")
    (place.work / "b.py").write_text("y = 1\n")
    move = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
    steps = [calls(call("read", path="b.py")), calls(call("bash", command=f"apply_patch <<'E'\n{move}E\n"))]
    with ModelServer([*steps, Turn(text="Done.")]) as server:
        assert place.run("run", "move it", server=server).code == 0
        assert results(server)[-1] == "updated b.py (+1 -1), line 1\ndeleted a.py (+0 -1)"
    assert ((place.work / "a.py").exists(), (place.work / "b.py").read_text()) == (False, "x = 2\n")
    assert place.run("replay", place.session().stem.rpartition("-")[2]).code == 0
    assert place.run("undo").code == 0
    assert ((place.work / "a.py").read_text(), (place.work / "b.py").read_text()) == ("x = 1\n", "y = 1\n")
