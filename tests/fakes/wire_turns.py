"""A reply with calls on whichever wire a request came: chat completions, Responses or Anthropic's messages."""

import json
from typing import Any

from tests.fakes.model_server import FakeCall, Recorded, Turn


def reply(request: Recorded, text: str = "", *calls: FakeCall) -> Turn:
    if request.path.endswith("/messages"):
        return Turn(events=tuple(map(json.dumps, _anthropic(text, calls))))
    if request.path.endswith("/responses"):
        return Turn(events=tuple(map(json.dumps, _responses(text, calls))))
    return Turn(text=text, calls=calls)


def _anthropic(text: str, calls: tuple[FakeCall, ...]) -> list[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "fake-model", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": text}))
    for each in calls:
        block = {"type": "tool_use", "id": each.id, "name": each.name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(each.arguments)}))
    for index, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = "tool_use" if calls else "end_turn"
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}})
    return [*events, {"type": "message_stop"}]


def _responses(text: str, calls: tuple[FakeCall, ...]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items.append({"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content})
    for each in calls:
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{each.id}",
                "call_id": each.id,
                "name": each.name,
                "arguments": json.dumps(each.arguments),
                "status": "completed",
            }
        )
    done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    completed = {"id": "r", "status": "completed", "output": items, "usage": {"input_tokens": 10, "output_tokens": 1}}
    return [
        {"type": "response.created", "response": {"id": "r"}},
        *done,
        {"type": "response.completed", "response": completed},
    ]
