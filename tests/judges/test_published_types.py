"""What real servers said goes back to them in a shape that their own types allow: every recorded reply, every wire."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from msgspec import Raw
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from tests.judges.published import faults_in

from overt.context.assemble import Assembler
from overt.core.errors import ProviderError
from overt.core.messages import Call, Document, Image, Message, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, Reply, ToolSpec
from overt.core.settings import ModelFacts, Quirks
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment
from overt.providers.transport.attempt import HttpWire
from overt.providers.wires import make_wire

SHARED = Path(os.environ.get("OVERT_SHARED") or Path(__file__).parents[2].parent / "shared")
FOLDERS = {"chat*": "openai", "responses*": "responses", "anthropic": "anthropic"}
RECORDED = [
    pytest.param(path, kind, id=f"{path.parent.name}/{path.name.removesuffix('.chunks.txt')}")
    for pattern, kind in FOLDERS.items()
    for path in sorted((SHARED / "data" / "streams").glob(f"{pattern}/*.chunks.txt"))
]
PUBLISHED = {
    "openai": CompletionCreateParamsStreaming,
    "responses": ResponseCreateParamsStreaming,
    "anthropic": MessageCreateParamsStreaming,
}
QUIRKS = {"openai": Quirks(reasoning=""), "responses": Quirks(), "anthropic": Quirks(thinking="budget")}
BEGINNINGS = ("response.created", "message_start")
SPEC = ToolSpec(name="read", description="Read a file.", schema=Raw(b'{"type":"object","properties":{}}'))
PREFIX = Prefix(system=(Fragment(key="system", text="You are a test.", origin=HARNESS),), tools=(SPEC,))
FORM = Raw(b'{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}')


def wire_of(kind: str) -> HttpWire:
    return make_wire(kind, ModelFacts(name="m", quirks=QUIRKS[kind]))


def replies(path: Path, kind: str) -> list[Reply]:
    """Every reply of a recording that came to its end; some hold a whole conversation."""
    streams: list[list[str]] = [[]]
    for line in filter(str.strip, path.read_text().splitlines()):
        if kind != "openai" and json.loads(line).get("type") in BEGINNINGS and streams[-1]:
            streams.append([])
        streams[-1].append(line)
    found = []
    for lines in streams:
        decoder = wire_of(kind).decoder()
        try:
            for line in lines:
                decoder.feed(line.encode())
            found.append(decoder.end())
        except ProviderError:
            continue
    return found


def request(kind: str, messages: tuple[Message, ...], params: Params) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(Assembler(wire_of(kind)).assemble(PREFIX, messages, params).request.body())
    return body


def continued(reply: Reply) -> tuple[Message, ...]:
    """A question, the reply, an answer to each of its calls, and another question."""
    message = Message(role="assistant", parts=reply.parts, origin=MODEL)
    calls = message.calls()
    results = tuple(Result(call_id=call.id, parts=(Text(text="done"),)) for call in calls)
    answers = (Message(role="tool", parts=results, origin=MODEL),) if calls else ()
    return (said("hello", origin=USER), *((message,) if reply.parts else ()), *answers, said("go on", origin=USER))


@pytest.mark.skipif(not RECORDED, reason=f"no recorded streams under {SHARED}")
@pytest.mark.parametrize(("path", "kind"), RECORDED)
def test_a_recorded_reply_goes_back_as_its_vendor_has_published_it(path: Path, kind: str) -> None:
    for reply in replies(path, kind):
        assert faults_in(request(kind, continued(reply), Params(model="m")), PUBLISHED[kind]) == []


PARAMETERS = {
    "all that can be set": Params(
        model="m", max_tokens=4096, temperature=0.5, top_p=0.9, effort="high", thinking=True, tool_choice="required"
    ),
    "no tools, no thinking": Params(model="m", max_tokens=4096, thinking=False, tool_choice="none"),
    "a form": Params(model="m", max_tokens=4096, form=FORM),
}
THOUGHTS = (
    Reasoning(text="signed", signature="c2ln"),
    Reasoning(text="", opaque='{"type":"redacted_thinking","data":"aGlk"}'),
    Reasoning(text="so", opaque='{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}'),
)
"""One of every vendor's: each wire sends back its own and leaves out the others'."""

CALL = Call(id="call_1", name="read", arguments='{"path":"a"}')
ATTACHED = (
    Message(
        role="user",
        parts=(
            Text(text="look"),
            Image(media="image/png", data=b"\x89PNG"),
            Document(media="application/pdf", data=b"%PDF", name="a.pdf"),
            Document(media="text/plain", data=b"words", name="b.txt"),
        ),
        origin=USER,
    ),
    Message(
        role="assistant", parts=(*THOUGHTS, Call(id="call_1", name="read", arguments='{"path":"a"}')), origin=MODEL
    ),
    Message(
        role="tool",
        parts=(
            Result(call_id="call_1", parts=(Text(text="seen"), Image(media="image/png", data=b"\x89PNG")), error=True),
        ),
        origin=MODEL,
    ),
)


@pytest.mark.parametrize("kind", PUBLISHED)
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_and_attachments_are_as_published(kind: str, name: str) -> None:
    assert faults_in(request(kind, ATTACHED, PARAMETERS[name]), PUBLISHED[kind]) == []
