"""A script for the model server in which each agent of a tree has replies of its own."""

import asyncio
import threading
from collections.abc import Callable

from tests.app.subagents.test_delegation import first_prompt, last_text
from tests.fakes.model_server import FakeCall, Recorded, Turn
from tests.journeys.journey_kit import call, calls

DONE = Turn(text="done")
PATIENCE_S = 60.0


class Script:
    """Replies by agent: the prompt of an agent names it, and its replies are played one after the other. `pauses` are
    what a reply waits for, by agent and number."""

    def __init__(self, **replies: tuple[Turn, ...]) -> None:
        self.replies = {"main": replies.pop("main"), **replies}
        self.seen: dict[str, list[str]] = {name: [] for name in self.replies}
        self.pauses: dict[tuple[str, int], Callable[[], bool]] = {}
        self.stopped = threading.Event()

    def __call__(self, request: Recorded, _: int) -> Turn:
        prompt = first_prompt(request)
        name = next((name for name in self.replies if f"you are {name}" in prompt), "main")
        number = len(self.seen[name])
        self.seen[name].append(last_text(request))
        ready = self.pauses.get((name, number), lambda: True)
        for _ in range(int(PATIENCE_S / 0.01)):
            if ready() or self.stopped.wait(0.01):
                break
        return self.replies[name][number]

    def asked(self, name: str, number: int) -> Callable[[], bool]:
        """True once an agent has sent this request."""
        return lambda: len(self.seen[name]) > number


def task(name: str, agent: str = "general") -> FakeCall:
    return call("task", prompt=f"you are {name}", description=f"Part {name}", agent=agent)


def writes(path: str, content: str) -> Turn:
    return calls(call("write", path=path, content=content))


def runs(command: str) -> Turn:
    return calls(call("bash", command=command))


async def settle(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():
            await asyncio.sleep(0.01)
