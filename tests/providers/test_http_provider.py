"""A provider against a real server: what streams, what is sent, and how connections are kept."""

import asyncio
import json
from typing import Literal

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Recorded, Turn
from tests.providers.provider_kit import KEY, ask, provider, reply, request, run

from overt.core.errors import ConfigError
from overt.core.messages import Call, Reasoning, Text, said
from overt.core.requests import CallDelta, ReasoningDelta, Reply, TextDelta
from overt.core.settings import ProviderEntry
from overt.core.spending.usage import Usage
from overt.core.text_fragments import USER
from overt.providers.http_provider import HttpProvider
from overt.providers.wires.openai import OpenAIChat

ODD = "tab\t null\x00 “quotes” 😀 \\u0041 \u2028 line\nend"


def test_a_reply_streams_and_ends_whole() -> None:
    calls = (FakeCall(name="read", arguments={"path": "a"}, id="c1"), FakeCall(name="list", arguments="{}", id="c2"))
    turn = Turn(reasoning="think", text=ODD, calls=calls, chunk=3, usage={"prompt_tokens": 7, "completion_tokens": 2})

    async def main(url: str) -> None:
        source = provider(url)
        deltas, error = await ask(source)
        source.close()
        assert error is None
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == ODD
        assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == "think"
        progress = [delta for delta in deltas if isinstance(delta, CallDelta)]
        assert progress[-1] == CallDelta(index=1, name="list", characters=2, ready=2)
        assert deltas[-1] == Reply(
            parts=(
                Reasoning(text="think"),
                Text(text=ODD),
                Call(id="c1", name="read", arguments='{"path":"a"}'),
                Call(id="c2", name="list", arguments="{}"),
            ),
            finish="calls",
            usage=Usage(input=7, output=2),
            model="fake-model",
        )

    framings: tuple[Literal["block", "event", "close"], ...] = ("block", "event", "close")
    for framing in framings:
        with ModelServer([replace(turn, framing=framing)]) as server:
            run(main(server.url))


def test_the_body_is_sent_as_it_was_assembled() -> None:
    async def main(url: str) -> None:
        source = provider(url, headers={"X-Team": "tools and tests"})
        await reply(source, request(said("héllo", origin=USER)))
        source.close()

    with ModelServer([Turn(text="ok")]) as server:
        run(main(server.url))
        (sent,) = server.posts
    assert (sent.path, sent.body) == ("/v1/chat/completions", request(said("héllo", origin=USER)).body())
    expected = {"authorization": f"Bearer {KEY}", "content-type": "application/json", "x-team": "tools and tests"}
    assert {name: sent.headers[name] for name in expected} == expected
    assert sent.headers["host"] == f"127.0.0.1:{server.port}"


def test_a_large_request_and_a_large_reply_arrive_whole() -> None:
    big = "0123456789abcdef" * 200_000

    async def main(url: str) -> None:
        source = provider(url)
        found = await reply(source, request(said(big, origin=USER)))
        source.close()
        assert found.parts == (Text(text=big),)

    with ModelServer([Turn(text=big, chunk=1000)]) as server:
        run(main(server.url))
        assert json.loads(server.posts[0].body)["messages"][1]["content"] == big


def test_steps_share_one_connection() -> None:
    async def main(url: str) -> None:
        source = provider(url)
        for _ in range(5):
            await reply(source)
        assert await source.models() == ("one", "two")
        await reply(source)
        source.close()

    with ModelServer([Turn(text="ok", framing="event")], after="repeat", models=("one", "two")) as server:
        run(main(server.url))
        assert (server.connections, len(server.posts)) == (1, 6)


def test_a_connection_serves_one_event_loop_after_another() -> None:
    with ModelServer([Turn(text="ok")], after="repeat") as server:
        source = provider(server.url)
        for _ in range(3):
            run(reply(source))
        source.close()
        assert server.connections == 1


def test_a_kept_connection_that_died_is_replaced_without_a_word() -> None:
    async def main(server: ModelServer) -> None:
        source = provider(server.url, attempts=1)
        await reply(source)
        server.drop_connections()
        await asyncio.sleep(0.05)
        deltas, error = await ask(source)
        source.close()
        assert (error, [type(delta) for delta in deltas]) == (None, [TextDelta, Reply])

    with ModelServer([Turn(text="ok")], after="repeat") as server:
        run(main(server))
        assert (server.connections, len(server.posts)) == (2, 2)


def test_a_kept_connection_that_dies_on_use_is_replaced_without_a_word() -> None:
    # The server closes when the second request arrives: nothing shows it before the bytes are out.
    def choose(_request: Recorded, number: int) -> Turn:
        return Turn(text="ok", fault=Fault(close_before_headers=number == 1))

    async def main(server: ModelServer) -> None:
        source = provider(server.url, attempts=1)
        await reply(source)
        assert (await reply(source)).parts == (Text(text="ok"),)
        source.close()

    with ModelServer(choose=choose) as server:
        run(main(server))
        assert (server.connections, len(server.posts)) == (2, 3)


def test_a_server_that_announces_the_end_of_a_connection_is_believed() -> None:
    async def main(url: str) -> None:
        source = provider(url)
        await reply(source)
        await reply(source)
        source.close()

    with ModelServer([Turn(text="ok", close=True)], after="repeat") as server:
        run(main(server.url))
        assert (server.connections, len(server.posts)) == (2, 2)


def test_a_host_name_is_resolved() -> None:
    async def main(url: str) -> None:
        source = provider(url)
        assert (await reply(source)).parts == (Text(text="ok"),)
        source.close()

    with ModelServer([Turn(text="ok")]) as server:
        run(main(server.url.replace("127.0.0.1", "localhost")))


def test_cached_tokens_are_counted_by_the_server_from_the_common_beginning() -> None:
    longer = request(said("hello", origin=USER), said("again", origin=USER))

    async def main(url: str) -> list[Usage]:
        source = provider(url)
        found = [(await reply(source)).usage, (await reply(source, longer)).usage]
        source.close()
        return found

    with ModelServer([Turn(text="ok")], after="repeat") as server:
        first, second = run(main(server.url))
    assert first.cached == 0
    assert second.cached == (len(request().body()) - len(b"]}")) // 4


def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }

    async def main(url: str) -> Reply:
        source = provider(url)
        found = await reply(source)
        source.close()
        return found

    with ModelServer([Turn(fault=Fault(status=200, body=json.dumps(whole)))]) as server:
        found = run(main(server.url))
    assert found == Reply(parts=(Text(text="ok"),), finish="stop", usage=Usage(input=3, output=1), model="m")


def test_models_degrade_to_nothing() -> None:
    async def main() -> tuple[str, ...]:
        return await provider("http://127.0.0.1:9/v1").models()

    assert run(main()) == ()


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://x/v1", "http://user:pw@host/v1", "http://h:x/", "http:///v1"]
)
def test_a_base_url_that_cannot_work_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpProvider(ProviderEntry(name="mine", base_url=url), OpenAIChat(), key=None)
    assert caught.value.message.startswith("provider mine: base_url: ")


def test_a_key_or_header_that_would_break_the_request_is_refused_without_showing_it() -> None:
    entry = ProviderEntry(name="mine", base_url="http://h/v1", api_key_env="MY_KEY")
    with pytest.raises(ConfigError) as caught:
        HttpProvider(entry, OpenAIChat(), key="abc\r\nX-Evil: 1")
    assert ("MY_KEY" in caught.value.message, "Evil" in caught.value.message) == (True, False)
    with pytest.raises(ConfigError):
        HttpProvider(ProviderEntry(name="m", base_url="http://h/v1", headers={"A": "b\nC: d"}), OpenAIChat(), key=None)
