"""Turns that can be gone back to, what going back would do to files, and what the session changed so far."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from overt.app.conversation import Conversation
from overt.app.inspect.values import Changes, TurnRow, Turns
from overt.app.undo.session_changes import SessionChanges
from overt.core.errors import OvertError, ToolError
from overt.core.events import Event, UserSpoke
from overt.core.history import ALONG
from overt.core.states import FileChange, FileState
from overt.core.views import FileDiff
from overt.lib.catalogue import say
from overt.lib.diff import file_diff
from overt.lib.text import first_line
from overt.sessions.checkpoints import Checkpoints, Turned, checkpoints
from overt.sessions.entries import Entry
from overt.sessions.load import load
from overt.workspace.files import Workspace
from overt.workspace.undo.keeper import Keeper
from overt.workspace.undo.restore import is_state, state_of

MOST_FILES = 60
LARGEST = 400_000
"""Bytes of a file up to which its lines are compared."""


class Work(NamedTuple):
    path: str
    workspace: Workspace
    keeper: Keeper
    redact: Callable[[str], str]
    """Files hold what they hold, but more than one may look at a screen."""


async def turns(conversation: Conversation) -> Turns:
    if not conversation.path:
        raise OvertError(say("undo.unkept"))
    if not conversation.turn:
        return Turns(())
    entries = (await asyncio.to_thread(load, conversation.path)).entries
    spoken = {mark.turn for mark in conversation.marks if mark.text}
    times = _times(entries)
    found = tuple(
        TurnRow(
            turn=each.turn,
            text=first_line(each.text),
            when=times.get(each.turn, 0.0),
            files=each.files,
            undone=each.undone,
            speaks=each.turn in spoken,
        )
        for each in checkpoints(entries).turns
    )
    return Turns(found[::-1])


async def undone(conversation: Conversation, turn: int) -> Changes:
    """From how files stand now to how going back to before a turn would leave them."""
    work = await _work(conversation)
    return await asyncio.to_thread(_changes, work, turn)


async def diff(conversation: Conversation) -> Changes:
    """What `/diff` tells: from how files stood before the session to how it left them."""
    files, others = await session_changes(conversation)
    redact = conversation.redact
    return Changes(tuple(replace(file, diff=redact(file.diff)) for file in files), tuple(map(redact, others)))


async def session_changes(conversation: Conversation, first: int = 0) -> tuple[tuple[FileDiff, ...], tuple[str, ...]]:
    """Return the files that turns from `first` on changed, and lines about what is not known of them."""
    if not conversation.path or conversation.turn == 0:
        return (), ()
    shared = conversation.session_workspace.shared
    await shared.wait_for_records()
    work = SessionChanges(conversation.path, conversation.session_workspace.workspace, shared.keeper)
    files = await asyncio.to_thread(work.files, first)
    return files, (*work.damage(), *work.unknown())


async def _work(conversation: Conversation) -> Work:
    if not conversation.path:
        raise OvertError(say("undo.unkept"))
    shared = conversation.session_workspace.shared
    await shared.wait_for_records()
    return Work(conversation.path, conversation.session_workspace.workspace, shared.keeper, conversation.redact)


def _times(entries: Iterable[Entry[Event]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for entry in entries:
        if isinstance(entry.data, UserSpoke) and entry.data.message.origin.kind not in ALONG:
            found.setdefault(entry.turn, entry.ts)
    return found


def _changes(work: Work, turn: int) -> Changes:
    points: Checkpoints = checkpoints(load(work.path).entries)
    standing = points.standing(turn)
    others: list[str] = [name for each in standing for name in each.uncovered]
    first: dict[str, FileState | None] = {}
    for change in _made(standing, work.keeper, others):
        if change.doubt:
            first.pop(change.path, None)
            others.append(say("tui.rewind.doubt", path=change.path, command=first_line(change.command)))
        else:
            first.setdefault(change.path, change.before)
    if any(each.unsure for each in standing):
        others.append(say("tui.rewind.unsure"))
    files: list[FileDiff] = []
    for path, then in sorted(first.items()):
        if len(files) == MOST_FILES:
            others.append(say("tui.rewind.more", count=len(first) - MOST_FILES))
            break
        found = _compared(work, path, then)
        if isinstance(found, FileDiff):
            files.append(found)
        elif found:
            others.append(found)
    return Changes(tuple(files), tuple(dict.fromkeys(map(work.redact, others))))


def _made(standing: Sequence[Turned], keeper: Keeper, lost: list[str]) -> list[FileChange]:
    def trees(before: str, after: str) -> tuple[FileChange, ...]:
        try:
            return keeper.changes(before, after)
        except OvertError as error:
            lost.append(error.message)
            return ()

    return [change for each in standing for change in each.changes(trees)]


def _compared(work: Work, path: str, then: FileState | None) -> FileDiff | str:
    """The difference, or the path and why there is none; nothing where the file is as it was."""
    try:
        now, raw = state_of(work.workspace, path)
        if is_state(now, raw, then):
            return ""
        if any(state is not None and (state.folder or state.link) for state in (now, then)):
            return f"{path}{'/' if (now or then or FileState()).folder else ''}"
        before = _content(work.keeper, then)
    except (ToolError, OvertError) as error:
        return f"{path}: {error.message}"
    old, new = _text(raw if now else None), _text(before)
    if isinstance(old, bytes) or isinstance(new, bytes):
        return say("tui.rewind.binary", path=path)
    return file_diff(path, *(text if text is None else work.redact(text) for text in (old, new)))


def _content(keeper: Keeper, state: FileState | None) -> bytes | None:
    if state is None:
        return None
    names = keeper.fetch([state])
    return keeper.store.get(names.get(state.hash, state.hash))


def _text(raw: bytes | None) -> str | bytes | None:
    """As text where it is one, and not too much of it."""
    if raw is None:
        return None
    if len(raw) > LARGEST or b"\0" in raw:
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
