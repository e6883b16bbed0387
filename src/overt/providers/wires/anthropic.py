"""The Messages wire of Anthropic: pure encoding of what goes out, and the decoder of what comes back.

The body is head + messages + tail, and all but the end of it only ever grows:

    {"model":…,"max_tokens":…,"stream":true,…,"tools":[…],"system":[…],"messages":[     head
    {user},{assistant},{user}…                                                          messages between commas
    ]}   or   ],"tool_choice":…,"output_config":…}                                      tail

Everything about the shape of a reply that may change from one request to the next (the choice of tools, the form
of the text and, because they share a key, the effort) travels in the tail.

The server caches up to a mark, and a request may hold four. One stands at the end of the tools, one at the end of
the system text, and one or two in the last message, whose marked bytes count as closing bytes. The server looks
back 20 blocks from a mark for what it has already cached; a message of many blocks (the results of many calls)
could lie further from the last mark than that, so its first block is marked as well.

`path` is joined to base_url as it stands, so a base_url ends in /v1 here too: https://api.anthropic.com/v1, or
https://api.deepseek.com/anthropic/v1 where a vendor's own guide, written for clients that add it, leaves it out.
"""

from base64 import b64encode

from msgspec import Raw

from overt.core.codec import decode, encode
from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text
from overt.core.requests import Params, Prefix
from overt.core.settings import ModelFacts, Quirks
from overt.providers.wires import MAX_ANSWER, WireKind
from overt.providers.wires._anthropic_decoder import AnthropicDecoder
from overt.providers.wires._encoding import (
    NAME_CHARACTERS,
    arguments_text,
    clean,
    extra_fields,
    file_name,
    known_effort,
    omission_note,
    tool_name,
)

MB = 1024 * 1024
USUAL_OUTPUT = 8192
MARK = {"type": "ephemeral"}
UNMARKED = ("thinking", "redacted_thinking")
MANY_BLOCKS = 8
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
TEXTS = ("application/json", "application/xml", "application/javascript")
NO_EFFORT = ("", "none", "off")
BUDGETS = {"minimal": 1024, "low": 4096, "medium": 10_240, "high": 24_576, "xhigh": 32_768, "max": 49_152}
LEAST_BUDGET = 1024
IN_TAIL = ("tool_choice", "output_config")
LIMITED = ("max_tokens", "thinking")
"""What travels in the closing bytes where a spend limit decides how long a reply may be."""

Block = dict[str, object]


class Anthropic:
    """Messages as Anthropic defined them and some others accept them."""

    name = "anthropic"
    version = 1
    path = "/messages"

    def __init__(self, about: ModelFacts | None = None, *, max_answer: int = MAX_ANSWER) -> None:
        self._about = about or ModelFacts(name="")
        self._quirks = self._about.quirks or Quirks()
        self._max_answer = max_answer
        self.marks = self._quirks.cache_marks

    def headers(self, key: str | None) -> dict[str, str]:
        own = {"anthropic-version": "2023-06-01"}
        return {"x-api-key": key, **own} if key else own

    def whole(self, body: dict[str, object]) -> bool:
        """Whether a body in plain JSON is a reply of this wire."""
        return body.get("type") == "message"

    def head(self, prefix: Prefix, params: Params) -> bytes:
        fields: Block = {"model": clean(params.model), "max_tokens": self._limit(params), "stream": True}
        thinking = self._thinking(params, self._limit(params))
        if self._quirks.temperature and not _thinks(thinking):
            # Newer models take one of the two and refuse both.
            if params.temperature is not None:
                fields["temperature"] = params.temperature
            elif params.top_p is not None:
                fields["top_p"] = params.top_p
        if thinking:
            fields["thinking"] = thinking
        fields |= extra_fields(self._quirks.extra, but=IN_TAIL)
        if params.output_limit is not None:
            fields = {key: value for key, value in fields.items() if key not in LIMITED}
        if prefix.tools:
            fields["tools"] = self._with_mark(
                [
                    {"name": tool.name, "description": clean(tool.description), "input_schema": tool.schema}
                    for tool in prefix.tools
                ]
            )
        system = [_text(fragment.text) for fragment in prefix.system if fragment.text.strip()]
        if system:
            fields["system"] = self._with_mark(system)
        return encode(fields)[:-1] + b',"messages":['

    def message(self, message: Message) -> bytes:
        return _encoded(message, self._blocks(message))

    def marked(self, message: Message) -> bytes:
        blocks = self._blocks(message)
        if len(blocks) > MANY_BLOCKS and blocks[0]["type"] not in UNMARKED:
            blocks[0] = self._with_mark(blocks[:1])[0]
        return _encoded(message, self._with_mark(blocks))

    def tail(self, params: Params) -> bytes:
        fields: Block = {key: self._quirks.extra[key] for key in IN_TAIL if key in self._quirks.extra}
        thinking = self._thinking(params, params.output_limit or self._limit(params))
        if params.output_limit is not None:
            fields |= {"max_tokens": params.output_limit, **({"thinking": thinking} if thinking else {})}
        if params.tool_choice == "none":
            fields["tool_choice"] = {"type": "none"}
        elif params.tool_choice == "required" and not _thinks(thinking):
            # A model that thinks first cannot be forced to begin with a call: the server refuses the two together.
            fields["tool_choice"] = {"type": "any"}
        config: Block = {}
        effort = known_effort(params.effort, self._about)
        if self._quirks.effort == "output_config" and effort not in NO_EFFORT:
            config["effort"] = clean(effort)
        if params.form is not None:
            config["format"] = {"type": "json_schema", "schema": params.form}
        if config:
            before = fields.get("output_config")
            fields["output_config"] = {**before, **config} if isinstance(before, dict) else config
        return b"]," + encode(fields)[1:] if fields else b"]}"

    def decoder(self) -> AnthropicDecoder:
        return AnthropicDecoder(max_answer=self._max_answer)

    def _limit(self, params: Params) -> int:
        return params.max_tokens or self._about.output or USUAL_OUTPUT

    def _thinking(self, params: Params, limit: int) -> Block:
        """What is said about thinking, within the limit of a reply; nothing where it is not understood or not asked."""
        if self._quirks.thinking not in ("budget", "adaptive"):
            return {}
        if params.thinking is False:
            return {"type": "disabled"}
        effort = known_effort(params.effort, self._about)
        if not params.thinking and effort in NO_EFFORT:
            return {}
        if self._quirks.thinking == "adaptive":
            # Without `display` the newest models think in silence, and reasoning is to be seen.
            return {"type": "adaptive", "display": "summarized"}
        budget = min(BUDGETS.get(effort, BUDGETS["medium"]), limit // 2)
        return {"type": "enabled", "budget_tokens": budget} if budget >= LEAST_BUDGET else {}

    def _with_mark(self, blocks: list[Block]) -> list[Block]:
        """The same blocks with a mark on the last one that may carry it."""
        if not self.marks:
            return blocks
        for at in range(len(blocks) - 1, -1, -1):
            if blocks[at].get("type") not in UNMARKED:
                return [*blocks[:at], {**blocks[at], "cache_control": MARK}, *blocks[at + 1 :]]
        return blocks

    def _blocks(self, message: Message) -> list[Block]:
        if message.role == "assistant":
            return _assistant(message.parts)
        results = [self._result(part) for part in message.parts if isinstance(part, Result)]
        spoken = [part for part in message.parts if isinstance(part, Text | Image | Document)]
        return results + self._content(spoken)

    def _result(self, result: Result) -> Block:
        found: Block = {"type": "tool_result", "tool_use_id": _id(result.call_id)}
        content = self._content(result.parts)
        if content:
            found["content"] = content
        if result.error:
            found["is_error"] = True
        return found

    def _content(self, parts: tuple[Text | Image | Document, ...] | list[Text | Image | Document]) -> list[Block]:
        blocks = (_text(part.text) if isinstance(part, Text) else self._attachment(part) for part in parts)
        return [block for block in blocks if not isinstance(text := block.get("text"), str) or text.strip()]

    def _attachment(self, part: Image | Document) -> Block:
        if isinstance(part, Image):
            if self._about.images is False or part.media not in IMAGES:
                return _text(omission_note(part))
            return {"type": "image", "source": _source("base64", part.media, b64encode(part.data).decode())}
        source = None if self._about.documents is False else _document(part)
        if source is None:
            return _text(omission_note(part))
        return {"type": "document", "source": source, "title": file_name(part)}


def _assistant(parts: tuple[Part, ...]) -> list[Block]:
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Reasoning):
            blocks += _reasoning(part)
        elif isinstance(part, Text) and part.text.strip():
            blocks.append(_text(part.text))
        elif isinstance(part, Call):
            arguments = Raw(arguments_text(part).encode())
            blocks.append({"type": "tool_use", "id": _id(part.id), "name": tool_name(part), "input": arguments})
    while blocks and blocks[-1]["type"] in UNMARKED:
        blocks.pop()  # the server refuses a message that ends in a thought
    return blocks


def _reasoning(part: Reasoning) -> list[Block]:
    """Thinking goes back as it came, or not at all: unsigned, or another vendor's, it would be refused."""
    if not part.opaque:
        signed: Block = {"type": "thinking", "thinking": clean(part.text), "signature": clean(part.signature)}
        return [signed] if part.signature else []
    try:
        block = decode(part.opaque)
    except (ValueError, RecursionError):
        return []
    return [block] if isinstance(block, dict) and block.get("type") == "redacted_thinking" else []


def _document(part: Document) -> Block | None:
    if part.media == "application/pdf":
        return _source("base64", part.media, b64encode(part.data).decode())
    if not part.media.startswith("text/") and part.media not in TEXTS:
        return None
    text = part.data.decode("utf-8", "replace")
    return _source("text", "text/plain", text) if text.strip() else None


def _source(kind: str, media: str, data: str) -> Block:
    return {"type": kind, "media_type": media, "data": data}


def _text(text: str) -> Block:
    return {"type": "text", "text": clean(text)}


def _thinks(thinking: Block) -> bool:
    return thinking.get("type") in ("enabled", "adaptive")


def _id(id: str) -> str:
    """An id of another vendor spelled in the letters that ids may have here, the same for a call and its result."""
    return "".join(c if c in NAME_CHARACTERS else f"_{ord(c):x}_" for c in id) or "_"


def _encoded(message: Message, blocks: list[Block]) -> bytes:
    """Nothing for a message without content, which the server would refuse."""
    if not blocks:
        return b""
    return encode({"role": "assistant" if message.role == "assistant" else "user", "content": blocks})


WIRE = WireKind(name="anthropic", make=Anthropic, limits_every_reply=True, has_system_role=False)
