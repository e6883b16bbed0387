"""What a session may cost and how hard its model thinks: said in the chat, kept in the record."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.app.test_conversation import end, turn
from tests.app.test_slash_sessions import awaited, refused
from tests.fakes.commands import slash
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.inspect.status import read_gauges
from overt.app.options import Options
from overt.app.start import open_conversation
from overt.config.paths import read_environment
from overt.config.saved_rules import add_always
from overt.core.events import BudgetSet, Noticed, PrefixReset
from overt.core.settings import Rule
from overt.sessions.load import load

DIME = Turn(text="yes", usage={"prompt_tokens": 100_000, "completion_tokens": 0})
"""At a dollar for a million tokens."""


@asynccontextmanager
async def shop(
    turns: Sequence[Turn], options: Options, more: str = ""
) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    """A conversation with a model that has a price, and levels of effort."""
    with ModelServer(turns, models=("priced", "unpriced", "plain")) as server:
        folder = Path(read_environment().config_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(
            f'default_model = "here/priced"\n{more}\n[[providers]]\nname = "here"\nbase_url = "{server.url}"\n'
            '[[providers.models]]\nname = "priced"\nwindow = 1000000\nprice = { input = 1.0, output = 1.0 }\n'
            'efforts = ["low", "high"]\n[[providers.models]]\nname = "plain"\nreasons = false\n'
        )
        conversation = await open_conversation(options)
        try:
            async with asyncio.timeout(30):
                yield conversation, server
        finally:
            await conversation.close()


@pytest.fixture
def here(tmp_path: Path) -> Options:
    return Options(directory=str(tmp_path), mode="yolo")


async def prompted(conversation: Conversation, text: str) -> tuple[str, str, list[str]]:
    events = await turn(conversation, text)
    warnings = [event.text for event in events if isinstance(event, Noticed) and event.level == "warning"]
    return end(events).reason, end(events).kind, warnings


@awaited
async def test_a_budget_warns_once_and_then_refuses_the_request_that_could_exceed_it(here: Options) -> None:
    near = "Limit of this session: $0.2400, used $0.2000 (83 %)"
    async with shop([DIME] * 5, here) as (conversation, server):
        assert (await slash(conversation, "/budget")).lines[0].startswith("No budget is set; spent so far: $0.")
        assert (await slash(conversation, "/budget 0.24")).lines == ("Limit of this session: $0.2400, used $0 (0 %)",)
        assert await prompted(conversation, "one") == ("done", "", [])
        assert await prompted(conversation, "two") == ("done", "", [])
        sent = len(server.posts)
        assert await prompted(conversation, "three") == ("limit", "budget", [near])
        assert (await prompted(conversation, "four"))[2] == []
        assert len(server.posts) == sent
        assert read_gauges(conversation).spend_limit == 0.24
        assert (await slash(conversation, "/budget $1")).lines == ("Limit of this session: $1.00, used $0.2000 (20 %)",)
        assert await prompted(conversation, "five") == ("done", "", [])
        told = [message.text() for message in conversation.history.messages if message.origin.detail == "limits"]
        (advice,) = told
        assert advice.startswith("[overt] $0.20 of the $0.24 that this session may take are used. Finish what matters")


@awaited
async def test_a_turn_that_goes_on_is_stopped_at_the_budget_too(here: Options, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    reading = [
        Turn(calls=calls(call("read", path="a.txt")).calls, usage={"prompt_tokens": 100_000, "completion_tokens": 0})
    ]
    async with shop([*reading * 9, Turn(text="done")], here, "[limits]\nbudget_usd = 0.15") as (conversation, server):
        end = await conversation.prompt("go")
        assert (end.reason, end.kind, len(server.posts)) == ("limit", "budget", 1)
        assert end.text.startswith("Limit of this session: $0.1500, used $0.1000; the next request may take up to $0.1")


@awaited
async def test_no_summary_is_asked_for_at_the_step_limit_when_the_budget_is_spent(
    here: Options, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    reading = Turn(
        calls=calls(call("read", path="a.txt")).calls, usage={"prompt_tokens": 100_000, "completion_tokens": 0}
    )
    settings = "[limits]\nbudget_usd = 0.25\n[agent]\nmax_steps = 2"
    async with shop([reading, reading, Turn(text="a summary")], here, settings) as (conversation, server):
        reason, kind, _ = await prompted(conversation, "go")
        assert (reason, kind, len(server.posts)) == ("limit", "budget", 2)


@awaited
async def test_a_resumed_session_keeps_its_budget_and_what_it_spent(here: Options, tmp_path: Path) -> None:
    async with shop([DIME], here) as (conversation, _):
        await slash(conversation, "/budget 0.1")
        assert (await prompted(conversation, "one"))[0] == "done"
        id, path = conversation.id, conversation.path
    assert [entry.data.dollars for entry in load(path).entries if isinstance(entry.data, BudgetSet)] == [0.1]
    async with shop([DIME] * 2, Options(directory=str(tmp_path), resume=id), "[limits]\nbudget_usd = 5") as (again, _):
        assert (await prompted(again, "two"))[:2] == ("limit", "budget")
        assert (await slash(again, "/budget off")).lines == (
            "No budget is set; spent so far: $0.1000. /budget 5 sets one of five dollars.",
        )
        assert (await prompted(again, "three"))[0] == "done"


@awaited
async def test_a_model_without_a_price_is_told_of_and_its_uncached_tokens_count(
    here: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overt.app.models.session_models.is_local", lambda entry: False)
    async with shop([DIME] * 3, here) as (conversation, server):
        await conversation.set_model("here/unpriced")
        assert (await slash(conversation, "/budget 1.2")).lines[1].startswith("Unknown price for unpriced: ")
        told = (
            "Unknown price for unpriced: the limit of $1.20 allows 240000 uncached tokens, at $5 per million. "
            "Set `price` for the model."
        )
        assert await prompted(conversation, "one") == ("done", "", [told])
        assert await prompted(conversation, "two") == ("done", "", [])
        near = "Limit of this session: $1.20, used $1.00 (83 %)"
        assert await prompted(conversation, "three") == ("limit", "budget", [near])
        assert len(server.posts) == 2


@awaited
async def test_what_is_no_amount_is_refused(here: Options) -> None:
    async with shop([], here) as (conversation, _):
        for wrong in ("-1", "much", "1e3", "nan", "1.2.3", "$", "²", "99999999"):
            assert await refused(conversation, f"/budget {wrong}") == "Usage: /budget [DOLLARS | N tokens | off]"
        assert conversation.history.spend_limit is None


# ── effort ───────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_another_effort_is_sent_and_recorded_as_a_reset(here: Options) -> None:
    async with shop([DIME] * 4, here) as (conversation, server):
        await turn(conversation, "one")
        assert (await slash(conversation, "/effort")).lines == ("Effort: default (it takes: low, high, default)",)
        assert (await slash(conversation, "/effort high")).lines == ("Effort: high (it takes: low, high, default)",)
        resets = [event.cause for event in await turn(conversation, "two") if isinstance(event, PrefixReset)]
        assert resets == ["the parameters changed"]
        assert [event for event in await turn(conversation, "three") if isinstance(event, PrefixReset)] == []
        await slash(conversation, "/effort default")
        await turn(conversation, "four")
        bodies = [json.loads(post.body) for post in server.posts]
        assert [body.get("reasoning_effort") for body in bodies] == [None, "high", "high", None]
        assert "priced knows no effort 'huge'" in await refused(conversation, "/effort huge")
        await conversation.set_model("here/plain")
        assert await refused(conversation, "/effort low") == "plain takes no effort, so none is sent."


# ── what else the patch brings ───────────────────────────────────────────────────────────────────────────


@awaited
async def test_a_rule_that_is_taken_back_no_longer_holds_in_this_session(here: Options, tmp_path: Path) -> None:
    add_always(read_environment(), str(tmp_path), Rule(action="allow", tool="bash", pattern="make *"))
    async with shop([], here) as (conversation, _):
        permissions = conversation.agent.runtime.gate.permissions
        assert [rule.text() for rule in permissions.terms.rules] == ["bash(make *)"]
        assert (await slash(conversation, "/permissions revoke 1")).lines == ("Taken back: bash(make *)",)
        assert permissions.terms.rules == ()
        assert permissions.forget("bash(make *)") is False


@awaited
async def test_gauges_count_running_jobs_and_make_no_job_table_for_it(here: Options) -> None:
    turns = [calls(call("bash", command="sleep 60", run_in_background=True)), Turn(text="started")]
    async with shop(turns, here) as (conversation, _):
        assert read_gauges(conversation).jobs == 0
        assert conversation.session_workspace._jobs is None
        await turn(conversation, "go")
        assert read_gauges(conversation).jobs == 1
        await slash(conversation, "/jobs stop job1")
        assert read_gauges(conversation).jobs == 0
