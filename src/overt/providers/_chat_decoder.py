"""Chat-completions events become one reply, however loosely the server follows the format.

Everything here works on plain values and believes nothing: a field of the wrong type is skipped, calls are told
apart by index, id and name together, and ids are made unique. The end is strict. A reply is whole when a
`finish_reason` has come, or `[DONE]` after at least one choice with no call left half-written; anything else is
a cut, and no call of a cut reply ever leaves.
"""

from typing import Any

from overt.core.codec import compact, decode
from overt.core.errors import ProviderError
from overt.core.late import late
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import CallDelta, Delta, Finish, ReasoningDelta, Reply, TextDelta
from overt.core.usage import Usage
from overt.providers._errors import from_event

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "tool_use": "calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filter",
}
FAILURES = {
    "error": "The server ended its reply with an error and gave no reason.",
    "insufficient_system_resource": "The server ran out of resources in the middle of its reply. Try again.",
}


class _OpenCall:
    """A call whose arguments are still arriving."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.characters = 0
        self.changed = True

    def arguments(self) -> str:
        return "".join(self.pieces)

    def whole(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and _is_object(self.arguments())


class ChatDecoder:
    """`finished`: the reply is whole, only its usage may follow. `done`: nothing that follows matters."""

    def __init__(self, *, max_answer: int) -> None:
        self.finished = False
        self.done = False
        self._max_answer = max_answer
        self._size = 0
        self._text: list[str] = []
        self._reasoning: list[str] = []
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
        if not payload.startswith(b"{") and payload.strip() == b"[DONE]":
            self.done = True
            return
        try:
            chunk = decode(payload)
        except ValueError:
            chunk = _decode_broken(payload)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if type(chunk) is not dict:
            return
        if chunk.get("error"):
            raise from_event(chunk["error"])
        choices = chunk.get("choices")
        if type(choices) is list and choices and type(choices[0]) is dict:
            self._take_choice(choices[0])
        usage = chunk.get("usage")
        if usage:
            self._usage = _usage(usage) or self._usage
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
            raise ProviderError(
                "The connection ended in the middle of the reply: what came so far is incomplete, and nothing "
                "in it was run. Try again.",
                kind="cut",
                retryable=True,
            )
        finish = FINISHES.get(self._reason, "stop")
        if finish in ("stop", "calls"):
            finish = "calls" if calls else "stop"
        return Reply(parts=self._parts(calls), finish=finish, usage=self._usage, model=self._model)

    def _parts(self, calls: list[_OpenCall]) -> tuple[Part, ...]:
        parts: list[Part] = []
        if self._reasoned:
            parts.append(Reasoning(text="".join(self._reasoning)))
        text = "".join(self._text)
        if text:
            parts.append(Text(text=text))
        taken = {call.id for call in calls}
        seen: set[str] = set()
        for number, call in enumerate(calls):
            id = call.id
            if not id or id in seen:
                id = _fresh(number, taken)
                taken.add(id)
            seen.add(id)
            parts.append(Call(id=id, name=call.name, arguments=call.arguments().strip() or "{}"))
        return tuple(parts)

    def _take_choice(self, choice: dict[str, Any]) -> None:
        self._chosen = True
        delta = choice.get("delta")
        if type(delta) is dict:
            content = delta.get("content")
            if content:
                self._say(content if type(content) is str else _text_of(content))
            reasoning = delta.get("reasoning_content")
            if reasoning is None:
                reasoning = delta.get("reasoning")
            if type(reasoning) is str:
                self._think(reasoning)
            calls = delta.get("tool_calls")
            if calls:
                self._take_calls(calls)
        elif type(choice.get("message")) is dict:
            self._take_message(choice["message"])
        elif type(choice.get("text")) is str:
            self._say(choice["text"])
        reason = choice.get("finish_reason")
        if reason and type(reason) is str:
            self._reason = reason
            self.finished = True

    def _take_message(self, message: dict[str, Any]) -> None:
        """A whole message, alone or after its pieces: only what has not come yet is added."""
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        if isinstance(reasoning, str) and not self._reasoning:
            self._think(reasoning)
        text = _text_of(message.get("content"))
        so_far = "".join(self._text)
        if text.startswith(so_far):
            self._say(text[len(so_far) :])
        if message.get("tool_calls") and not self._calls:
            self._take_calls(message["tool_calls"])

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

    def _take_calls(self, items: Any) -> None:
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict):
                self._take_call(item)

    def _take_call(self, item: dict[str, Any]) -> None:
        function = item.get("function")
        inner = function if isinstance(function, dict) else item
        id, name, arguments = _string(item.get("id")), _string(inner.get("name")), inner.get("arguments")
        call = self._find(item.get("index"), id, name)
        call.changed = True
        call.id = call.id or id
        call.name = call.name or name
        if isinstance(arguments, str):
            piece = arguments
        elif arguments is None:
            return
        else:
            piece = compact(arguments)
        call.pieces.append(piece)
        call.characters += len(piece)
        self._grow(len(piece))

    def _find(self, index: Any, id: str, name: str) -> _OpenCall:
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
            raise ProviderError(
                f"The reply grew beyond {self._max_answer / 1024 / 1024:.3g} MB and was abandoned. "
                "If that is intended, raise `max_answer` of this provider.",
                kind="too_large",
            )


def _begins_another(known: _OpenCall, id: str, name: str) -> bool:
    """Some servers give every call index 0, some repeat the name in every piece, some invent an id for each."""
    if not (name and known.name):
        return False
    if id and known.id:
        return id != known.id
    return known.whole()


def _fresh(number: int, taken: set[str]) -> str:
    while f"call_{number}" in taken:
        number += 1
    return f"call_{number}"


def _text_of(content: Any, depth: int = 8) -> str:
    """Text from a string, a list of typed parts or an object; compact JSON when nothing says what it is."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and depth:
        return "".join(_text_of(part, depth - 1) for part in content)
    if isinstance(content, dict) and depth:
        for key in ("text", "content", "value", "output_text", "refusal"):
            if isinstance(content.get(key), str | list):
                return _text_of(content[key], depth - 1)
    return compact(content)


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    return Usage(
        input=_count(usage.get("prompt_tokens")),
        output=_count(usage.get("completion_tokens")),
        cached=_count(prompt.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens")),
        cache_write=_count(prompt.get("cache_creation_tokens")) or _count(usage.get("cache_creation_input_tokens")),
        reasoning=_count(completion.get("reasoning_tokens")),
    )


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e15 else 0


def _string(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(decode(text), dict)
    except (ValueError, RecursionError):
        return False


def _decode_broken(payload: bytes) -> Any:
    """Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD; ValueError when it is not JSON."""
    text = payload.decode("utf-8", "replace")
    try:
        return decode(text)
    except ValueError:
        if "\\u" not in text:
            raise
    json = late("json")
    try:
        paired = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return decode(paired.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
