"""The checker of published types is itself checked: it has to find what it is there for."""

from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from tests.judges.published import faults_in

CHAT: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
RESPONSES: dict[str, Any] = {"model": "m", "stream": True, "input": [{"role": "user", "content": "hello"}]}
MESSAGES: dict[str, Any] = CHAT | {"max_tokens": 9}
THINKING = {"type": "thinking", "thinking": "so"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}

CASES: dict[str, tuple[dict[str, Any], Any, list[str]]] = {
    "a chat request": (CHAT, CompletionCreateParamsStreaming, []),
    "a responses request": (RESPONSES, ResponseCreateParamsStreaming, []),
    "a messages request": (MESSAGES, MessageCreateParamsStreaming, []),
    "an unknown parameter": (
        CHAT | {"effort": "high"},
        CompletionCreateParamsStreaming,
        ["body.effort: unknown (CompletionCreateParamsStreaming)"],
    ),
    "an unknown key deep inside": (
        CHAT | {"messages": [{"role": "assistant", "content": "x", "reasoning_content": "y"}]},
        CompletionCreateParamsStreaming,
        ["body.messages[0].reasoning_content: unknown (ChatCompletionAssistantMessageParam)"],
    ),
    "a missing parameter": (
        CHAT,
        MessageCreateParamsStreaming,
        ["body.max_tokens: missing (MessageCreateParamsStreaming)"],
    ),
    "thinking without its signature": (
        MESSAGES | {"messages": [{"role": "assistant", "content": [THINKING]}]},
        MessageCreateParamsStreaming,
        ["body.messages[0].content[0].signature: missing (ThinkingBlockParam)"],
    ),
    "reasoning that is not an item": (
        RESPONSES | {"input": [REASONING | {"signature": "x"}]},
        ResponseCreateParamsStreaming,
        ["body.input[0].signature: unknown (ResponseReasoningItemParam)"],
    ),
    "a value of another type": (
        RESPONSES | {"input": [{"type": "function_call", "call_id": "c", "name": "n", "arguments": {}}]},
        ResponseCreateParamsStreaming,
        ["body.input[0].arguments: dict where str is published"],
    ),
    "a number where a truth is wanted": (
        CHAT | {"stream": 1},
        CompletionCreateParamsStreaming,
        ["body.stream: 1 is none of (True,)"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_finds_exactly_what_is_wrong(name: str) -> None:
    body, published, expected = CASES[name]
    assert faults_in(body, published) == expected
