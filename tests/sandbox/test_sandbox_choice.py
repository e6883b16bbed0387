"""Which sandbox is taken: the best that comes up, never silently a worse one."""

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.sandbox.box_kit import USERS, staged
from tests.workspace.programs_kit import gone, make_programs

from overt.core.errors import ToolError
from overt.core.protocols import Profile
from overt.sandbox.choose_sandbox import ADVICE, NO_WALLS, choose, find_bubblewrap
from overt.sandbox.profile import SandboxPlace
from overt.workspace.environment import child_environment
from overt.workspace.jobs import Jobs
from overt.workspace.programs import SupervisorSpawner

NO_NAMESPACES = "bwrap --unshare-user --uid 1000 --disable-userns --cap-drop ALL --dev-bind / / --".split()
TRY = "echo x > inside; echo $?; echo x > ~/.bashrc; echo $?; cat ~/.ssh/id; echo $?"


@pytest.mark.parametrize(
    ("mode", "failed", "program", "kind", "why"),
    [
        ("auto", (), "/usr/bin/bwrap", "bubblewrap", ""),
        ("auto", (), "", "landlock", f"bubblewrap is not there: {ADVICE}"),
        ("auto", (("landlock", "no"),), "", "none", f"bubblewrap is not there: {ADVICE}; Landlock: no"),
        ("bubblewrap", (), "", "none", f"bubblewrap is not there: {ADVICE}"),
        ("landlock", (), "/usr/bin/bwrap", "landlock", "sandbox.mode is landlock"),
        ("landlock", (("landlock", "no"),), "/usr/bin/bwrap", "none", "Landlock: no"),
        ("none", (), "/usr/bin/bwrap", "none", "sandbox.mode is none"),
    ],
)
def test_the_best_that_is_there_and_allowed(
    mode: str, failed: tuple[tuple[str, str], ...], program: str, kind: str, why: str
) -> None:
    found = choose(mode, failed=failed, program=program)

    assert (found.kind, found.why, found.disabled) == (kind, why, mode == "none")


def test_what_did_not_come_up_is_named_with_what_it_said() -> None:
    found = choose("auto", failed=(("bubblewrap", "No permissions"), ("landlock", "none")), program="/usr/bin/bwrap")

    assert ("No permissions" in found.why, found.kind, found.missing) == (True, "none", NO_WALLS)


def test_bubblewrap_is_never_taken_from_the_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\ntouch was-here\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:.:{os.environ['PATH']}")

    assert find_bubblewrap() in ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "")


@USERS
def test_where_no_namespace_can_be_made_the_fall_back_stands_and_says_why(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        before = (
            NO_NAMESPACES if user == "nobody" else [word for word in NO_NAMESPACES if word not in ("--uid", "1000")]
        )

        state, ran = stage.run(TRY, before=before)

        assert (state[0], "bubblewrap could not make its namespaces" in state[2]) == ("landlock", True)
        assert [word for word in ran[1].split() if word in "01"] == ["0", "1", "1"]
        assert gone(stage.left) == []


def test_a_kind_that_is_demanded_and_does_not_stand_runs_nothing() -> None:
    with staged("nobody") as stage:
        stage.give()

        state, ran = stage.run("touch ran", mode="bubblewrap", before=NO_NAMESPACES)

        assert (state[0], ran[0], (stage.workspace / "ran").exists()) == ("none", -1, False)
        assert "the sandbox that sandbox.mode demands does not stand" in ran[1]


def place(folder: Path) -> SandboxPlace:
    for name in ("home", "work"):
        (folder / name).mkdir()
    home, work = str(folder / "home"), str(folder / "work")
    own = f"{home}/own"
    return SandboxPlace(
        workspace=work, project=work, home=home, temp=str(folder), config_dir=own, data_dir=own, cache_dir=own
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["bubblewrap", "landlock", "none"])
def test_what_is_let_outside_sees_and_writes_everything(tmp_path: Path, mode: str) -> None:
    async def main() -> tuple[str, str]:
        spawner = SupervisorSpawner(place=place(tmp_path), mode=mode)
        env = child_environment(os.environ, ())
        profile = Profile(outside=True)
        programs = make_programs(spawner, Jobs(), cwd=str(tmp_path / "work"), env=env, profile=profile)
        try:
            async with asyncio.timeout(60):
                ran = await programs.run("echo x > ../outside; cat ../outside", timeout_ms=30_000)
                return ran.text, (await spawner.standing(profile)).kind
        finally:
            await spawner.close()

    assert asyncio.run(main()) == ("x\n", "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "outside", "work"]


def test_the_guess_is_what_stands_then(tmp_path: Path) -> None:
    async def main() -> tuple[str, str, tuple[str, ...]]:
        spawner = SupervisorSpawner(place=place(tmp_path))
        guess = spawner.guess().kind
        try:
            async with asyncio.timeout(60):
                state = await spawner.standing()
                return guess, state.kind, state.missing
        finally:
            await spawner.close()

    assert asyncio.run(main()) == ("bubblewrap", "bubblewrap", ())


def test_a_job_is_ended_when_there_is_more_to_keep_from_it_and_this_is_told(tmp_path: Path) -> None:
    async def main() -> tuple[str, str, str]:
        jobs = Jobs()
        spawner = SupervisorSpawner(place=place(tmp_path))
        env = child_environment(os.environ, ())
        programs = make_programs(spawner, jobs, cwd=str(tmp_path / "work"), env=env, profile=Profile())
        try:
            async with asyncio.timeout(60):
                await programs.start("echo ready to go; sleep 60", wait_ms=30_000)
                await programs.run("git init -q .; echo shared > /tmp/x", timeout_ms=30_000)
                kept = await programs.run("cat /tmp/x; echo x > .git/config", timeout_ms=30_000)
                while (await programs.jobs())[0].state == "running":
                    await asyncio.sleep(0.02)
                return kept.text.split("bash")[0], kept.remark, (await programs.jobs())[0].state
        finally:
            await jobs.close()
            await spawner.close()

    why = ".git/hooks has to be kept from them now, and was not when they started"
    told = f"what was still running in the sandbox was ended: {why}"
    assert asyncio.run(main()) == ("shared\n", told, "exited")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "work"]


def test_a_job_goes_on_while_there_is_nothing_more_to_keep_from_it(tmp_path: Path) -> None:
    async def main() -> tuple[str, str]:
        jobs = Jobs()
        there = place(tmp_path)
        (tmp_path / "home" / ".viminfo").write_text("")
        spawner = SupervisorSpawner(place=there)
        env = child_environment(os.environ, ())
        programs = make_programs(spawner, jobs, cwd=str(tmp_path / "work"), env=env, profile=Profile())
        try:
            async with asyncio.timeout(60):
                await programs.start(
                    "echo ready to go; until test -e go; do sleep 0.02; done; cat /tmp/x", wait_ms=30_000
                )
                (tmp_path / "home" / "new").write_text("other")
                (tmp_path / "home" / "new").rename(tmp_path / "home" / ".viminfo")
                ran = await programs.run("cat ../home/.viminfo; echo shared > /tmp/x; touch go", timeout_ms=30_000)
                while (await programs.jobs())[0].state == "running":
                    await asyncio.sleep(0.02)
                return ran.text, (await programs.output("job1", since=0, tail=0, filter="")).text
        finally:
            await jobs.close()
            await spawner.close()

    assert asyncio.run(main()) == ("", "ready to go\nshared")


def test_no_private_folder_can_be_made_and_it_is_said(tmp_path: Path) -> None:
    async def main() -> str:
        there = place(tmp_path)
        spawner = SupervisorSpawner(place=replace(there, temp=str(tmp_path / "missing")))
        try:
            async with asyncio.timeout(60):
                await spawner.spawn(["true"], cwd="/", env={}, profile=Profile())
        except ToolError as error:
            return error.message
        finally:
            await spawner.close()
        return ""

    assert asyncio.run(main()) == "could not start the supervisor of programs: No such file or directory"
