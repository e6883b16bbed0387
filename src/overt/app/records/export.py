"""A session as one value to hand on: its turns with everything that was said, called and printed in them.

The value is the JSON export as it stands; Markdown and HTML are drawn from it.
"""

import re
from collections.abc import Iterable, Sequence
from time import gmtime, strftime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.app.chat.notices import describe_budget
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
from overt.core.messages import Call, Document, Image, Message, Reasoning
from overt.core.spending.usage import Usage
from overt.core.views import Diffs
from overt.lib.translations import say
from overt.sessions.entries import Entry

FORMAT = 1
Format = Literal["markdown", "json", "html"]
FORMATS: dict[str, Format] = {"markdown": "markdown", "md": "markdown", "json": "json", "html": "html", "htm": "html"}


class ExportedFile(Struct, frozen=True, kw_only=True):
    """An image or a document; `data` is base64 in JSON."""

    media: str
    data: bytes


class ExportedCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str


class ExportedMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    calls: tuple[ExportedCall, ...] = ()
    call_id: str = ""
    name: str = ""
    headline: str = ""
    arguments: str = ""
    error: bool = False
    diff: str = ""
    files: tuple[ExportedFile, ...] = ()
    usage: Usage | None = None
    ms: int = 0


class ExportedEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: str
    text: str = ""
    steps: int = 0
    ms: int = 0
    usage: Usage = Usage()


class ExportedTurn(Struct, frozen=True, kw_only=True):
    turn: int
    started: str
    messages: tuple[ExportedMessage, ...]
    ended: ExportedEnd | None = None


class ExportedSession(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    parent: str
    created: str
    workspace: str
    project: str
    overt: str
    models: tuple[str, ...]
    agent: str = ""
    """The path of the agent whose session this is, if it is that of a sub-agent of `parent`."""


class SessionExport(Struct, frozen=True, kw_only=True):
    """`usage` is the sum over every reply, summary and title; `damage` names what could not be read."""

    format: int
    session: ExportedSession
    turns: tuple[ExportedTurn, ...]
    usage: Usage
    damage: tuple[str, ...] = ()


def build_export(entries: Sequence[Entry[Event]], opened: SessionOpened, damage: Iterable[str] = ()) -> SessionExport:
    builder = _ExportBuilder()
    for entry in entries:
        builder.read(entry)
    builder.end_turn()
    about = ExportedSession(
        id=opened.id,
        title=builder.title or builder.first_prompt,
        parent=opened.parent,
        agent=opened.agent_path,
        created=opened.created,
        workspace=opened.workspace,
        project=opened.project,
        overt=opened.overt,
        models=tuple(dict.fromkeys(builder.models)),
    )
    turns = tuple(builder.turns)
    return SessionExport(format=FORMAT, session=about, turns=turns, usage=builder.usage, damage=tuple(damage))


class _ExportBuilder:
    """Puts the entries into turns. `_calls` are those without a result, each with its headline."""

    def __init__(self) -> None:
        self.turns: list[ExportedTurn] = []
        self.title = self.first_prompt = ""
        self.models: list[str] = []
        self.usage = Usage()
        self._is_named = False
        self._turn = 0
        self._started = ""
        self._messages: list[ExportedMessage] = []
        self._end: ExportedEnd | None = None
        self._calls: dict[str, tuple[Call, str]] = {}
        self._partial = ""

    def read(self, entry: Entry[Event]) -> None:
        time, agent = utc_time(entry.ts), "" if entry.agent == "main" else entry.agent
        if entry.turn != self._turn and not agent:
            self.end_turn()
            self._turn, self._started = entry.turn, time
        match entry.data:
            case Replied(usage=usage, message=message) if agent and not message.parts:
                self.usage += usage  # asked for a title
            case Replied() as reply:
                self._read_reply(reply, time, agent)
            case ToolStarted(call=call, headline=headline):
                self._calls[call.id] = (call, headline)
            case ToolFinished() as outcome:
                self._read_outcome(outcome, time, agent)
            case PartialSaved(text=text):
                self._partial = text
            case TitleSet(title=title, model=model, usage=usage):
                self.usage += usage
                if title and (not model or not self._is_named):
                    self.title, self._is_named = title, not model
            case TurnEnded() as end if not agent:
                self._end = ExportedEnd(reason=end.reason, text=end.text, steps=end.steps, ms=end.ms, usage=end.usage)
            case UserSpoke(message=message):
                self._messages.append(_user_message(message, time, agent))
                if message.origin.is_prompt:
                    self.first_prompt = self.first_prompt or " ".join(message.text().split())[:120]
            case event:
                if isinstance(event, Compacted):
                    self.usage += event.usage
                if text := _note(event):
                    self._messages.append(ExportedMessage(role="note", time=time, text=text, agent=agent))

    def end_turn(self) -> None:
        """The turn is over, or the file: add calls without a result and words without an end."""
        time = self._started
        if self._partial:
            self._messages.append(
                ExportedMessage(role="assistant", time=time, text=self._partial, origin="partial", error=True)
            )
        for call, headline in self._calls.values():
            self._messages.append(
                replace(_tool_message(call, headline, time), text=say("export.no_result"), error=True)
            )
        if self._messages or self._end:
            messages = tuple(self._messages)
            self.turns.append(ExportedTurn(turn=self._turn, started=time, messages=messages, ended=self._end))
        self._messages, self._end, self._calls, self._partial = [], None, {}, ""

    def _read_reply(self, reply: Replied, time: str, agent: str) -> None:
        message, calls = reply.message, reply.message.calls()
        self._partial = ""
        self.usage += reply.usage
        self.models += [reply.model] if reply.model else []
        self._calls |= {call.id: (call, "") for call in calls}
        self._messages.append(
            ExportedMessage(
                role="assistant",
                time=time,
                text=message.text(),
                agent=agent,
                model=reply.model,
                origin="interrupted" if reply.finish == "interrupted" else "",
                reasoning="\n".join(part.text for part in message.parts if isinstance(part, Reasoning)),
                calls=tuple(ExportedCall(id=call.id, name=call.name, arguments=call.arguments) for call in calls),
                usage=reply.usage,
                ms=reply.ms,
            )
        )

    def _read_outcome(self, outcome: ToolFinished, time: str, agent: str) -> None:
        result, view = outcome.result, outcome.view
        unknown = Call(id=result.call_id, name="", arguments="")
        call, headline = self._calls.pop(result.call_id, (unknown, ""))
        self._messages.append(
            replace(
                _tool_message(call, headline, time),
                text=result.text(),
                agent=agent,
                error=result.error,
                diff="\n".join(f"--- {file.path}\n{file.diff}" for file in view.files)
                if isinstance(view, Diffs)
                else "",
                files=_files(result.parts),
                ms=outcome.ms,
            )
        )


def _tool_message(call: Call, headline: str, time: str) -> ExportedMessage:
    return ExportedMessage(
        role="tool", time=time, call_id=call.id, name=call.name, headline=headline, arguments=call.arguments
    )


def utc_time(seconds: float) -> str:
    """Return a time in UTC, or an empty string if the clock of that machine was far off."""
    try:
        return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return ""


def format_stamp(stamp: str) -> str:
    """Return the time of a session's file name as people write it."""
    if not re.fullmatch(r"\d{8}T\d{6}Z", stamp):
        return stamp
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]} UTC"


def _user_message(message: Message, time: str, agent: str) -> ExportedMessage:
    origin = message.origin
    exported = ExportedMessage(role="user", time=time, text=message.text(), agent=agent, files=_files(message.parts))
    if origin.kind == "user" and origin.where != "!":
        return exported
    return replace(exported, origin=f"{origin.kind} {origin.where}".strip(), origin_kind=origin.kind)


def _files(parts: Iterable[object]) -> tuple[ExportedFile, ...]:
    return tuple(ExportedFile(media=part.media, data=part.data) for part in parts if isinstance(part, Image | Document))


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
