"""What happened is recorded in fields, so that nobody has to read it out of a text."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.agent.test_loop import Bench
from tests.fakes.played import call, says

from overt.app.session import follow
from overt.core.events import Event, Noticed, Replied, ToolFinished, TurnEnded, UserSpoke
from overt.core.history import History
from overt.core.messages import Message, Result
from overt.core.protocols import Answer
from overt.core.requests import Delta, Request, WaitDelta
from overt.core.text_fragments import own_origin
from overt.core.views import Failure


def results_of(bench: Bench) -> list[Result]:
    return [event.result for event in bench.of(ToolFinished)]


def test_a_denial_holds_the_reason_of_the_user_without_secrets(tmp_path: Path) -> None:
    write = call("write", path="a", content="x")
    bench = Bench(tmp_path, [says("", write), says("", replace(write, id="c2")), says("ok")], mode="review", asked=True)
    bench.answers = [Answer(choice="deny", reason="the-key is mine"), Answer(choice="deny")]
    bench.play(bench.prompt())
    assert [(each.cause, each.reason) for each in results_of(bench)] == [
        ("denied", "[redacted] is mine"),
        ("denied", ""),
    ]
    (first, _) = bench.of(ToolFinished)
    assert first.view == Failure(text="[overt] The user denied this call: [redacted] is mine", label=8)


def test_a_refusal_by_the_mode_has_no_reason_of_the_user(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("write", path="a", content="x")), says("ok")], mode="plan")
    bench.play(bench.prompt())
    assert [(each.cause, each.reason) for each in results_of(bench)] == [("denied", "")]


def test_a_call_that_is_refused_as_a_repetition_says_so(tmp_path: Path) -> None:
    reads = [says("", call("read", f"c{number}", path="none")) for number in range(3)]
    bench = Bench(tmp_path, [*reads, says("", call("no_such_tool")), says("ok")])
    bench.play(bench.prompt())
    assert [each.cause for each in results_of(bench)] == ["", "", "repeated", ""]
    assert [event.code for event in bench.of(ToolFinished)][2:] == ["repeated", "invalid"]


def test_a_command_and_an_edit_say_how_they_ended(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same\n")
    calls = [
        call("bash", "c1", command="echo '[exit code 5]'"),
        call("bash", "c2", command="exit 3"),
        call("read", "c3", path="a"),
        call("write", "c4", path="a", content="same\n"),
        call("write", "c5", path="a", content="other\n"),
    ]
    bench = Bench(tmp_path, [*(says("", each) for each in calls), says("ok")])
    bench.play(bench.prompt())
    assert [(each.ended, each.unchanged) for each in results_of(bench)] == [
        ("", False),
        ("exit code 3", False),
        ("", False),
        ("", True),
        ("", False),
    ]


@pytest.mark.parametrize(("command", "ended"), [("exit 3", "exit code 3"), ("echo the-key", "")])
def test_a_typed_command_says_how_it_ended_and_where_its_output_begins(
    tmp_path: Path, command: str, ended: str
) -> None:
    bench = Bench(tmp_path, [says("ok")])

    async def run() -> None:
        async for event in follow(bench.conversation.session, bench.conversation.command(command)):
            bench.events.append(event)

    bench.play(run())
    (message,) = [event.message for event in bench.of(Replied)]
    shown = command.replace("the-key", "[redacted]")
    assert (message.origin.detail, message.text()[: message.origin.label]) == (ended, f"$ {shown}\n")
    assert message.shown() == ("[exit code 3]" if ended else "[redacted]")


class Objection:
    """A check that does not accept the first answer."""

    def __init__(self) -> None:
        self.histories: list[History] = []

    async def find_objection(self, history: History) -> str:
        self.histories.append(history)
        return "Not yet." if len(self.histories) == 1 else ""


def own_messages(events: list[Event]) -> list[Message]:
    return [
        event.message for event in events if isinstance(event, UserSpoke) and event.message.origin.kind == "harness"
    ]


def test_a_message_of_ours_says_what_it_is_for(tmp_path: Path) -> None:
    read = says("", call("read", path="a"))
    bench = Bench(tmp_path, [says(""), says("Done."), read, read, says("so far")], steps=4)
    agent = bench.conversation.agent
    bench.conversation.agent = replace(agent, runtime=replace(agent.runtime, checks=(Objection(),)))
    bench.play(bench.prompt())
    messages = own_messages(bench.events)
    assert [message.origin for message in messages] == [own_origin(each) for each in ("nudge", "objection", "limit")]
    assert all(message.text() == f"[overt] {message.shown()}" for message in messages)
    assert messages[1].shown() == "Not yet."


def test_a_notice_that_only_waits_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, [says("ok")])
    stream = bench.player.stream

    async def slow(request: Request) -> AsyncGenerator[Delta, None]:
        yield WaitDelta(seconds=15.0)
        async for delta in stream(request):
            yield delta

    monkeypatch.setattr(bench.player, "stream", slow)
    assert isinstance(bench.play(bench.prompt()), TurnEnded)
    assert [(notice.kind, notice.level) for notice in bench.of(Noticed)] == [("waiting", "warning")]
