"""Secrets out of events, before they are recorded, folded and shown.

What a model says and calls is recorded without secrets and so sent back without them: what stands in the
session is what the next request holds. A call runs as it was asked for; only its record is scrubbed.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, assert_never

from msgspec.structs import replace

from overt.core.codec import compact, decode
from overt.core.events import (
    Compacted,
    Event,
    GitMoved,
    Noticed,
    PartialSaved,
    PermissionAsked,
    PermissionDecided,
    Pinned,
    ReasoningStreamed,
    Repaired,
    Replied,
    RequestSent,
    Retried,
    TextStreamed,
    TitleSet,
    TodoSet,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.messages import Call, Message, Part, Reasoning, Result, Text
from overt.core.states import GitState
from overt.core.views import Checklist, Diffs, Excerpt, Failure, Listing, Output, Plain, Todo, View
from overt.lib.catalogue import say
from overt.lib.redact import HIDDEN, Flow, Redactor

Clean = Callable[[str], str]
S = TypeVar("S")
NAMELESS = "redacted"
"""In place of a tool's name that holds a secret: servers take letters and `_` only."""


class Scrub:
    """All events of one conversation pass here; text that streams waits while it may yet become a secret."""

    def __init__(self, redactor: Redactor, earlier: Sequence[Message] = ()) -> None:
        """`earlier` are the messages of a session that is resumed."""
        self.clean: Clean = redactor.clean
        self._allowed = redactor.allowed
        if self._allowed is not None:
            from overt.app.allowed_calls import remember_messages  # late: 0.6 ms

            remember_messages(earlier, self._allowed)
        self._text: Flow = redactor.flow()
        self._reasoning: Flow = redactor.flow()

    def events(self, event: Event) -> list[Event]:
        """What to record and show for it: mostly one event, none while all of its text waits."""
        if event.agent != "main":  # it is not what streams here
            return [scrubbed(event, self.clean)]
        match event:
            case TextStreamed(text=text):
                passed = self._text.feed(text)
                return [replace(event, text=passed)] if passed else []
            case ReasoningStreamed(text=text):
                passed = self._reasoning.feed(text)
                return [replace(event, text=passed)] if passed else []
            case UserSpoke(message=message) if message.origin.kind == "user":
                found = scrubbed(event, self.clean)
                told = Noticed(agent=event.agent, text=say("secret.prompt", mark=HIDDEN), level="warning")
                return [found, told] if found != event else [found]
            case RequestSent() | Replied():
                if self._allowed is not None and isinstance(event, Replied):
                    from overt.app.allowed_calls import remember_messages  # late: 0.6 ms

                    remember_messages((event.message,), self._allowed)
                return [*self.rest(agent=event.agent), scrubbed(event, self.clean)]
            case _:
                return [scrubbed(event, self.clean)]

    def rest(self, *, agent: str = "main", broken: bool = False) -> list[Event]:
        """What still waits when a stream is over; with `broken` it was cut off."""
        events: list[Event] = []
        if thought := self._reasoning.end(broken=broken):
            events.append(ReasoningStreamed(agent=agent, text=thought))
        if said := self._text.end(broken=broken):
            events.append(TextStreamed(agent=agent, text=said))
        return events


def scrubbed(event: Event, clean: Clean) -> Event:
    match event:
        case UserSpoke(message=message) | Replied(message=message):
            return _with(event, message=_message(message, clean))
        case ToolStarted(call=call, headline=headline):
            return _with(event, call=_call(call, clean), headline=clean(headline))
        case PermissionAsked(call=call, headline=headline, why=why, view=view, always=always, affects=affects):
            return _with(
                event,
                described=clean(event.described),
                network_reason=clean(event.network_reason),
                hazards=_all(event.hazards, clean),
                call=_call(call, clean),
                headline=clean(headline),
                why=clean(why),
                view=_view(view, clean),
                always=always if clean(always) == always else "",  # a rule is kept in a file
                affects=_all(affects, clean),
            )
        case PermissionDecided(rule=rule, reason=reason, remembered=remembered):
            ways = _all(event.allowed_by, clean)
            return _with(event, rule=clean(rule), reason=clean(reason), remembered=clean(remembered), allowed_by=ways)
        case ToolFinished(result=result, view=view):
            return _with(event, result=_result(result, clean), view=_view(view, clean))
        case TodoSet(items=items):
            return _with(event, items=_all(items, lambda item: _todo(item, clean)))
        case Repaired(note=note, before=before):
            return _with(event, note=clean(note), before=clean(before))
        case Compacted(summary=summary):
            return _with(event, summary=_all(summary, lambda message: _message(message, clean)))
        case Pinned(text=text):
            return _with(event, text=clean(text))
        case TitleSet(title=title):
            return _with(event, title=clean(title))
        case GitMoved(before=before, after=after):
            return _with(event, before=_stash(before, clean), after=_stash(after, clean))
        case Retried(reason=reason):
            return _with(event, reason=clean(reason))
        case Noticed(text=text) | PartialSaved(text=text) | TurnEnded(text=text) | ToolProgressed(text=text):
            return _with(event, text=clean(text))
        case _:
            return event


def _with(value: S, **fields: Any) -> S:
    """The same object when nothing changed, which is nearly always."""
    if all(getattr(value, name) is field for name, field in fields.items()):
        return value
    return replace(value, **fields)  # type: ignore[type-var]


def _all(values: tuple[S, ...], one: Callable[[S], S]) -> tuple[S, ...]:
    found = tuple(one(value) for value in values)
    return values if all(new is old for new, old in zip(found, values, strict=True)) else found


def _message(message: Message, clean: Clean) -> Message:
    return _with(message, parts=_all(message.parts, lambda part: _part(part, clean)))


def _part(part: Part, clean: Clean) -> Part:
    match part:
        case Text(text=text):
            return _with(part, text=clean(text))
        case Reasoning(text=text):
            found = clean(text)
            # A signature vouches for the text as it was.
            return part if found is text else replace(part, text=found, signature="", opaque="")
        case Call():
            return _call(part, clean)
        case Result():
            return _result(part, clean)
        case _:
            return part


def _result(result: Result, clean: Clean) -> Result:
    parts = _all(result.parts, lambda part: _with(part, text=clean(part.text)) if isinstance(part, Text) else part)
    return _with(result, parts=parts)


def _call(call: Call, clean: Clean) -> Call:
    """In JSON a secret may be spelled with escapes, and what takes its place must leave valid JSON."""
    if clean(call.name) != call.name:
        call = replace(call, name=NAMELESS)
    try:
        given = decode(call.arguments)
    except (ValueError, RecursionError):
        return _with(call, arguments=clean(call.arguments))
    found = _walk(given, clean)
    return call if found is given else replace(call, arguments=compact(found))


def _walk(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        items = [_walk(item, clean) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        pairs = {clean(key): _walk(item, clean) for key, item in value.items()}
        same = all(new is old for new, old in zip(pairs.values(), value.values(), strict=False))
        return value if same and list(pairs) == list(value) else pairs
    return value


def _todo(item: Todo, clean: Clean) -> Todo:
    return _with(item, content=clean(item.content), active_form=clean(item.active_form))


def _view(view: View, clean: Clean) -> View:
    match view:
        case Plain(text=text) | Failure(text=text):
            return _with(view, text=clean(text))
        case Output(command=command, text=text, note=note):
            return _with(view, command=clean(command), text=clean(text), note=clean(note))
        case Diffs(files=files):
            return _with(
                view, files=_all(files, lambda file: _with(file, path=clean(file.path), diff=clean(file.diff)))
            )
        case Excerpt(path=path):
            return _with(view, path=clean(path))
        case Listing(what=what):
            return _with(view, what=clean(what))
        case Checklist(items=items):
            return _with(view, items=_all(items, lambda item: _todo(item, clean)))
        case _:
            assert_never(view)


def _stash(state: GitState, clean: Clean) -> GitState:
    """Messages of stash entries are words of a person or a model."""
    stash = tuple(_with(entry, message=clean(entry.message)) for entry in state.stash)
    return state if stash == state.stash else replace(state, stash=stash)
