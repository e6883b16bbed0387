"""A request that breaks off before the server has counted it counts as an estimate, marked as one."""

import asyncio
from pathlib import Path

import pytest
from tests.app.limits.billing import BillingServer, billed_chat
from tests.app.test_session_spend import interrupted_turn
from tests.app.test_slash_budget import DIME, shop
from tests.app.test_slash_sessions import awaited
from tests.fakes.commands import slash
from tests.fakes.model_server import Fault, Turn

from overt.agent import compaction
from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.core.events import Replied, TextStreamed
from overt.sessions.load import load
from overt.sessions.resume import resume
from overt.sessions.usage_ledger import read_ledger

WORDS = "ten words of a reply that is not whole yet " * 20
STALLED = Turn(text=WORDS, chunk=40, fault=Fault(stall_after=12))
CUT = Turn(text=WORDS, chunk=40, fault=Fault(cut_after=12))
REFUSED = Turn(fault=Fault(status=400, body='{"error": {"message": "no"}}'))


@awaited
async def test_an_interrupted_and_a_broken_reply_count_their_input_and_what_was_received(tmp_path: Path) -> None:
    options = Options(directory=str(tmp_path), mode="yolo")
    async with shop([STALLED, CUT, DIME], options) as (conversation, _):
        await interrupted_turn(conversation, "one")
        first = conversation.spend.session
        assert (first.requests, first.estimated, first.unpriced) == (1, 1, 0)
        assert 1_000 < first.input < 10_000
        assert first.output > 0
        assert first.cost == pytest.approx((first.input + first.output) / 1_000_000)

        await conversation.prompt("two")
        assert (conversation.spend.session.requests, conversation.spend.turn.estimated) == (2, 1)
        assert 60 < conversation.spend.turn.output < 200
        assert (await slash(conversation, "/cost")).lines[1].rpartition(", ")[2].startswith("~$0.0")

        await conversation.prompt("three")
        spend, path = conversation.spend, conversation.path
        booked = [line.estimated for line in read_ledger(conversation.setting.environment.data_dir)]
    assert (booked, resume(load(path).entries).spend) == ([True, True, False], spend)
    replies = [entry.data for entry in load(path).entries if isinstance(entry.data, Replied)]
    assert [reply.estimated for reply in replies] == [True, True, False]


@awaited
async def test_a_request_that_the_server_refused_costs_nothing(tmp_path: Path) -> None:
    async with shop([REFUSED], Options(directory=str(tmp_path), mode="yolo")) as (conversation, _):
        assert (await conversation.prompt("one")).reason == "error"
        assert (conversation.spend.session.requests, conversation.spend.session.cost) == (0, 0.0)


def reserved(conversation: Conversation) -> list[float]:
    return [cap.reserved for cap in conversation.limits.caps()]


@awaited
async def test_a_request_that_breaks_off_after_a_change_of_the_model_is_counted(tmp_path: Path) -> None:
    bill = BillingServer(lambda _: CUT if len(bill.limits) else STALLED, writes=lambda _: 100)
    async with billed_chat(tmp_path / "w", bill, "[limits]\nbudget_usd = 0.05") as (conversation, _):
        streams = asyncio.Event()
        conversation.session.subscribe(
            lambda event: streams.set() if isinstance(event, TextStreamed) else None, name="test"
        )
        turn = conversation.prompt("one")
        await streams.wait()
        await conversation.set_model("here/priced", "")
        conversation.interrupt()
        await turn
        spend = conversation.spend.session
        assert (spend.requests, spend.estimated, reserved(conversation)) == (1, 1, [0])
        async with asyncio.timeout(30):
            assert (await conversation.prompt("two")).reason == "error"
        assert (conversation.spend.session.estimated, reserved(conversation)) == (2, [0])


@awaited
async def test_a_summary_that_cannot_be_sent_leaves_nothing_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill = BillingServer(lambda _: Turn(text="a word " * 3_000), writes=lambda _: 100)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    async with billed_chat(tmp_path / "w", bill, "[limits]\nbudget_usd = 9") as (conversation, _):
        for prompt in ("one", "two", "three"):
            await conversation.prompt(prompt)
        monkeypatch.setattr(compaction, "request_sent", fail)
        assert (await conversation.compact()).reason == "error"
        assert reserved(conversation) == [0]
