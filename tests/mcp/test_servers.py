"""McpServers with a real host process: what it does for the host, and what it passes on to its caller."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import pytest
from tests.mcp.host_kit import SERVERS, http_server, replaced

from overt.core.errors import ToolError
from overt.core.protocols import ServerChild
from overt.core.settings import ServerEntry
from overt.mcp import servers as module
from overt.mcp.headers_helper import helper_command
from overt.mcp.manifest_cache import KnownServers
from overt.mcp.messages import Content, OpenPage, ToolOutput
from overt.mcp.servers import HostSettings, McpServers

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


async def no_program(entry: ServerEntry, may_write: bool) -> ServerChild:
    raise ToolError("no program is started here")


def servers_of(
    entry: ServerEntry,
    folder: Path,
    run_helper: Callable[[ServerEntry], Awaitable[str]] | None = None,
    *,
    interactive: bool = False,
    browser: str = "",
) -> McpServers:
    settings = HostSettings(
        roots=(),
        token_folder=str(folder / "tokens"),
        version="1",
        interactive=interactive,
        environment=dict(os.environ) | NO_KEYRING,
        browser=browser,
    )
    more = {"run_helper": run_helper} if run_helper else {}
    return McpServers(
        KnownServers((entry,), str(folder / "cache"), str(folder)),
        settings=lambda: settings,
        start=no_program,
        count_tokens=lambda entry, manifest: 0,
        **more,
    )


async def call(servers: McpServers, tool: str, **arguments: object) -> ToolOutput:
    try:
        return await servers.call_tool("good", tool, arguments, report=lambda text: None, ask=None)
    finally:
        await servers.close()


def header_entry(url: str = "http://127.0.0.1:9/mcp") -> ServerEntry:
    return ServerEntry(name="good", kind="http", url=url, headers_helper="./helper.sh")


def test_the_output_of_the_helper_becomes_headers(tmp_path: Path) -> None:
    asked: list[str] = []

    async def run_helper(entry: ServerEntry) -> str:
        asked.append(entry.headers_helper)
        return '{"X-Key": "s3cret"}'

    async def run(entry: ServerEntry) -> ToolOutput:
        return await call(servers_of(replaced(entry, headers_helper="./helper.sh"), tmp_path, run_helper), "headers")

    with http_server(sys.executable, str(SERVERS / "header_server.py"), "{port}") as entry:
        assert asyncio.run(run(entry)) == ToolOutput(parts=(Content(text="s3cret None"),))
    assert asked == ["./helper.sh"]


async def too_long(entry: ServerEntry) -> str:
    return "s3cret" * 20_000


async def too_slow(entry: ServerEntry) -> str:
    await asyncio.sleep(3600)
    return ""


async def fails(entry: ServerEntry) -> str:
    raise ToolError("ended with code 1")


@pytest.mark.parametrize(
    ("run_helper", "problem"),
    [
        (None, "cannot be run here: there is no way to run it"),
        (too_long, "printed more than 64 KB"),
        (too_slow, "took more than 0.2 s"),
        (fails, "ended with code 1"),
    ],
)
def test_a_helper_that_fails_fails_the_call(
    run_helper: Callable[[ServerEntry], Awaitable[str]] | None,
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "HELPER_LIMIT_S", 0.2)

    async def run() -> ToolOutput:
        return await call(servers_of(header_entry(), tmp_path, run_helper), "headers")

    with pytest.raises(ToolError) as caught:
        asyncio.run(run())
    assert (caught.value.code, caught.value.message) == ("start", f"good: `headers_helper` {problem}")


@pytest.mark.parametrize(
    ("helper", "words"),
    [
        ("./helper.sh 'a b'", ("./helper.sh", "a b")),
        ("echo {} | cat", ("/bin/sh", "-c", "echo {} | cat")),
    ],
)
def test_a_shell_reads_only_a_helper_that_needs_one(helper: str, words: tuple[str, ...]) -> None:
    assert helper_command(ServerEntry(name="x", headers_helper=helper)) == words


def test_a_helper_that_is_no_command_is_explained() -> None:
    with pytest.raises(ToolError, match="is not a command: No closing quotation"):
        helper_command(ServerEntry(name="x", headers_helper="echo 'a"))


def test_a_login_during_a_call_is_shown_to_its_caller(tmp_path: Path) -> None:
    async def run(entry: ServerEntry) -> ToolOutput:
        visits: list[asyncio.Task[None]] = []

        async def visit(page: OpenPage) -> None:
            async with httpx2.AsyncClient(follow_redirects=True) as browser:
                await browser.get(page.url)

        def show_page(page: OpenPage) -> None:
            visits.append(asyncio.create_task(visit(page)))

        servers = servers_of(entry, tmp_path, interactive=True)
        try:
            return await servers.call_tool(
                "good", "add", {"a": 1, "b": 2}, report=lambda text: None, ask=None, show_page=show_page
            )
        finally:
            await asyncio.gather(*visits)
            await servers.close()

    with http_server(sys.executable, str(SERVERS / "oauth_server.py"), "3600", "{port}") as entry:
        assert asyncio.run(run(entry)) == ToolOutput(parts=(Content(text="3"),))
