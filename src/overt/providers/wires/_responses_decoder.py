"""Events of the Responses API become one reply: its items in their order, whole calls only.

The end is strict: `response.completed`, or `response.incomplete` with the reason why; anything else is a cut, and
no call of a cut reply ever leaves. What leads up to it is read loosely. Items come in pieces, whole at their end,
and whole again in the list that ends the reply, and any of the three may be missing; see `_responses_items` for
how they find together. One stream is one response: what follows its end is not ours, and a response that begins
before another has ended means that a gateway gave that one up, so what had come of it is dropped.
"""

from overt.core.codec import compact
from overt.core.errors import ProviderError
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import CallDelta, Delta, Finish, ReasoningDelta, Reply, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.transport.errors import from_event
from overt.providers.wires._decoding import count, cut, read_event, text_of, too_large, unique_ids, word
from overt.providers.wires._responses_items import KINDS, Item, Items, Kind, arguments_of, parts_of

PIECES: dict[str, tuple[Kind, str]] = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("text", "content_index"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary_index"),
    "response.reasoning_summary.delta": ("reasoning", "summary_index"),
    "response.reasoning_text.delta": ("reasoning", "content_index"),
    "response.reasoning.delta": ("reasoning", "content_index"),
}
"""Event → the kind of its item, and the field that numbers the item's parts."""

WHOLE_PARTS: dict[str, tuple[Kind, str]] = {
    "response.output_text.done": ("text", "content_index"),
    "response.refusal.done": ("text", "content_index"),
    "response.reasoning_summary_text.done": ("reasoning", "summary_index"),
    "response.reasoning_text.done": ("reasoning", "content_index"),
}
ENDS = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
ITEM_WEIGHT = 2048
"""Characters that an item counts for beside its text, so that a stream of empty ones ends as well."""

ONGOING = ("in_progress", "queued")


class ResponsesDecoder:
    """`finished` and `done` come together: the event that ends a reply brings its usage, and is the last."""

    def __init__(self, *, max_answer: int) -> None:
        self.finished = False
        self.done = False
        self._max_answer = max_answer
        self._size = 0
        self._items = Items()
        self._fresh: list[tuple[Kind, list[str]]] = []
        self._reasoned = False
        self._finish: Finish = "stop"
        self._usage = Usage()
        self._id = ""
        self._model = ""

    def feed(self, payload: bytes) -> None:
        if self.done:
            return
        if not payload.startswith(b"{") and payload.strip() == b"[DONE]":
            self.done = True
            return
        event = read_event(payload)
        if type(event) is not dict:
            return
        name = event.get("type")
        if type(name) is not str:
            name = ""
        if name in PIECES:
            self._take_piece(event, *PIECES[name])
        elif name == "response.function_call_arguments.delta":
            self._take_argument_piece(event)
        else:
            self._take_event(name, event)

    def take(self) -> list[Delta]:
        deltas: list[Delta] = []
        for kind, pieces in self._fresh:
            text = "".join(pieces)
            deltas.append(TextDelta(text=text) if kind == "text" else ReasoningDelta(text=text))
        self._fresh = []
        calls = self._items.calls()
        ready = sum(call.ended for call in calls)
        for index, call in enumerate(calls):
            if call.changed:
                call.changed = False
                deltas.append(CallDelta(index=index, name=call.name, characters=call.characters, ready=ready))
        return deltas

    def end(self) -> Reply:
        if not self.finished:
            raise cut()
        calls = [call for call in self._items.calls() if call.name or call.characters]
        if self._finish == "length":
            # The half call goes along, to be answered as one; a call that has only been named says nothing.
            calls = [call for call in calls if call.ended or call.characters]
        elif self._finish == "filter":
            calls = [call for call in calls if call.whole()]
        elif not all(call.whole() for call in calls):
            raise cut()
        else:
            self._finish = "calls" if calls else "stop"
        return Reply(parts=self._parts(calls), finish=self._finish, usage=self._usage, model=self._model)

    def _parts(self, calls: list[Item]) -> tuple[Part, ...]:
        ids = dict(zip(map(id, calls), unique_ids([call.call_id for call in calls]), strict=True))
        parts: list[Part] = []
        for item in sorted(self._items.all, key=lambda item: item.place):
            if item.kind == "reasoning":
                parts.append(Reasoning(text=item.text(), opaque=item.opaque))
            elif item.kind == "text" and item.pieces:
                parts.append(Text(text=item.text()))
            elif id(item) in ids:
                parts.append(Call(id=ids[id(item)], name=item.name, arguments=item.arguments() or "{}"))
        return tuple(parts)

    def _take_piece(self, event: dict[str, object], kind: Kind, numbered: str) -> None:
        delta = event.get("delta")
        text = delta if type(delta) is str else text_of(delta)
        item = self._items.growing(kind, event) if text else None
        if item is not None:
            self._say(item, (numbered, event.get(numbered)), text)

    def _take_argument_piece(self, event: dict[str, object]) -> None:
        delta = event.get("delta")
        piece = delta if type(delta) is str else "" if delta is None else compact(delta)
        call = self._items.growing("call", event) if piece else None
        if call is not None:
            call.pieces.append(piece)
            call.characters += len(piece)
            call.changed = True
            self._grow(len(piece))

    def _take_event(self, name: str, event: dict[str, object]) -> None:
        if name in WHOLE_PARTS:
            self._take_part(event, *WHOLE_PARTS[name])
        elif name == "response.function_call_arguments.done":
            self._take_arguments(event)
        elif name in ("response.output_item.added", "response.output_item.done"):
            self._take_item(event.get("item"), event.get("output_index"), done=name.endswith("done"))
        elif name == "response.created":
            self._start(_response_of(event))
        elif name in ENDS or (not name and event.get("object") == "response"):
            self._take_response(name, _response_of(event))
        elif name in ("error", "response.error") or (not name and event.get("error")):
            raise _failure(event.get("error") or event)

    def _start(self, response: dict[str, object]) -> None:
        begun = word(response.get("id"))
        if self._id and begun and begun != self._id:
            self._items = Items()
        self._id = begun or self._id
        self._model = word(response.get("model")) or self._model

    def _take_item(self, raw: object, place: object, *, done: bool) -> None:
        if not isinstance(raw, dict):
            return
        kind = KINDS.get(word(raw.get("type")))
        if kind is None:
            self._items.pass_over(raw, place)
        elif done:
            self._complete(self._items.matching(kind, raw, place, last=False), raw)
        else:
            item = self._items.begun(kind, raw, place)
            if kind == "call":
                self._name(item, raw)
        self._grow(0)

    def _take_part(self, event: dict[str, object], kind: Kind, numbered: str) -> None:
        """One part of an item, whole: what its pieces did not bring is added."""
        text = text_of(event.get("text") or event.get("refusal"))
        item = self._items.find(kind, event)
        if not text or (item is not None and item.closed):
            return
        item = item or self._items.growing(kind, event)
        if item is not None:
            part = (numbered, event.get(numbered))
            self._say(item, part, item.missing(part, text))

    def _take_arguments(self, event: dict[str, object]) -> None:
        item = self._items.find("call", event)
        if item is None:
            item = self._items.growing("call", event)
        if item is not None and not item.closed:
            self._name(item, event)
            item.ended = True

    def _take_response(self, name: str, response: dict[str, object]) -> None:
        """The whole response: what its items hold that no event brought is added, and its status is the end."""
        self._model = word(response.get("model")) or self._model
        status = word(response.get("status"))
        if name == "response.failed" or status == "failed":
            raise _failure(response.get("error") or {})
        if name == "response.cancelled" or status == "cancelled":
            raise _failure({"message": "it was cancelled"})
        if status in ONGOING and name in ("", "response.done"):
            return
        output = response.get("output")
        self._take_output(output if isinstance(output, list) else [])
        self._usage = _usage(response.get("usage"))
        if name == "response.incomplete" or status == "incomplete":
            details = response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else ""
            self._finish = "filter" if reason == "content_filter" else "length"
        self.finished = self.done = True

    def _take_output(self, output: list[object]) -> None:
        for place, raw in enumerate(output):
            if isinstance(raw, dict) and (kind := KINDS.get(word(raw.get("type")))) is not None:
                item = self._items.matching(kind, raw, place, last=True)
                item.listed, item.place = True, place
                self._complete(item, raw)
                self._grow(0)

    def _complete(self, item: Item, raw: dict[str, object]) -> None:
        """The server has sent the item whole, perhaps for the second time."""
        if item.kind == "call":
            if not (item.ended and item.given):
                self._name(item, raw)
            item.ended = item.ended or raw.get("status") != "incomplete"
            item.call_id = item.call_id or word(raw.get("call_id")) or word(raw.get("id"))
            item.name = item.name or word(raw.get("name"))
        else:
            if item.kind == "reasoning" and (not item.opaque or '"encrypted_content":"' not in item.opaque):
                item.opaque = compact({key: value for key, value in raw.items() if value is not None})
            for numbered, texts in parts_of(raw):
                self._complete_texts(item, numbered, texts)
            item.ended = True
        item.closed = True

    def _complete_texts(self, item: Item, numbered: str, texts: list[str]) -> None:
        """Say what has not been said. Some servers stream a text as one field of an item and send it as another."""
        whole, so_far = "".join(texts), item.text()
        if numbered in item.fields:
            self._say(item, item.part, whole[len(so_far) :] if whole.startswith(so_far) else "")
        elif not so_far or whole.strip() not in so_far:
            for number, text in enumerate(texts):
                self._say(item, (numbered, number), text)

    def _name(self, call: Item, raw: dict[str, object]) -> None:
        """What is known of a call beside its pieces; its arguments may be among it."""
        call.call_id = call.call_id or word(raw.get("call_id"))
        call.name = call.name or word(raw.get("name"))
        given = arguments_of(raw)
        if given.strip() not in ("", "{}"):  # where a call is announced, empty ones only keep the place
            call.given = given
            self._grow(max(0, len(given) - call.characters))
            call.characters = max(call.characters, len(given))
        call.changed = True

    def _say(self, item: Item, part: tuple[str, object], text: str) -> None:
        if not text:
            return
        another = item.turn_to(part)
        fresh = self._fresh
        if not fresh or fresh[-1][0] != item.kind:
            fresh.append((item.kind, []))
        if item.kind == "reasoning":
            # Summaries come as paragraphs without a line end: whoever reads along gets one.
            if self._reasoned and ((another and part[0] == "summary_index") or not item.pieces):
                fresh[-1][1].append("\n\n")
            self._reasoned = True
        fresh[-1][1].append(text)
        item.pieces.append(text)
        self._grow(len(text))

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size + ITEM_WEIGHT * self._items.number() > self._max_answer:
            raise too_large(self._max_answer)


def _response_of(event: dict[str, object]) -> dict[str, object]:
    """The response an event carries; some servers spread it over the event itself."""
    inner = event.get("response")
    return inner if isinstance(inner, dict) else event


def _failure(error: object) -> ProviderError:
    if isinstance(error, dict) and error.get("type") == "error":
        error = {key: value for key, value in error.items() if key != "type"}  # the name of the event says nothing
    return from_event(error)


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    read, written = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    read = read if isinstance(read, dict) else {}
    written = written if isinstance(written, dict) else {}
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cached=count(read.get("cached_tokens")),
        cache_write=count(read.get("cache_write_tokens")),
        reasoning=count(written.get("reasoning_tokens")),
    )
