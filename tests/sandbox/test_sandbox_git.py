"""Git's own files, attacked over several commands: what the person's git would run later stays the person's."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.sandbox.box_kit import USERS, Stage, staged
from tests.sandbox.test_sandbox_choice import place
from tests.workspace.programs_kit import gone, make_programs

from overt.core.errors import ToolError
from overt.core.protocols import Profile
from overt.sandbox.sandbox_process import find_misplaced_mount
from overt.workspace.environment import child_environment
from overt.workspace.jobs import Jobs
from overt.workspace.programs import Programs, SupervisorSpawner

EVIL = "printf '[core]\\n\\tfsmonitor = touch {0}/ran; false\\n'"


def status_runs_something(stage: Stage, where: Path | None = None) -> bool:
    """Whether the person's `git status` starts what a command left."""
    stage.folder.chmod(0o777)
    subprocess.run(
        ["git", "-C", str(where or stage.workspace), "-c", "safe.directory=*", "status"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(stage.home)},
    )
    return (stage.folder / "ran").exists()


@USERS
@pytest.mark.parametrize("target", ["../../home/other", "../../home"])
@pytest.mark.parametrize("name", ["modules", "worktrees"])
def test_a_link_in_place_of_a_folder_of_gits_opens_nothing(user: str, target: str, name: str) -> None:
    with staged(user) as stage:
        stage.repository()
        subprocess.run(["git", "init", "-q", str(stage.home / "other" / "repo")], check=True)
        stage.give()

        state, linked, tried = stage.run(
            f"ln -s {target} .git/{name}", "echo x > ~/other/new; echo x >> ~/.bashrc; cat ~/.ssh/id ~/.netrc"
        )

        assert (state, linked[0]) == (["bubblewrap", [], ""], 1)
        assert ((stage.home / "other" / "new").exists(), (stage.home / ".bashrc").read_text()) == (False, "# start\n")
        assert ("PRIVATE" in tried[1], (stage.workspace / ".git" / name).exists()) == (False, False)


@USERS
def test_a_folder_of_gits_stays_protected_when_its_head_is_taken_away(user: str) -> None:
    with staged(user) as stage:
        stage.repository()

        stage.run(
            "mv .git/HEAD .git/H",
            f"{EVIL.format(stage.folder)} >> .git/config; mv .git/hooks .git/h; mv .git/H .git/HEAD",
        )

        assert (status_runs_something(stage), (stage.workspace / ".git" / "hooks").is_dir()) == (False, True)


@USERS
def test_a_link_for_hooks_in_a_new_repository_is_not_there_to_be_replaced(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        stage.run(
            "git init -q .; rm -r .git/hooks; mkdir h; ln -s ../h .git/hooks",
            "rm .git/hooks; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
        )

        assert not os.path.lexists(stage.workspace / ".git" / "hooks" / "pre-commit")


def test_an_honest_git_link_stays_and_where_it_leads_is_protected() -> None:
    with staged("root") as stage:
        stage.repository()
        (stage.workspace / ".git").rename(stage.workspace / "real")
        (stage.workspace / ".git").symlink_to("real")

        _, status, hook = stage.run("git status --short", "echo x > real/hooks/pre-commit; rm .git; ln -s other .git")

        assert (status[1:], os.readlink(stage.workspace / ".git")) == (["?? real/\n", ""], "real")
        assert (stage.workspace / "real" / "hooks" / "pre-commit").exists() is False
        assert "Read-only file system" in hook[1]


@pytest.mark.parametrize("name", [".envrc", ".git/hooks"])
def test_a_protected_name_that_is_a_link_cannot_be_replaced(name: str) -> None:
    with staged("root") as stage:
        stage.repository()
        path = stage.workspace / name
        if path.is_dir():
            path.rename(stage.workspace / "was")
        target = str(stage.workspace / "mine")
        (stage.workspace / "mine").mkdir()
        path.symlink_to(target)

        _, ran = stage.run(f"rm {name}; mkdir {name}; echo x > {name}/pre-commit")

        assert (os.readlink(path), ran[0], list((stage.workspace / "mine").iterdir())) == (target, 1, [])


@USERS
def test_settings_of_a_worktree_that_are_not_there_yet_cannot_be_made(user: str) -> None:
    with staged(user) as stage:
        stage.repository()
        stage.git("config", "extensions.worktreeConfig", "true")
        stage.give()

        _, made, status = stage.run(f"{EVIL.format(stage.folder)} > .git/config.worktree", "git status --short")

        assert (made[0], status[:2], status_runs_something(stage)) == (1, [0, ""], False)
        assert gone(stage.left) == []


@USERS
def test_a_command_that_makes_a_worktree_may_take_its_time(user: str) -> None:
    with staged(user) as stage:
        stage.repository()
        stage.git("commit", "-q", "--allow-empty", "-m", "first")
        stage.give()

        _, ran, evil = stage.run(
            "git worktree add -q wt && sleep 1.2 && git -C wt status --short && echo end",
            "git worktree add -q wt2; mkdir -p evil; echo ../../../evil > .git/worktrees/wt2/commondir; sleep 1.2",
        )

        assert ran[:2] == [0, "end\n"]
        assert evil[2].startswith("the new .git/worktrees/wt2 would run programs outside the sandbox")


def test_with_too_many_submodules_none_of_them_can_be_changed_and_it_is_said() -> None:
    with staged("root") as stage:
        stage.repository()
        module = stage.workspace / ".git" / "modules" / "zlib"
        subprocess.run(["git", "init", "-q", "--bare", str(module)], check=True)
        before = (module / "config").read_bytes()

        # A slow machine notices them while the first command still runs, and says it with that one.
        _, *ran = stage.run(
            "for i in $(seq 100 350); do mkdir .git/modules/$i; done",
            "rm .git/modules/zlib/HEAD; echo x >> .git/modules/zlib/config; echo x > .git/modules/zlib/hooks/x",
        )

        said = [
            each[2] for each in ran if each[2].startswith(".git/modules holds too many submodules to look at each:")
        ]
        assert (len(said), (module / "config").read_bytes(), (module / "HEAD").exists()) == (1, before, True)


@USERS
def test_repositories_below_the_workspace_are_protected_like_its_own(user: str) -> None:
    with staged(user) as stage:
        gits = [stage.workspace / name / ".git" for name in ("one", "two/three", "two/four/five")]
        for git in gits:
            subprocess.run(["git", "init", "-q", str(git.parent)], check=True)
        stage.give()
        before = [(git / "config").read_bytes() for git in gits]

        stage.run(
            "for r in one two/three two/four/five; do (cd $r; echo x >> .git/config; echo x > .git/hooks/pre-commit; "
            "echo /x > .git/commondir; touch .git/config.worktree; mv .git g; git status -s); done"
        )

        assert [(git / "config").read_bytes() for git in gits] == before
        assert [sorted(path.name for path in git.iterdir() if "common" in path.name) for git in gits] == [[], [], []]
        assert ([(git / "hooks" / "pre-commit").exists() for git in gits], gone(stage.left)) == ([False] * 3, [])


@USERS
def test_a_repository_made_below_cannot_run_anything_and_can_go_again(user: str) -> None:
    with staged(user) as stage:
        stage.repository()
        evil = f"git -C sub config core.fsmonitor 'touch {stage.folder}/ran; false'; cp -r sub other; mv other/.git o"

        _, planted, plain, _, removed = stage.run(
            f"git init -q sub; cd sub; git commit -q --allow-empty -m a; cd ..; git add sub 2> /dev/null; {evil}",
            "git clone -q . copy 2> /dev/null; git -C copy status -s",
            "true",
            "rm -rf copy && echo gone",
        )

        assert "could not write config file .git/config: Read-only file system" in planted[1]
        assert (plain, removed, status_runs_something(stage)) == ([0, "", ""], [0, "gone\n", ""], False)


def test_a_repository_made_far_below_is_looked_at_when_the_turn_ends(tmp_path: Path) -> None:
    async def steps(programs: Programs, spawner: SupervisorSpawner) -> tuple[str, list[str]]:
        await programs.start("git init -q a/b; git init -q a/c; echo up; sleep 60", wait_ms=30_000)
        (tmp_path / "work" / "a" / "b" / ".git" / "hooks" / "pre-push").write_text("got around the refusals")
        spawner.rest()
        found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("work/a/*/.git*"))
        return (await programs.run("true", timeout_ms=30_000)).remark.split(" and was")[0], found

    said = "the new a/b/.git would run programs outside the sandbox (hooks/pre-push)"
    assert in_process(tmp_path, steps) == (said, ["work/a/b/.git.blocked", "work/a/c/.git"])


def test_what_a_person_does_beside_and_what_runs_outside_is_left_alone(tmp_path: Path) -> None:
    hooked = "git init -q {0}; echo x > {0}/.git/hooks/pre-commit"

    async def steps(programs: Programs, spawner: SupervisorSpawner) -> list[str]:
        await programs.run("true", timeout_ms=30_000)
        subprocess.run(["sh", "-c", hooked.format("mine")], cwd=tmp_path / "work", check=True)
        env = child_environment(os.environ, ())
        outside = make_programs(spawner, Jobs(), cwd=str(tmp_path / "work"), env=env, profile=Profile(outside=True))
        await outside.run(hooked.format("."), timeout_ms=30_000)
        ran = await programs.run("echo x > mine/.git/config; echo x > .git/config", timeout_ms=30_000)
        return [
            ran.remark or (ran.blocked.advise() if ran.blocked else ""),
            *sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("work/**/.git*")),
        ]

    blocked = (
        "write to .git/config was blocked by the sandbox: git's configuration and hooks can only be changed by the "
        "user; tell them what to run"
    )
    assert in_process(tmp_path, steps) == [blocked, "work/.git", "work/mine/.git"]


@USERS
def test_a_new_worktree_that_names_another_repository_is_moved(user: str) -> None:
    with staged(user) as stage:
        stage.repository()

        _, ran = stage.run(
            "git commit -q --allow-empty -m a; git worktree add -q wt 2> /dev/null; mkdir e; cp -r .git/. e/; "
            f"git config -f e/config core.fsmonitor 'touch {stage.folder}/ran; false'; "
            "echo ../../../e > .git/worktrees/wt/commondir"
        )

        assert ran[2].startswith("the new .git/worktrees/wt would run programs outside the sandbox (commondir)")
        assert status_runs_something(stage, stage.workspace / "wt") is False


@USERS
def test_a_file_replaced_outside_is_kept_from_the_next_command(user: str) -> None:
    with staged(user) as stage:
        stage.repository()
        (stage.workspace / "overt.toml").write_text("# mine\n")
        stage.give()
        process = stage.start(
            "touch up; until test -e go; do sleep 0.02; done",
            "echo x >> .git/config; echo x > overt.toml; cat ~/.netrc",
        )
        assert gone(lambda: [] if (stage.workspace / "up").exists() else ["not up"], 60) == []
        stage.git("config", "branch.main.remote", "origin")
        for path in (stage.workspace / "overt.toml", stage.home / ".netrc"):
            new = path.with_name("new")
            new.write_text("PRIVATE again\n")
            new.chmod(0o644)
            new.rename(path)
        stage.give()
        (stage.workspace / "go").write_text("")

        out, _ = process.communicate(timeout=60)

        assert ("PRIVATE" in out, (stage.workspace / "overt.toml").read_text()) == (False, "PRIVATE again\n")
        assert (stage.workspace / ".git" / "config").read_text().endswith("remote = origin\n")


def in_process(folder: Path, steps: Callable[[Programs, SupervisorSpawner], Awaitable[object]]) -> object:
    """Run steps with programs of their own in `folder`/work; everything is closed afterwards."""

    async def main() -> object:
        jobs, spawner = Jobs(), SupervisorSpawner(place=place(folder))
        env = child_environment(os.environ, ())
        programs = make_programs(spawner, jobs, cwd=str(folder / "work"), env=env, profile=Profile())
        try:
            async with asyncio.timeout(90):
                return await steps(programs, spawner)
        finally:
            await spawner.close()
            await jobs.close()

    return asyncio.run(main())


def test_a_job_is_ended_soon_when_a_file_it_is_kept_from_is_replaced_outside(tmp_path: Path) -> None:
    async def steps(programs: Programs, spawner: SupervisorSpawner) -> tuple[str, str]:
        (tmp_path / "work" / "overt.toml").write_text("mine\n")
        await programs.start("echo ready to go; sleep 60", wait_ms=30_000)
        (tmp_path / "new").write_text("edited\n")
        (tmp_path / "new").rename(tmp_path / "work" / "overt.toml")
        while (await programs.jobs())[0].state == "running":
            await asyncio.sleep(0.02)
        ran = await programs.run("echo x > overt.toml", timeout_ms=30_000)
        return ran.remark, (tmp_path / "work" / "overt.toml").read_text()

    why = "overt.toml was replaced outside, and with that no longer kept from them"
    assert in_process(tmp_path, steps) == (f"what was still running in the sandbox was ended: {why}", "edited\n")


@pytest.mark.parametrize("end", ["job", "rest", "close"])
def test_what_a_job_planted_is_moved_when_it_ends_when_the_turn_ends_and_at_the_end(tmp_path: Path, end: str) -> None:
    hook = tmp_path / "work" / ".git" / "hooks" / "pre-commit"

    async def steps(programs: Programs, spawner: SupervisorSpawner) -> None:
        last = "sleep 0.5" if end == "job" else "sleep 60"
        await programs.start(f"git init -q .; touch up; {last}", wait_ms=0)
        while not (tmp_path / "work" / "up").exists():
            await asyncio.sleep(0.02)
        hook.write_text("got around the refusals")
        while end == "job" and (await programs.jobs())[0].state == "running":
            await asyncio.sleep(0.02)
        if end == "rest":
            spawner.rest()
        if end != "close":
            assert not hook.exists()

    in_process(tmp_path, steps)

    assert (hook.exists(), (tmp_path / "work" / ".git.blocked" / "hooks" / "pre-commit").exists()) == (False, True)


def test_once_bubblewrap_stood_nothing_weaker_takes_its_place(tmp_path: Path) -> None:
    async def steps(programs: Programs, spawner: SupervisorSpawner) -> tuple[str, str]:
        (tmp_path / "home" / ".netrc").write_text("secret")
        await programs.run("true", timeout_ms=30_000)
        next(tmp_path.glob("overt-box-*/empty")).unlink()  # what is mounted on a hidden file
        (tmp_path / "work" / ".envrc").write_text("something new to protect")
        try:
            await programs.run("touch ran", timeout_ms=30_000)
        except ToolError as error:
            return error.message.partition(", and nothing was run")[0], spawner.guess().kind
        return "", ""

    said = f"the sandbox did not come up ({tmp_path}/home/.netrc is not mounted as it was meant to be)"
    assert in_process(tmp_path, steps) == (said, "bubblewrap")
    assert not (tmp_path / "work" / "ran").exists()


@pytest.mark.parametrize(
    ("wanted", "found", "wrong"),
    [
        (["r{0}"], {"{0}": False}, ""),
        (["r{0}"], {"{0}": True}, "{0}"),
        (["r{0}"], {}, "{0}"),
        (["w{0}"], {"{0}": True, "{0}/inner": True}, ""),
        (["r{0}"], {"{0}": False, "{0}/beside": True}, "{0}/beside"),
        (["r{0}/none"], {}, "{0}/none"),
    ],
)
def test_a_mount_that_is_not_where_it_was_meant_to_be_is_seen(
    tmp_path: Path, wanted: list[str], found: dict[str, bool], wrong: str
) -> None:
    (tmp_path / "beside").mkdir()
    there = tmp_path.stat()
    words = [f"{word[0]}{there.st_dev}:{there.st_ino}:{word[1:].format(tmp_path)}" for word in wanted]
    mounts = {path.format(tmp_path): open_ for path, open_ in found.items()}

    assert find_misplaced_mount(words, mounts) == wrong.format(tmp_path)


def test_a_box_stands_where_names_have_blanks_and_backslashes() -> None:
    with staged("root") as stage:
        odd = stage.folder / "a b\\040\tc\u00e4"
        subprocess.run(["git", "init", "-q", str(odd)], check=True)

        state, ran = stage.run("echo x > .git/config; echo x > y; cat y", workspace=odd)

        assert (state[0], ran[1].splitlines()[-1], (odd / "y").exists()) == ("bubblewrap", "x", True)


def test_a_mount_of_something_else_is_seen(tmp_path: Path) -> None:
    assert find_misplaced_mount([f"r1:2:{tmp_path}"], {str(tmp_path): False}) == str(tmp_path)


def test_a_private_folder_that_was_cleaned_away_is_made_again(tmp_path: Path) -> None:
    async def steps(programs: Programs, spawner: SupervisorSpawner) -> str:
        await programs.run("true", timeout_ms=30_000)
        spawner.rest()
        shutil.rmtree(next(tmp_path.glob("overt-box-*")))
        return (await programs.run("echo x > /tmp/x; cat /tmp/x", timeout_ms=30_000)).text

    assert in_process(tmp_path, steps) == "x\n"
    assert list(tmp_path.glob("overt-box-*")) == []


def test_a_file_that_is_replaced_twice_outside_is_noticed(tmp_path: Path) -> None:
    """The second one may get the number that the first one had."""

    async def steps(programs: Programs, _: SupervisorSpawner) -> list[int | None]:
        work = tmp_path / "work"
        await programs.run("git init -q .", timeout_ms=30_000)
        codes = [(await programs.run("echo x >> .git/config", timeout_ms=30_000)).code]
        for number in range(4):
            fresh = work / f"fresh{number}"
            fresh.write_text("[core]\n\trepositoryformatversion = 0\n")
            fresh.rename(work / ".git" / "config")
        codes.append((await programs.run("echo x >> .git/config", timeout_ms=30_000)).code)
        return codes

    assert in_process(tmp_path, steps) == [1, 1]
