"""The MCP host with servers over HTTP whose sessions, processes or headers change."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.fakes.mcp_host import running_host
from tests.mcp.host_kit import SERVERS, free_port, http_server, peak_memory_kb, replaced

from overt.core.settings import ServerEntry
from overt.mcp.manifest import Era
from overt.mcp.messages import Content, Failed, Progressed, ToolOutput

THREE = ToolOutput(parts=(Content(text="3"),))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_lost_session_gets_a_new_one_and_the_call_is_repeated(era: Era) -> None:
    port = free_port()

    async def run() -> None:
        entry = ServerEntry(name="good", kind="http", url=f"http://127.0.0.1:{port}/mcp")
        async with running_host(entry, eras={"good": era}) as host:
            with http_server(port=port):
                assert await host.call("good", "add", {"a": 1, "b": 2}) == THREE
            with http_server(port=port):
                assert await host.call("good", "add", {"a": 1, "b": 2}) == THREE

    asyncio.run(run())


def test_a_server_that_dies_in_mid_call_may_have_run_it_and_is_unreachable_then() -> None:
    async def run() -> None:
        async with asyncio.timeout(100):
            with http_server() as entry:
                async with running_host(entry, eras={"good": "modern"}) as host:
                    cut = await host.call("good", "die")
                    assert isinstance(cut, Failed)
                    assert (cut.kind, cut.may_have_run) == ("cut", True)
                    failed = await host.call("good", "add", {"a": 1, "b": 2})
                    assert isinstance(failed, Failed)
                    assert (failed.kind, failed.may_have_run) == ("unreachable", False)

    asyncio.run(run())


def test_a_server_that_dies_after_progress_cuts_the_call() -> None:
    async def run() -> None:
        with http_server() as entry:
            async with running_host(entry, eras={"good": "modern"}) as host:
                steps = asyncio.create_task(host.call("good", "steps", {"count": 100, "pause": 0.2}, timeout_ms=60_000))
                await host.wait_for(lambda it: isinstance(it, Progressed))
                await host.call("good", "die")
                cut = await steps
                assert isinstance(cut, Failed)
                assert (cut.kind, cut.may_have_run) == ("cut", True)

    asyncio.run(run())


def test_the_host_sends_headers_of_a_helper_that_overt_runs_and_never_runs_it_itself(tmp_path: Path) -> None:
    async def run(entry: ServerEntry) -> None:
        entry = replaced(entry, headers={"X-Other": "yes"}, headers_helper=f"touch {tmp_path}/ran")
        async with running_host(entry) as host:
            host.helper_output = '{"X-Key": "s3cret"}'
            assert await host.call("good", "headers") == ToolOutput(parts=(Content(text="s3cret yes"),))
        assert not (tmp_path / "ran").exists()

    with http_server(sys.executable, str(SERVERS / "header_server.py"), "{port}") as entry:
        asyncio.run(run(entry))


@pytest.mark.parametrize(
    ("output", "problem", "shown"),
    [
        ("", "ended with code 1", "ended with code 1"),
        ("s3cret", "", "must print a JSON object of header names and values"),
    ],
)
def test_a_broken_helper_is_named_and_its_output_is_not(output: str, problem: str, shown: str) -> None:
    async def run() -> None:
        entry = ServerEntry(name="good", kind="http", url="http://127.0.0.1:9/mcp", headers_helper="x")
        async with running_host(entry) as host:
            host.helper_output, host.helper_problem = output, problem
            failed = await host.list_everything("good")
            assert failed == Failed(id=1, kind="start", message=f"good: `headers_helper` {shown}")

    asyncio.run(run())


def test_a_refused_key_in_the_headers_is_a_failed_login() -> None:
    async def run(entry: ServerEntry) -> None:
        async with running_host(replaced(entry, headers={"Authorization": "Bearer s3cret"})) as host:
            failed = await host.list_everything("good")
            assert isinstance(failed, Failed) and failed.kind == "login"
            assert "s3cret" not in str(host.reports)

    with http_server(sys.executable, str(SERVERS / "oauth_server.py"), "60", "{port}") as entry:
        asyncio.run(run(entry))


def test_a_body_above_the_limit_fails_its_call() -> None:
    async def run(entry: ServerEntry) -> None:
        async with running_host(entry, eras={"good": "legacy"}) as host:
            failed = await host.call("good", "huge")
            assert isinstance(failed, Failed) and failed.kind == "protocol"
            assert "the answer is too large: at most 16 MB are read" in failed.message
            assert isinstance(await host.call("good", "headers"), ToolOutput)

    with http_server(sys.executable, str(SERVERS / "header_server.py"), "{port}") as entry:
        asyncio.run(run(entry))


def test_a_compressed_body_is_not_unpacked() -> None:
    async def run(entry: ServerEntry) -> None:
        async with running_host(replaced(entry, url=entry.url.replace("/mcp", "/bomb"))) as host:
            failed = await host.list_everything("good")
            assert isinstance(failed, Failed)
            assert "the answer is compressed as 'gzip', which was not asked for" in failed.message
            assert peak_memory_kb(host.process.pid) < 300_000

    with http_server(sys.executable, str(SERVERS / "header_server.py"), "{port}") as entry:
        asyncio.run(run(entry))
