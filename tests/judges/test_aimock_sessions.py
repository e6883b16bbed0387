"""Two turns with thinking and tools on every wire: aimock plays its part, the vendors' types judge our requests."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from tests.journeys.journey_kit import assert_intact, gone
from tests.judges.judge_kit import Aimock, aimock, needs_aimock
from tests.judges.program_kit import Program
from tests.judges.published import faults_in

pytestmark = needs_aimock

SIGNATURE = "c2lnbmVkLWJ5LW5vYm9keQ=="
HIDDEN = "aGlkZGVuLXRob3VnaHQ="
FILES = {"one.txt": "first line\n", "two.txt": "second line\n"}


class Spoken(NamedTuple):
    """A wire as a vendor has it: how to configure it, and the published type of its requests."""

    kind: str
    settings: str
    published: Any
    known: tuple[str, ...] = ()
    """Ends of faults that are another vendor's published extension of the same wire."""


WIRES = {
    "chat": Spoken(
        "openai",
        'quirks = { limit = "max_completion_tokens", system = "developer", reasoning = "" }\n'
        'effort = "high"\nmax_tokens = 9000',
        CompletionCreateParamsStreaming,
    ),
    "chat that wants its reasoning back": Spoken(
        "openai",
        'quirks = { reasoning = "reasoning_content" }\nmax_tokens = 9000',
        CompletionCreateParamsStreaming,
        (".reasoning_content: unknown (ChatCompletionAssistantMessageParam)",),
    ),
    "responses": Spoken(
        "responses",
        'quirks = { limit = "max_output_tokens", effort = "reasoning" }\neffort = "high"\nmax_tokens = 9000',
        ResponseCreateParamsStreaming,
    ),
    "messages": Spoken(
        "anthropic",
        'quirks = { thinking = "budget", effort = "" }\nthinking = true\nmax_tokens = 9000',
        MessageCreateParamsStreaming,
    ),
    "messages of a model that thinks as it likes": Spoken(
        "anthropic",
        'quirks = { thinking = "adaptive", effort = "output_config" }\neffort = "high"\nmax_tokens = 9000',
        MessageCreateParamsStreaming,
    ),
}
"""Name → wire. aimock itself refuses thinking that comes back unsigned or not first, where a budget is given."""


def fixtures(test: str) -> list[dict[str, Any]]:
    """Each turn thinks, reads a file and answers."""
    found: list[dict[str, Any]] = []
    for turn, path in enumerate(FILES, 1):
        call = {"id": f"call_{turn}", "name": "read", "arguments": json.dumps({"path": path})}
        artifacts = {"reasoningSignature": SIGNATURE, "redactedThinking": [HIDDEN]}
        thinks = {"toolCalls": [call], "reasoning": f"Look into {path}.", **artifacts}
        answers = {"content": f"Answer {turn} is known.", "reasoning": f"Seen {path}.", **artifacts}
        for result, response in ((False, thinks), (True, answers)):
            match = {"userMessage": f"{test} turn {turn}.", "hasToolResult": result}
            found.append({"match": match, "response": response, "chunkSize": 5})
    return found


def session(server: Aimock, name: str, folder: Path) -> list[dict[str, Any]]:
    """The bodies of the four requests of two turns, each turn by a program of its own."""
    wire = WIRES[name]
    test = name.replace(" ", "-")
    server.play(fixtures(test))
    program = Program(folder, server, kind=wire.kind, test=test, more=wire.settings)
    for path, text in FILES.items():
        (program.place.work / path).write_text(text)
    first = program.run(f"Look at it: {test} turn 1.")
    second = program.run("--continue", f"Look again: {test} turn 2.")
    ended = [(ran.code, ran.out) for ran in (first, second)]
    assert ended == [(0, "Answer 1 is known.\n"), (0, "Answer 2 is known.\n")], (first, second)
    assert_intact(program.place.session())
    assert (program.place.leaks(), gone(program.place.alive)) == ([], [])
    exchanges = server.relay.of(test)
    assert len(server.journal(test)) == len(exchanges) == 4
    return [exchange.json() for exchange in exchanges]


def thoughts(kind: str, body: dict[str, Any]) -> list[Any]:
    """What a request brings back of earlier thinking, each piece with what vouches for it."""
    if kind == "responses":
        items = [item for item in body["input"] if item["type"] == "reasoning"]
        return [(item["summary"][0]["text"], _vouched(item)) for item in items]
    said = [message for message in body["messages"] if message["role"] == "assistant"]
    if kind == "openai":
        return [message["reasoning_content"] for message in said if "reasoning_content" in message]
    thinking = ("thinking", "redacted_thinking")
    return [
        {key: value for key, value in block.items() if key != "type"}
        for message in said
        for block in message["content"]
        if block["type"] in thinking
    ]


def _vouched(item: dict[str, Any]) -> bool:
    """aimock's payload names the item that it belongs to."""
    return b64decode(item["encrypted_content"]).decode().endswith(f":{item['id']}")


PLAIN = ["Look into one.txt.", "Seen one.txt.", "Look into two.txt."]
SIGNED = [each for text in PLAIN for each in ({"data": HIDDEN}, {"thinking": text, "signature": SIGNATURE})]
RETURNED: dict[str, list[Any]] = {
    "chat": [],
    "chat that wants its reasoning back": PLAIN,
    "responses": [(text, True) for text in PLAIN],
    "messages": SIGNED,
    "messages of a model that thinks as it likes": SIGNED,
}


@pytest.mark.parametrize("name", WIRES)
def test_every_request_is_as_its_vendor_has_published_it_and_thinking_goes_back(name: str, tmp_path: Path) -> None:
    wire = WIRES[name]
    with aimock(tmp_path) as server:
        bodies = session(server, name, tmp_path / "run")
    faults = [fault for body in bodies for fault in faults_in(body, wire.published)]
    assert [fault for fault in faults if not fault.endswith(wire.known or ("\0",))] == []
    assert bool(faults) is bool(wire.known)
    assert thoughts(wire.kind, bodies[-1]) == RETURNED[name]
