"""Commands as one call runs them: output, time, cancellation, what waits for a person."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.workspace.programs_kit import PROFILE, gone, opened, proc, zombies

from overt.core.capabilities import FinishedCommand
from overt.core.errors import ToolError
from overt.workspace.programs import NoPrograms


def run(cwd: Path, command: str, timeout_ms: int = 30_000) -> FinishedCommand:
    async def main() -> FinishedCommand:
        async with asyncio.timeout(60), opened(cwd) as bench:
            return await bench.programs.run(command, timeout_ms=timeout_ms)

    return asyncio.run(main())


def test_a_command_runs_in_the_workspace_and_both_streams_come_back_in_order(tmp_path: Path) -> None:
    ran = run(tmp_path, "pwd; echo wrong >&2; echo end; exit 3")

    assert (ran.text, ran.code, ran.timed_out) == (f"{tmp_path}\nwrong\nend\n", 3, False)
    assert ran.size == len(ran.text)


def test_a_command_killed_by_a_signal_has_the_code_a_shell_would_give(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -SEGV $$").code == 128 + signal.SIGSEGV


def test_odd_bytes_reach_the_command_and_invalid_ones_come_back_replaced(tmp_path: Path) -> None:
    assert run(tmp_path, "printf 'käse \\xff\\n'; printf '%s' \udcfe | od -An -tx1").text == "käse \ufffd\n fe\n"


def test_colours_and_progress_bars_come_back_as_they_ended(tmp_path: Path) -> None:
    ran = run(tmp_path, r"printf '\033[31mred\033[0m\n 1%%\r50%%\r100%%\n\033]0;title\007done\r\n'")

    assert ran.text == "red\n100%\ndone\n"


def test_eight_commands_run_at_once(tmp_path: Path) -> None:
    async def main() -> list[FinishedCommand]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            command = "mktemp upXXXXXX > /dev/null; until test $(ls | wc -l) = 8; do sleep 0.02; done; echo met"
            return await asyncio.gather(*(bench.programs.run(command, timeout_ms=30_000) for _ in range(8)))

    assert [ran.text for ran in asyncio.run(main())] == ["met\n"] * 8


def test_a_timeout_kills_the_whole_tree_and_keeps_what_was_printed(tmp_path: Path) -> None:
    async def main() -> tuple[FinishedCommand, list[str]]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            ran = await bench.programs.run("echo before; setsid sleep 60 & sleep 60", timeout_ms=3_000)
            return ran, bench.alive()

    ran, left = asyncio.run(main())

    assert (ran.text, ran.code, ran.timed_out, left) == ("before\n", None, True, [])


def test_a_command_that_refuses_to_end_is_killed_after_its_timeout(tmp_path: Path) -> None:
    ran = run(tmp_path, "trap '' TERM INT HUP; while :; do sleep 0.05; done", timeout_ms=200)

    assert (ran.code, ran.timed_out) == (None, True)


def test_cancelling_kills_everything_before_it_returns(tmp_path: Path) -> None:
    async def main() -> list[str]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            command = "sleep 60 & setsid sleep 60 & nohup sleep 60 & touch up; while :; do :; done"
            task = asyncio.create_task(bench.programs.run(command, timeout_ms=50_000))
            while not (tmp_path / "up").exists():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return bench.alive()

    assert asyncio.run(main()) == []


def test_cancelling_before_the_program_has_started_leaves_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            for pause in (0, 0, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005):
                task = asyncio.create_task(bench.programs.run("sleep 60", timeout_ms=50_000))
                await asyncio.sleep(pause)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert bench.alive() == []

    asyncio.run(main())


def test_a_command_returns_although_a_background_process_holds_its_output(tmp_path: Path) -> None:
    ran = run(tmp_path, "echo started; sleep 60 &")

    assert ran.text == "started\n[ended 1 process it had left running; use run_in_background to keep one]"
    assert ran.code == 0


def test_a_process_substitution_may_finish_what_it_was_given(tmp_path: Path) -> None:
    assert run(tmp_path, "echo words > >(sleep 0.02; cat)").text == "words\n"


WAITING = {
    "read": "read x; echo got $?",
    "cat": "cat; echo got $?",
    "tty": "cat /dev/tty; echo got $?",
    "getpass": f"{sys.executable} -c 'import getpass; getpass.getpass()'; echo got $?",
    "input": f"{sys.executable} -c 'input()'; echo got $?",
    "ssh": "ssh -F none -o ProxyCommand='cat /dev/tty' nobody@localhost; echo got $?",
    "git": "git -c credential.helper= fetch https://127.0.0.1:9/x; echo got $?",
    "editor": "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty; echo got $?",
    "pager": "git init -q . && git help -a | head -1 >/dev/null; git --paginate status >/dev/null; echo got $?",
    "sudo": "sudo -S true; echo got $?",
}


@pytest.mark.parametrize("shape", WAITING)
def test_what_would_wait_for_a_person_returns(tmp_path: Path, shape: str) -> None:
    ran = run(tmp_path, WAITING[shape], timeout_ms=20_000)

    assert (ran.timed_out, ran.code) == (False, 0)
    assert "got " in ran.text


def test_progress_tells_the_last_lines_at_most_ten_times_a_second(tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []

    async def main() -> None:
        async with (
            asyncio.timeout(60),
            opened(tmp_path, lambda text: told.append((time.monotonic(), text))) as bench,
        ):
            await bench.programs.run("for i in $(seq 40); do echo $i; sleep 0.01; done; sleep 0.3", timeout_ms=30_000)

    asyncio.run(main())

    assert told[-1][1] == "36\n37\n38\n39\n40"
    gaps = [after - before for (before, _), (after, _) in pairwise(told)]
    assert all(gap >= 0.095 for gap in gaps)


MEASURE = """
import asyncio, os, sys, time
from overt.core.protocols import Profile
from overt.workspace.jobs import Jobs
from overt.lib.redaction.redact import Redactor
from overt.workspace.command_output import OutputFiles
from overt.workspace.files import Workspace
from overt.workspace.programs import Programs, ProgramServices, SupervisorSpawner

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

async def main():
    spawner = SupervisorSpawner()
    env = {"PATH": os.environ["PATH"]}
    outputs = OutputFiles(sys.argv[2], "s", stored=True, redactor=Redactor(["a secret that is not there"]))
    services = ProgramServices(
        spawner=spawner, jobs=Jobs(), workspace=Workspace(root="/"), env=env, outputs=outputs
    )
    programs = Programs(services, profile=Profile())
    await programs.run("seq 9000", timeout_ms=10_000)
    before = peak()
    begun = time.monotonic()
    ran = await programs.run(sys.argv[1], timeout_ms=300_000)
    print(peak() - before, ran.size, len(ran.text.encode()), time.monotonic() - begun)
    print(ran.text.split()[0], ran.text.split()[-1])
    await spawner.close()

asyncio.run(main())
"""


def flood(count: int, folder: Path) -> tuple[int, int, int, float, str]:
    """Also checks what is kept of it: 64 MB at most, with both ends."""
    command = f"echo first; yes 'a line of output' | head -c {count}; echo last"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, command, str(folder)], capture_output=True, text=True, timeout=300, check=True
    )
    kept = folder / "s/2.txt"
    assert kept.stat().st_size <= 64 * 1024 * 1024 + 200
    with kept.open("rb") as file:
        assert file.readline() == b"first\n"
        file.seek(-5, os.SEEK_END)
        assert file.read() == b"last\n"
    figures, ends = done.stdout.strip().split("\n")
    growth, size, shown, seconds = figures.split()
    return int(growth), int(size), int(shown), float(seconds), ends


def test_a_flood_of_output_costs_little_memory_and_keeps_both_ends(tmp_path: Path) -> None:
    growth, size, shown, _, ends = flood(17 * 4_300_000, tmp_path)

    assert (size, ends) == (17 * 4_300_000 + len("first\nlast\n"), "first last")
    assert growth < 64 * 1024
    assert 16 * 1024 < shown <= 32 * 1024


@pytest.mark.soak
def test_a_gigabyte_takes_hardly_longer_than_bare(tmp_path: Path) -> None:
    begun = time.monotonic()
    subprocess.run("yes 'a line of output' | head -c 1073741824 | cat > /dev/null", shell=True, check=True, timeout=300)
    bare = time.monotonic() - begun

    growth, size, shown, seconds, _ = flood(1_073_741_824, tmp_path)

    assert size == 1_073_741_824 + len("first\nlast\n")
    assert growth < 64 * 1024
    assert shown <= 32 * 1024
    assert seconds <= 1.5 * bare + 1, (seconds, bare)


def commands_leave_no_zombie(cwd: Path, count: int) -> None:
    async def main() -> None:
        async with asyncio.timeout(110), opened(cwd) as bench:
            for _ in range(count // 4):
                commands = ("true", "(true &)", "true | cat", "setsid true &")
                await asyncio.gather(*(bench.programs.run(it, timeout_ms=30_000) for it in commands))
            assert gone(zombies) == []
            assert bench.alive() == []

    asyncio.run(main())


def test_a_hundred_commands_leave_no_zombie(tmp_path: Path) -> None:
    commands_leave_no_zombie(tmp_path, 100)


@pytest.mark.soak
def test_a_thousand_commands_leave_no_zombie(tmp_path: Path) -> None:
    commands_leave_no_zombie(tmp_path, 1000)


def test_no_descriptor_is_lost_over_many_commands(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.run("true", timeout_ms=10_000)
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(20):
                await bench.programs.run("echo x; sleep 60 &", timeout_ms=10_000)
            assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(main())


def test_a_killed_supervisor_is_replaced(tmp_path: Path) -> None:
    async def main() -> str:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.run("true", timeout_ms=10_000)
            for pid in bench.supervisors():
                os.kill(pid, signal.SIGKILL)
            gone(lambda: [pid for pid in bench.supervisors() if proc(pid, "cmdline")])
            return (await bench.programs.run("echo again", timeout_ms=10_000)).text

    assert asyncio.run(main()) == "again\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo \0", "the command holds a NUL byte, which no program can be given"),
        ("echo \ud800", "the command holds half a character (a lone surrogate); write it out"),
        ("#" * 140_000, "the command is longer than 128 KiB; write it to a file and run that"),
    ],
)
def test_a_command_no_program_can_be_given_is_refused_in_words(tmp_path: Path, command: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        run(tmp_path, command)

    assert (caught.value.message, caught.value.code) == (said, "invalid")


def test_a_missing_workspace_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        run(tmp_path / "absent", "true")

    assert caught.value.message == f"could not start bash in {tmp_path / 'absent'}: No such file or directory"


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.spawner.spawn(("no-such-program",), cwd=str(tmp_path), env=bench.env, profile=PROFILE)

    with pytest.raises(ToolError) as caught:
        asyncio.run(main())

    assert caught.value.message == f"could not start no-such-program in {tmp_path}: No such file or directory"


def test_a_preview_refuses_every_program() -> None:
    nothing = NoPrograms()

    async def refused(asked: Coroutine[Any, Any, object]) -> str:
        with pytest.raises(ToolError) as caught:
            await asked
        return caught.value.code

    async def main() -> list[str]:
        asked: list[Coroutine[Any, Any, object]] = [
            nothing.run("true", timeout_ms=1),
            nothing.start("true", wait_ms=1),
            nothing.jobs(),
            nothing.output("job1", since=0, tail=0, filter=""),
            nothing.stop("job1"),
        ]
        return [await refused(it) for it in asked]

    assert asyncio.run(main()) == ["denied"] * 5


def test_a_workdir_is_a_folder_of_the_workspace_or_of_another_root(tmp_path: Path) -> None:
    work, other, elsewhere = (tmp_path / name for name in ("work", "other", "elsewhere"))
    for folder in (work / "deep", other, elsewhere):
        folder.mkdir(parents=True)
    (work / "file").touch()
    (work / "out").symlink_to(elsewhere)

    async def main() -> list[str]:
        async with asyncio.timeout(60), opened(work, read=(str(other),)) as bench:
            programs = bench.programs
            said = []
            for workdir in ("", "deep", str(work / "deep"), str(other), "out", "../elsewhere", "none", "file"):
                try:
                    said.append((await programs.run("pwd", timeout_ms=10_000, workdir=workdir)).text.strip())
                except ToolError as error:
                    said.append(error.code)
            job = await programs.start("pwd", wait_ms=3000, workdir="deep")
            return [*said, job.text]

    real = os.path.realpath
    deep = real(work / "deep")
    assert asyncio.run(main()) == [
        *(real(work), deep, deep, real(other)),
        *("outside", "outside", "missing", "invalid"),
        deep,
    ]
