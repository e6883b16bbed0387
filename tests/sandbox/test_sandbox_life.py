"""How boxes end: nothing of them is left on the host, however it happens."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sandbox.box_kit import USERS, Stage, end, staged
from tests.workspace.programs_kit import gone

from overt.sandbox.private_folder import make_private

BUSY = "setsid sleep 60 & (setsid nohup sleep 60 &) ; touch up; sleep 60"
PIDS = Path("/sys/fs/cgroup/pids")


def groups() -> list[str]:
    """Control groups of ours that nobody is in, but not those that were there before the tests."""
    found = []
    for path in Path("/sys/fs/cgroup").glob("**/overt-*"):
        if str(path) in BEFORE:
            continue
        try:
            empty = not (path / "cgroup.procs").read_text()
        except OSError:
            continue
        if empty:
            found.append(str(path))
    return found


BEFORE: tuple[str, ...] = ()
BEFORE = tuple(groups())


def waited(look: Callable[[], bool], seconds: float = 60.0) -> bool:
    return gone(lambda: [] if look() else ["not yet"], seconds) == []


def busy(stage: Stage) -> subprocess.Popen[str]:
    process = stage.start(BUSY)
    if not waited(lambda: (stage.workspace / "up").exists() or process.poll() is not None):
        process.kill()
    assert (process.poll(), (stage.workspace / "up").exists(), len(stage.left()) > 5) == (None, True, True)
    return process


def of_the_box(stage: Stage, word: str) -> list[int]:
    """Processes of this stage's box by a word of their command line, the outermost first."""
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        mine = any(str(stage.temp).encode() in each for each in words)
        if word == "supervisor":
            mine = mine or parent(pid) in of_the_box(stage, "bwrap")
        if mine and {"outer": b"python" in words[0], "bwrap": b"bwrap" in words[0], "supervisor": True}[word]:
            found.append(pid)
    return found


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_folder_that_only_looks_like_a_private_one_is_left_alone() -> None:
    with staged("root") as stage:
        shapes = {"my-notes": ("tmp", "var"), "0123456789abcdef": ("thesis",), "0123456789abcdef0": ("tmp", "var")}
        for name, inner in shapes.items():
            for each in inner:
                (stage.temp / f"overt-box-{name}" / each).mkdir(parents=True)
        (stage.temp / "overt-box-fedcba9876543210").symlink_to(stage.home)

        stage.run("true")

        assert sorted(path.name for path in stage.temp.iterdir()) == sorted(
            [f"overt-box-{name}" for name in shapes] + ["overt-box-fedcba9876543210"]
        )


def test_the_private_folder_of_a_box_long_gone_is_removed() -> None:
    with staged("root") as stage:
        make_private(str(stage.temp))

        stage.run("true")

        assert gone(stage.left) == []


@USERS
def test_nothing_is_left_after_a_normal_end(user: str) -> None:
    with staged(user) as stage:
        stage.repository()

        stage.run("true", "git status", "mkdir -p /tmp/a/b; chmod 0 /tmp/a; touch /var/tmp/b")

        assert gone(stage.left) == []


@USERS
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_the_program_is_killed(user: str, number: signal.Signals) -> None:
    with staged(user) as stage:
        stage.repository()
        process = busy(stage)

        end(process, number)

        assert (gone(stage.left), gone(groups)) == ([], [])


@pytest.mark.parametrize("which", ["bwrap", "supervisor"])
def test_nothing_is_left_when_a_part_of_the_box_is_killed(which: str) -> None:
    with staged("root") as stage:
        stage.repository()
        process = busy(stage)
        boxes = of_the_box(stage, "bwrap")
        target = boxes[0] if which == "bwrap" else [pid for pid in of_the_box(stage, which) if pid not in boxes][-1]

        os.kill(target, signal.SIGKILL)
        process.communicate(timeout=60)

        assert (gone(stage.left), gone(groups)) == ([], [])


def test_when_the_one_outside_is_killed_the_next_box_tidies_up() -> None:
    with staged("root") as stage:
        stage.repository()
        process = busy(stage)

        os.kill(of_the_box(stage, "outer")[0], signal.SIGKILL)
        process.communicate(timeout=60)
        assert gone(stage.processes) == []
        status = stage.git("status", "--short")
        stage.run("true")

        assert (status, gone(stage.left), gone(groups)) == ("?? up\n", [], [])


BOMB = "bomb() { bomb | bomb & }; bomb; sleep 60"


def cancelled(stage: Stage, most: int) -> tuple[int, list[str]]:
    """How many processes a fork bomb came to, and what is left two seconds after Overt was told to stop."""
    process = stage.start(f"touch up; {BOMB}", most=most)
    highest = 0
    try:
        assert waited(lambda: (stage.workspace / "up").exists())
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            highest = max(highest, len(stage.processes()))
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGINT)
        left = gone(stage.processes, 2.5)
        process.communicate(timeout=60)
    return highest, left


@USERS
def test_a_fork_bomb_in_a_box_stays_within_the_limit_and_dies(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        highest, left = cancelled(stage, 120)

        assert (highest <= 130, left, gone(stage.left)) == (True, [], [])


@pytest.mark.soak
@USERS
def test_a_fork_bomb_with_the_usual_limit_dies_within_two_seconds(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        _, left = cancelled(stage, 4096)

        assert (left, gone(stage.left)) == ([], [])


@pytest.mark.skipif(not os.access("/sys/fs/cgroup/memory", os.W_OK), reason="no control group of memory here")
def test_the_limits_of_a_box_are_those_of_its_control_groups() -> None:
    with staged("root") as stage:
        stage.repository()
        process = busy(stage)
        inside = next(line.split()[0] for line in stage.processes() if line.endswith("sleep 60 "))
        lines = [line.split(":", 2) for line in Path(f"/proc/{inside}/cgroup").read_text().splitlines()]
        found = {names: path for _, names, path in lines if "/overt-" in path}
        most = Path(f"/sys/fs/cgroup/pids{found['pids']}/pids.max").read_text()
        end(process, signal.SIGKILL)

        assert (sorted(found), most, gone(stage.left), gone(groups)) == (["memory", "pids"], "4096\n", [], [])


def repeated(stage: Stage, count: int) -> tuple[int, str]:
    """Exit codes added up, and how many are dead but not buried in the box afterwards."""
    look = "sleep 0.3; grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"
    _, *ran = stage.run(*["true; (setsid true &)"] * count, look)
    return sum(each[0] for each in ran), ran[-1][1]


def test_many_commands_leave_no_zombie() -> None:
    with staged("root") as stage:
        assert repeated(stage, 40) == (0, "0\n")


@pytest.mark.soak
def test_a_thousand_commands_leave_no_zombie() -> None:
    with staged("root") as stage:
        assert repeated(stage, 1000) == (0, "0\n")
