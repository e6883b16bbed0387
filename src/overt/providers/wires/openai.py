"""The chat-completions wire: pure encoding of what goes out, and the decoder of what comes back.

The body is head + messages + tail. The head holds everything that stays (model, parameters, tools, the system
message) with the messages last, so what follows only ever appends:

    {"model":…,"stream":true,"stream_options":{…},…,"tools":[…],"messages":[{system}   head
    ,{user},{assistant},{tool}…                                                        each message after a comma
    ]}   or   ],"tool_choice":"none"}   or   ],"response_format":{…}}                  tail

Without a system text the head ends in `[`, and the first message follows without a comma. One Message may become
several objects of the wire (a result for each call), already joined by commas. Where vendors differ, `Quirks` say
how: this file knows the ways there are, never who goes which.
"""

from msgspec import Raw

from overt.core.codec import decode, encode
from overt.core.messages import Call, Document, Image, Message, Reasoning, Result, Text
from overt.core.requests import Params, Prefix
from overt.core.settings import ModelFacts, Quirks
from overt.providers.wires import MAX_ANSWER, WireKind
from overt.providers.wires._encoding import (
    arguments_text,
    clean,
    data_uri,
    extra_fields,
    file_name,
    known_effort,
    readable,
    tool_name,
)
from overt.providers.wires._openai_decoder import DETAILS, EXTRAS, ChatDecoder

CLOSING = ("tool_choice", "response_format")
"""Fields of the tail, which `extra` does not touch either."""

MB = 1024 * 1024


class OpenAIChat:
    """Chat completions as OpenAI defined them and everyone else speaks them."""

    name = "openai"
    version = 1
    path = "/chat/completions"
    marks = False

    def __init__(self, about: ModelFacts | None = None, *, max_answer: int = MAX_ANSWER) -> None:
        self._about = about or ModelFacts(name="")
        self._quirks = self._about.quirks or Quirks()
        self._max_answer = max_answer

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def whole(self, body: dict[str, object]) -> bool:
        """Whether a body in plain JSON is a reply of this wire."""
        return bool(body.get("choices"))

    def head(self, prefix: Prefix, params: Params) -> bytes:
        fields: dict[str, object] = {"model": clean(params.model), "stream": True}
        if self._quirks.usage:
            fields["stream_options"] = {"include_usage": True}
        fields |= self._parameters(params)
        if prefix.tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": clean(tool.description),
                        "parameters": tool.schema,
                    },
                }
                for tool in prefix.tools
            ]
        return encode(fields)[:-1] + b',"messages":[' + self._system(prefix.system_text())

    def message(self, message: Message) -> bytes:
        if message.role == "assistant":
            return encode(self._assistant(message))
        objects: list[dict[str, object]] = []
        shown: list[Image | Document] = []
        for part in message.parts:
            if isinstance(part, Result):
                objects.append(_result(part))
                shown += [inner for inner in part.parts if not isinstance(inner, Text)]
        if shown:
            # Results carry text only on this wire: what the tools showed follows in the user's name.
            note = Text(text="Shown by the tool results above:")
            objects.append({"role": "user", "content": self._content([note, *shown])})
        spoken = [part for part in message.parts if isinstance(part, Text | Image | Document)]
        if spoken:
            objects.append({"role": "user", "content": self._content(spoken)})
        return b",".join(encode(item) for item in objects)

    def marked(self, message: Message) -> bytes:
        return self.message(message)

    def tail(self, params: Params) -> bytes:
        closing = b"]"
        if params.output_limit is not None and self._quirks.limit:
            closing += b',"%b":%d' % (self._quirks.limit.encode(), params.output_limit)
        if params.tool_choice != "auto":
            closing += b',"tool_choice":"%b"' % params.tool_choice.encode()
        if params.form is not None:
            form = {"name": "reply", "schema": Raw(bytes(params.form)), "strict": True}
            closing += b',"response_format":' + encode({"type": "json_schema", "json_schema": form})
        return closing + b"}"

    def decoder(self) -> ChatDecoder:
        return ChatDecoder(max_answer=self._max_answer)

    def _parameters(self, params: Params) -> dict[str, object]:
        """What was asked for, in the words this server understands; the rest is left out."""
        quirks = self._quirks
        found: dict[str, object] = {}
        if params.max_tokens is not None and quirks.limit:
            found[quirks.limit] = params.max_tokens
        if quirks.temperature:
            found |= {
                name: value
                for name, value in (("temperature", params.temperature), ("top_p", params.top_p))
                if value is not None
            }
        for more in (self._effort(params.effort), self._thinking(params.thinking)):
            _merge(found, more)
        _merge(found, extra_fields(quirks.extra, but=CLOSING))
        if params.output_limit is not None:
            found.pop(quirks.limit, None)
        return found

    def _effort(self, effort: str | None) -> dict[str, object]:
        effort = known_effort(effort, self._about)
        if not effort:
            return {}
        match self._quirks.effort:
            case "reasoning_effort":
                return {"reasoning_effort": effort}
            case "reasoning" | "output_config" as name:
                return {name: {"effort": effort}}
            case "":
                return {}

    def _thinking(self, thinking: bool | None) -> dict[str, object]:
        if thinking is None:
            return {}
        match self._quirks.thinking:
            case "thinking":
                return {"thinking": {"type": "enabled" if thinking else "disabled"}}
            case "enable_thinking":
                return {"enable_thinking": thinking}
            case "chat_template_kwargs":
                return {"chat_template_kwargs": {"enable_thinking": thinking}}
            case "reasoning":
                return {"reasoning": {"enabled": thinking}}
            case "" | "budget" | "adaptive":
                return {}

    def _system(self, text: str) -> bytes:
        if not text:
            return b""
        first = encode({"role": self._quirks.system, "content": clean(text)})
        if self._quirks.system != "user":
            return first
        # Templates without a system role mostly insist on turns that alternate.
        return first + b"," + encode({"role": "assistant", "content": "Understood."})

    def _assistant(self, message: Message) -> dict[str, object]:
        found: dict[str, object] = {"role": "assistant", "content": clean(message.text())}
        reasoning = [part for part in message.parts if isinstance(part, Reasoning)]
        opaque = _opaque(reasoning)
        field = self._quirks.reasoning
        if field == "reasoning_details":
            if details := opaque.get(DETAILS):
                found[DETAILS] = details
            elif any(part.text for part in reasoning):
                found["reasoning"] = clean("".join(part.text for part in reasoning))
        elif field and (reasoning or self._about.reasons):
            found[field] = clean("".join(part.text for part in reasoning))
        calls = message.calls()
        if calls:
            extras = opaque.get(EXTRAS)
            extras = extras if isinstance(extras, dict) else {}
            found["content"] = found["content"] or None
            found["tool_calls"] = [_call(call, extras.get(call.id)) for call in calls]
        return found

    def _content(self, parts: list[Text | Image | Document]) -> str | list[dict[str, object]]:
        shown = [readable(part, self._about) for part in parts]
        if all(isinstance(part, Text) for part in shown):
            between = "\n" if any(not isinstance(part, Text) for part in parts) else ""
            return clean(between.join(part.text for part in shown if isinstance(part, Text)))
        return [
            {"type": "text", "text": clean(part.text)} if isinstance(part, Text) else _attachment(part)
            for part in shown
        ]


def _merge(fields: dict[str, object], more: dict[str, object]) -> None:
    """Two ways to set one object (an effort and a switch, say) meet in one object."""
    for name, value in more.items():
        before = fields.get(name)
        fields[name] = before | value if isinstance(before, dict) and isinstance(value, dict) else value


def _opaque(reasoning: list[Reasoning]) -> dict[str, object]:
    """What this wire's decoder put aside; another wire's is not ours to send."""
    for part in reasoning:
        if part.opaque.startswith(('{"' + DETAILS, '{"' + EXTRAS)):
            try:
                kept = decode(part.opaque)
            except (ValueError, RecursionError):
                continue
            if isinstance(kept, dict):
                return kept
    return {}


def _call(call: Call, extra: object) -> dict[str, object]:
    function = {"name": tool_name(call), "arguments": arguments_text(call)}
    found: dict[str, object] = {"id": call.id, "type": "function", "function": function}
    if extra is not None:
        found["extra_content"] = extra
    return found


def _result(result: Result) -> dict[str, object]:
    text = "".join(part.text for part in result.parts if isinstance(part, Text))
    return {"role": "tool", "tool_call_id": result.call_id, "content": clean(text)}


def _attachment(part: Image | Document) -> dict[str, object]:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": data_uri(part)}}
    return {"type": "file", "file": {"filename": file_name(part), "file_data": data_uri(part)}}


WIRE = WireKind(name="openai", make=OpenAIChat, reasoning_is_quirk=True)
