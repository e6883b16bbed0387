"""Remove secrets from events before they are recorded, folded and shown.

What a model says and calls is recorded without secrets and so sent back without them: what stands in the
session is what the next request holds. A call runs as it was asked for; only its record is redacted.

Every string of an event is searched, however deep it stands; `core/redaction.py` declares the exceptions. So a new
type of event needs nothing here. How a struct is walked is worked out once, when the first value of its type is met.
"""

from collections.abc import Callable, Sequence
from operator import is_
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from msgspec import Raw, Struct
from msgspec.structs import fields, replace

from overt.core.codec import compact, decode
from overt.core.events import Event, Noticed, ReasoningStreamed, Replied, RequestSent, TextStreamed, UserSpoke
from overt.core.messages import Message
from overt.core.redaction import Treatment
from overt.lib.redaction.redact import HIDDEN, Flow, Redactor
from overt.lib.translations import say

Clean = Callable[[str], str]
Items = list[object] | tuple[object, ...]
Walk = Callable[[Any, Clean], object]
"""Returns its first argument without secrets: the very same object if there are none."""
WITHOUT_TEXT = (int, float, bool, NoneType, bytes, ...)
"""Types that hold no text: bytes are the data of images, and the dots are those of `tuple[int, ...]`."""


class Scrub:
    """All events of one conversation pass here; text that streams waits while it may yet become a secret."""

    def __init__(self, redactor: Redactor, earlier: Sequence[Message] = ()) -> None:
        """`earlier` are the messages of a session that is resumed."""
        self.clean: Clean = redactor.clean
        self._allowed = redactor.allowed
        self._remember_allowed(earlier)
        self._text: Flow = redactor.flow()
        self._reasoning: Flow = redactor.flow()

    def events(self, event: Event) -> list[Event]:
        """What to record and show for it: mostly one event, none while all of its text waits."""
        if event.agent != "main":  # it is not what streams here
            return [redact_event(event, self.clean)]
        match event:
            case TextStreamed() | ReasoningStreamed():
                flow = self._text if isinstance(event, TextStreamed) else self._reasoning
                passed = flow.feed(event.text)
                return [event if passed == event.text else replace(event, text=passed)] if passed else []
            case UserSpoke(message=message) if message.origin.kind == "user":
                redacted = redact_event(event, self.clean)
                if redacted is event:
                    return [event]
                text = say("secret.prompt", mark=HIDDEN)
                return [redacted, Noticed(agent=event.agent, text=text, level="warning")]
            case RequestSent() | Replied():
                if isinstance(event, Replied):
                    self._remember_allowed((event.message,))
                return [*self.rest(agent=event.agent), redact_event(event, self.clean)]
            case _:
                return [redact_event(event, self.clean)]

    def rest(self, *, agent: str = "main", broken: bool = False) -> list[Event]:
        """What still waits when a stream is over; with `broken` it was cut off."""
        events: list[Event] = []
        if thought := self._reasoning.end(broken=broken):
            events.append(ReasoningStreamed(agent=agent, text=thought))
        if said := self._text.end(broken=broken):
            events.append(TextStreamed(agent=agent, text=said))
        return events

    def _remember_allowed(self, messages: Sequence[Message]) -> None:
        if self._allowed is not None:
            from overt.app.redaction.allowed_calls import remember_messages  # late: 0.7 ms

            remember_messages(messages, self._allowed)


def redact_event(event: Event, clean: Clean) -> Event:
    """Return the event without secrets: the same object if it has none, which is nearly always."""
    redacted = _redact(event, clean)
    assert isinstance(redacted, Event)
    return redacted


def _redact(value: object, clean: Clean) -> object:
    kind = type(value)
    if kind not in WALKS:
        WALKS[kind] = _struct_walk(kind) if issubclass(kind, Struct) else _redact_text
    return WALKS[kind](value, clean)


def _struct_walk(kind: type[Struct]) -> Walk:
    """Return the function that redacts structs of this type. It visits only fields that may hold text."""
    walks: list[tuple[str, Walk]] = []
    seals: dict[str, str] = {}
    for field in fields(kind):
        match _treatment_of(field.type):
            case Treatment(kind="seal"):
                seals[field.name] = ""
            case Treatment(kind="json"):
                walks.append((field.name, _redact_json))
            case Treatment(kind="whole", instead=instead):
                walks.append((field.name, _replace_whole(instead)))
            case _:
                walks += [(field.name, _redact)] if _may_hold_text(field.type) else []

    def walk(value: Struct, clean: Clean) -> Struct:
        changes: dict[str, object] = {}
        for name, redact in walks:
            before = getattr(value, name)
            after = redact(before, clean)
            if after is not before:
                changes[name] = after
        return replace(value, **seals, **changes) if changes else value

    return walk


def _treatment_of(hint: object) -> Treatment | None:
    return next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Treatment)), None)


def _may_hold_text(hint: object) -> bool:
    """Return False only if no string in a value of this type must be searched."""
    treatment = _treatment_of(hint)
    if get_origin(hint) is Literal or hint in WITHOUT_TEXT or (treatment and treatment.kind == "exact"):
        return False
    arguments = get_args(hint)
    return any(map(_may_hold_text, arguments)) if arguments else True


def _redact_text(value: object, clean: Clean) -> object:
    """Redact a string. A value of another type, like a number in JSON, becomes text if its text holds a secret."""
    text = str(value)
    cleaned = clean(text)
    return value if cleaned == text else cleaned


def _replace_whole(instead: str) -> Walk:
    return lambda text, clean: text if clean(text) == text else instead


def _redact_items(items: Items, clean: Clean) -> Items:
    redacted = [_redact(item, clean) for item in items]
    return items if all(map(is_, redacted, items)) else type(items)(redacted)


def _redact_dict(pairs: dict[object, object], clean: Clean) -> dict[object, object]:
    """Keys are searched as well. Values whose keys become the same are lost."""
    flat = [each for pair in pairs.items() for each in pair]
    redacted = _redact_items(flat, clean)
    return pairs if redacted is flat else dict(zip(redacted[::2], redacted[1::2], strict=True))


def _redact_json(text: str, clean: Clean) -> str:
    """In JSON a secret may be written with escapes, and what takes its place must leave valid JSON.

    The text is searched as it stands, too: of two values under one key, decoding returns only the last.
    """
    cleaned = clean(text)
    if cleaned == text and "\\" not in text:
        return text
    try:
        value = decode(text)
        redacted = _redact(value, clean)
    except (ValueError, RecursionError):
        return cleaned
    return text if cleaned == text and redacted is value else clean(compact(redacted))


def _redact_raw(raw: Raw, clean: Clean) -> Raw:
    text = bytes(raw).decode(errors="replace")
    redacted = _redact_json(text, clean)
    return raw if redacted is text else Raw(redacted.encode())


WALKS: dict[type, Walk] = {tuple: _redact_items, list: _redact_items, dict: _redact_dict, Raw: _redact_raw}
"""How values of a type are redacted. Other types are added when they are first met."""
