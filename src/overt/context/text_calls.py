"""Calls and results as text, for models whose server knows nothing of tools.

What a model called goes back as it would write it itself, and what came of it as words of the user. The tools
and the format are told in the prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from overt.core.codec import compact, decode
from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text
from overt.core.protocols import Decoder, Wire
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.settings import Calls
from overt.core.text_fragments import Fragment, Origin

LABEL = 80

SCHEMA_GUIDE = """\
# Tools
Reply with one JSON object and nothing else: one call, `{"tool": NAME, …arguments}`, or, when the task is done or \
needs no call, `{"tool": "final", "text": ANSWER}`. The result of a call comes in the next message; then go on."""

TEXT_GUIDE = """\
# Tools
To call a tool, write this, on lines of its own and not in a code block:
<tool_call>{"name": NAME, "arguments": {…}}</tool_call>
You may write several of them; then stop, and the results come in the next message. Text without such a call is \
your answer and ends the turn."""


class TextCallWire:
    """Another wire that is never told of tools. Messages come in order: a result is labelled after its call."""

    def __init__(self, inner: Wire, calls: Calls) -> None:
        self._inner = inner
        self._calls = calls
        self._labels: dict[str, str] = {}
        self.name = inner.name
        self.version = inner.version
        self.marks = inner.marks

    def head(self, prefix: Prefix, params: Params) -> bytes:
        return self._inner.head(replace(prefix, tools=()), params)

    def message(self, message: Message) -> bytes:
        return self._inner.message(self._spoken(message))

    def marked(self, message: Message) -> bytes:
        return self._inner.marked(self._spoken(message))

    def tail(self, params: Params) -> bytes:
        return self._inner.tail(params)

    def decoder(self) -> Decoder:
        return self._inner.decoder()

    def _spoken(self, message: Message) -> Message:
        if message.role == "assistant":
            for call in message.calls():
                self._labels[call.id] = call_label(call)
            return as_written(message, self._calls)
        return as_told(message, self._labels)


def as_written(message: Message, calls: Calls) -> Message:
    """A reply in the words in which the model gave it, or would have."""
    text = "".join(part.text for part in message.parts if isinstance(part, Text))
    calls_text = [_object(call) if calls == "schema" else _tagged(call) for call in message.calls()]
    if calls == "schema" and not calls_text:
        calls_text, text = [spaced_json({"tool": "final", "text": text})], ""
    reasoning: list[Part] = [part for part in message.parts if isinstance(part, Reasoning)]
    written = "\n".join(piece for piece in (text, *calls_text) if piece)
    return replace(message, parts=(*reasoning, Text(text=written)))


def as_told(message: Message, labels: dict[str, str]) -> Message:
    """Results as words of the user, each under what was called; a failure says that it is one."""
    if not any(isinstance(part, Result) for part in message.parts):
        return message
    words: list[str] = []
    shown: list[Image | Document] = []
    rest: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            words.append(result_text(part, labels))
            shown += [inner for inner in part.parts if not isinstance(inner, Text)]
        else:
            rest.append(part)
    return replace(message, role="user", parts=(Text(text="\n\n".join(words)), *shown, *rest))


def result_text(result: Result, labels: Mapping[str, str]) -> str:
    text = "".join(inner.text for inner in result.parts if isinstance(inner, Text))
    return f"[{labels.get(result.call_id, 'result')}]\n{'Error: ' if result.error else ''}{text}"


def call_label(call: Call) -> str:
    """The tool and what it was about, in one short line."""
    for value in (_arguments(call) or {}).values():
        if isinstance(value, str) and value.strip():
            first = value.strip().splitlines()[0]
            return f"{call.name} {first[:LABEL]}" + ("…" if len(first) > LABEL else "")
    return call.name


def tool_guide(tools: Iterable[ToolSpec], calls: Calls) -> Fragment:
    """The tools and how to call them, for the prompt of a model that is not told of them by its server."""
    lines = [f"- {tool.name} {_shape(decode(tool.schema))}: {tool.description}" for tool in tools]
    text = "\n".join([SCHEMA_GUIDE if calls == "schema" else TEXT_GUIDE, *lines])
    return Fragment(key="tools", text=text, origin=Origin(kind="harness", where="context/text_calls"))


def spaced_json(value: object) -> str:
    """JSON with the spaces that models write, so that what a server remembers of a reply is what it gets back."""
    match value:
        case dict():
            return "{" + ", ".join(f"{spaced_json(key)}: {spaced_json(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(spaced_json, value)) + "]"
        case str():
            return compact(value.encode("utf-8", "replace").decode())  # half a character would be none on the wire
        case _:
            return compact(value)


def _object(call: Call) -> str:
    arguments = _arguments(call)
    return spaced_json({"tool": call.name, **({"arguments": call.arguments} if arguments is None else arguments)})


def _tagged(call: Call) -> str:
    arguments = _arguments(call)
    call_json = {"name": call.name, "arguments": call.arguments if arguments is None else arguments}
    return f"<tool_call>{spaced_json(call_json)}</tool_call>"


def _arguments(call: Call) -> dict[str, object] | None:
    try:
        arguments = decode(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def _shape(schema: dict[str, Any]) -> str:
    match schema.get("type"):
        case "object":
            required: Sequence[str] = schema.get("required", ())
            fields = schema.get("properties", {}).items()
            inner = (f"{name}{'' if name in required else '?'}: {_shape(part)}" for name, part in fields)
            return "{" + ", ".join(inner) + "}"
        case "array":
            return f"[{_shape(schema.get('items', {}))}, …]"
        case _:
            shape = "|".join(map(str, schema["enum"])) if "enum" in schema else str(schema.get("type", "any"))
            return f"{shape} ({schema['description']})" if "description" in schema else shape
