"""The chat-completions wire: pure encoding of what goes out, and the decoder of what comes back.

The body is head + messages + tail. The head holds everything that stays (model, parameters, tools, the system
message) with the messages last, so what follows only ever appends:

    {"model":…,"stream":true,"stream_options":{…},…,"tools":[…],"messages":[{system}   head
    ,{user},{assistant},{tool}…                                                        each message after a comma
    ]}   or   ],"tool_choice":"none"}                                                  tail

Without a system text the head ends in `[`, and the first message follows without a comma. One Message may become
several objects of the wire (a result for each call), already joined by commas.
"""

from base64 import b64encode
from typing import Any

from overt.core.codec import decode, encode
from overt.core.messages import Call, Document, Image, Message, Reasoning, Result, Text
from overt.core.requests import Params, Prefix
from overt.providers._chat_decoder import ChatDecoder

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
MB = 1024 * 1024


class OpenAIChat:
    """Chat completions as OpenAI defined them and everyone else speaks them."""

    name = "openai"
    version = 1
    path = "/chat/completions"

    def __init__(self, *, max_answer: int = 8 * MB) -> None:
        self._max_answer = max_answer

    def head(self, prefix: Prefix, params: Params) -> bytes:
        fields: dict[str, Any] = {
            "model": _clean(params.model),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        optional = {
            "max_tokens": params.max_tokens,
            "temperature": params.temperature,
            "top_p": params.top_p,
            "reasoning_effort": params.effort,
        }
        fields |= {key: value for key, value in optional.items() if value is not None}
        if prefix.tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": _clean(tool.description),
                        "parameters": tool.schema,
                    },
                }
                for tool in prefix.tools
            ]
        system = prefix.system_text()
        first = encode({"role": "system", "content": _clean(system)}) if system else b""
        return encode(fields)[:-1] + b',"messages":[' + first

    def message(self, message: Message) -> bytes:
        if message.role == "assistant":
            return encode(_assistant(message))
        objects: list[dict[str, Any]] = []
        shown: list[Image | Document] = []
        for part in message.parts:
            if isinstance(part, Result):
                objects.append(_result(part))
                shown += [inner for inner in part.parts if not isinstance(inner, Text)]
        if shown:
            # Results carry text only on this wire: what the tools showed follows in the user's name.
            note = {"type": "text", "text": "Shown by the tool results above:"}
            objects.append({"role": "user", "content": [note, *map(_attachment, shown)]})
        spoken = [part for part in message.parts if isinstance(part, Text | Image | Document)]
        if spoken:
            objects.append({"role": "user", "content": _content(spoken)})
        return b",".join(encode(item) for item in objects)

    def tail(self, params: Params) -> bytes:
        return b"]}" if params.tool_choice == "auto" else b'],"tool_choice":"none"}'

    def decoder(self) -> ChatDecoder:
        return ChatDecoder(max_answer=self._max_answer)


def _assistant(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": "assistant", "content": _clean(message.text())}
    reasoning = [part.text for part in message.parts if isinstance(part, Reasoning)]
    if reasoning:
        found["reasoning_content"] = _clean("".join(reasoning))
    calls = message.calls()
    if calls:
        found["content"] = found["content"] or None
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": _name(call), "arguments": _arguments(call)}}
            for call in calls
        ]
    return found


def _result(result: Result) -> dict[str, Any]:
    text = "".join(part.text for part in result.parts if isinstance(part, Text))
    return {"role": "tool", "tool_call_id": result.call_id, "content": _clean(text)}


def _content(parts: list[Text | Image | Document]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in parts):
        return _clean("".join(part.text for part in parts if isinstance(part, Text)))
    return [
        {"type": "text", "text": _clean(part.text)} if isinstance(part, Text) else _attachment(part) for part in parts
    ]


def _attachment(part: Image | Document) -> dict[str, Any]:
    uri = f"data:{part.media};base64,{b64encode(part.data).decode()}"
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": uri}}
    return {"type": "file", "file": {"filename": _clean(part.name) or "document", "file_data": uri}}


def _name(call: Call) -> str:
    """Servers reject a whole conversation for one name outside their alphabet, whoever made it up."""
    if call.name and len(call.name) <= 64 and NAME_CHARACTERS.issuperset(call.name):
        return call.name
    return "".join(c if c in NAME_CHARACTERS else "_" for c in call.name)[:64] or "unknown"


def _arguments(call: Call) -> str:
    """The arguments as the model wrote them, or an empty object when a server would choke on them."""
    text = _clean(call.arguments)
    try:
        return text if isinstance(decode(text), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _clean(text: str) -> str:
    """Text that UTF-8 can carry: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
