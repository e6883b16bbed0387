"""The most that a request can cost is reserved before it is sent, so that no server bills more than the limit."""

import asyncio
from pathlib import Path

import pytest
from tests.app.limits.billing import BillingServer, billed_chat, delegates, reads_for_ever
from tests.app.test_slash_sessions import awaited
from tests.fakes.commands import slash
from tests.fakes.model_server import Fault, Recorded, Turn

from overt.app.records.rebuild import rebuild
from overt.app.records.replay import replay_entries
from overt.core.events import Event, PrefixReset
from overt.core.questions import FormAnswer, FormAsked, FormClosed
from overt.sessions.load import load
from overt.sessions.resume import resume

CAP = "[limits]\nbudget_usd = 0.05"


def uses_a_little(limit: int) -> int:
    return min(limit, 200)


@awaited
async def test_a_server_that_writes_all_it_may_bills_no_more_than_the_budget(tmp_path: Path) -> None:
    bill = BillingServer(reads_for_ever)
    async with billed_chat(tmp_path / "w", bill, CAP) as (conversation, _):
        end = await conversation.prompt("go")
        assert (end.reason, end.kind) == ("limit", "budget")
        assert 0.03 < bill.billed <= 0.05
        assert conversation.spend.session.cost == pytest.approx(bill.billed)
        assert all(limit is not None for limit in bill.limits)
        entries, path = load(conversation.path).entries, conversation.path
    assert [request.differs for request in rebuild(entries)] == [""] * len(bill.limits)
    assert [entry.data for entry in entries if isinstance(entry.data, PrefixReset)] == []
    replayed, differences = await replay_entries(load(path).entries)
    assert (differences, {request.state for request in replayed}) == ((), {"same"})


@awaited
async def test_without_a_limit_nothing_is_added_to_a_request(tmp_path: Path) -> None:
    bill = BillingServer(lambda _: Turn(text="done"), writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill) as (conversation, server):
        assert (await conversation.prompt("go")).reason == "done"
        assert (bill.limits, "max_tokens" in server.posts[0].json()) == ([None], False)


@awaited
async def test_three_sub_agents_in_parallel_stay_within_the_budget_of_the_session(tmp_path: Path) -> None:
    bill = BillingServer(delegates(3), writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill, CAP) as (conversation, _):
        end = await conversation.prompt("go")
        assert (end.reason, end.kind) == ("limit", "budget")
        assert 0.03 < bill.billed <= 0.05
        assert conversation.spend.session.cost == pytest.approx(bill.billed)
        assert conversation.agents is not None
        spent = [node.spent.cost for node in conversation.agents]
        assert len(spent) == 3
        assert resume(load(conversation.path).entries).spend == conversation.spend


@awaited
async def test_each_sub_agent_has_a_limit_of_its_own_and_the_others_go_on(tmp_path: Path) -> None:
    bill = BillingServer(delegates(2), writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill, "[limits]\nagent_usd = 0.03") as (conversation, _):
        assert (await conversation.prompt("go")).text == "done"
        assert conversation.agents is not None
        assert all(0.01 < node.spent.cost <= 0.03 for node in conversation.agents)
        assert "Limit of this agent: $0.0300" in str(conversation.history.messages)


@awaited
async def test_the_user_is_asked_and_a_higher_budget_continues_the_turn(tmp_path: Path) -> None:
    bill = BillingServer(reads_for_ever, writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill, CAP, interactive=True) as (conversation, _):
        asked: list[FormAsked] = []
        closed: list[str] = []
        waiting = asyncio.Event()

        def see(event: Event) -> None:
            if isinstance(event, FormAsked):
                asked.append(event)
                waiting.set()
            elif isinstance(event, FormClosed):
                closed.append(event.id)

        conversation.session.subscribe(see, name="test")
        turn = conversation.prompt("go")
        await asyncio.wait_for(waiting.wait(), 30)
        waiting.clear()
        before = bill.billed
        assert before <= 0.05
        assert asked[0].form.message.startswith("Limit of this session: $0.0500, used $0.0")
        assert (await slash(conversation, "/budget 0.10")).lines[0].startswith("Limit of this session: $0.1000")

        await asyncio.wait_for(waiting.wait(), 30)
        waiting.clear()
        assert closed == [asked[0].id]
        assert before < bill.billed <= 0.10
        (field,) = asked[1].form.fields
        assert conversation.answer_form(asked[1].id, FormAnswer(action="accept", values={field.name: 0.12}))

        await asyncio.wait_for(waiting.wait(), 30)
        assert 0.10 < bill.billed <= 0.12
        assert conversation.history.spend_limit == 0.12
        assert conversation.answer_form(asked[2].id, FormAnswer(action="decline"))
        end = await turn
        assert (end.reason, end.kind) == ("limit", "budget")


@awaited
async def test_a_killed_sub_agent_counts_what_it_was_sent_and_the_rest_is_exact(tmp_path: Path) -> None:
    def stalls(_: Recorded) -> Turn:
        return Turn(text="a long answer " * 40, fault=Fault(stall_after=2))

    bill = BillingServer(delegates(2, stalls), writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill, "[limits]\nbudget_usd = 1.0") as (conversation, _):
        turn = conversation.prompt("go")
        while len(bill.limits) < 3:
            await asyncio.sleep(0.01)
        assert conversation.agents is not None
        while not all(conversation.agents.conversation(node.path).session.step for node in conversation.agents):  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        for node in tuple(conversation.agents):
            conversation.agents.stop(node.path)
        assert (await turn).text == "done"
        spent = conversation.spend.session
        assert (spent.requests, spent.estimated, spent.unpriced) == (4, 2, 0)
        assert spent.cost == pytest.approx(bill.billed, rel=0.5)
        assert conversation.limits.caps()[0].reserved == 0


@pytest.mark.parametrize("seconds", ["turn_seconds = 0.6", "session_seconds = 0.6"])
@awaited
async def test_a_turn_ends_when_its_time_is_used_up(tmp_path: Path, seconds: str) -> None:
    bill = BillingServer(lambda _: Turn(text="slow", fault=Fault(stall_after=0)), writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill, f"[limits]\n{seconds}") as (conversation, _):
        end = await conversation.prompt("go")
        assert (end.reason, end.kind) == ("limit", "time")
        assert conversation.spend.session.estimated == 1


@awaited
async def test_what_a_server_reads_from_its_cache_does_not_count_as_tokens(tmp_path: Path) -> None:
    steps = iter(range(30))

    def cheap(request: Recorded) -> Turn:
        return reads_for_ever(request) if next(steps) < 12 else Turn(text="done")

    bill = BillingServer(cheap, writes=lambda limit: min(limit, 50))
    bill.cached = lambda prompt: prompt - 100 if len(bill.limits) > 1 else 0
    async with billed_chat(tmp_path / "w", bill, "[limits]\nsession_tokens = 15000") as (conversation, _):
        assert (await conversation.prompt("go")).text == "done"
        assert conversation.spend.session.input > 25_000
        assert conversation.limits.caps()[0].used < 8_000


@pytest.mark.parametrize(("dollars", "titles"), [(0.05, 0), (5, 1)])
@awaited
async def test_a_title_is_asked_for_only_if_the_budget_pays_for_it(tmp_path: Path, dollars: float, titles: int) -> None:
    bill = BillingServer(lambda _: Turn(text="done"), writes=uses_a_little)
    settings = f'small_model = "here/priced"\n[limits]\nbudget_usd = {dollars}'
    async with billed_chat(tmp_path / "w", bill, settings, interactive=True) as (conversation, server):
        await conversation.prompt("go")
        async with asyncio.timeout(30):
            while titles and not conversation.history.title:
                await asyncio.sleep(0.01)
        assert len(server.posts) == 1 + titles
        assert conversation.spend.session.cost == pytest.approx(bill.billed)


@awaited
async def test_a_limit_in_tokens_is_set_in_the_chat_and_taken_away_again(tmp_path: Path) -> None:
    bill = BillingServer(reads_for_ever, writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill) as (conversation, _):
        assert (await slash(conversation, "/budget 9000 tokens")).lines == (
            "Limit of this session: 9000 tokens, used 0 tokens (0 %)",
        )
        end = await conversation.prompt("go")
        assert (end.reason, end.kind) == ("limit", "budget")
        assert 5_000 < bill.tokens <= 9_000
        assert (await slash(conversation, "/budget off")).lines[0].startswith("No budget is set")
        path = conversation.path
    history = resume(load(path).entries).history
    assert (history.spend_limit, history.token_limit) == (0.0, 0)


@awaited
async def test_a_summary_that_the_budget_does_not_pay_for_is_not_asked_for(tmp_path: Path) -> None:
    bill = BillingServer(lambda _: Turn(text="and so on " * 400), writes=uses_a_little)
    async with billed_chat(tmp_path / "w", bill) as (conversation, server):
        for word in ("one", "two", "three"):
            await conversation.prompt(word)
        await slash(conversation, f"/budget {bill.billed + 0.001:.4f}")
        sent, before = len(server.posts), conversation.history.messages
        end = await conversation.compact()
        assert (end.reason, end.kind, end.text) == (
            "limit",
            "budget",
            "too little of the spend limit is left for a summary",
        )
        assert (len(server.posts), conversation.history.messages) == (sent, before)
        await slash(conversation, "/budget 5")
        assert (await conversation.compact()).reason == "done"
        assert conversation.spend.session.cost == pytest.approx(bill.billed)
