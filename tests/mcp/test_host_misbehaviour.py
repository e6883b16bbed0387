"""What servers do wrong ends in a clear failure of one command, and the host goes on."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec import json
from tests.fakes.mcp_host import HostDriver, running_host
from tests.mcp.host_kit import peak_memory_kb, stdio_entry

from overt.core.settings import ServerEntry
from overt.mcp.manifest import Era, Manifest
from overt.mcp.messages import Cancel, Content, Failed, ToolOutput

PONG = ToolOutput(parts=(Content(text="pong"),))


def with_bad_server(fault: str, test: Callable[[HostDriver], Awaitable[None]], era: Era = "legacy") -> None:
    """Run a test with a host that has the misbehaving server `bad` and the good one beside it."""

    async def run() -> None:
        bad = stdio_entry("bad_server.py", fault, name="bad")
        async with running_host(bad, stdio_entry(), eras={"bad": era, "good": "legacy"}) as host:
            await test(host)
            assert await host.call("good", "add", {"a": 1, "b": 2}) == ToolOutput(parts=(Content(text="3"),))

    asyncio.run(run())


@pytest.mark.parametrize("fault", ["dies at discover", "errs at discover", "silent at discover"])
def test_a_server_that_does_not_know_discover_is_started_again_with_initialize(fault: str) -> None:
    async def test(host: HostDriver) -> None:
        assert (await host.manifest("bad")).era == "legacy"
        assert await host.call("bad", "ping") == PONG
        assert len(host.starts) == 2

    with_bad_server(fault, test, era="")


def test_lines_that_are_not_json_rpc_are_skipped_and_logged() -> None:
    async def test(host: HostDriver) -> None:
        assert await host.call("bad", "ping") == PONG
        assert "Skipped a line that is not JSON-RPC: 'this is not JSON'" in host.logs()

    with_bad_server("garbage", test)


def test_an_invalid_byte_becomes_a_replacement_character() -> None:
    async def test(host: HostDriver) -> None:
        assert await host.call("bad", "ping") == ToolOutput(parts=(Content(text="caf\ufffd"),))

    with_bad_server("invalid byte", test)


@pytest.mark.parametrize("fault", ["100 MB", "100 MB, id last"])
def test_an_answer_of_100_mb_fails_its_call_and_costs_no_memory(fault: str) -> None:
    async def test(host: HostDriver) -> None:
        await host.manifest("bad")
        before = peak_memory_kb(host.process.pid)
        failed = await host.call("bad", "huge", timeout_ms=100_000)
        assert isinstance(failed, Failed)
        assert (failed.kind, failed.may_have_run) == ("protocol", True)
        assert failed.message.startswith("bad: The answer is too large: ")
        assert await host.call("bad", "ping") == PONG
        assert peak_memory_kb(host.process.pid) - before < 100_000

    with_bad_server(fault, test)


def test_an_over_long_notification_fails_no_call() -> None:
    async def test(host: HostDriver) -> None:
        assert await host.call("bad", "ping") == PONG

    with_bad_server("100 MB notification", test)


@pytest.mark.parametrize("fault", ["wrong result", "deep"])
def test_a_malformed_result_fails_its_call_with_the_name_of_the_server(fault: str) -> None:
    async def test(host: HostDriver) -> None:
        failed = await host.call("bad", "ping")
        assert isinstance(failed, Failed)
        assert failed.kind == "protocol"
        assert failed.message.startswith("bad: ") and "Traceback" not in failed.message

    with_bad_server(fault, test)


def test_a_malformed_handshake_is_a_protocol_failure() -> None:
    async def test(host: HostDriver) -> None:
        failed = await host.list_everything("bad")
        assert isinstance(failed, Failed)
        assert failed.kind == "protocol"
        assert failed.message == "bad: its answer is not valid MCP: capabilities: Field required"

    with_bad_server("wrong handshake", test)


def test_answers_to_requests_that_nobody_made_are_ignored() -> None:
    async def test(host: HostDriver) -> None:
        assert await host.call("bad", "ping") == PONG

    with_bad_server("other id", test)


def test_a_server_that_dies_at_once_is_named_with_its_last_words() -> None:
    async def test(host: HostDriver) -> None:
        failed = await host.list_everything("bad")
        assert isinstance(failed, Failed)
        assert failed.kind == "start"
        assert failed.message == "bad: the server ended before it answered (exit code 7): its last words"

    with_bad_server("dies at once", test, era="")


def test_a_program_that_does_not_exist_is_a_failure_to_start() -> None:
    async def run() -> None:
        async with running_host(ServerEntry(name="none", command=("/nonexistent/program",))) as host:
            failed = await host.list_everything("none")
            text = "none: the server did not start: No such file or directory"
            assert failed == Failed(id=1, kind="start", message=text)

    asyncio.run(run())


def test_a_hanging_server_delays_no_other_and_its_call_ends_in_time() -> None:
    async def test(host: HostDriver) -> None:
        listing = asyncio.create_task(host.list_everything("bad"))
        assert isinstance(await host.list_everything("good"), Manifest)
        failed = await host.call("bad", "ping", timeout_ms=500)
        assert isinstance(failed, Failed)
        assert (failed.kind, failed.may_have_run) == ("timeout", False)
        listing.cancel()

    with_bad_server("hangs", test)


def test_a_server_that_stops_reading_is_timed_out_and_cancelled() -> None:
    async def test(host: HostDriver) -> None:
        await host.manifest("bad")
        stuck = host.call_command("bad", "ping", {"text": "x" * 1_000_000}, timeout_ms=60_000)
        await host.send(stuck)
        failed = await host.call("bad", "ping", {"text": "x" * 1_000_000}, timeout_ms=500)
        assert isinstance(failed, Failed) and failed.kind == "timeout"
        await host.send(Cancel(id=stuck.id))

    with_bad_server("stops reading", test)


def test_malformed_tools_are_left_out_and_named() -> None:
    async def test(host: HostDriver) -> None:
        manifest = await host.manifest("bad")
        assert [(tool.name, tool.description) for tool in manifest.tools] == [
            ("alpha", "no type"),
            ("no schema", ""),
            ("zeta", ""),
        ]
        assert manifest.problems == (
            "tools/list: left out '7', which is malformed",
            "tools/list: left out 'None', which is malformed",
            "tools/list: left out 'None', which is malformed",
        )
        assert manifest.tools[2].read_only is True

    with_bad_server("sloppy", test)


def test_a_large_schema_is_shortened_and_marked() -> None:
    async def test(host: HostDriver) -> None:
        manifest = await host.manifest("bad")
        (tool,) = manifest.tools
        assert len(tool.schema) <= 32 * 1024
        assert len(json.decode(tool.schema)["properties"]) == 200
        assert manifest.problems == ("tools: the schema of 'wide' was shortened to 32 KB",)

    with_bad_server("large schema", test)


def test_a_list_without_end_is_cut() -> None:
    async def test(host: HostDriver) -> None:
        manifest = await host.manifest("bad")
        assert len(manifest.tools) == 100
        assert manifest.problems == ("tools: only the first 100 are read",)

    with_bad_server("endless pages", test)
