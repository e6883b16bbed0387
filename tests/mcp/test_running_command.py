"""The time of a command in the MCP host, with real clocks and short limits."""

import asyncio

import pytest

from overt.mcp.host import running_command
from overt.mcp.host.running_command import RunningCommand


def test_progress_does_not_extend_a_command_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_command, "MIN_TOTAL_S", 0.3)
    monkeypatch.setattr(running_command, "MAX_LIMITS", 1)

    async def run() -> str:
        command = RunningCommand(id=1, server="good")
        try:
            async with command.limited(0.2):
                for _ in range(3000):
                    await asyncio.sleep(0.01)
                    command.restart_limit()
        except TimeoutError:
            return command.explain_timeout()
        return "it went on"

    assert asyncio.run(run()) == "reported progress, but has not answered after 0.3 s"


def test_the_time_of_the_user_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_command, "MIN_TOTAL_S", 0.2)
    monkeypatch.setattr(running_command, "MAX_LIMITS", 1)

    async def run() -> None:
        command = RunningCommand(id=1, server="good")
        async with command.limited(0.2):
            with command.waiting_for_user():
                await asyncio.sleep(0.5)
            command.restart_limit()
            await asyncio.sleep(0)

    asyncio.run(run())


def test_a_limit_is_ten_times_the_own_one_and_at_least_ten_minutes() -> None:
    async def last_end(seconds: float) -> float:
        command = RunningCommand(id=1, server="good")
        async with command.limited(seconds):
            return command._last_end - asyncio.get_running_loop().time()

    assert round(asyncio.run(last_end(1.0))) == 600
    assert round(asyncio.run(last_end(120.0))) == 1200
