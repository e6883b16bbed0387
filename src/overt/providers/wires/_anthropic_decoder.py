"""Events of the Messages API become one reply: its blocks in their order, whole calls only.

The end is strict: `message_stop`, with every call closed by its own `content_block_stop`; anything else is a cut,
and no call of a cut reply ever leaves. What leads up to it is read loosely, because many servers and gateways
speak this format: a block may come whole in its start, in `message_start` or in one body of JSON; indexes may
repeat; text may come without a start. Blocks of tools that the server ran itself are not ours and are passed over.

A gateway may say `message_start` twice. The same message again is an echo and is ignored. Another message means
that the first one was given up and asked for anew behind our back: what had come of it is dropped, because its
signed thinking belongs to no message that exists, and the reply is the one that ends.
"""

from overt.core.codec import compact
from overt.core.errors import ProviderError
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import CallDelta, Delta, Finish, ReasoningDelta, Reply, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.transport.errors import from_event
from overt.providers.wires._decoding import count, cut, read_event, too_large, unique_ids, word

FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}
STATUSES = {"rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529}
"""The status an error would have had, were it not in the stream; errors with words of their own are left out."""

PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
ANSWER = ("output_tokens",)


class _Block:
    """A block of the reply. `begun`: its start has come; `closed`: its stop."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.begun = False
        self.closed = False
        self.pieces: list[str] = []
        self.signature = ""
        self.opaque = ""
        self.id = ""
        self.name = ""
        self.given = ""
        self.characters = 0
        self.changed = True

    def content(self) -> str:
        return "".join(self.pieces)

    def arguments(self) -> str:
        return self.content().strip() or self.given or "{}"


class AnthropicDecoder:
    """`finished` and `done` come together: nothing follows `message_stop`."""

    def __init__(self, *, max_answer: int) -> None:
        self.finished = False
        self.done = False
        self._max_answer = max_answer
        self._size = 0
        self._id: str | None = None
        self._model = ""
        self._reason = ""
        self._counts: dict[str, int] = {}
        self._blocks: list[_Block] = []
        self._calls: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._said: list[str] = []
        self._thought: list[str] = []

    def feed(self, payload: bytes) -> None:
        if self.done or (not payload.startswith(b"{") and payload.strip() == b"[DONE]"):
            return
        event = read_event(payload)
        if type(event) is not dict:
            return
        kind, index = event.get("type"), event.get("index")
        index = index if type(index) is int else -1
        if kind == "content_block_delta":
            delta = event.get("delta")
            if type(delta) is dict:
                self._take_delta(index, delta)
        elif kind == "content_block_start":
            self._open(index, event.get("content_block"))
        elif kind == "content_block_stop":
            self._close(index)
        elif kind == "message_start":
            self._begin(event.get("message"))
        elif kind == "message_delta":
            self._take_end(event.get("delta"), event.get("usage"))
        elif kind == "message_stop":
            self.finished = self.done = True
        elif kind == "message":
            self._begin(event)
            self.finished = self.done = True
        elif kind == "error" or event.get("error"):
            raise _broken_off(event.get("error"))

    def take(self) -> list[Delta]:
        deltas: list[Delta] = []
        if self._thought:
            deltas.append(ReasoningDelta(text="".join(self._thought)))
            self._thought = []
        if self._said:
            deltas.append(TextDelta(text="".join(self._said)))
            self._said = []
        for index, call in enumerate(self._calls):
            if call.changed:
                call.changed = False
                ready = sum(each.closed for each in self._calls)
                deltas.append(CallDelta(index=index, name=call.name, characters=call.characters, ready=ready))
        return deltas

    def end(self) -> Reply:
        whole = all(call.begun and call.closed for call in self._calls)
        if not (self.done and whole and (self._id is not None or self._blocks)):
            raise cut()
        finish = FINISHES.get(self._reason, "stop")
        if finish in ("stop", "calls"):
            finish = "calls" if self._calls else "stop"
        return Reply(parts=self._parts(), finish=finish, usage=self._usage(), model=self._model)

    def _parts(self) -> tuple[Part, ...]:
        ids = iter(unique_ids([call.id for call in self._calls]))
        parts: list[Part] = []
        for block in self._blocks:
            content = block.content()
            if block.kind == "tool_use":
                parts.append(Call(id=next(ids), name=block.name, arguments=block.arguments()))
            elif block.kind == "text" and content:
                parts.append(Text(text=content))
            elif block.kind == "thinking" and (content or block.signature):
                parts.append(Reasoning(text=content, signature=block.signature))
            elif block.kind == "redacted_thinking":
                parts.append(Reasoning(text="", opaque=block.opaque))
        return tuple(parts)

    def _usage(self) -> Usage:
        counts = self._counts
        cached, written = counts.get("cache_read_input_tokens", 0), counts.get("cache_creation_input_tokens", 0)
        return Usage(
            input=counts.get("input_tokens", 0) + cached + written,
            output=counts.get("output_tokens", 0),
            cached=cached,
            cache_write=written,
            reasoning=counts.get("thinking_tokens", 0),
        )

    def _begin(self, message: object) -> None:
        message = message if isinstance(message, dict) else {}
        id = word(message.get("id"))
        if self._id is not None and id and id == self._id:
            return
        self._id = id
        self._model = word(message.get("model")) or self._model
        self._reason = ""
        self._counts = {}
        self._blocks, self._calls, self._by_index = [], [], {}
        content = message.get("content")
        for number, block in enumerate(content if isinstance(content, list) else []):
            self._open(number, block)
            self._close(number)
        self._take_end(message, message.get("usage"))

    def _take_end(self, delta: object, usage: object) -> None:
        """Counts are totals so far: what comes takes the place of what came before, unless it says nothing but 0."""
        if isinstance(delta, dict):
            self._reason = word(delta.get("stop_reason")) or self._reason
        if not isinstance(usage, dict):
            return
        for names in (PROMPT, ANSWER):
            told = {name: count(usage[name]) for name in names if usage.get(name) is not None}
            if any(told.values()):
                self._counts |= told
        details = usage.get("output_tokens_details")
        if isinstance(details, dict):
            self._counts["thinking_tokens"] = count(details.get("thinking_tokens"))

    def _open(self, index: int, given: object) -> None:
        given = given if isinstance(given, dict) else {}
        block = self._by_index[index] = self._add(word(given.get("type")))
        block.begun = True
        if block.kind == "text":
            self._say(block, given.get("text"))
        elif block.kind == "thinking":
            self._think(block, given.get("thinking"))
            block.signature = word(given.get("signature"))
        elif block.kind == "redacted_thinking":
            block.opaque = compact({"type": block.kind, "data": word(given.get("data"))})
            self._grow(len(block.opaque))
        elif block.kind == "tool_use":
            block.id, block.name = word(given.get("id")), word(given.get("name"))
            self._take_input(block, given.get("input"))

    def _add(self, kind: str) -> _Block:
        block = _Block(kind)
        self._blocks.append(block)
        if kind == "tool_use":
            self._calls.append(block)
        return block

    def _close(self, index: int) -> None:
        block = self._by_index.get(index)
        if block is not None:
            block.closed = block.changed = True

    def _take_delta(self, index: int, delta: dict[str, object]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._say(self._block(index, "text"), delta.get("text"))
        elif kind == "input_json_delta":
            self._write(index, delta.get("partial_json"))
        elif kind == "thinking_delta":
            self._think(self._block(index, "thinking"), delta.get("thinking"))
        elif kind == "signature_delta":
            block = self._block(index, "thinking")
            block.signature = word(delta.get("signature"))
            self._grow(len(block.signature))

    def _block(self, index: int, kind: str) -> _Block:
        """The block a piece belongs to; one of its own where the server forgot to start one."""
        block = self._by_index.get(index)
        if block is not None and block.kind == kind:
            return block
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last.kind == kind and not last.begun:
            return last
        made = self._add(kind)
        self._by_index.setdefault(index, made)
        return made

    def _write(self, index: int, piece: object) -> None:
        block = self._by_index.get(index)
        text = piece if type(piece) is str else ""
        if block is None or block.closed or block.kind != "tool_use":
            if not text or (block is not None and block.begun and block.kind != "tool_use"):
                return
            # Its start was lost, so what it calls is unknown: it never counts as whole, and the reply as cut.
            block = self._by_index[index] = self._add("tool_use")
        block.pieces.append(text)
        block.characters += len(text)
        block.changed = True
        self._grow(len(text))

    def _take_input(self, block: _Block, given: object) -> None:
        """Input that comes with the start: nearly always an empty object that stands for what will stream."""
        if given in (None, "", {}):
            return
        block.given = given if isinstance(given, str) else compact(given)
        block.characters = len(block.given)
        self._grow(len(block.given))

    def _say(self, block: _Block, text: object) -> None:
        if type(text) is str and text:
            block.pieces.append(text)
            self._said.append(text)
            self._grow(len(text))

    def _think(self, block: _Block, text: object) -> None:
        if type(text) is str and text:
            block.pieces.append(text)
            self._thought.append(text)
            self._grow(len(text))

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > self._max_answer:
            raise too_large(self._max_answer)


def _broken_off(error: object) -> ProviderError:
    kind = word(error.get("type")) if isinstance(error, dict) else ""
    if not isinstance(error, dict) or kind not in STATUSES:
        return from_event(error)
    return from_event({"code": STATUSES[kind], "message": word(error.get("message")) or kind})
