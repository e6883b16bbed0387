"""The Responses wire: pure encoding of what goes out, and the decoder of what comes back.

The body is head + items + tail. The head holds everything that stays, with the items last, so what follows only
ever appends:

    {"model":…,"stream":true,"store":false,…,"instructions":…,"tools":[…],"input":[      head
    {message},{reasoning},{function_call},{function_call_output}…                        items, joined by commas
    ]}   or   ],"tool_choice":"none","text":{"format":…}}                                tail

Nothing is kept at the server: reasoning goes back as the item it came as, with its encrypted content. A bare
reference to a stored item would be refused, and so would reasoning that nothing follows; neither is sent. The
assistant's own words go back as plain text: what the server called that message has no meaning to it any more.
"""

from overt.core.codec import decode, encode
from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text
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
from overt.providers.wires._responses_decoder import ResponsesDecoder

MB = 1024 * 1024
CLOSING = ("tool_choice", "text")
"""Fields that may differ from request to request, and therefore follow the items."""


class OpenAIResponses:
    """The Responses API of OpenAI, and of the servers that took it over."""

    name = "responses"
    version = 1
    path = "/responses"
    marks = False

    def __init__(self, about: ModelFacts | None = None, *, max_answer: int = MAX_ANSWER) -> None:
        self._about = about or ModelFacts(name="")
        self._quirks = self._about.quirks or Quirks()
        self._max_answer = max_answer

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def whole(self, body: dict[str, object]) -> bool:
        """Whether a body in plain JSON is a reply of this wire."""
        return body.get("object") == "response" and isinstance(body.get("output"), list)

    def head(self, prefix: Prefix, params: Params) -> bytes:
        quirks = self._quirks
        fields: dict[str, object] = {
            "model": clean(params.model),
            "stream": True,
            "store": False,
        }
        if self._about.reasons is not False:
            fields["include"] = ["reasoning.encrypted_content"]
        if params.max_tokens is not None and quirks.limit:
            fields["max_output_tokens"] = params.max_tokens
        if quirks.effort and (effort := self._effort(params)):
            fields["reasoning"] = {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}
        if quirks.temperature:
            chosen = {"temperature": params.temperature, "top_p": params.top_p}
            fields |= {key: value for key, value in chosen.items() if value is not None}
        fields |= extra_fields(quirks.extra, but=CLOSING)
        if params.output_limit is not None:
            fields.pop("max_output_tokens", None)
        system = clean(prefix.system_text())
        if system and quirks.system == "system":
            fields["instructions"] = system
        if prefix.tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": clean(tool.description),
                    "parameters": tool.schema,
                    "strict": False,
                }
                for tool in prefix.tools
            ]
        first = encode(_said(quirks.system, system)) if system and quirks.system != "system" else b""
        return encode(fields)[:-1] + b',"input":[' + first

    def message(self, message: Message) -> bytes:
        items = self._assistant(message.parts) if message.role == "assistant" else self._given(message.parts)
        return b",".join(items)

    def marked(self, message: Message) -> bytes:
        return self.message(message)

    def tail(self, params: Params) -> bytes:
        fields = {key: value for key, value in self._quirks.extra.items() if key in CLOSING}
        if params.output_limit is not None and self._quirks.limit:
            fields["max_output_tokens"] = params.output_limit
        if params.tool_choice != "auto":
            fields["tool_choice"] = params.tool_choice
        if params.form is not None:
            form = {"type": "json_schema", "name": "reply", "schema": params.form, "strict": True}
            fields["text"] = {**fields.get("text", {}), "format": form}
        return b"]," + encode(fields)[1:] if fields else b"]}"

    def decoder(self) -> ResponsesDecoder:
        return ResponsesDecoder(max_answer=self._max_answer)

    def _effort(self, params: Params) -> str:
        """This wire has no switch for thinking: the least effort comes close, where the model is known to take it."""
        least = next((each for each in ("none", "minimal") if each in self._about.efforts), "")
        return least if params.thinking is False and least else known_effort(params.effort, self._about)

    def _assistant(self, parts: tuple[Part, ...]) -> list[bytes]:
        """The items of a reply in their order, up to the last one that reasoning may lead to."""
        items: list[bytes] = []
        whole = 0
        for part in parts:
            if isinstance(part, Reasoning) and _stands_alone(part.opaque):
                items.append(part.opaque.encode())
            elif isinstance(part, Text) and part.text:
                items.append(encode(_said("assistant", clean(part.text))))
                whole = len(items)
            elif isinstance(part, Call):
                items.append(encode(_call(part)))
                whole = len(items)
        return items[:whole]

    def _given(self, parts: tuple[Part, ...]) -> list[bytes]:
        """What people said and tools answered; answers first, each to its call."""
        results = [encode(self._result(part)) for part in parts if isinstance(part, Result)]
        spoken = [part for part in parts if isinstance(part, Text | Image | Document)]
        return [*results, encode(_said("user", self._content(spoken)))] if spoken else results

    def _result(self, result: Result) -> dict[str, object]:
        return {
            "type": "function_call_output",
            "call_id": clean(result.call_id),
            "output": self._content(list(result.parts)),
        }

    def _content(self, parts: list[Text | Image | Document]) -> str | list[dict[str, object]]:
        shown = [readable(part, self._about) for part in parts]
        if all(isinstance(part, Text) for part in shown):
            return clean("".join(part.text for part in shown if isinstance(part, Text)))
        return [_input(part) for part in shown]


def _said(role: str, content: str | list[dict[str, object]]) -> dict[str, object]:
    return {"type": "message", "role": role, "content": content}


def _call(call: Call) -> dict[str, object]:
    return {
        "type": "function_call",
        "call_id": clean(call.id),
        "name": tool_name(call),
        "arguments": arguments_text(call),
    }


def _input(part: Text | Image | Document) -> dict[str, object]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": clean(part.text)}
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": data_uri(part), "detail": "auto"}
    return {"type": "input_file", "filename": file_name(part), "file_data": data_uri(part)}


def _stands_alone(opaque: str) -> bool:
    """Whether it is a reasoning item of this wire that carries its content with it."""
    if not opaque.startswith("{"):
        return False
    try:
        item = decode(opaque)
    except (ValueError, RecursionError):
        return False
    return item.get("type") == "reasoning" and bool(item.get("encrypted_content") or item.get("content"))


WIRE = WireKind(name="responses", make=OpenAIResponses)
