"""Stopping an agent ends everything below it: requests, commands, background jobs. Nothing comes back."""

import asyncio
import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, call, calls, until

from overt.app.conversation import Conversation
from overt.app.conversation import Turn as ConversationTurn
from overt.app.options import Options
from overt.app.start import open_conversation
from overt.app.subagents import delegation
from overt.app.workspace_services import WorkspaceServices
from overt.core.events import Event, Noticed

LEAVES = frozenset(f"{one}.{two}" for one in "123" for two in "123")
NODES = LEAVES | {"0", "1", "2", "3"}
SLOW = "word " * 400
WITHIN = [pytest.param(30.0, id="any time"), pytest.param(0.0, id="exact", marks=pytest.mark.soak)]
"""Seconds that stopping may take; 0 stands for the promised bound, which only a quiet machine keeps."""


class TreeServer(ModelServer):
    """The model of a root (`0`) with three agents of three each. Every agent starts a command that sleeps, and the
    agents at the bottom then stream slowly; the last of three waits for its command instead."""

    def __init__(self) -> None:
        super().__init__(choose=self._reply, models=("fake-model",))
        self.streams: Counter[str] = Counter()
        self._tag = f"600.{os.getpid()}{time.monotonic_ns() % 10**6:06}"

    def requests_of(self, prefix: str) -> int:
        return sum(node_of(request).startswith(prefix) for request in tuple(self.posts))

    def streaming(self) -> set[str]:
        return {node for node, count in tuple(self.streams.items()) if count}

    def sleeping(self) -> set[str]:
        """The agents whose command runs."""
        nodes = set[str]()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_text()
                except OSError:
                    continue
                nodes |= {node.replace("0", ".") if node != "0" else node for node in self._nodes_in(line)}
        return nodes

    def _nodes_in(self, line: str) -> list[str]:
        return re.findall(rf"{re.escape(self._tag)}7(\d+)", line)

    def _sleep(self, node: str, *, background: bool) -> FakeCall:
        command = f"sleep {self._tag}7{node.replace('.', '0')}"
        return call("bash", command=command, run_in_background=True) if background else call("bash", command=command)

    def _reply(self, request: Recorded, _: int) -> Turn:
        node = node_of(request)
        last = request.json()["messages"][-1]
        if node in LEAVES:
            if last["role"] != "tool":
                return calls(self._sleep(node, background=not node.endswith("3")))
            return Turn(text=SLOW, chunk=1, delay=0.05)
        if last["role"] == "tool" or "more" in str(last["content"]):
            return Turn(text="that is all")
        below = [f"{node}.{number}" if node != "0" else str(number) for number in (1, 2, 3)]
        tasks = [call("task", prompt=f"node {each}:", description=f"Part {each}") for each in below]
        return calls(self._sleep(node, background=True), *tasks)

    def _play(self, connection: socket.socket, turn: Turn, request: Recorded, cached: int) -> bool:
        node = node_of(request)
        self.streams[node] += bool(turn.delay)
        try:
            return super()._play(connection, turn, request, cached)
        finally:
            self.streams[node] -= bool(turn.delay)


def node_of(request: Recorded) -> str:
    for message in request.json()["messages"]:
        if message["role"] == "user" and (named := re.search(r"node (\d(\.\d)?):", str(message["content"]))):
            return named[1]
    return "0"


STREAMING = {node for node in LEAVES if not node.endswith("3")}


@asynccontextmanager
async def running_tree(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Conversation, ConversationTurn, TreeServer]]:
    folder.mkdir()
    with TreeServer() as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(
            Options(directory=str(folder), mode="yolo", name="tree", interactive=True)
        )
        try:
            turn = conversation.prompt("go")
            await settle(lambda: server.streaming() == STREAMING and server.sleeping() == NODES)
            yield conversation, turn, server
        finally:
            await conversation.close()


async def settle(reached: Callable[[], bool], within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while not reached():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def below(path: str) -> set[str]:
    return {node for node in NODES if node.startswith(path)}


@pytest.mark.parametrize("within", WITHIN)
def test_stopping_an_agent_ends_what_is_below_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: float
) -> None:
    async def main() -> None:
        async with running_tree(tmp_path / "w", monkeypatch) as (conversation, _, server):
            agents = conversation.agents
            assert agents
            assert len(agents.running()) == 12
            requests = server.requests_of("2")
            agents.stop("main/general-2")
            await settle(
                lambda: server.streaming() == STREAMING - below("2") and server.sleeping() == NODES - below("2"),
                within or 0.5,
            )
            await settle(lambda: len(agents.running()) == 8)
            states = {node.path: node.state for node in agents}
            assert {path for path, state in states.items() if state == "stopped"} == {
                path for path in states if path.startswith("main/general-2")
            }
            assert server.requests_of("2") == requests
            assert server.streaming() == STREAMING - below("2")
            assert server.sleeping() == NODES - below("2")

    asyncio.run(main())


def test_slow_records_do_not_hold_up_the_end_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with running_tree(tmp_path / "w", monkeypatch) as (conversation, turn, server):
            recorded = asyncio.Event()

            async def wait_for_records(_: WorkspaceServices) -> None:
                await recorded.wait()

            monkeypatch.setattr(WorkspaceServices, "wait_for_records", wait_for_records)
            monkeypatch.setattr(delegation, "CLOSE_WITHIN_S", 600.0)
            assert conversation.agents
            conversation.agents.stop("main/general-2")
            await settle(lambda: server.sleeping() == NODES - below("2"))
            assert len(conversation.agents.running()) == 12
            conversation.interrupt()
            await settle(lambda: not server.streaming() and server.sleeping() == {"0"})
            assert not turn.done()
            recorded.set()
            await turn

    asyncio.run(main())


@pytest.mark.parametrize("within", WITHIN)
def test_an_interrupt_at_the_root_ends_every_sub_agent_and_leaves_the_jobs_of_the_main_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: float
) -> None:
    async def main() -> None:
        async with running_tree(tmp_path / "w", monkeypatch) as (conversation, turn, server):
            notices: list[str] = []

            def note(event: Event) -> None:
                if isinstance(event, Noticed):
                    notices.append(event.text)

            conversation.session.subscribe(note, name="notices")
            requests = len(server.posts)
            conversation.interrupt()
            await settle(lambda: not server.streaming() and server.sleeping() == {"0"}, within or 1.0)
            assert conversation.agents
            assert (await turn).reason == "interrupted"
            assert not conversation.agents.running()
            assert len(server.posts) == requests
            assert [text for text in notices if "job1" in text and "sleep" in text]

            path = conversation.path
            end = await conversation.prompt("more")
            assert (end.text, len(server.posts), server.sleeping()) == ("that is all", requests + 1, {"0"})
            await conversation.close()
            assert not server.sleeping()

            again = await open_conversation(Options(directory=str(tmp_path / "w"), mode="yolo", continue_last=True))
            assert again.path == path
            assert (await again.prompt("more")).text == "that is all"
            await again.close()
            assert (len(server.posts), server.sleeping()) == (requests + 2, set())

    asyncio.run(main())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_a_headless_run_leaves_no_process_of_the_tree(place: Place, number: int) -> None:
    with TreeServer() as server, place.started("run", "go", "--yolo", server=server) as run:
        until(lambda: server.streaming() == STREAMING and server.sleeping() == NODES, 60)
        requests = len(server.posts)
        run.send_signal(number)
        run.communicate(timeout=60)
        until(lambda: not server.sleeping() and not server.streaming(), 30)
        assert len(server.posts) == requests
    words = ("run", "--continue", "more", "--yolo")
    with TreeServer() as server:
        assert place.run(*words, server=server).out.strip() == "that is all"
        assert (len(server.posts), server.sleeping()) == (1, set())
