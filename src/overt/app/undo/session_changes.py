"""What a session has changed in files, and what going back to before one of its turns would do to them."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from msgspec.structs import replace

from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Changes, TurnRow, Turns
from overt.app.undo.session_undo import SessionUndo, is_folder
from overt.core.errors import OvertError
from overt.core.events import UserSpoke
from overt.core.file_states import FileState
from overt.core.history import ALONG
from overt.core.views import FileDiff
from overt.lib.diff import file_diff
from overt.lib.text import first_line
from overt.lib.translations import say
from overt.sessions.checkpoints import NetChange, net_changes, read_checkpoints
from overt.sessions.load import load
from overt.workspace.files import Workspace
from overt.workspace.undo.restore import is_state, state_of
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

MOST_FILES = 60
LARGEST = 1024 * 1024
"""Bytes of a file up to which its lines are compared."""


class Comparison(NamedTuple):
    """A file before a turn and now. The texts are None where nothing is; without `is_text` there is none to compare."""

    before: FileState | None
    now: FileState | None
    old: str | None
    new: str | None
    is_text: bool


class SessionChanges(SessionUndo):
    """Compares the files of a session with how they were. Every method blocks, so call it in a thread.

    `redact` takes secrets out of what is shown: more people than the user may see a screen.
    """

    def __init__(self, path: str, workspace: Workspace, keeper: SnapshotKeeper, redact: Callable[[str], str]) -> None:
        super().__init__(path, workspace, keeper)
        self._redact = redact

    def changes(self) -> Changes:
        """From how files were before the session to how they are now; `others` tells what is not known of them."""
        turns = self.points().standing()
        changes = [change for each in turns for change in (*each.changes(self._trees), *self._unseen(each))]
        files: list[FileDiff] = []
        net = [each for each in net_changes(changes, self._same) if not is_folder(each)]
        for path, before in sorted((each.path, each.before) for each in net):
            try:
                comparison = self._compare(path, before)
            except OvertError as error:
                self._lost.append(say("undo.left", file=path, why=error.message.rstrip(".")))
                continue
            if comparison and comparison.is_text:
                files.append(_diff(path, comparison.old, comparison.new))
            elif comparison:
                change: Literal["created", "updated"] = "updated" if before else "created"
                files.append(FileDiff(path=path, diff="", change=change if comparison.now else "deleted"))
        return Changes(tuple(files), tuple(map(self._redact, (*self.damage(), *self._lost))), _writers(net))

    def preview(self, turn: int) -> Changes:
        """From how files are now to how going back to before a turn would leave them."""
        standing = self.points().standing(turn)
        changes = net_changes((change for each in standing for change in each.changes(self._trees)), self._same)
        others = [*(name for each in standing for name in each.uncovered), *self._lost]
        others += [
            say("tui.rewind.doubt", path=each.path, command=first_line(each.command)) for each in changes if each.doubt
        ]
        if any(each.unsure for each in standing):
            others.append(say("tui.rewind.unsure"))
        files: list[FileDiff] = []
        writers = _writers(changes)
        certain = sorted((each.path, each.before) for each in changes if not each.doubt)
        for path, before in certain:
            if len(files) == MOST_FILES:
                others.append(say("tui.rewind.more", count=len(certain) - MOST_FILES))
                break
            writer = f" ({writers[path]})" if path in writers else ""
            try:
                comparison = self._compare(path, before)
            except OvertError as error:
                others.append(f"{path}: {error.message}")
                continue
            if comparison and comparison.is_text:
                files.append(_diff(path, comparison.new, comparison.old))
            elif comparison and any(
                state and (state.folder or state.link) for state in (comparison.before, comparison.now)
            ):
                slash = "/" if (comparison.now or comparison.before or FileState()).folder else ""
                others.append(f"{path}{slash}{writer}")
            elif comparison:
                others.append(say("tui.rewind.binary", path=path) + writer)
        return Changes(tuple(files), tuple(dict.fromkeys(map(self._redact, others))), writers)

    def _compare(self, path: str, before: FileState | None) -> Comparison | None:
        """Return None if the file is as it was before. OvertError if that cannot be told."""
        now, raw = state_of(self._workspace, path)
        if is_state(now, raw, before):
            return None
        states = [state for state in (now, before) if state]
        if any(state.folder or state.link for state in states):
            return Comparison(before, now, None, None, is_text=False)
        old, new = self._text_before(before), self._text(raw) if now else None
        return Comparison(before, now, old, new, is_text=sum(text is not None for text in (old, new)) == len(states))

    def _text_before(self, state: FileState | None) -> str | None:
        if state is None:
            return None
        names = self._keeper.fetch([state])
        return self._text(self._keeper.store.get(names.get(state.hash, state.hash)))

    def _text(self, data: bytes) -> str | None:
        """None for what is too large, or no text."""
        if len(data) > LARGEST or b"\0" in data:
            return None
        try:
            return self._redact(data.decode())
        except UnicodeDecodeError:
            return None


def _writers(changes: Iterable[NetChange]) -> dict[str, str]:
    return {each.path: each.sub_agents for each in changes if each.sub_agents}


def _diff(path: str, old: str | None, new: str | None) -> FileDiff:
    diff = file_diff(path, old, new)
    return replace(diff, change="updated") if diff.change == "unchanged" else diff  # only a secret differs


async def list_turns(conversation: Conversation) -> Turns:
    """The turns that can be gone back to."""
    if not conversation.path:
        raise OvertError(say("undo.unkept"))
    if not conversation.session.turn:
        return Turns(())
    entries = (await asyncio.to_thread(load, conversation.path)).entries
    with_text = {mark.turn for mark in conversation.session.marks if mark.text}
    times: dict[int, float] = {}
    for entry in entries:
        if isinstance(entry.data, UserSpoke) and entry.data.message.origin.kind not in ALONG:
            times.setdefault(entry.turn, entry.ts)
    turns = [
        TurnRow(
            turn=each.turn,
            text=first_line(each.text),
            when=times.get(each.turn, 0.0),
            files=each.files,
            undone=each.undone,
            speaks=each.turn in with_text,
        )
        for each in read_checkpoints(entries).turns
    ]
    return Turns(tuple(reversed(turns)))


async def preview_rewind(conversation: Conversation, turn: int) -> Changes:
    """From how files are now to how going back to before a turn would leave them."""
    session = await _open(conversation)
    return await asyncio.to_thread(session.preview, turn)


async def session_changes(conversation: Conversation) -> Changes:
    """From how files were before the session to how they are now."""
    if not conversation.path or conversation.session.turn == 0:
        return Changes((), ())
    session = await _open(conversation)
    return await asyncio.to_thread(session.changes)


async def _open(conversation: Conversation) -> SessionChanges:
    own, shared = conversation.session_workspace, conversation.session_workspace.shared
    await shared.wait_for_records()
    return SessionChanges(conversation.path, own.workspace, shared.keeper, conversation.redact)
