"""The window of the model in use: as set, as known, as told, or assumed and said aloud."""

import asyncio
import socket
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer
from tests.providers.provider_kit import run

from overt.agent.agent import compacts_automatically
from overt.app.models.context_window import MATTERS, SAFE, WindowSeeker, budget_of
from overt.config.schema import Config, SettingValue
from overt.context.budget import Budget
from overt.core.events import Noticed
from overt.core.messages import said
from overt.core.requests import Prefix
from overt.core.settings import Compaction, ModelFacts, ProviderEntry, Quirks
from overt.core.text_fragments import USER
from overt.providers.model_choice import ChosenModel

LONG = said("word " * 2 * MATTERS, origin=USER)
SHORT = said("word", origin=USER)


def found(base_url: str = "", *, model: str = "fake-model", kind: str = "openai", **about: Any) -> ChosenModel:
    entry = ProviderEntry(name="mine", kind=kind, base_url=base_url)
    return ChosenModel(entry=entry, model=model, key=None, about=ModelFacts(name=model, **about))


def config(window: int | None = None, threshold: float = 0.8) -> Config:
    said = () if window is None else (SettingValue(key="context.context_window", value=window, origin="overt.toml:1"),)
    return Config(context_window=window or 0, settings=said, compaction=Compaction(threshold=threshold))


class Heard:
    """A seeker and what it told."""

    def __init__(self) -> None:
        self.notices: list[Noticed] = []
        self.seeker = WindowSeeker({}, self.notices.append)

    async def sought(self, base_url: str, budget: Budget, *, times: int = 1) -> int:
        for _ in range(times):
            self.seeker.seek(found(base_url), budget)
            async with asyncio.timeout(20):
                while self.seeker.pending:
                    await asyncio.sleep(0.01)
        await self.seeker.close()
        return budget.window


def counted(message: Any = LONG, **settings: Any) -> Budget:
    budget = Budget(window=0, **settings)
    budget.count(Prefix(system=(), tools=()), (message,))
    return budget


@pytest.mark.parametrize(
    ("chosen", "set_to", "expected"),
    [
        (found(window=1000), config(), (1000, 875, 800)),
        (found(window=1000), config(400), (400, 350, 320)),
        (found(window=1000), config(threshold=0.0), (1000, 875, 0)),
        (found(window=1000), config(0), (0, 0, 0)),
        (found(), config(), (0, 0, 0)),
        (found(window=1000, output=600), config(), (1000, 875, 800)),
        (found(window=1000, output=300, kind="anthropic"), config(), (1000, 700, 700)),
    ],
)
def test_what_is_set_wins_over_what_is_known(
    chosen: ChosenModel, set_to: Config, expected: tuple[int, int, int]
) -> None:
    budget = budget_of(chosen, set_to)

    assert (budget.window, budget.cap, budget.due_above) == expected


@pytest.mark.parametrize(("set_to", "expected"), [(config(), True), (config(0), True), (config(threshold=0.0), False)])
def test_room_is_made_when_the_server_asks_for_it_unless_it_never_shall_be(set_to: Config, expected: bool) -> None:
    assert compacts_automatically(budget_of(found(), set_to)) is expected


def test_the_model_tells_the_family_and_its_endpoint_whether_thoughts_go_back() -> None:
    silent = budget_of(found(model="qwen3-max", quirks=Quirks(reasoning="")), config())
    other = budget_of(found(model="claude-opus-5", kind="anthropic", quirks=Quirks(reasoning="")), config())

    assert (silent.family, silent.reasoning) == ("qwen", False)
    assert (other.family, other.reasoning) == ("claude", True)


def test_a_server_that_tells_is_believed_without_a_word() -> None:
    heard = Heard()
    with ModelServer(listing=[{"id": "fake-model", "max_model_len": 50_000}]) as server:
        window = run(heard.sought(server.url, counted()))

    assert (window, heard.notices) == (50_000, [])


def test_a_window_that_nobody_tells_is_assumed_and_said_aloud_once() -> None:
    heard = Heard()
    with ModelServer() as server:
        window = run(heard.sought(server.url, counted(), times=3))
        asked = [request.path for request in server.requests]

    assert (window, len(heard.notices)) == (SAFE, 1)
    assert str(SAFE) in heard.notices[0].text and "context_window" in heard.notices[0].text
    assert asked.count("/v1/models") == 1


def left_to_the_server() -> Budget:
    budget = budget_of(found(), config(0))
    budget.count(Prefix(system=(), tools=()), (LONG,))
    return budget


@pytest.mark.parametrize(
    "budget",
    [counted(SHORT), Budget(window=70_000), counted(threshold=0.0), left_to_the_server()],
    ids=["it does not matter yet", "it is known", "nothing is to be made room for", "it is left to the server"],
)
def test_nobody_is_asked_without_need(budget: Budget) -> None:
    heard, before = Heard(), budget.window
    with ModelServer() as server:
        window = run(heard.sought(server.url, budget))

    assert (window, server.requests, heard.notices) == (before, [], [])


def test_leaving_does_not_wait_for_an_answer() -> None:
    heard, budget = Heard(), counted()

    async def main(port: int) -> None:
        heard.seeker.seek(found(f"http://127.0.0.1:{port}/v1"), budget)
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            await heard.seeker.close()

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        run(main(deaf.getsockname()[1]))

    assert (budget.window, heard.notices) == (0, [])
