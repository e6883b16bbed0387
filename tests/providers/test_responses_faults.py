"""A Responses server over real HTTP: cuts, errors, and bodies that do not stream."""

import json
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.providers.provider_kit import KEY, QUICK, ask, run

from overt.core.errors import ProviderError
from overt.core.messages import Call, Text
from overt.core.requests import CallDelta, Delta, Reply, TextDelta
from overt.core.settings import ProviderEntry
from overt.core.spending.usage import Usage
from overt.providers.http_provider import HttpProvider
from overt.providers.registry import make
from overt.providers.wires.responses import OpenAIResponses

NONE = Fault()
CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "read", "arguments": '{"p":1}'}
MESSAGE = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "ab"}]}
RESPONSE = {"object": "response", "status": "completed", "output": [MESSAGE, CALL], "usage": {"input_tokens": 3}}
EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "a"},
    {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "b"},
    {"type": "response.output_item.added", "output_index": 1, "item": CALL | {"arguments": ""}},
    {"type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": 1, "delta": '{"p":1}'},
    {"type": "response.output_item.done", "output_index": 1, "item": CALL},
    {"type": "response.completed", "response": RESPONSE},
)
WHOLE = Reply(
    parts=(Text(text="ab"), Call(id="c", name="read", arguments='{"p":1}')), finish="calls", usage=Usage(input=3)
)


def asked(turn: Turn, times: int = 1) -> tuple[list[tuple[list[Delta], ProviderError | None]], ModelServer]:
    async def main(url: str) -> list[tuple[list[Delta], ProviderError | None]]:
        source = HttpProvider(ProviderEntry(name="fake", base_url=url), OpenAIResponses(), key=KEY, patience=QUICK)
        try:
            return [await ask(source) for _ in range(times)]
        finally:
            source.close()

    with ModelServer([turn], after="repeat") as server:
        return run(main(server.url)), server


def stream(*events: Any, fault: Fault = NONE) -> Turn:
    return Turn(events=tuple(json.dumps(event) for event in events), framing="event", fault=fault)


@pytest.mark.parametrize("kept", range(len(EVENTS)))
def test_a_connection_cut_anywhere_is_never_a_reply_and_asked_again_only_before_the_first_event(kept: int) -> None:
    [(deltas, error)], server = asked(stream(*EVENTS, fault=Fault(cut_after=kept)))
    assert error is not None
    assert error.kind == ("cut" if kept else error.kind)
    assert not any(isinstance(delta, Reply) for delta in deltas)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "ab"[:kept]
    assert len(server.posts) == (1 if kept else 4)


def test_a_stream_that_ends_by_its_rule_is_the_reply_and_leaves_the_connection_open() -> None:
    answers, server = asked(stream(*EVENTS), times=3)
    for deltas, error in answers:
        assert error is None
        assert deltas[-1] == WHOLE
        assert [delta for delta in deltas if isinstance(delta, CallDelta)][-1] == CallDelta(
            index=0, name="read", characters=7, ready=1
        )
    assert [(request.path, request.headers["authorization"]) for request in server.posts] == [
        ("/v1/responses", f"Bearer {KEY}")
    ] * 3
    assert server.connections == 1


def test_a_server_that_does_not_stream_has_answered_all_the_same() -> None:
    body = Fault(status=200, body=json.dumps(RESPONSE), headers={"Content-Type": "application/json"})
    [(deltas, error)], _ = asked(Turn(fault=body))
    assert error is None
    assert deltas == [TextDelta(text="ab"), CallDelta(index=0, name="read", characters=7, ready=1), WHOLE]


def test_a_body_of_another_wire_is_not_an_answer() -> None:
    chat = {"object": "chat.completion", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    [(_, error)], server = asked(Turn(fault=Fault(status=200, body=json.dumps(chat))))
    assert error is not None
    assert (error.kind, len(server.posts)) == ("not_api", 1)


def test_an_error_in_the_stream_comes_after_what_was_said_and_is_one_request() -> None:
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"message": f"no more, {KEY}"}}}
    [(deltas, error)], server = asked(stream(EVENTS[0], failed, EVENTS[-1]))
    assert error is not None
    assert error.message == "The server broke off its reply with an error: no more, [key]"
    assert (deltas, len(server.posts)) == ([TextDelta(text="a")], 1)


def test_three_broken_events_are_skipped_and_counted() -> None:
    turn = Turn(
        events=(json.dumps(EVENTS[0]), "{", '{"type":', "nonsense", *(json.dumps(event) for event in EVENTS[1:])),
        framing="event",
    )
    [(deltas, error)], _ = asked(turn)
    assert error is None
    reply = deltas[-1]
    assert isinstance(reply, Reply)
    assert (reply.parts, reply.skipped) == (WHOLE.parts, 3)


def test_the_kind_responses_speaks_this_wire() -> None:
    found = make(ProviderEntry(name="fake", kind="responses", base_url="http://127.0.0.1:9/v1"), KEY, "m")
    found.close()
    assert (type(found.wire), found.wire.name, found.wire.marks) == (OpenAIResponses, "responses", False)
