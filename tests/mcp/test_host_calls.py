"""The MCP host with a well-behaved server on the SDK: lists, calls, prompts, resources, questions and progress."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
from msgspec import json
from tests.fakes.mcp_host import HostDriver, running_host
from tests.mcp.host_kit import free_port, http_server, replaced, stdio_entry

from overt.core.settings import ServerEntry
from overt.mcp.manifest import Era, ServerResource
from overt.mcp.messages import (
    Cancel,
    Content,
    Disconnect,
    Failed,
    OffersChanged,
    Progressed,
    PromptText,
    QuestionAnswered,
    ResourceContents,
    ServerQuestion,
    ToolOutput,
)


def with_host(
    test: Callable[[HostDriver], Awaitable[None]],
    *servers: ServerEntry,
    eras: dict[str, Era] | None = None,
    roots: tuple[str, ...] = (),
    interactive: bool = False,
) -> None:
    async def run() -> None:
        async with running_host(*servers, eras=eras, roots=roots, interactive=interactive) as host:
            await test(host)

    asyncio.run(run())


def text(value: str) -> ToolOutput:
    return ToolOutput(parts=(Content(text=value),))


def stdio() -> AbstractContextManager[ServerEntry]:
    return nullcontext(stdio_entry())


def streamable() -> AbstractContextManager[ServerEntry]:
    return http_server()


def sse() -> AbstractContextManager[ServerEntry]:
    return http_server(kind="sse", path="/sse")


@pytest.mark.parametrize(
    ("transport", "era"),
    [(stdio, "modern"), (stdio, "legacy"), (streamable, "modern"), (streamable, "legacy"), (sse, "legacy")],
)
def test_everything_is_listed_and_used(transport: Callable[[], AbstractContextManager[ServerEntry]], era: Era) -> None:
    async def test(host: HostDriver) -> None:
        manifest = await host.manifest("good")
        assert (manifest.era, manifest.server_name, manifest.server_version) == (era, "good", "4.5.6")
        assert manifest.instructions == "Use it well."
        names = "add ask ask_often die embedded fail grow picture pid roots save sleep steps"
        assert [tool.name for tool in manifest.tools] == names.split()
        add = manifest.tools[0]
        assert (add.description, add.read_only, add.idempotent, add.destructive) == (
            "Add two numbers.",
            True,
            True,
            None,
        )
        assert json.decode(add.schema)["required"] == ["a", "b"]
        assert [(prompt.name, prompt.arguments[0].name) for prompt in manifest.prompts] == [("greet", "name")]
        assert manifest.resources == (
            ServerResource(uri="memo://today", name="today", media="text/plain"),
            ServerResource(uri="memo://{day}", name="memo", media="text/plain", template=True),
        )
        assert manifest.problems == ()
        assert await host.call("good", "add", {"a": 1, "b": 2}) == text("3")
        picture = await host.call("good", "picture")
        assert picture == ToolOutput(parts=(Content(media="image/png", data=b"\x89PNG fake"),))
        name, image = Content(text="[resource memo://picture]"), Content(media="image/png", data=b"\x89PNG")
        assert await host.call("good", "embedded") == ToolOutput(parts=(name, image))
        failed = await host.call("good", "fail")
        assert isinstance(failed, ToolOutput) and failed.error
        assert await host.call("good", "steps") == text("done")
        assert host.progress() == ["1/3 step 1", "2/3 step 2", "3/3 step 3"]
        prompt = await host.prompt("good", "greet", {"name": "Bo"})
        assert prompt == PromptText(messages=(("user", Content(text="Say hello to Bo.")),))
        memo = await host.read("good", "memo://monday")
        assert memo == ResourceContents(parts=(Content(text="memo of monday"),))
        assert isinstance(unknown := await host.read("good", "memo:/x"), Failed) and unknown.kind == "error"

    with transport() as entry:
        with_host(test, entry, eras={"good": era})


def test_a_second_manifest_has_the_same_bytes_and_calls_run_at_the_same_time() -> None:
    async def test(host: HostDriver) -> None:
        first, second = await asyncio.gather(host.manifest("good"), host.manifest("good"))
        assert json.encode(first) == json.encode(second)
        slow = asyncio.create_task(host.call("good", "sleep", {"seconds": 30}, timeout_ms=60_000))
        assert await host.call("good", "add", {"a": 2, "b": 2}) == text("4")
        slow.cancel()
        assert len(host.starts) == 1

    with_host(test, stdio_entry(), eras={"good": "modern"})


def test_a_call_is_cancelled_at_the_server_and_not_answered() -> None:
    async def test(host: HostDriver) -> None:
        command = host.call_command("good", "steps", {"count": 1000, "pause": 0.05}, timeout_ms=60_000)
        await host.send(command)
        await host.wait_for(lambda it: getattr(it, "id", 0) == command.id)
        await host.send(Cancel(id=command.id))
        assert await host.call("good", "add", {"a": 1, "b": 1}) == text("2")
        steps = len(host.progress())
        assert await host.call("good", "sleep", {"seconds": 0.2}) == text("awake")
        assert len(host.progress()) <= steps + 1
        assert not [it for it in host.reports if isinstance(it, Failed)]

    with_host(test, stdio_entry(), eras={"good": "legacy"})


def test_progress_restarts_the_time_limit() -> None:
    async def test(host: HostDriver) -> None:
        await host.manifest("good")
        assert await host.call("good", "steps", {"count": 12, "pause": 0.25}, timeout_ms=2000) == text("done")
        failed = await host.call("good", "sleep", {"seconds": 30}, timeout_ms=300)
        assert isinstance(failed, Failed)
        assert (failed.kind, failed.may_have_run) == ("timeout", True)
        assert failed.message == "good: the server did not answer within 0.3 s"

    with_host(test, stdio_entry(), eras={"good": "legacy"})


def test_a_killed_server_fails_the_call_that_may_have_run_and_is_started_again_three_times() -> None:
    async def test(host: HostDriver) -> None:
        await host.manifest("good")
        call = asyncio.create_task(host.call("good", "steps", {"count": 1000, "pause": 0.05}, timeout_ms=60_000))
        await host.wait_for(lambda it: isinstance(it, Progressed))
        os.kill(host.starts[1].pid, signal.SIGKILL)
        cut = await call
        assert isinstance(cut, Failed)
        assert (cut.kind, cut.may_have_run) == ("cut", True)
        assert cut.message == "good: the server ended during the call (signal 9): its last words"
        for _ in range(3):
            assert await host.call("good", "add", {"a": 1, "b": 1}) == text("2")
            assert isinstance(await host.call("good", "die"), Failed)
        refused = await host.call("good", "add", {"a": 1, "b": 1})
        assert isinstance(refused, Failed) and refused.kind == "start"
        assert "has ended 4 times" in refused.message
        await host.send(Disconnect(server="good"))
        assert await host.call("good", "add", {"a": 1, "b": 1}) == text("2")

    with_host(test, stdio_entry(), eras={"good": "modern"})


def test_a_repeatable_call_is_made_again_when_it_is_cut() -> None:
    async def test(host: HostDriver) -> None:
        call = asyncio.create_task(host.call("good", "sleep", {"seconds": 1}, timeout_ms=60_000, repeatable=True))
        await host.wait_for(lambda it: type(it).__name__ == "StartServer")
        await host.manifest("good")
        os.kill(host.starts[1].pid, signal.SIGKILL)
        assert await call == text("awake")
        assert len(host.starts) == 2

    with_host(test, stdio_entry(), eras={"good": "legacy"})


@pytest.mark.parametrize(
    ("transport", "era"), [(stdio, "legacy"), (stdio, "modern"), (streamable, "legacy"), (streamable, "modern")]
)
def test_a_question_of_the_server_is_answered_by_the_user(
    transport: Callable[[], AbstractContextManager[ServerEntry]], era: Era
) -> None:
    questions: list[ServerQuestion] = []

    def answer(question: ServerQuestion) -> QuestionAnswered:
        questions.append(question)
        return QuestionAnswered(question=question.question, action="accept", content={"colour": "red", "count": 7})

    async def test(host: HostDriver) -> None:
        host.answer = answer
        assert await host.call("good", "ask") == text("accept red 7")
        assert [(it.message, it.server) for it in questions] == [("Which one?", "good")]
        assert set(json.decode(questions[0].schema)["properties"]) == {"colour", "count"}

    with transport() as entry:
        with_host(test, entry, eras={"good": era}, interactive=True)


@pytest.mark.parametrize("interactive", [True, False])
def test_a_call_may_ask_ten_questions(interactive: bool) -> None:
    async def test(host: HostDriver) -> None:
        output = await host.call("good", "ask_often", {"times": 13})
        assert isinstance(output, ToolOutput)
        actions = output.parts[0].text.split()
        assert actions == ["cancel" if interactive else "decline"] * 10 + ["decline"] * 3
        assert output.notes[-1] == "good asked 3 more questions, which were declined: a call may ask 10."
        assert len(output.notes) == (1 if interactive else 11)
        assert sum(isinstance(it, ServerQuestion) for it in host.reports) == (10 if interactive else 0)

    with_host(test, stdio_entry(), eras={"good": "legacy"}, interactive=interactive)


def test_without_a_user_questions_are_declined_or_take_their_defaults() -> None:
    async def test(host: HostDriver) -> None:
        declined = await host.call("good", "ask")
        note = "good asked: 'Which one?'. The question was declined: the run is non-interactive."
        assert declined == ToolOutput(parts=(Content(text="decline"),), notes=(note,))
        assert await host.call("generous", "ask") == text("accept blue 3")

    entries = stdio_entry(), replaced(stdio_entry(name="generous"), elicitation="defaults")
    with_host(test, *entries, eras={"good": "legacy", "generous": "legacy"})


def test_roots_are_told_as_uris() -> None:
    async def test(host: HostDriver) -> None:
        assert await host.call("good", "roots") == text("file:///tmp/a%20b")

    with_host(test, stdio_entry(), eras={"good": "legacy"}, roots=("/tmp/a b",))


@pytest.mark.parametrize(("transport", "era"), [(stdio, "legacy"), (stdio, "modern"), (streamable, "modern")])
def test_changed_tools_are_reported_once(
    transport: Callable[[], AbstractContextManager[ServerEntry]], era: Era
) -> None:
    async def test(host: HostDriver) -> None:
        await host.manifest("good")
        assert await host.call("good", "grow") == text("grown")
        await host.wait_for(lambda it: isinstance(it, OffersChanged))
        assert "added" in [tool.name for tool in (await host.manifest("good")).tools]
        await asyncio.sleep(0.3)
        assert host.changes() == 1

    with transport() as entry:
        with_host(test, entry, eras={"good": era})


def test_an_unreachable_server_is_named_without_its_secrets_and_not_tried_again_by_lists() -> None:
    port = free_port()
    entry = ServerEntry(name="far", kind="http", url=f"http://user:secret@127.0.0.1:{port}/mcp?key=secret")

    async def test(host: HostDriver) -> None:
        failed = await host.list_everything("far")
        assert isinstance(failed, Failed)
        assert (failed.kind, failed.may_have_run) == ("unreachable", False)
        assert f"http://127.0.0.1:{port}/mcp" in failed.message and "secret" not in failed.message
        with http_server(port=port):
            assert await host.list_everything("far") == Failed(id=2, kind="unreachable", message=failed.message)
            assert isinstance(await host.call("far", "add", {"a": 1, "b": 2}), ToolOutput)
            assert (await host.manifest("far")).server_name == "good"

    with_host(test, entry)


def test_the_host_ends_when_the_socket_closes_although_a_server_hangs() -> None:
    async def run() -> None:
        async with running_host(stdio_entry()) as host:
            await host.send(host.call_command("good", "sleep", {"seconds": 60}, timeout_ms=90_000))
            await host.wait_for(lambda it: type(it).__name__ == "StartServer")
        assert host.process.returncode == 0

    asyncio.run(run())
