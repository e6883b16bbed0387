"""Requests of a conversation are booked when their replies are known: what for, how much, at which price."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session import follow
from overt.app.start import open_conversation
from overt.core.events import Event, Noticed, PrefixSet, TextStreamed
from overt.lib.paths import slug
from overt.sessions.load import load
from overt.sessions.usage_ledger import LedgerLine, read_ledger

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "prompt_tokens_details": {"cached_tokens": 400_000}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    return tmp_path


def config(home: Path, server: ModelServer, more: str = "") -> None:
    folder = home / "home/.config/overt"
    folder.mkdir(parents=True, exist_ok=True)
    price = "price = { input = 2.0, output = 10.0, cached = 0.5 }"
    models = f'[[providers.models]]\nname = "priced"\n{price}\n[[providers.models]]\nname = "free"\n'
    providers = (f'[[providers]]\nname = "{name}"\nbase_url = "{server.url}"\n{models}' for name in ("here", "there"))
    (folder / "config.toml").write_text(f'default_model = "here/priced"\n{more}\n{"".join(providers)}')


def played(
    home: Path, turns: Sequence[Turn], *said: str, more: str = "", options: Options | None = None
) -> list[Event]:
    """Everything that was shown of these prompts; `!` runs a command, `/model` changes the model."""

    async def main() -> list[Event]:
        shown: list[Event] = []
        conversation = await open_conversation(options or Options(directory=str(home / "work"), mode="yolo"))
        try:
            async with asyncio.timeout(30):
                for text in said:
                    shown += await spoken(conversation, text)
        finally:
            await conversation.close()
        return shown

    with ModelServer(turns, models=("priced", "free")) as server:
        config(home, server, more)
        return asyncio.run(main())


async def spoken(conversation: Conversation, text: str) -> list[Event]:
    if text.startswith("/model "):
        await conversation.set_model(text.removeprefix("/model "))
        return []
    turn = conversation.command(text[1:]) if text.startswith("!") else conversation.prompt(text)
    play = follow(conversation.session, turn)
    async with aclosing(play) as events:
        found = [event async for event in events]
    if task := conversation._titling._task:
        await asyncio.wait([task])
    return found


def booked(home: Path) -> list[LedgerLine]:
    """Without what no test can know."""
    lines = list(read_ledger(str(home / "home/.local/share/overt")))
    assert all(line.ts > 1.6e9 and len(line.session) == 8 and line.ms >= 0 for line in lines)
    return [replace(line, ts=0.0, session="", ms=0) for line in lines]


def expected(home: Path, **more: object) -> LedgerLine:
    given = {
        "ts": 0.0,
        "session": "",
        "project": slug(str(home / "work")),
        "provider": "here",
        "model": "priced",
    } | more
    return LedgerLine(**given)  # type: ignore[arg-type]


def test_every_request_is_booked_with_its_tokens_and_its_price(home: Path) -> None:
    (home / "work/a.txt").write_text("a\n")
    played(home, [replace(calls(call("read", path="a.txt")), usage=USAGE), Turn(text="done", usage=USAGE)], "go")
    same = {"input": 1_000_000, "cached": 400_000, "output": 100_000, "cost": 1.2 + 0.2 + 1.0, "saved": 0.6, "turn": 1}
    first, second = booked(home)
    assert first == expected(home, step=1, possible=first.possible, **same)
    assert second == expected(home, step=2, possible=second.possible, **same)
    assert 400_000 <= first.possible <= second.possible <= 1_000_000


def test_what_a_person_runs_is_no_request(home: Path) -> None:
    played(home, [Turn(text="done", usage=USAGE)], "!true", "go")
    assert [(line.turn, line.step) for line in booked(home)] == [(2, 1)]


def test_a_model_on_this_machine_without_a_price_costs_nothing(home: Path) -> None:
    played(home, [Turn(text="done", usage=USAGE)], "/model here/free", "go")
    (line,) = booked(home)
    assert (line.model, line.cost, line.saved) == ("free", 0.0, 0.0)


def test_same_model_of_another_provider_is_booked_for_that_provider(home: Path) -> None:
    """Nothing else that is recorded about the model differs; a resume records nothing about it anew."""
    played(home, [Turn(text="done")] * 2, "go", "/model there/priced", "go on")
    played(home, [Turn(text="done")], "and on", options=Options(directory=str(home / "work"), continue_last=True))
    assert [line.provider for line in booked(home)] == ["here", "there", "there"]
    (session,) = (home / "home/.local/share/overt/sessions").glob("*/*.jsonl")
    entries = load(str(session)).entries
    assert [entry.data.provider for entry in entries if isinstance(entry.data, PrefixSet)] == ["here", "there"]


def test_a_session_that_is_not_kept_is_booked_all_the_same(home: Path) -> None:
    options = Options(directory=str(home / "work"), persist=False)
    played(home, [Turn(text="done", usage=USAGE)], "a secret word", options=options)
    assert len(booked(home)) == 1
    assert b"secret" not in (home / "home/.local/share/overt/ledger.jsonl").read_bytes()


def test_a_title_is_a_request_of_its_own_at_the_price_of_its_model(home: Path) -> None:
    options = Options(directory=str(home / "work"), interactive=True)
    played(
        home,
        [Turn(text="done", usage=USAGE), Turn(text="A fine title", usage=USAGE)],
        "please help",
        more='small_model = "here/free"',
        options=options,
    )
    purposes = sorted((line.purpose, line.model, line.cost) for line in booked(home))
    assert purposes == [("step", "priced", 2.4), ("title", "free", 0.0)]


def test_a_ledger_that_cannot_be_written_is_told_once_and_the_work_goes_on(home: Path) -> None:
    os.makedirs(home / "home/.local/share/overt/ledger.jsonl")
    shown = played(home, [Turn(text="one"), Turn(text="two")], "go", "go on")
    told = [event.text for event in shown if isinstance(event, Noticed) and "overt stats" in event.text]
    assert len(told) == 1
    assert told[0].startswith("What this request cost could not be booked (Is a directory:")


def test_a_reply_that_broke_off_is_booked_with_an_estimate(home: Path) -> None:
    def stop(conversation: Conversation, event: Event) -> None:
        if isinstance(event, TextStreamed):
            conversation.interrupt()

    async def main() -> None:
        conversation = await open_conversation(Options(directory=str(home / "work")))
        try:
            async with asyncio.timeout(30), aclosing(follow(conversation.session, conversation.prompt("go"))) as events:
                async for event in events:
                    stop(conversation, event)
        finally:
            await conversation.close()

    stalled = Turn(text="half a sentence", chunk=4, fault=Fault(stall_after=3))
    with ModelServer([stalled], models=("priced", "free")) as server:
        config(home, server)
        asyncio.run(main())
    (line,) = booked(home)
    assert (line.turn, line.step, line.estimated, line.output) == (1, 1, True, 4)
    assert line.input > 1000 and line.cost == pytest.approx((line.input * 2.0 + 4 * 10.0) / 1e6)
