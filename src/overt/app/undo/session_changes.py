"""What a session has changed in the files: from the snapshots of how they stood before to how they stand now."""

from typing import Literal

from msgspec.structs import replace

from overt.app.undo.turns import Undoing
from overt.core.errors import OvertError, ToolError
from overt.core.states import FileState
from overt.core.views import FileDiff
from overt.lib.catalogue import say
from overt.lib.diff import file_diff
from overt.sessions.checkpoints import Net, net
from overt.workspace.undo.restore import is_state, state_of

LARGEST = 1024 * 1024
"""Bytes of a file up to which its lines are compared."""


class SessionChanges(Undoing):
    """Everything here blocks: it is for a thread."""

    def files(self, first: int = 0) -> tuple[FileDiff, ...]:
        """Files that turns from `first` on changed and that are still not as before; no text where it is none."""
        turns = self.points().standing(first)
        changes = [change for each in turns for change in (*each.changes(self._trees), *self._unseen(each))]
        wanted = [each for each in net(changes, self._same) if not _folder(each)]
        names = self._keeper.fetch([each.before for each in wanted if each.before])
        found = (self._diff(each, names) for each in sorted(wanted, key=lambda one: one.path))
        return tuple(each for each in found if each)

    def unknown(self) -> tuple[str, ...]:
        """What could not be compared, in words, once it was tried."""
        return tuple(self._lost)

    def _diff(self, wanted: Net, names: dict[str, str]) -> FileDiff | None:
        try:
            now, raw = state_of(self._workspace, wanted.path)
        except ToolError as error:
            self._lost.append(say("undo.left", file=wanted.path, why=error.message.rstrip(".")))
            return None
        if is_state(now, raw, wanted.before):
            return None
        change: Literal["created", "updated", "deleted"] = "updated" if wanted.before else "created"
        bare = FileDiff(path=wanted.path, diff="", change=change if now else "deleted")
        before, after = self._content(wanted.before, names), _text(raw) if now else None
        if (wanted.before and before is None) or (now and (after is None or now.folder)):
            return bare
        return file_diff(wanted.path, before, after)

    def _content(self, state: FileState | None, names: dict[str, str]) -> str | None:
        if state is None:
            return None
        try:
            return _text(self._keeper.content(replace(state, hash=names.get(state.hash, state.hash))))
        except OvertError:
            return None


def _text(data: bytes) -> str | None:
    """None for what is too large, or no text."""
    if len(data) > LARGEST or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _folder(wanted: Net) -> bool:
    return all(state is None or state.folder for state in (wanted.before, wanted.after))
