"""A session as one value to hand on: its turns with everything that was said, called and printed in them.

The value is the JSON export as it stands; Markdown and HTML are drawn from it.
"""

import re
from collections.abc import Iterable, Sequence
from time import gmtime, strftime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.app.chat.budget_notice import describe_budget
from overt.core.events import (
    BudgetSet,
    Compacted,
    Event,
    ModelSet,
    ModeSet,
    Noticed,
    PartialSaved,
    Pinned,
    PrefixReset,
    Replied,
    Restored,
    SessionOpened,
    TitleSet,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.messages import Call, Document, Image, Message, Reasoning, Text
from overt.core.spending.usage import Usage
from overt.core.views import Diffs
from overt.lib.catalogue import say
from overt.sessions.entries import Entry

FORMAT = 1
Format = Literal["markdown", "json", "html"]
FORMATS: dict[str, Format] = {"markdown": "markdown", "md": "markdown", "json": "json", "html": "html", "htm": "html"}


class Picture(Struct, frozen=True, kw_only=True):
    """An image or a document; `data` is base64 in JSON."""

    media: str
    data: bytes


class Asked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str


class Spoken(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`role`: user, assistant, tool (the result of a call) or note (what the program did or told beside).

    `origin` says where the words of a user message came from when it was not the person, and `origin_kind` is its
    first word; `arguments` are those the tool was run with, and `diff` is what it changed. `agent` is the path of a
    sub-agent.
    """

    role: Literal["user", "assistant", "tool", "note"]
    time: str
    text: str = ""
    agent: str = ""
    origin: str = ""
    origin_kind: str = ""
    model: str = ""
    reasoning: str = ""
    calls: tuple[Asked, ...] = ()
    call_id: str = ""
    name: str = ""
    headline: str = ""
    arguments: str = ""
    error: bool = False
    diff: str = ""
    files: tuple[Picture, ...] = ()
    usage: Usage | None = None
    ms: int = 0


class Ended(Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: str
    text: str = ""
    steps: int = 0
    ms: int = 0
    usage: Usage = Usage()


class Turn(Struct, frozen=True, kw_only=True):
    turn: int
    started: str
    messages: tuple[Spoken, ...]
    ended: Ended | None = None


class About(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    parent: str
    created: str
    workspace: str
    project: str
    overt: str
    models: tuple[str, ...]


class Exported(Struct, frozen=True, kw_only=True):
    """`usage` is the sum over every reply, summary and title; `damage` names what could not be read."""

    format: int
    session: About
    turns: tuple[Turn, ...]
    usage: Usage
    damage: tuple[str, ...] = ()


def exported(entries: Sequence[Entry[Event]], opened: SessionOpened, damage: Iterable[str] = ()) -> Exported:
    telling = _Telling()
    for entry in entries:
        telling.take(entry)
    telling.close()
    about = About(
        id=opened.id,
        title=telling.title or telling.first,
        parent=opened.parent,
        created=opened.created,
        workspace=opened.workspace,
        project=opened.project,
        overt=opened.overt,
        models=tuple(dict.fromkeys(telling.models)),
    )
    return Exported(format=FORMAT, session=about, turns=tuple(telling.turns), usage=telling.usage, damage=tuple(damage))


class _Telling:
    """The entries as they come, put into turns."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.title = self.first = ""
        self.models: list[str] = []
        self.usage = Usage()
        self._named = False
        self._turn = 0
        self._started = ""
        self._messages: list[Spoken] = []
        self._ended: Ended | None = None
        self._calls: dict[str, Call] = {}
        self._headlines: dict[str, str] = {}
        self._partial = ""

    def take(self, entry: Entry[Event]) -> None:
        time, agent = clock(entry.ts), _below(entry.agent)
        if entry.turn != self._turn and not agent:
            self.close()
            self._turn, self._started = entry.turn, time
        match entry.data:
            case Replied(usage=usage, message=message) if agent and not message.parts:
                self.usage += usage  # asked for a title
            case Replied() as reply:
                self._reply(reply, time)
            case ToolStarted(call=call, headline=headline):
                self._calls[call.id], self._headlines[call.id] = call, headline
            case ToolFinished() as done:
                self._messages.append(self._result(done, time))
            case PartialSaved(text=text):
                self._partial = text
            case TitleSet(title=title, model=model, usage=usage):
                self.usage += usage
                if title and (not model or not self._named):
                    self.title, self._named = title, not model
            case TurnEnded() as end if not agent:
                self._ended = Ended(reason=end.reason, text=end.text, steps=end.steps, ms=end.ms, usage=end.usage)
            case UserSpoke(message=message):
                self._messages.append(_said(message, time, agent))
                if message.origin.kind == "user":
                    self.first = self.first or " ".join(message.text().split())[:120]
            case event:
                if isinstance(event, Compacted):
                    self.usage += event.usage
                if text := _note(event):
                    self._messages.append(Spoken(role="note", time=time, text=text, agent=agent))

    def close(self) -> None:
        """The turn is over, or the file: calls without a result and words without an end are told of."""
        if self._partial:
            self._messages.append(
                Spoken(role="assistant", time=self._started, text=self._partial, origin="partial", error=True)
            )
        for call in self._calls.values():
            self._messages.append(
                Spoken(
                    role="tool",
                    time=self._started,
                    call_id=call.id,
                    name=call.name,
                    headline=self._headlines.get(call.id, ""),
                    arguments=call.arguments,
                    text=say("export.no_result"),
                    error=True,
                )
            )
        if self._messages or self._ended:
            made = Turn(turn=self._turn, started=self._started, messages=tuple(self._messages), ended=self._ended)
            self.turns.append(made)
        self._messages, self._ended, self._calls, self._headlines, self._partial = [], None, {}, {}, ""

    def _reply(self, reply: Replied, time: str) -> None:
        message = reply.message
        self._partial = ""
        self.usage += reply.usage
        if reply.model:
            self.models.append(reply.model)
        self._calls |= {call.id: call for call in message.calls()}
        self._messages.append(
            Spoken(
                role="assistant",
                time=time,
                text=message.text(),
                agent=_below(reply.agent),
                model=reply.model,
                origin="interrupted" if reply.finish == "interrupted" else "",
                reasoning="\n".join(part.text for part in message.parts if isinstance(part, Reasoning)),
                calls=tuple(Asked(id=call.id, name=call.name, arguments=call.arguments) for call in message.calls()),
                usage=reply.usage,
                ms=reply.ms,
            )
        )

    def _result(self, done: ToolFinished, time: str) -> Spoken:
        result = done.result
        call = self._calls.pop(result.call_id, Call(id=result.call_id, name="", arguments=""))
        view = done.view
        return Spoken(
            role="tool",
            time=time,
            text="".join(part.text for part in result.parts if isinstance(part, Text)),
            agent=_below(done.agent),
            call_id=result.call_id,
            name=call.name,
            headline=self._headlines.get(result.call_id, ""),
            arguments=call.arguments,
            error=result.error,
            diff="\n".join(f"--- {file.path}\n{file.diff}" for file in view.files) if isinstance(view, Diffs) else "",
            files=_files(result.parts),
            ms=done.ms,
        )


def clock(seconds: float) -> str:
    """A time of the file in UTC; a clock may have said anything."""
    try:
        return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return ""


def dated(stamp: str) -> str:
    """The time of a file's name as people write it."""
    found = re.fullmatch(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", stamp)
    return f"{found[1]}-{found[2]}-{found[3]} {found[4]}:{found[5]} UTC" if found else stamp


def _below(agent: str) -> str:
    return "" if agent == "main" else agent


def _said(message: Message, time: str, agent: str) -> Spoken:
    origin = message.origin
    spoken = Spoken(role="user", time=time, text=message.text(), agent=agent, files=_files(message.parts))
    if origin.kind == "user" and origin.where != "!":
        return spoken
    return replace(spoken, origin=f"{origin.kind} {origin.where}".strip(), origin_kind=origin.kind)


def _files(parts: Iterable[object]) -> tuple[Picture, ...]:
    return tuple(Picture(media=part.media, data=part.data) for part in parts if isinstance(part, Image | Document))


def _note(event: Event) -> str:
    match event:
        case Compacted(before=before, after=after, summary=summary):
            words = "\n\n".join(message.text() for message in summary)
            return say("export.compacted", before=before, after=after) + (f"\n\n{words}" if words else "")
        case PrefixReset(cause=cause):
            return say("export.reset", cause=cause)
        case ModelSet(model=model):
            return say("export.model", model=model)
        case ModeSet(mode=mode):
            return say("export.mode", mode=mode)
        case Pinned(text=text, off=off):
            return say("export.unpinned" if off else "export.pinned", text=text)
        case Restored(way=way, paths=paths):
            return say("export.restored", way=way, paths=", ".join(paths))
        case BudgetSet():
            return describe_budget(event)
        case Noticed(text=text):
            return text
        case _:
            return ""
