"""Undo while people and other Overt processes work in the same folder: each takes back its own and names the rest."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import OVERT, PATIENT, PROMPT, Place, Terminal, call, calls, gone, messages, until

DONE = Turn(text="Done.")
SLOW = "echo made > out.txt; echo started > started; until test -s mynew.txt; do sleep 0.02; done; echo more >> out.txt"


def runs(command: str) -> Turn:
    return calls(call("bash", command=command))


def edit_meanwhile(work: Path) -> None:
    """A person: one edit in place, one as editors save, one new file, which `SLOW` waits for."""
    until((work / "started").exists)
    with open(work / "mine.txt", "a") as file:
        file.write("my line\n")
    (work / "other.txt.new").write_text("my version\n")
    os.rename(work / "other.txt.new", work / "other.txt")
    (work / "mynew.txt").write_text("my file\n")


@pytest.fixture
def work(place: Place) -> Path:
    for name in ("mine.txt", "other.txt"):
        (place.work / name).write_text("old\n")
    place.under = PATIENT
    return place.work


def assert_only_the_command_is_undone(work: Path) -> None:
    texts = [(work / name).read_text() for name in ("mine.txt", "other.txt", "mynew.txt")]
    assert texts == ["old\nmy line\n", "my version\n", "my file\n"]
    assert not (work / "out.txt").exists() and not (work / "started").exists()


def test_edits_of_a_person_stay_when_a_headless_run_is_undone(place: Place, work: Path) -> None:
    with ModelServer([runs(SLOW), DONE]) as server, place.started("run", "go", "--yolo", server=server) as child:
        edit_meanwhile(work)
        assert child.wait(60) == 0
    done = place.run("undo")
    assert done == (0, "Put back as before turn 1: out.txt (removed), started (removed)\n", "")
    assert_only_the_command_is_undone(work)


def test_edits_of_a_person_stay_when_the_chat_undoes_a_turn(place: Place, work: Path) -> None:
    with ModelServer([runs(SLOW), DONE]) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        edit_meanwhile(work)
        terminal.expect("Done.")
        terminal.expect(PROMPT)
        terminal.line("/undo")
        terminal.expect("Put back as before turn 1: out.txt (removed), started (removed)")
        terminal.expect(PROMPT)
        assert_only_the_command_is_undone(work)
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_four_processes_in_one_folder_each_undo_their_own_work(place: Place, work: Path) -> None:
    (work / "log.txt").write_text("start\n")
    names = [f"run{number}" for number in range(4)]
    all_began, all_wrote = (
        f"until test $(cat {files} | wc -l) -ge {lines}; do sleep 0.02; done"
        for files, lines in (("run?.txt", len(names)), ("log.txt", 1 + len(names)))
    )
    with ExitStack() as stack:
        children = []
        for name in names:
            command = (
                f"echo {name} > {name}.txt; {all_began}; echo {name} >> log.txt; {all_wrote}; echo end >> {name}.txt"
            )
            server = stack.enter_context(ModelServer([runs(command), DONE]))
            words = ("run", name, "--yolo", "--name", name)
            children.append(stack.enter_context(place.started(*words, server=server)))
        assert [child.wait(60) for child in children] == [0] * 4
    log = (work / "log.txt").read_text()
    assert sorted(log.split()) == [*names, "start"]
    for count, name in enumerate(names, 1):
        done = place.run("undo", name)
        assert f"{name}.txt (removed)" in done.out, done
        assert "log.txt" in done.out and done.code == 3, done  # somebody else has written to it as well
        assert (work / "log.txt").read_text() == log
        assert sorted(path.name for path in work.glob("run*.txt")) == [f"{each}.txt" for each in names[count:]]


UNCOVERED = {
    "a large file": ("rm big.bin", "big.bin (11 MB)"),
    "an ignored file": ("echo x >> debug.log; rm secret.env", "debug.log (ignored), secret.env (ignored)"),
    "an ignored folder": ("rm -r build", "build/ (ignored, 3 files)"),
}


@pytest.mark.parametrize("case", UNCOVERED)
def test_files_that_undo_does_not_cover_are_named_to_person_and_model(place: Place, work: Path, case: str) -> None:
    (work / ".gitignore").write_text("*.log\n*.env\nbuild/\n")
    (work / "big.bin").write_bytes(bytes(12_000_000))
    (work / "debug.log").write_text("log\n")
    (work / "secret.env").write_text("A=1\n")
    (work / "build").mkdir()
    for name in "abc":
        (work / "build" / name).write_text(name)
    command, named = UNCOVERED[case]
    (work / "do.sh").write_text(command)
    with ModelServer([runs("sh do.sh"), DONE, Turn(text="I see.")]) as server:
        assert place.run("run", "go", "--yolo", server=server).code == 0
        done = place.run("undo")
        told = f"Not put back, not covered by undo: {named}"
        assert done == (3, f"No file was put back for turn 1.\n{told}\n", "")
        assert place.run("run", "-c", "what now?", server=server).out == "I see.\n"
        said = [str(message["content"]) for message in messages(server) if message["role"] == "user"]
        assert any(told in text for text in said), said
    assert "There is nothing to undo" in place.run("undo").err


@pytest.mark.parametrize(("answer", "code", "text"), [("n", 3, "new\n"), ("y", 0, "old\n")])
def test_the_answer_in_a_terminal_decides_about_the_rest(
    place: Place, work: Path, answer: str, code: int, text: str
) -> None:
    """A command that was killed together with Overt left no record of what it changed."""
    (work / "change.sh").write_text("echo new > mine.txt; echo made > started; sleep 60")
    with ModelServer([runs("sh change.sh")]) as server, place.started("run", "go", "--yolo", server=server) as child:
        until((work / "started").exists)
        child.kill()
        child.wait()
    assert gone(place.alive) == []
    terminal = Terminal([OVERT, "undo"], cwd=work, env=place.environment(None, {"TERM": "xterm"}))
    try:
        terminal.expect("changed while `sh change.sh` ran and possibly by you: mine.txt, started")
        terminal.expect("Put these back too? [y/N]")
        terminal.line(answer)
        assert terminal.wait() == code
    finally:
        terminal.close()
    assert (work / "mine.txt").read_text() == text
