"""The one API that faces use, opened for real: what is recorded, what interrupts, what steers."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from tests.fakes.commands import NAMES, slash
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import assert_each_extends_the_one_before, assert_paired, call, calls, messages

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session import follow
from overt.app.skills.library import BUILT_IN_NAMES
from overt.app.slash_command import Action, CommandOutcome
from overt.app.start import open_conversation
from overt.core.errors import OvertError
from overt.core.events import (
    Event,
    PermissionDecided,
    PrefixReset,
    Replied,
    TextStreamed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.messages import Call
from overt.sessions.entry_types import TYPE_OF

STALLED = Turn(text="half a sentence", chunk=4, fault=Fault(stall_after=3))


class Opener:
    """Opens conversations with a server that plays these turns."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch

    @asynccontextmanager
    async def __call__(
        self, turns: Sequence[Turn], options: Options | None = None
    ) -> AsyncIterator[tuple[Conversation, ModelServer]]:
        with ModelServer(turns, models=("fake-model", "other-model")) as server:
            self._monkeypatch.setenv("OVERT_BASE_URL", server.url)
            self._monkeypatch.setenv("OVERT_MODEL", "fake-model")
            conversation = await open_conversation(options or Options(directory=str(self._folder)))
            try:
                async with asyncio.timeout(30):
                    yield conversation, server
            finally:
                await conversation.close()


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(tmp_path, monkeypatch)


async def turn(conversation: Conversation, prompt: str) -> list[Event]:
    async with aclosing(follow(conversation.session, conversation.prompt(prompt))) as events:
        return [event async for event in events]


def on_disk(conversation: Conversation) -> list[str]:
    return [json.loads(line)["type"] for line in Path(conversation.path).read_bytes().splitlines()]


def end(events: list[Event]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


def test_what_is_shown_is_on_disk(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")

    async def main() -> None:
        async with opened([calls(call("read", path="a.txt")), Turn(text="done")]) as (conversation, _):
            facts = ["session"]
            async with aclosing(follow(conversation.session, conversation.prompt("go"))) as events:
                async for event in events:
                    if type(event) in TYPE_OF:
                        facts.append(TYPE_OF[type(event)])
                        assert on_disk(conversation)[: len(facts)] == facts
            assert on_disk(conversation) == facts
            assert facts[-1] == "end"

    asyncio.run(main())


def test_an_interrupt_before_the_first_step_of_a_turn_ends_it(opened: Opener) -> None:
    """A task that is cancelled before it began runs no line of its own, not even its clean-up."""

    async def main() -> None:
        async with opened([Turn(text="hello")]) as (conversation, server):
            events = asyncio.create_task(turn(conversation, "go"))
            await asyncio.sleep(0)
            assert conversation.interrupt("terminated")
            shown = await events
            assert end(shown).reason == "terminated"
            assert server.posts == []
            assert end(await turn(conversation, "again")).text == "hello"
            assert [said["content"] for said in messages(server)[1:]] == ["go", "again"]

    asyncio.run(main())


def test_an_interrupted_stream_keeps_what_was_said(opened: Opener) -> None:
    async def main() -> None:
        async with opened([STALLED, Turn(text="whole")]) as (conversation, server):
            async with aclosing(follow(conversation.session, conversation.prompt("go"))) as events:
                async for event in events:
                    if isinstance(event, TextStreamed):
                        conversation.interrupt()
                        conversation.interrupt()
                    last = event
            assert isinstance(last, TurnEnded) and last.reason == "interrupted"
            assert not conversation.interrupt()
            await turn(conversation, "again")
            said = [(message["role"], message["content"]) for message in messages(server)[1:]]
            assert said == [("user", "go"), ("assistant", "half"), ("user", "again")] or said[1][1] == "half a s"
            assert_each_extends_the_one_before(server)

    asyncio.run(main())


def test_leaving_a_turn_early_interrupts_it(opened: Opener) -> None:
    async def main() -> None:
        async with opened([calls(call("bash", command="sleep 60")), Turn(text="done")]) as (conversation, server):
            async with aclosing(follow(conversation.session, conversation.prompt("go"))) as events:
                async for event in events:
                    if isinstance(event, Replied):
                        break
            assert end(await turn(conversation, "again")).reason == "done"
            assert_paired(messages(server))
            assert on_disk(conversation).count("end") == 2

    asyncio.run(main())


def test_text_typed_during_a_turn_steers_it_at_the_next_step(opened: Opener) -> None:
    async def main() -> None:
        turns = [calls(call("bash", command="sleep 0.5")), Turn(text="as you wish")]
        async with opened(turns) as (conversation, server):
            async with aclosing(follow(conversation.session, conversation.prompt("go"))) as events:
                async for event in events:
                    if isinstance(event, ToolStarted):
                        conversation.inbox.steer("the other way")
            assert [message["role"] for message in messages(server)][1:] == ["user", "assistant", "tool", "user"]
            assert messages(server)[-1]["content"] == "the other way"

    asyncio.run(main())


def test_steering_in_the_last_step_opens_one_more(opened: Opener) -> None:
    async def main() -> None:
        slow = Turn(text="done", chunk=1, delay=0.1)
        async with opened([slow, Turn(text="really done")]) as (conversation, server):
            async with aclosing(follow(conversation.session, conversation.prompt("go"))) as events:
                async for event in events:
                    if isinstance(event, TextStreamed) and event.text == "d" and len(server.posts) == 1:
                        conversation.inbox.steer("wait")
                    last = event
            assert isinstance(last, TurnEnded)
            assert (last.text, conversation.inbox.next_prompt()) == ("really done", None)
            assert messages(server)[-1] == {"role": "user", "content": "wait"}

    asyncio.run(main())


def test_a_note_to_the_model_is_sent_once(opened: Opener) -> None:
    async def main() -> None:
        async with opened([Turn(text="one"), Turn(text="two")]) as (conversation, server):
            conversation.tell("Files were put back.")
            await turn(conversation, "first")
            await turn(conversation, "second")
            said = [message["content"] for message in messages(server)[1:]]
            assert said == ["[overt] Files were put back.", "first", "one", "second"]

    asyncio.run(main())


def test_refusing_to_run_a_command_outside_of_the_sandbox_is_not_a_denied_call(opened: Opener) -> None:
    """The command did run; only its second run with more rights was refused."""

    async def main() -> None:
        async with opened([]) as (conversation, _):
            for id, rule in (("a", "sandbox"), ("b", "bash(rm *)")):
                conversation.record(ToolStarted(call=Call(id=id, name="bash", arguments="{}"), headline=""))
                conversation.record(
                    PermissionDecided(call_id=id, verdict="deny", rule=rule, origin="", by="person", reason="no")
                )
            assert [denial.call.id for denial in conversation.session.denials] == ["b"]

    asyncio.run(main())


def test_what_is_queued_waits_for_the_next_turn(opened: Opener) -> None:
    async def main() -> None:
        async with opened([Turn(text="done")]) as (conversation, _):
            conversation.inbox.queue("next")
            await turn(conversation, "go")
            assert conversation.inbox.next_prompt() == "next"
            assert conversation.inbox.next_prompt() is None

    asyncio.run(main())


def test_retry_drops_the_last_exchange_and_says_so(opened: Opener) -> None:
    async def main() -> None:
        turns = [Turn(text="one"), calls(call("todoread")), Turn(text="two"), Turn(text="better")]
        async with opened(turns) as (conversation, server):
            await turn(conversation, "first")
            await turn(conversation, "second")
            async with aclosing(follow(conversation.session, conversation.retry())) as events:
                shown = [event async for event in events]
            assert end(shown).text == "better"
            assert [message["content"] for message in messages(server)[1:]] == ["first", "one", "second"]
            assert on_disk(conversation).count("reset") == 1

    asyncio.run(main())


def test_retry_without_a_prompt_says_that_there_is_none(opened: Opener) -> None:
    async def main() -> None:
        async with opened([]) as (conversation, _):
            with pytest.raises(OvertError, match="nothing to retry"):
                async for _event in follow(conversation.session, conversation.retry()):
                    pass

    asyncio.run(main())


def test_another_model_holds_from_the_next_request_and_is_a_reset_point(opened: Opener) -> None:
    async def main() -> None:
        async with opened([Turn(text="one"), Turn(text="two")]) as (conversation, server):
            await turn(conversation, "first")
            await conversation.set_model("other-model")
            shown = await turn(conversation, "second")
            assert [post.json()["model"] for post in server.posts] == ["fake-model", "other-model"]
            assert any(isinstance(event, PrefixReset) for event in shown)

    asyncio.run(main())


def test_a_resumed_conversation_keeps_prefix_mode_and_history(opened: Opener, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened([Turn(text="one")]) as (conversation, server):
            conversation.set_mode("plan")
            await turn(conversation, "first")
            before = server.posts[0].body
        again = Options(directory=str(tmp_path), continue_last=True)
        async with opened([Turn(text="two")], again) as (conversation, server):
            assert (conversation.mode, conversation.session.turn) == ("plan", 1)
            shown = await turn(conversation, "second")
            assert shown[0] == TurnStarted(turn=2)
            assert not any(isinstance(event, PrefixReset) for event in shown)
            assert server.posts[0].body.startswith(before[: before.rindex(b"]")])

    asyncio.run(main())


def test_an_error_of_the_server_ends_the_turn_in_words_and_the_next_one_works(opened: Opener) -> None:
    async def main() -> None:
        broken = Turn(fault=Fault(status=401, body='{"error":{"message":"no"}}'))
        async with opened([broken, Turn(text="fine")]) as (conversation, server):
            ended = end(await turn(conversation, "first"))
            assert (ended.reason, ended.kind) == ("error", "key")
            assert end(await turn(conversation, "second")).text == "fine"
            assert [message["content"] for message in messages(server)[1:]] == ["first", "second"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("/exit", CommandOutcome(action=Action.LEAVE)),
        ("/q", CommandOutcome(action=Action.LEAVE)),
        ("/new", CommandOutcome(action=Action.NEW)),
        ("/clear", CommandOutcome(action=Action.NEW)),
        ("/mode", CommandOutcome(lines=("Mode: review",))),
        ("/mode plan", CommandOutcome(lines=("Mode: plan",))),
        ("/mode acceptEdits", CommandOutcome(lines=("Mode: auto",))),
        ("/model", CommandOutcome(lines=("Model: fake-model", "  other-model"))),
        ("/model other-model", CommandOutcome(lines=("Model: other-model",))),
        ("/todo", CommandOutcome(lines=("The todo list is empty.",))),
    ],
)
def test_a_slash_command_does_what_it_says(opened: Opener, text: str, done: CommandOutcome) -> None:
    async def main() -> None:
        async with opened([]) as (conversation, _):
            assert await slash(conversation, text) == done

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "words"),
    [("/moed plan", r"no command /moed.*\(/mode\?\)"), ("/mode fast", "no mode 'fast'; modes are review, auto")],
)
def test_a_wrong_slash_command_is_told_in_words(opened: Opener, text: str, words: str) -> None:
    async def main() -> None:
        async with opened([]) as (conversation, _):
            with pytest.raises(OvertError, match=words):
                await slash(conversation, text)

    asyncio.run(main())


def test_help_and_status_name_what_there_is(opened: Opener) -> None:
    async def main() -> None:
        async with opened([Turn(text="hello")]) as (conversation, _):
            told = await slash(conversation, "/help")
            assert [line.split()[0] for line in told.lines[1:]] == [f"/{name}" for name in (*NAMES, *BUILT_IN_NAMES)]
            await turn(conversation, "hi")
            model, session, context, spent, cache, offline = (await slash(conversation, "/status")).lines
            budget = conversation.agent.runtime.budget
            assert budget is not None
            used = budget.count(conversation.agent.spec.prefix, conversation.history.messages)
            assert (
                model == f"environment/fake-model, mode review, sandbox {conversation.agent.runtime.hands.guess().kind}"
            )
            assert session == f"Session {conversation.id}, turns so far: 1"
            assert context == f"Context: {used} tokens; the window of this model is not known"
            spoken = conversation.spend.session
            assert spent == f"Spent: {spoken.input} tokens sent (0 cached), {spoken.output} received, $0"
            assert cache.startswith("Cache: the server does not tell")
            assert offline.startswith("offline: no request leaves this machine")

    asyncio.run(main())


def test_the_prompt_is_recorded_before_the_request_is_sent(opened: Opener) -> None:
    async def main() -> None:
        async with (
            opened([Turn(text="hello")]) as (conversation, _),
            aclosing(follow(conversation.session, conversation.prompt("go"))) as events,
        ):
            async for event in events:
                if isinstance(event, UserSpoke):
                    kinds = on_disk(conversation)
                    assert kinds.index("user") < (kinds.index("request") if "request" in kinds else len(kinds))

    asyncio.run(main())
