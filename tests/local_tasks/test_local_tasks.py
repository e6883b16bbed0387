"""Whole tasks on the embedded 1.5B model, driven through the program as a person would: `make test-local`.

Not part of every run: it takes minutes, and the weights have to be on the machine. OVERT_TASKS chooses a set,
OVERT_TASKS_MODEL another of the embedded models (whose score is then reported, not judged).
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.local_tasks.task import Task
from tests.providers.local_kit import USUAL, cache, missing

MODEL = os.environ.get("OVERT_TASKS_MODEL", USUAL)
CHOSEN = os.environ.get("OVERT_TASKS", "")
LONGEST = 900
"""Seconds for one task, most of them spent waiting for other programs on a busy machine."""


def attempt(task: Task, place: Path, environment: dict[str, str]) -> tuple[bool, str]:
    folder = place / "work"
    folder.mkdir(parents=True)
    task.lay_out(folder)
    command = [sys.executable, "-m", "overt", "run", "--output-format", "json", "--permission-mode", "auto"]
    done = subprocess.run(
        [*command, "--model", f"local/{MODEL}", "-C", str(folder), task.prompt],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    try:
        answer = str(json.loads(done.stdout)["result"])
    except (ValueError, KeyError, TypeError):
        return False, (done.stderr or done.stdout).strip()[-300:]
    try:
        return task.right(folder, answer), answer
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return False, f"{answer} ({error!r})"


@pytest.mark.local_tasks
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize(("name", "least"), [("tuning", 8), ("unseen", 6)])
def test_enough_small_tasks_end_in_the_right_state(
    name: str, least: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if CHOSEN and name != CHOSEN:
        pytest.skip(f"OVERT_TASKS chose {CHOSEN}")
    if why := missing(MODEL):
        pytest.skip(why)
    if find_spec(f"tests.local_tasks.{name}") is None:
        pytest.skip(f"there is no set of tasks called {name}")
    tasks: list[Task] = import_module(f"tests.local_tasks.{name}").TASKS
    cache(tmp_path / "home" / ".cache" / "overt")
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    right = 0
    for number, task in enumerate(tasks, 1):
        good, said = attempt(task, tmp_path / str(number), environment)
        right += good
        with capfd.disabled():
            print(f"{name} {number:>2} {'right' if good else 'WRONG'}  {task.name}: {said[:100]!r}", flush=True)
    with capfd.disabled():
        print(f"{name}: {right} of {len(tasks)} right on {MODEL}", flush=True)
    assert MODEL != USUAL or right >= least
