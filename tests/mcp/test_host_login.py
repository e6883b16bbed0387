"""Logins of the MCP host, with a real authorization server on loopback whose refresh tokens work only once."""

import asyncio
import json
import stat
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
from tests.fakes.file_ring import ring_environment
from tests.fakes.mcp_host import HostDriver, running_host
from tests.mcp.host_kit import SERVERS, http_server

from overt.core.settings import ServerEntry
from overt.mcp.messages import Content, Failed, LoggedIn, Login, OpenPage, ToolOutput

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
THREE = ToolOutput(parts=(Content(text="3"),))
PROCESSES = 8


@pytest.fixture(params=[3600])
def protected(request: pytest.FixtureRequest) -> Iterator[ServerEntry]:
    with http_server(sys.executable, str(SERVERS / "oauth_server.py"), str(request.param), "{port}") as entry:
        yield entry


async def open_page(page: OpenPage) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        assert "close this page" in (await browser.get(page.url)).text


def ask(entry: ServerEntry, path: str) -> dict[str, int]:
    counts: dict[str, int] = httpx2.get(entry.url.replace("/mcp", path)).json()
    return counts


async def log_in(entry: ServerEntry, folder: Path, environment: dict[str, str] = NO_KEYRING) -> None:
    async with running_host(
        entry, token_folder=str(folder), interactive=True, environment=environment, eras={"good": "legacy"}
    ) as host:
        host.open_page = open_page
        assert await host.call("good", "add", {"a": 1, "b": 2}) == THREE
        assert_no_secrets(host, folder)


def assert_no_secrets(host: HostDriver, folder: Path) -> None:
    """No report but the page of the login holds a token."""
    for path in folder.glob("*.json"):
        login = json.loads(path.read_text())
        for secret in (login["access_token"], login["refresh_token"]):
            assert secret not in str(host.reports)


def test_a_login_is_stored_privately_and_used_by_the_next_process(protected: ServerEntry, tmp_path: Path) -> None:
    async def run() -> None:
        await log_in(protected, tmp_path / "tokens")
        (path,) = (tmp_path / "tokens").glob("*.json")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with running_host(protected, token_folder=str(tmp_path / "tokens"), environment=NO_KEYRING) as host:
            assert await host.call("good", "add", {"a": 1, "b": 2}) == THREE

    asyncio.run(run())
    assert ask(protected, "/counts") == {"registrations": 1, "logins": 1}


def test_a_keyring_is_preferred_to_a_file(protected: ServerEntry, tmp_path: Path) -> None:
    ring = ring_environment(tmp_path / "ring.json")

    async def run() -> None:
        await log_in(protected, tmp_path / "tokens", ring)
        assert list((tmp_path / "tokens").glob("*.json")) == []
        assert len(json.loads((tmp_path / "ring.json").read_text())) == 1
        await log_in(protected, tmp_path / "tokens", ring)

    asyncio.run(run())
    assert ask(protected, "/counts")["logins"] == 1


def test_without_a_user_the_command_to_log_in_is_named(protected: ServerEntry, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_host(protected, token_folder=str(tmp_path), environment=NO_KEYRING) as host:
            failed = await host.call("good", "add", {"a": 1, "b": 2})
            text = "good: it asks for a login. Log in with `overt mcp login good`."
            assert failed == Failed(id=1, kind="login", message=text)

    asyncio.run(run())
    assert ask(protected, "/counts") == {}


def test_a_list_in_the_background_registers_no_client_and_opens_no_page(protected: ServerEntry, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_host(
            protected, token_folder=str(tmp_path), interactive=True, environment=NO_KEYRING
        ) as host:
            failed = await host.list_everything("good")
            text = "good: it asks for a login. Log in with `overt mcp login good`."
            assert failed == Failed(id=1, kind="login", message=text)

    asyncio.run(run())
    assert ask(protected, "/counts") == {}


def test_a_login_that_leads_into_the_network_of_the_user_is_stopped(tmp_path: Path) -> None:
    async def run(entry: ServerEntry) -> None:
        async with running_host(
            entry, token_folder=str(tmp_path), interactive=True, environment=NO_KEYRING, eras={"good": "legacy"}
        ) as host:
            failed = await host.call("good", "add", {"a": 1, "b": 2}, timeout_ms=5000)
            text = "good: the login was stopped: the server leads it to http://169.254.169.254, and it is not https."
            assert failed == Failed(id=1, kind="login", message=text)

    script = str(SERVERS / "oauth_server.py")
    with http_server(sys.executable, script, "60", "{port}", "http://169.254.169.254") as entry:
        asyncio.run(run(entry))
        assert ask(entry, "/counts") == {}


def test_the_login_command_logs_in_although_tokens_are_stored(protected: ServerEntry, tmp_path: Path) -> None:
    async def run() -> None:
        await log_in(protected, tmp_path)
        async with running_host(protected, token_folder=str(tmp_path), environment=NO_KEYRING) as host:
            host.open_page = open_page
            issuer = protected.url.replace("/mcp", "")
            assert await host.run(Login(id=host.next_id(), server="good")) == LoggedIn(issuer=issuer)
            assert await host.call("good", "add", {"a": 1, "b": 2}) == THREE

    asyncio.run(run())
    assert ask(protected, "/counts")["logins"] == 2


def test_a_server_without_a_login_says_so(tmp_path: Path) -> None:
    async def run(entry: ServerEntry) -> None:
        async with running_host(entry, token_folder=str(tmp_path), environment=NO_KEYRING) as host:
            failed = await host.run(Login(id=1, server="good"))
            text = "good: the server does not ask for a login."
            assert failed == Failed(id=1, kind="login", message=text)

    with http_server() as entry:
        asyncio.run(run(entry))


@pytest.mark.parametrize(("protected", "revoked"), [(1, False), (3600, True)], indirect=["protected"])
def test_eight_processes_with_an_expired_token_make_one_refresh(
    protected: ServerEntry, revoked: bool, tmp_path: Path
) -> None:
    async def run() -> None:
        await log_in(protected, tmp_path)
        if revoked:
            await asyncio.to_thread(ask, protected, "/revoke")
        else:
            await asyncio.sleep(1.1)
        async with AsyncExitStack() as stack:
            hosts = [
                await stack.enter_async_context(
                    running_host(protected, token_folder=str(tmp_path), environment=NO_KEYRING, eras={"good": "legacy"})
                )
                for _ in range(PROCESSES)
            ]
            outputs = await asyncio.gather(*(host.call("good", "add", {"a": 1, "b": 2}) for host in hosts))
            assert outputs == [THREE] * PROCESSES
            await asyncio.to_thread(ask, protected, "/revoke")
            outputs = await asyncio.gather(*(host.call("good", "add", {"a": 1, "b": 2}) for host in hosts))
            assert outputs == [THREE] * PROCESSES

    asyncio.run(run())
    assert ask(protected, "/counts") == {"registrations": 1, "logins": 1, "refreshes": 2}
