"""The self-test of the walls: it notices every wall that is missing, and says nothing of a box that does not work."""

import asyncio
import errno
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.walls_kit import EVERYBODY, RESTRICTED, Person, Who, person

from overt.core.protocols import Spawner
from overt.sandbox import choose_sandbox
from overt.sandbox.mechanisms import landlock
from overt.sandbox.profile import SandboxPlace
from overt.sandbox.selftest.attempts import outcome
from overt.sandbox.selftest.checks import NAMES, SelfTestFolders, SelfTestResult, _judged, check
from overt.workspace.programs import SupervisorSpawner

CHECK = """
import asyncio, sys
from msgspec import json
from tests.sandbox.test_selftest import boxed

checked, state = asyncio.run(boxed(sys.argv[1], sys.argv[2]))
print(json.encode({"checked": checked, "state": state}).decode())
"""
ROOT = str(Path(__file__).parent.parent.parent)
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


async def boxed(mode: str, base: str) -> tuple[SelfTestResult, Any]:
    """The self-test in the real box of a mode."""
    opened: list[SupervisorSpawner] = []

    def open_box(stage: SelfTestFolders, most: int) -> Spawner:
        place = SandboxPlace(
            workspace=stage.workspace,
            project=stage.workspace,
            home=stage.home,
            config_dir=stage.config,
            data_dir=stage.data,
            cache_dir=f"{stage.home}/.cache/overt",
            temp=stage.temp,
        )
        opened.append(SupervisorSpawner(place=place, mode=mode, most_processes=most))
        return opened[-1]

    async with asyncio.timeout(100):
        checked = await check(open_box, base=base, env=ENV)
    return checked, opened[0].guess()


def tried(one: Person, mode: str) -> dict[str, Any]:
    path = f"{ROOT}:{one.environment()['PYTHONPATH']}:{os.path.dirname(os.path.dirname(pytest.__file__))}"
    done = one.run([one.python, "-c", CHECK, mode, str(one.outside)], env={"PYTHONPATH": path}, cwd=one.folder)
    assert (done.code, done.err) == (0, ""), done
    assert list(one.outside.iterdir()) == []
    found: dict[str, Any] = json.loads(done.out)
    return found


def standing(found: Mapping[str, Any]) -> set[str]:
    return {wall["name"] for wall in found["checked"]["walls"] if wall["held"]}


@pytest.fixture(params=EVERYBODY)
def one(request: pytest.FixtureRequest) -> Any:
    who: Who = request.param
    with person(who) as made:
        yield made


def test_without_a_box_every_wall_that_is_tried_is_found_missing(one: Person) -> None:
    """Only the number of processes is limited there too. Each attempt that can succeed, does."""
    found = tried(one, "none")
    assert found["state"]["kind"] == "none"
    assert standing(found) <= {"limit"}
    refused = [
        (each["wall"], each["name"])
        for wall in found["checked"]["walls"]
        for each in wall["attempts"]
        if not each["through"]
    ]
    ordinary = [
        ("outside", "create a file in /etc"),
        ("privileges", "capabilities"),
        ("privileges", "mount"),
        ("privileges", "make a device"),
        ("privileges", "set the kernel"),
    ]
    everybody = [
        ("tcp", "go around it (vsock)"),
        ("privileges", "press a system key"),
        ("limit", "start many processes"),
        ("lifetime", "outlive it by detaching"),
    ]
    assert set(refused) <= {*everybody, *(ordinary if one.switched or os.geteuid() else [])}
    assert (found["checked"]["void"], found["checked"]["loopback"]) == ("", True)


@pytest.mark.skipif(not choose_sandbox.find_bubblewrap(), reason="bubblewrap is not here")
def test_with_bubblewrap_all_twelve_hold(one: Person) -> None:
    found = tried(one, "bubblewrap")
    assert found["state"] == {"kind": "bubblewrap", "missing": [], "why": "", "disabled": False, "isolated": False}
    assert [(wall["number"], wall["name"], wall["held"], wall["detail"]) for wall in found["checked"]["walls"]] == [
        (number, name, True, "") for number, name in enumerate(NAMES, 1)
    ]
    assert (found["checked"]["void"], found["checked"]["loopback"]) == ("", True)


@pytest.mark.skipif(landlock.version() < 6, reason="needs a kernel with all of Landlock's walls")
def test_the_fall_back_holds_exactly_what_it_claims(one: Person) -> None:
    found = tried(one, "landlock")
    assert (found["state"]["kind"], found["state"]["missing"]) == ("landlock", list(landlock.NEVER_HELD))
    lacking = {name for names in landlock.NEVER_HELD.values() for name in names}
    assert standing(found) == set(NAMES) - lacking
    outside = found["checked"]["walls"][0]
    assert outside["detail"] == "change permissions"
    assert (found["checked"]["void"], found["checked"]["loopback"]) == ("", False)


def test_a_box_in_which_nothing_runs_holds_no_wall(tmp_path: Path) -> None:
    async def main() -> SelfTestResult:
        return await check(
            lambda stage, most: SupervisorSpawner(before=lambda _: ("false",)), base=str(tmp_path), env=ENV
        )

    checked = asyncio.run(main())
    assert [wall.held for wall in checked.walls] == [False] * 12
    assert checked.void.startswith("start a program (")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(landlock.version() < 1, reason="needs Landlock")
def test_a_box_that_lets_nothing_be_written_makes_the_test_void(tmp_path: Path) -> None:
    told = json.dumps({"write": ["/nowhere"], "hidden": [], "network": False})
    words = (sys.executable, "-I", "-S", "-c", RESTRICTED, told)

    async def main() -> SelfTestResult:
        return await check(lambda stage, most: SupervisorSpawner(before=lambda _: words), base=str(tmp_path), env=ENV)

    checked = asyncio.run(main())
    assert checked.void.startswith("write in the workspace (EACCES)")
    assert list(tmp_path.iterdir()) == []


def failing(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "end", "through"),
    [
        (PermissionError(errno.EACCES, "x"), ("refused", "EACCES"), False),
        (OSError(errno.EROFS, "x"), ("refused", "EROFS"), False),
        (TimeoutError("timed out"), ("refused", "ETIMEDOUT"), False),
        (OSError(errno.ENOSPC, "x"), ("unmade", "[Errno 28] x"), True),
        (OSError(errno.EMFILE, "x"), ("unmade", "[Errno 24] x"), True),
        (OSError(errno.EINVAL, "x"), ("unmade", "[Errno 22] x"), True),
        (AttributeError("no such call"), ("unmade", "AttributeError: no such call"), True),
    ],
)
def test_an_attempt_that_could_not_be_made_counts_as_one_that_went_through(
    error: Exception, end: tuple[str, str], through: bool
) -> None:
    assert outcome(lambda: failing(error)) == end
    assert _judged(("privileges", "mount", *end), {}).through is through


def test_what_was_seen_outside_counts_more_than_what_was_said_inside() -> None:
    seen = {("udp", "send"): False, ("tcp", "connect"): True}
    assert _judged(("udp", "send", "done", ""), seen).through is False
    assert _judged(("tcp", "connect", "refused", "EACCES"), seen).through is True
