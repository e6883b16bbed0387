"""Stopping is immediate in every phase of a request, leaves no connection behind, and the next request works."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.providers.provider_kit import provider, reply, request, run

from overt.core.messages import Text
from overt.core.requests import Reply, RetryDelta, TextDelta
from overt.providers.http_provider import HttpProvider
from overt.providers.transport.retry import Patience

GUARD = 2.0


@contextmanager
def unreachable() -> Iterator[str]:
    """An address whose queue of connections is full, so that connecting hangs."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@contextmanager
def silent(scheme: str) -> Iterator[tuple[str, threading.Event]]:
    """A server that reads and never answers; the event is set when the client has gone."""
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(20)
                try:
                    while connection.recv(65536):
                        pass
                except ConnectionResetError:
                    pass
                gone.set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/v1", gone
        thread.join(5)


async def start(source: HttpProvider, *, wait: float = 0.2) -> "asyncio.Task[None]":
    async def consume() -> None:
        async with aclosing(source.stream(request())) as stream:
            async for _ in stream:
                pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(wait)
    assert not task.done()
    return task


async def stop(task: "asyncio.Task[None]") -> None:
    task.cancel()
    async with asyncio.timeout(GUARD):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_connection_that_does_not_come_about_can_be_stopped() -> None:
    async def main(url: str) -> None:
        await stop(await start(provider(url)))

    with unreachable() as url:
        run(main(url))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_waiting_for_headers_or_for_tls_can_be_stopped(scheme: str) -> None:
    async def main(url: str) -> None:
        await stop(await start(provider(url, patience=Patience())))

    with silent(scheme) as (url, gone):
        run(main(url))
        assert gone.wait(GUARD)


@pytest.mark.parametrize("fault", [Fault(stall_after=0), Fault(stall_after=2)])
def test_a_stream_can_be_stopped_and_the_next_request_works(fault: Fault) -> None:
    async def main(url: str) -> None:
        source = provider(url, patience=Patience())
        await stop(await start(source))
        assert (await reply(source)).parts == (Text(text="ok"),)
        source.close()

    with ModelServer([Turn(text="one two", chunk=4, fault=fault), Turn(text="ok")]) as server:
        run(main(server.url))
        assert (server.connections, len(server.posts)) == (2, 2)


def test_waiting_for_the_next_attempt_can_be_stopped() -> None:
    async def main(url: str) -> None:
        await stop(await start(provider(url, patience=Patience(first=60.0, longest=60.0))))

    with ModelServer([Turn(fault=Fault(status=503))], after="repeat") as server:
        run(main(server.url))
        assert len(server.posts) == 1


def test_closing_the_stream_early_stops_the_request() -> None:
    async def main(url: str) -> None:
        source = provider(url)
        async with asyncio.timeout(GUARD):
            async with aclosing(source.stream(request())) as stream:
                async for delta in stream:
                    assert delta == TextDelta(text="one ")
                    break
            assert (await reply(source)).parts == (Text(text="ok"),)
        source.close()

    with ModelServer([Turn(text="one two", chunk=4, fault=Fault(stall_after=2)), Turn(text="ok")]) as server:
        run(main(server.url))


def test_closing_at_any_delta_leaves_a_provider_that_works() -> None:
    async def main(url: str) -> None:
        source = provider(url)
        for stop_after in range(1, 6):
            seen = 0
            async with aclosing(source.stream(request())) as stream:
                async for delta in stream:
                    assert isinstance(delta, RetryDelta | TextDelta | Reply)
                    seen += 1
                    if seen == stop_after:
                        break
            assert (await reply(source)).parts == (Text(text="one two"),)
        source.close()

    with ModelServer([Turn(text="one two", chunk=2, delay=0.01)], after="repeat") as server:
        run(main(server.url))
