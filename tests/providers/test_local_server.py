"""The real server with the real 0.5B weights: what it answers, what it keeps, and how long it lives."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.providers.local_kit import READ, SMALL, Talk, cache, needs_small, outlives, small, until
from tests.providers.provider_kit import run

from overt.core.codec import decode, encode
from overt.core.messages import Call, Message, Result, Text, said
from overt.core.requests import Delta, Reply, Request, TextDelta
from overt.core.text_fragments import HARNESS, MODEL, USER
from overt.providers.embedded.provider import LocalProvider, installed_weights, make
from overt.providers.transport.address import parse_address
from overt.providers.transport.client import Client, Outgoing

pytestmark = needs_small
WITHIN = 100.0
LONG = "You help with code. Say as little as you can. " * 8


class Served(NamedTuple):
    """A server that has read what all requests begin with, and its first reply; its folder may serve a second one."""

    provider: LocalProvider
    first: Reply
    folder: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One child for the tests of this file: that it serves many conversations is part of what they show."""
    folder = tmp_path_factory.mktemp("cache")
    made = small(folder)
    request = Talk(made, system=LONG).ask("Say yes.", max_tokens=2)

    async def begin() -> Reply:
        made.warm(made.wire.head(request.prefix, request.params))
        return (await whole(made, request))[1]

    try:
        yield Served(provider=made, first=run(begin(), within=WITHIN), folder=folder)
    finally:
        made.close()


@pytest.fixture
def server(served: Served) -> LocalProvider:
    return served.provider


async def whole(provider: LocalProvider, request: Request) -> tuple[list[Delta], Reply]:
    deltas: list[Delta] = []
    async with aclosing(provider.stream(request)) as stream:
        async for delta in stream:
            deltas.append(delta)
    reply = deltas[-1]
    assert isinstance(reply, Reply)
    return deltas, reply


def text_of(reply: Reply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, Text))


def test_a_chat_streams_and_its_second_turn_reads_only_what_is_new(server: LocalProvider) -> None:
    async def main() -> None:
        talk = Talk(server, system=LONG)
        deltas, first = await whole(server, talk.ask("Name three colours.", max_tokens=8))
        assert len([delta for delta in deltas if isinstance(delta, TextDelta)]) > 3
        assert text_of(first) == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
        assert first.usage.input > 90
        again = Message(role="assistant", parts=first.parts, origin=MODEL)
        _, second = await whole(server, talk.go_on(again, *Talk(server).ask("And a fourth?").messages, max_tokens=2))
        print(f"first {first.usage}, second {second.usage}")
        assert second.usage.input > first.usage.input
        assert second.usage.cached >= first.usage.input - 8

    run(main(), within=WITHIN)


def test_a_tool_is_called_or_must_be_and_its_answer_used(server: LocalProvider) -> None:
    """So small a model goes on calling unless it is told to speak."""

    async def main() -> None:
        demanded = Talk(server, system="You answer from files.", tools=(READ,))
        _, reply = await whole(server, demanded.ask("Say hello.", tool_choice="required", max_tokens=64))
        (call,) = [part for part in reply.parts if isinstance(part, Call)]
        assert (call.name, list(decode(call.arguments))) == ("read", ["path"])
        talk = Talk(server, system="You answer from files.", tools=(READ,))
        _, first = await whole(server, talk.ask("Read a.txt. How old is Anna?", max_tokens=64))
        (call,) = [part for part in first.parts if isinstance(part, Call)]
        assert (first.finish, call.name, decode(call.arguments)) == ("calls", "read", {"path": "a.txt"})
        answer = Result(call_id=call.id, parts=(Text(text="Anna is 42 years old."),))
        told = (
            Message(role="assistant", parts=first.parts, origin=MODEL),
            Message(role="user", parts=(answer,), origin=HARNESS),
            said("Now answer in plain words, without a tool.", origin=USER),
        )
        _, second = await whole(server, talk.go_on(*told, tool_choice="none"))
        assert "42" in text_of(second)

    run(main(), within=WITHIN)


def test_two_conversations_at_once_do_not_mix(server: LocalProvider) -> None:
    async def main() -> None:
        words = ("apple", "stone", "river")
        asked = [
            Talk(server, system=f"Whatever is asked, you answer only: {word}").ask("What is it?") for word in words
        ]
        replies = await asyncio.gather(*(whole(server, request) for request in asked))
        texts = [text_of(reply).lower() for _, reply in replies]
        assert [[word for word in words if word in text] for text in texts] == [[word] for word in words]

    run(main(), within=WITHIN)


def test_a_reply_nobody_waits_for_any_more_does_not_hold_up_the_next(server: LocalProvider) -> None:
    async def main() -> None:
        async with aclosing(server.stream(Talk(server).ask("Count from 1 to 2000.", max_tokens=4000))) as stream:
            async for delta in stream:
                if isinstance(delta, TextDelta):
                    break
        _, reply = await whole(server, Talk(server).ask("Say yes.", max_tokens=4))
        assert text_of(reply)

    run(main(), within=60.0)


def test_nobody_is_answered_without_the_token_or_from_elsewhere_and_only_the_two_can_read_the_token(
    server: LocalProvider,
) -> None:
    async def main() -> None:
        await whole(server, Talk(server).ask("Say yes.", max_tokens=2))
        child = server._child
        assert child is not None
        body = encode({"messages": [{"role": "user", "content": "hello"}], "max_tokens": 1})
        statuses = []
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {child.token}"}):
            client = Client(parse_address(f"http://127.0.0.1:{child.port}"))
            headers = {"Content-Type": "application/json", **header}
            outgoing = Outgoing(method="POST", target="/v1/chat/completions", headers=headers, body=(body,))
            exchange = await client.send(outgoing, connect_within=5, answer_within=60)
            statuses.append(exchange.status)
            exchange.close()
        assert statuses == [401, 401, 200]
        for name in ("cmdline", "environ"):
            assert child.token.encode() not in Path(f"/proc/{child.process.pid}/{name}").read_bytes()

    run(main(), within=WITHIN)
    assert set(listening(server.pid)) == {"127.0.0.1"}


def test_what_every_request_begins_with_is_read_before_the_first(served: Served) -> None:
    print(served.first.usage)
    assert served.first.usage.cached > served.first.usage.input * 0.8


def test_what_one_run_has_read_the_next_need_not(served: Served) -> None:
    async def main() -> None:
        await until(lambda: list((served.folder / "models").glob("*.context")))
        entry = installed_weights(str(served.folder))
        assert entry is not None
        provider = make(entry, None, SMALL)
        try:
            _, reply = await whole(provider, Talk(provider, system=LONG).ask("Say no.", max_tokens=2))
        finally:
            provider.close()
        print(reply.usage)
        assert reply.usage.cached > reply.usage.input * 0.8
        (kept,) = (served.folder / "models").glob("*.context*")
        assert kept.stat().st_mode & 0o777 == 0o600

    run(main(), within=WITHIN)


def test_a_server_that_loads_ends_with_whoever_was_killed(tmp_path: Path) -> None:
    assert not outlives(cache(tmp_path), "SIGKILL", after=0.4)


def listening(pid: int) -> list[str]:
    """Addresses on which a process listens."""
    sockets = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                raw = bytes.fromhex(words[1].partition(":")[0])
                found.append(".".join(str(octet) for octet in reversed(raw)))
    return found
