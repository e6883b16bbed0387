"""What a session has cost, while it runs and after a resume; the ledger on disk has no part in it."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.app.test_conversation import turn
from tests.app.test_slash_budget import DIME, shop
from tests.app.test_slash_sessions import awaited
from tests.fakes.commands import slash
from tests.fakes.model_server import Fault, Turn

from overt.app.conversation import Conversation
from overt.app.inspect.status import read_gauges
from overt.app.options import Options
from overt.app.session import follow
from overt.config.paths import read_environment
from overt.core.events import Noticed, TextStreamed
from overt.sessions.load import load
from overt.sessions.resume import resume
from overt.sessions.usage_ledger import NAME, LedgerLine, UsageLedger

LONG = Turn(text="and so on " * 900, usage={"prompt_tokens": 200_000, "completion_tokens": 0})
SUMMARY = Turn(text="## Objective\nTalk.\n## Next steps\nGo on.", usage={"prompt_tokens": 300_000})
TITLE = Turn(text="A title", usage={"prompt_tokens": 50_000, "completion_tokens": 0})
STALLED = Turn(text="half a sentence", chunk=4, fault=Fault(stall_after=3))
LEDGER_BYTES = 100 * 1024 * 1024


async def interrupted_turn(conversation: Conversation, text: str) -> None:
    async with aclosing(follow(conversation.session, conversation.prompt(text))) as events:
        async for event in events:
            if isinstance(event, TextStreamed):
                conversation.interrupt()


async def wait_for_title(conversation: Conversation) -> None:
    async with asyncio.timeout(30):
        while not conversation.history.title:
            await asyncio.sleep(0.01)


@awaited
async def test_resumed_session_has_spent_what_the_running_one_had(tmp_path: Path) -> None:
    """Steps, a title, a summary, another model, a typed command and a reply that broke off."""
    options = Options(directory=str(tmp_path), mode="yolo", interactive=True)
    turns = [LONG, TITLE, LONG, LONG, SUMMARY, DIME, STALLED]
    async with shop(turns, options, 'small_model = "here/priced"') as (conversation, _):
        await turn(conversation, "one")
        await wait_for_title(conversation)
        await turn(conversation, "two")
        await turn(conversation, "three")
        await conversation.compact()
        await conversation.set_model("here/plain")
        await turn(conversation, "four")
        await conversation.command("true")
        await conversation.set_model("here/priced")
        await interrupted_turn(conversation, "five")
        spend, path = conversation.spend, conversation.path
    broken = spend.turn
    assert (spend.turn_number, broken.requests, broken.estimated, broken.unpriced) == (7, 1, 1, 0)
    assert (spend.session.requests, spend.session.input - broken.input) == (7, 1_050_000)
    assert spend.session.cost - broken.cost == pytest.approx(0.95)
    assert resume(load(path).entries).spend == spend


@awaited
async def test_commands_and_status_line_show_the_same_sums(tmp_path: Path) -> None:
    async with shop([DIME] * 3, Options(directory=str(tmp_path))) as (conversation, _):
        nothing = "This session: 0 requests, 0 tokens sent (0 % cached), 0 received, $0"
        assert (await slash(conversation, "/cost")).lines == (nothing,)
        await turn(conversation, "one")
        await turn(conversation, "two")
        lines = (await slash(conversation, "/cost")).lines
        assert lines[:2] == (
            "This turn: 1 requests, 100000 tokens sent (0 % cached), 0 received, $0.1000",
            "This session: 2 requests, 200000 tokens sent (0 % cached), 0 received, $0.2000",
        )
        status = (await slash(conversation, "/status")).lines
        assert "Spent: 200000 tokens sent (0 cached), 0 received, $0.2000" in status
        shown = read_gauges(conversation)
        assert (shown.cost, shown.session_cost, shown.unpriced, shown.cache) == (0.1, 0.2, False, 0.0)


@awaited
async def test_ledger_of_100_mb_is_neither_read_nor_believed(tmp_path: Path) -> None:
    ledger = Path(read_environment().data_dir) / NAME
    async with shop([DIME] * 2, Options(directory=str(tmp_path))) as (conversation, _):
        await turn(conversation, "one")
        id = conversation.id
    UsageLedger(str(ledger.parent)).book(LedgerLine(ts=1.0, session=id, project="p", turn=1, cost=9.0))
    with ledger.open("ab") as file:
        file.truncate(LEDGER_BYTES)
    before = bytes_read()
    resumed = Options(directory=str(tmp_path), resume=id, mode="yolo")
    async with shop([DIME] * 2, resumed, "[limits]\nbudget_usd = 5") as (conversation, server):
        assert read_gauges(conversation).session_cost == 0.1
        await turn(conversation, "two")
        for command in ("/cost", "/status", "/budget"):
            assert "$0.2000" in " ".join((await slash(conversation, command)).lines)
        assert len(server.posts) == 1
    assert bytes_read() - before < LEDGER_BYTES // 10
    assert ledger.stat().st_size > LEDGER_BYTES


def bytes_read() -> int:
    """Return how many bytes this process has read_ledger from files, pipes and sockets."""
    (line,) = [line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("rchar:")]
    return int(line.partition(":")[2])


@awaited
async def test_unwritable_ledger_is_noticed_once_and_every_request_counts(tmp_path: Path) -> None:
    (Path(read_environment().data_dir) / NAME).mkdir(parents=True)
    async with shop([DIME] * 3, Options(directory=str(tmp_path))) as (conversation, _):
        events = [event for text in ("one", "two") for event in await turn(conversation, text)]
        notices = [event.text for event in events if isinstance(event, Noticed) and "Is a directory" in event.text]
        assert (len(notices), conversation.spend.session.cost) == (1, 0.2)
