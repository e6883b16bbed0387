"""A command whose keeper dies before it has said a word is not started a second time."""

import asyncio
from pathlib import Path

from tests.workspace.programs_kit import Bench, make_programs

from overt.core.errors import ToolError
from overt.core.protocols import Profile
from overt.workspace.programs import SupervisorSpawner

KILLED = "bash was killed with its supervisor while it started"
THIRD = ("strace", "-f", "-o", "/dev/null", "-e", "trace=sendto", "-e", "inject=sendto:signal=KILL:when=3")
"""A keeper says two things about its first command, and dies when it wants to say that its second one runs."""
TRIES = 12


def test_a_command_is_not_started_again_when_its_keeper_dies_before_it_could_tell(tmp_path: Path) -> None:
    async def main() -> tuple[int, str]:
        bench = Bench(str(tmp_path))
        spawner = SupervisorSpawner(before=lambda _: THIRD)
        programs = make_programs(spawner, bench.jobs, cwd=str(tmp_path), env=bench.env, profile=Profile())
        try:
            async with asyncio.timeout(100):
                for number in range(TRIES):
                    try:
                        await programs.run(f"echo ran >> {number}", timeout_ms=30_000)
                    except ToolError as error:
                        return number, error.message
        finally:
            await spawner.close()
        return TRIES, ""

    last, said = asyncio.run(main())

    lines = [len(path.read_text().splitlines()) for number in range(last) if (path := tmp_path / str(number))]
    assert (said, lines) == (KILLED, [1] * last)
    assert not (found := tmp_path / str(last)).exists() or found.read_text() in ("", "ran\n")
