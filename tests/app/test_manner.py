"""A server that refuses one way of calling tools is led another way, said aloud; leaked calls are run and told."""

import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn

from overt.app.options import Options
from overt.app.session import follow
from overt.app.start import open_conversation
from overt.core.events import Event, Noticed, Repaired, Replied, TextStreamed, ToolFinished, ToolStarted, TurnEnded
from overt.core.messages import Call
from overt.core.settings import ProviderEntry
from overt.providers.wires.openai import OpenAIChat

NO_TOOLS = Turn(fault=Fault(status=400, body='{"error": {"message": "registry/m does not support tools"}}'))
NO_FORM = Turn(fault=Fault(status=400, body='{"error": {"message": "response_format json_schema is not supported"}}'))
READ_FORM = '{"tool": "read", "path": "a.txt"}'
FINAL_FORM = '{"tool": "final", "text": "It says \\"one\\".\\nThat is all."}'
READ_TEXT = 'Let me look.\n<tool_call>{"name": "read", "arguments": {"path": "a.txt"}}</tool_call>'


class Played:
    """A turn of the whole program against these replies."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *turns: Turn, prompts: int = 1) -> None:
        (folder / "a.txt").write_text("one\n")
        self.events: list[Event] = []
        with ModelServer(turns) as server:
            monkeypatch.setenv("OVERT_BASE_URL", server.url)
            monkeypatch.setenv("OVERT_MODEL", "fake-model")
            asyncio.run(self._run(folder, prompts))
            self.bodies: list[Any] = [json.loads(each.body) for each in server.requests if each.method == "POST"]

    async def _run(self, folder: Path, prompts: int) -> None:
        async with asyncio.timeout(60):
            conversation = await open_conversation(Options(directory=str(folder), mode="auto"))
            try:
                for _ in range(prompts):
                    async for event in follow(conversation.session, conversation.prompt("what does a.txt say?")):
                        self.events.append(event)
            finally:
                await conversation.close()

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def shown(self) -> str:
        return "".join(event.text for event in self.of(TextStreamed))

    def end(self) -> tuple[str, str]:
        last = self.of(TurnEnded)[-1]
        return last.reason, last.text


def test_a_server_without_tools_is_asked_for_an_object_in_each_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = Played(tmp_path, monkeypatch, NO_TOOLS, Turn(text=READ_FORM, chunk=3), Turn(text=FINAL_FORM, chunk=3))

    assert played.end() == ("done", 'It says "one".\nThat is all.')
    assert played.shown() == 'It says "one".\nThat is all.'
    assert [(started.call.name, started.call.arguments) for started in played.of(ToolStarted)] == [
        ("read", '{"path":"a.txt"}')
    ]
    (told,) = played.of(Noticed)
    assert "does not support tools" in told.text and told.level == "warning"
    refused, asked, again = played.bodies
    assert "tools" in refused and "tools" not in asked
    assert {option["properties"]["tool"]["const"] for option in _options(asked)} >= {"read", "bash", "final"}
    assert '"read"' in again["messages"][-2]["content"] and again["messages"][-1]["role"] == "user"
    assert again["messages"][: len(asked["messages"])] == asked["messages"]


def test_without_schemas_either_the_calls_are_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(tmp_path, monkeypatch, NO_TOOLS, NO_FORM, Turn(text=READ_TEXT, chunk=5), Turn(text="It says one."))

    assert (played.end(), played.shown()) == (("done", "It says one."), "Let me look.\nIt says one.")
    assert [finished.result.error for finished in played.of(ToolFinished)] == [False]
    assert len(played.of(Noticed)) == 2
    assert "response_format" not in played.bodies[-1] and "<tool_call>" in played.bodies[-1]["messages"][0]["content"]


def test_what_was_found_out_holds_for_the_next_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    final = Turn(text=FINAL_FORM)
    played = Played(tmp_path, monkeypatch, NO_TOOLS, final, final, prompts=2)

    assert [("tools" in body, "response_format" in body) for body in played.bodies] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert len(played.of(Noticed)) == 1


def test_a_leaked_call_is_run_told_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(tmp_path, monkeypatch, Turn(text=READ_TEXT, chunk=7), Turn(text="It says one."))

    assert (played.end(), played.shown()) == (("done", "It says one."), "Let me look.\nIt says one.")
    (repaired,) = played.of(Repaired)
    assert repaired.before == READ_TEXT.removeprefix("Let me look.\n")
    first = played.of(Replied)[0]
    (leaked,) = (part for part in first.message.parts if isinstance(part, Call))
    assert (first.finish, leaked.id) == ("calls", repaired.call_id)
    assert played.bodies[1]["messages"][-2]["tool_calls"][0]["function"]["name"] == "read"


def test_another_refusal_ends_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Turn(fault=Fault(status=400, body='{"error": {"message": "temperature must be below 2"}}'))
    played = Played(tmp_path, monkeypatch, refused)

    assert (played.end()[0], len(played.bodies), played.of(Noticed)) == ("error", 1, [])


def _options(body: dict[str, Any]) -> list[dict[str, Any]]:
    form: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
    options: list[dict[str, Any]] = form["anyOf"]
    return options


class Counted:
    """A provider that tells when it is closed."""

    closed: ClassVar[list[str]] = []

    def __init__(self, entry: ProviderEntry, key: str | None, model: str, *_: object) -> None:
        self.name, self.wire, self.model = entry.name, OpenAIChat(), model

    def warm(self, head: bytes = b"") -> None: ...

    def close(self) -> None:
        self.closed.append(self.model)


def test_another_model_takes_the_place_of_the_one_before_and_the_same_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overt.app.models.session_models.make", Counted)
    monkeypatch.setattr(Counted, "closed", [])
    monkeypatch.setenv("OVERT_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OVERT_MODEL", "one")

    async def main() -> list[list[str]]:
        conversation = await open_conversation(Options(directory=str(tmp_path)))
        states = []
        for model in ("one", "two", "two", "one"):
            await conversation.set_model(model)
            states.append([*Counted.closed])
        await conversation.close()
        return [*states, Counted.closed]

    assert asyncio.run(main()) == [[], ["one"], ["one"], ["one", "two"], ["one", "two", "one"]]


def test_connections_are_closed_when_closing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of a chat whose last session is still being replaced by another."""
    monkeypatch.setattr("overt.app.models.session_models.make", Counted)
    monkeypatch.setattr(Counted, "closed", [])
    monkeypatch.setenv("OVERT_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OVERT_MODEL", "one")

    async def main() -> None:
        conversation = await open_conversation(Options(directory=str(tmp_path)))
        workspace, reached = conversation.session_workspace, asyncio.Event()
        really_close = workspace.close

        async def wait_for_ever() -> None:
            reached.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(workspace, "close", wait_for_ever)
        closing = asyncio.create_task(conversation.close())
        await reached.wait()
        closing.cancel()
        await asyncio.wait([closing])
        await really_close()

    asyncio.run(main())
    assert Counted.closed == ["one"]
