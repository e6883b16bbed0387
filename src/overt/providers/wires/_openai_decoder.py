"""Chat-completions events become one reply, however loosely the server follows the format.

Everything here works on plain values and believes nothing: a field of the wrong type is skipped, calls are told
apart by index, id and name together, and ids are made unique. The end is strict. A reply is whole when a
`finish_reason` has come, or `[DONE]` after at least one choice with no call left half-written; anything else is
a cut, and no call of a cut reply ever leaves.
"""

from overt.core.codec import compact
from overt.core.errors import ProviderError
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import CallDelta, Delta, Finish, ReasoningDelta, Reply, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.transport.errors import from_event
from overt.providers.wires._decoding import cut, is_object, read_event, too_large, unique_ids, word
from overt.providers.wires._openai_values import ReasoningBlocks, split, timed, usage_of

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "tool_use": "calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "repetition_truncation": "length",
    "content_filter": "filter",
    "sensitive": "filter",
    "safety": "filter",
    "refusal": "filter",
}
"""Reasons in lower case; any other one ends a reply as `stop` does."""

FAILURES = {
    "error": "The server ended its reply with an error and gave no reason.",
    "abort": "The server gave up in the middle of its reply. Try again.",
    "network_error": "The server lost its own connection in the middle of its reply. Try again.",
    "insufficient_system_resource": "The server ran out of resources in the middle of its reply. Try again.",
}
DETAILS, EXTRAS = "reasoning_details", "extra_content"
"""What vendors want back as it came: blocks of reasoning, and what hangs on a call (by the call's id)."""


class _OpenCall:
    """A call whose arguments are still arriving."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.extra: object = None
        self.pieces: list[str] = []
        self.characters = 0
        self.changed = True

    def arguments(self) -> str:
        return "".join(self.pieces)

    def whole(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and is_object(self.arguments())


class ChatDecoder:
    """`finished`: the reply is whole, only its usage may follow. `done`: nothing that follows matters."""

    def __init__(self, *, max_answer: int) -> None:
        self.finished = False
        self.done = False
        self._max_answer = max_answer
        self._size = 0
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._details = ReasoningBlocks()
        self._reasoned = False
        self._text_taken = 0
        self._reasoning_taken = 0
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._chosen = False
        self._reason = ""
        self._usage = Usage()
        self._model = ""

    def feed(self, payload: bytes) -> None:
        if self.done:
            return
        if not payload.startswith(b"{") and payload.strip() == b"[DONE]":
            self.done = True
            return
        chunk = read_event(payload)
        if type(chunk) is not dict:
            return
        if chunk.get("error"):
            raise from_event(chunk["error"])
        choices = chunk.get("choices")
        if type(choices) is list and choices and type(choices[0]) is dict:
            self._take_choice(choices[0])
        usage = chunk.get("usage")
        if usage:
            self._usage = usage_of(usage) or self._usage
        if "timings" in chunk or "x_groq" in chunk:
            self._take_rest(chunk)
        if not self._model:
            model = chunk.get("model")
            self._model = model if isinstance(model, str) else ""

    def take(self) -> list[Delta]:
        deltas: list[Delta] = []
        if len(self._reasoning) > self._reasoning_taken:
            deltas.append(ReasoningDelta(text="".join(self._reasoning[self._reasoning_taken :])))
            self._reasoning_taken = len(self._reasoning)
        if len(self._text) > self._text_taken:
            deltas.append(TextDelta(text="".join(self._text[self._text_taken :])))
            self._text_taken = len(self._text)
        for index, call in enumerate(self._calls):
            if call.changed:
                call.changed = False
                ready = len(self._calls) if self.finished else len(self._calls) - 1
                deltas.append(CallDelta(index=index, name=call.name, characters=call.characters, ready=ready))
        return deltas

    def end(self) -> Reply:
        if self._reason in FAILURES:
            raise ProviderError(FAILURES[self._reason], kind="server")
        calls = [call for call in self._calls if call.name or call.characters]
        ended = self._reason or (self.done and self._chosen and all(call.whole() or not call.pieces for call in calls))
        if not ended:
            raise cut()
        finish = FINISHES.get(self._reason, "stop")
        if finish in ("stop", "calls"):
            finish = "calls" if calls else "stop"
        return Reply(parts=self._parts(calls), finish=finish, usage=self._usage, model=self._model)

    def _parts(self, calls: list[_OpenCall]) -> tuple[Part, ...]:
        parts: list[Part] = []
        text = "".join(self._text)
        if text:
            parts.append(Text(text=text))
        extras: dict[str, object] = {}
        for call, id in zip(calls, unique_ids([call.id for call in calls]), strict=True):
            if call.extra is not None:
                extras[id] = call.extra
            parts.append(Call(id=id, name=call.name, arguments=call.arguments().strip() or "{}"))
        kept = {name: value for name, value in ((DETAILS, self._details.whole()), (EXTRAS, extras)) if value}
        if self._reasoned or kept:
            opaque = compact(kept) if kept else ""
            parts.insert(0, Reasoning(text="".join(self._reasoning), opaque=opaque))
        return tuple(parts)

    def _take_choice(self, choice: dict[str, object]) -> None:
        self._chosen = True
        delta = choice.get("delta")
        if type(delta) is dict:
            content = delta.get("content")
            if content:
                self._take_content(content)
            reasoning = delta.get("reasoning_content")
            if reasoning is None:
                reasoning = delta.get("reasoning")
            if type(reasoning) is str:
                self._think(reasoning)
            if details := delta.get(DETAILS):
                self._take_details(details, shown=type(reasoning) is str)
            calls = delta.get("tool_calls") or delta.get("function_call")
            if calls:
                self._take_calls(calls)
            elif not content and type(delta.get("refusal")) is str:
                self._say(delta["refusal"])
        elif type(message := choice.get("message")) is dict:
            self._take_message(message)
        elif type(text := choice.get("text")) is str:
            self._say(text)
        reason = choice.get("finish_reason")
        if reason and type(reason) is str:
            self._reason = reason.lower()
            self.finished = True
            if usage := choice.get("usage"):  # Moonshot's place for it
                self._usage = usage_of(usage) or self._usage

    def _take_rest(self, chunk: dict[str, object]) -> None:
        """Counts in places of their own: Groq's `x_groq`, and what llama.cpp took from its cache."""
        groq, timings = chunk.get("x_groq"), chunk.get("timings")
        if isinstance(groq, dict) and groq.get("usage") and not chunk.get("usage"):
            self._usage = usage_of(groq["usage"]) or self._usage
        if isinstance(timings, dict):
            self._usage = timed(self._usage, timings)

    def _take_message(self, message: dict[str, object]) -> None:
        """A whole message, alone or after its pieces: only what has not come yet is added."""
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        spoken, thought = split(message.get("content"))
        if not self._reasoning and (isinstance(reasoning, str) or thought):
            self._think(reasoning if isinstance(reasoning, str) else thought)
        if message.get(DETAILS) and not self._details:
            self._take_details(message[DETAILS], shown=bool(self._reasoning))
        so_far = "".join(self._text)
        if spoken.startswith(so_far):
            self._say(spoken[len(so_far) :])
        calls = message.get("tool_calls") or message.get("function_call")
        if calls and not self._calls:
            self._take_calls(calls)

    def _take_content(self, content: object) -> None:
        if type(content) is str:
            self._say(content)
            return
        spoken, thought = split(content)
        if thought:
            self._think(thought)
        self._say(spoken)

    def _take_details(self, details: object, *, shown: bool) -> None:
        """Blocks of reasoning, kept as they came; their text is shown unless it came in plain words as well."""
        for detail in details if isinstance(details, list) else [details]:
            if isinstance(detail, dict):
                text = self._details.take(detail)
                if text and not shown:
                    self._think(text)
                else:
                    self._grow(len(text or str(detail.get("data", ""))))

    def _say(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._grow(len(text))

    def _think(self, text: str) -> None:
        # An empty field still says that the model reasons, and such a message must carry it when it goes back.
        self._reasoned = True
        if text:
            self._reasoning.append(text)
            self._grow(len(text))

    def _take_calls(self, items: object) -> None:
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict):
                self._take_call(item)

    def _take_call(self, item: dict[str, object]) -> None:
        function = item.get("function")
        inner = function if isinstance(function, dict) else item
        id, name, arguments = word(item.get("id")), word(inner.get("name")), inner.get("arguments")
        call = self._find(item.get("index"), id, name)
        call.changed = True
        call.id = call.id or id
        call.name = call.name or name
        if call.extra is None:
            call.extra = item.get(EXTRAS)
        if isinstance(arguments, str):
            piece = arguments
        elif arguments is None:
            return
        else:
            piece = compact(arguments)
        call.pieces.append(piece)
        call.characters += len(piece)
        self._grow(len(piece))

    def _find(self, index: object, id: str, name: str) -> _OpenCall:
        """The call a piece belongs to, a new one when it cannot belong to any that is open."""
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is None or _begins_another(known, id, name):
                known = self._by_index[index] = self._open()
            return known
        if id:
            known = next((call for call in reversed(self._calls) if call.id == id), None)
            return known if known is not None and not _begins_another(known, "", name) else self._open()
        if self._calls and not (name and _begins_another(self._calls[-1], "", name)):
            return self._calls[-1]
        return self._open()

    def _open(self) -> _OpenCall:
        call = _OpenCall()
        self._calls.append(call)
        return call

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > self._max_answer:
            raise too_large(self._max_answer)


def _begins_another(known: _OpenCall, id: str, name: str) -> bool:
    """Some servers give every call index 0, some repeat the name in every piece, some invent an id for each."""
    if not (name and known.name):
        return False
    if id and known.id:
        return id != known.id
    return name != known.name or known.whole()
