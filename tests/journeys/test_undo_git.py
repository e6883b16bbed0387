"""Undo after a turn that moved git: everybody is told exactly what stays, and `--git` puts it back."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, call, calls, entries, messages


def run_git(place: Place, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["git", *words], cwd=place.work, env=environment, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip()


def describe_repository(place: Place) -> dict[str, str]:
    """All that a person can see of the repository and its files."""
    refs = run_git(place, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    names = run_git(place, "ls-files", "-co", "--exclude-standard").splitlines()
    return {
        "head": (place.work / ".git/HEAD").read_text(),
        "commit": run_git(place, "rev-parse", "HEAD"),
        "refs": "\n".join(ref for ref in refs if not ref.startswith("refs/overt/")),
        "stash": run_git(place, "stash", "list", "--format=%H %gs"),
        "index": run_git(place, "ls-files", "--stage"),
        "status": run_git(place, "status", "--porcelain", "--branch"),
        "files": "\n".join(
            f"{name}: {Path(place.work, name).read_text()}" for name in sorted(names) if (place.work / name).exists()
        ),
    }


@pytest.fixture
def before(place: Place) -> dict[str, str]:
    """Three commits; one file is changed, one is staged, one is new: a person's work in progress."""
    run_git(place, "-c", "init.defaultBranch=main", "init", "-q")
    for key, value in (("user.name", "t"), ("user.email", "t@t")):
        run_git(place, "config", key, value)
    (place.work / "reset.sh").write_text("git reset -q --hard HEAD~1\n")
    for name in ("first", "second", "third"):
        for file in ("a.txt", "b.txt", "c.txt"):
            (place.work / file).write_text(f"{name} {file}\n")
        run_git(place, "add", "-A")
        run_git(place, "commit", "-qm", name)
    (place.work / "a.txt").write_text("changed a\n")
    (place.work / "b.txt").write_text("staged b\n")
    run_git(place, "add", "b.txt")
    (place.work / "new.txt").write_text("new\n")
    return describe_repository(place)


CASES = {
    "commit": (
        ["git add a.txt new.txt && git commit -qm work"],
        ["Turn 1 also made commit {new} on main, which stays there. `git reset --soft {old}` takes it back"],
    ),
    "two commits": (
        ["git commit -qm one", "echo 2 > d.txt; git add -A; git commit -qm two"],
        ["Turn 1 also made 2 commits on main, up to {new}; they stay there. `git reset --soft {old}` takes it back"],
    ),
    "branch": (
        ["git checkout -qb feature", "echo 1 > d.txt"],
        [
            "Turn 1 also switched from main ({old}) to feature ({old}); HEAD stays there. "
            "`git symbolic-ref HEAD refs/heads/main` takes it back",
            "Turn 1 also created feature at {old}, which stays. `git branch -D feature` takes it back",
        ],
    ),
    "branch with a commit": (
        ["git checkout -qb feature && git commit -qam work"],
        [
            "Turn 1 also switched from main ({old}) to feature ({new}); HEAD stays there. "
            "`git symbolic-ref HEAD refs/heads/main` takes it back",
            "Turn 1 also created feature with new commits up to {new}, which stay. `git branch -D feature`",
        ],
    ),
    "stash": (
        ["git stash push -q -m half"],
        ["Turn 1 also stashed changes ({stash}: On main: half), which stay in the stash. `git stash drop stash@{{0}}`"],
    ),
    "reset": (
        ["sh reset.sh"],
        ["Turn 1 also moved main back from {old} to {new}, where it stays. `git reset --soft {old}` takes it back"],
    ),
    "staging": (
        ["git add -A"],
        ["Turn 1 also changed what is staged. The index stays as it is."],
    ),
}


def work_on(place: Place, server: ModelServer) -> None:
    done = place.run("run", "go", "--yolo", server=server)
    assert (done.code, done.out) == (0, "All done.\n"), done.err


def fill(texts: list[str], place: Place, before: dict[str, str]) -> list[str]:
    stash = run_git(place, "stash", "list", "--format=%H")[:7]
    new = run_git(place, "rev-parse", "HEAD")[:7]
    return [text.format(old=before["commit"][:7], new=new, stash=stash) for text in texts]


def replies(commands: list[str]) -> list[Turn]:
    return [*(calls(call("bash", command=command)) for command in commands), Turn(text="All done.")]


@contextmanager
def hooks(place: Place) -> Iterator[None]:
    """Hooks that would leave a mark; no git of ours may run them."""
    folder, mark = place.work / ".git/hooks", place.work.parent / "hook-ran"
    names = ("reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc")
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho ran >> '{mark}'\n")
        (folder / name).chmod(0o755)
    yield
    for name in names:
        (folder / name).unlink()
    assert not mark.exists()


@pytest.mark.parametrize("name", CASES)
def test_person_and_model_are_told_what_stays_in_git_and_then_it_is_put_back(
    place: Place, before: dict[str, str], name: str
) -> None:
    commands, texts = CASES[name]
    with ModelServer([*replies(commands), Turn(text="I see.")]) as server:
        work_on(place, server)
        moved = describe_repository(place)
        assert moved != before
        expected = fill(texts, place, before)
        undone = place.run("undo")
        assert undone.code == 0, undone
        for text in expected:
            assert text in undone.out
            assert "`overt undo --git`" in undone.out
        after = describe_repository(place)
        assert after["files"] == before["files"]
        parts = ("head", "commit", "refs", "stash", "index")
        assert [after[part] for part in parts] == [moved[part] for part in parts]
        assert place.run("run", "-c", "what now?", server=server).out == "I see.\n"
        told = [message["content"] for message in messages(server) if message["role"] == "user"][1]
        assert "Git was not put back: turn 1 also" in told
        for text in expected:
            assert text.partition(". `")[0].removeprefix("Turn 1 also") in told
        with hooks(place):
            back = place.run("undo", "--git")
        assert back.code == 0, back
        assert f"Git is as before turn 1: HEAD is main ({before['commit'][:7]})." in back.out
        assert describe_repository(place) == before
        run_git(place, "fsck", "--strict")


@pytest.mark.parametrize("name", CASES)
def test_one_undo_with_git_puts_files_and_git_back_together(place: Place, before: dict[str, str], name: str) -> None:
    with ModelServer(replies(CASES[name][0])) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        terminal.expect("All done.")
        terminal.expect(PROMPT)
        terminal.line("/undo --git")
        terminal.expect("Git is as before turn 1")
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
    assert describe_repository(place) == before
    kinds = [entry["type"] for entry in entries(place.session())]
    assert "git" in kinds
    assert place.run("sessions", "check").code == 0
    assert place.run("replay", place.session().stem.partition("-")[2]).code == 0


def test_a_commit_that_was_taken_back_can_be_brought_back(place: Place, before: dict[str, str]) -> None:
    with ModelServer(replies(["git commit -qam work"])) as server:
        work_on(place, server)
    commit = run_git(place, "rev-parse", "HEAD")
    back = place.run("undo", "--git")
    assert f"`git reset --soft {commit[:7]}` brings it back." in back.out
    run_git(place, "gc", "-q", "--prune=now")
    run_git(place, "reset", "--soft", commit[:7])
    assert run_git(place, "rev-parse", "main") == commit


def test_a_pushed_commit_is_not_taken_back(place: Place, before: dict[str, str]) -> None:
    run_git(place, "init", "-q", "--bare", str(place.work.parent / "remote"))
    run_git(place, "remote", "add", "origin", str(place.work.parent / "remote"))
    with ModelServer(replies(["git commit -qam one", "git commit -q --allow-empty -m two"])) as server:
        work_on(place, server)
    run_git(place, "push", "-q", "origin", "main~1:refs/heads/main")
    moved = describe_repository(place)
    refused = place.run("undo", "--git")
    assert (refused.code, refused.out) == (1, "")
    assert f"commit {moved['commit'][:7]} was pushed, it is in origin/main" in refused.err
    assert describe_repository(place) == moved
    undone = place.run("undo")
    assert undone.code == 0 and "--git" not in undone.out and "git reset --soft" in undone.out


@pytest.mark.parametrize(
    ("later", "what"),
    [
        (("commit", "-q", "--allow-empty", "-m", "mine"), "HEAD"),
        (("switch", "-qc", "mine"), "HEAD"),
        (("rm", "-q", "--cached", "c.txt"), "index"),
    ],
)
def test_a_repository_that_moved_on_is_left_alone(
    place: Place, before: dict[str, str], later: tuple[str, ...], what: str
) -> None:
    with ModelServer(replies(["git commit -qam work"])) as server:
        work_on(place, server)
    run_git(place, *later)
    moved = describe_repository(place)
    refused = place.run("undo", "--git")
    assert (refused.code, refused.out) == (1, "")
    assert f"git has moved on since the turn ({what}" in refused.err
    assert describe_repository(place) == moved


def test_a_stash_whose_files_changed_since_is_kept_and_named(place: Place, before: dict[str, str]) -> None:
    with ModelServer(replies(["git stash push -q -m half"])) as server:
        work_on(place, server)
    assert place.run("undo").code == 0
    (place.work / "a.txt").write_text("edited since\n")
    back = place.run("undo", "--git")
    assert back.code == 0 and "(On main: half) stays, because not all of its files are back." in back.out
    assert run_git(place, "stash", "list") != ""
    assert (place.work / "a.txt").read_text() == "edited since\n"


def test_a_turn_that_only_moved_git_is_never_nothing(place: Place, before: dict[str, str]) -> None:
    with ModelServer(replies(["git commit -qm staged", "git log -1 --format=%s"])) as server:
        work_on(place, server)
    undone = place.run("undo")
    assert undone.code == 0 and "Turn 1 also made commit" in undone.out
