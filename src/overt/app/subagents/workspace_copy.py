"""The copy of the workspace that an isolated agent works in, from its start until its state is a commit.

    <data dir>/isolated/<workspace slug>/<id>/    copy.json: its session and agent
                                              upper/: what the agent changed, see `sandbox/overlay.py`

The folder is locked while the agent runs. An unlocked folder was left behind when Overt was killed: the next
start in the workspace commits its state too. The folder is removed once the commit has everything.
"""

import asyncio
import fcntl
import os
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.app.setting import Setting
from overt.app.workspace_services import WorkspaceServices
from overt.core.codec import decode, encode
from overt.core.errors import OvertError, ToolError
from overt.core.ids import new_id
from overt.lib import atomic
from overt.lib.paths import slug
from overt.lib.translations import say
from overt.sandbox.choose_sandbox import ADVICE, find_bubblewrap
from overt.sandbox.overlay import UPPER, Overlay, mount_overlay
from overt.sandbox.private_folder import remove_private
from overt.sandbox.profile import SandboxPlace
from overt.workspace.copies.agent_commit import AgentCommits, KeptState
from overt.workspace.copies.changed_files import CopyChange, find_changes, mark_deleted
from overt.workspace.git.state import find_repository
from overt.workspace.programs import SupervisorSpawner
from overt.workspace.undo.content_store import make_private

RECORD = "copy.json"
UNFINISHED = ".new-"
IMPOSSIBLE = (
    "this agent works in an isolated copy of the workspace, and none can be made here ({why}), so it was not started. "
    "Use an agent without isolation, or do the work here."
)

NESTED = (
    "this agent works in an isolated copy of the workspace itself, so it can start no isolated agent like {agent}. Use "
    "one without isolation: it works in the same copy."
)


class CopyRecord(Struct, frozen=True, kw_only=True):
    """The session and agent of a copy. `since_ns` is when it was made, by the clock of the file system. `finished`: its
    state was committed as far as possible, and the folder stays for what the commit lacks."""

    workspace: str
    session: str = ""
    agent: str = ""
    description: str = ""
    since_ns: int = 0
    finished: bool = False


class CopyState(Struct, frozen=True, kw_only=True):
    """What an agent changed in its copy, and the commit that keeps it. Without one, `why_not` is the reason, and the
    copy stays in `folder`; it stays too if the commit lacks something. If nothing was changed, all of it is empty.
    `in_git`: the workspace is in a repository."""

    changes: tuple[CopyChange, ...]
    in_git: bool = True
    kept: KeptState | None = None
    why_not: str = ""
    folder: str = ""


class WorkspaceCopy:
    """A copy of the workspace, with a sandbox of its own in which nothing else can be written."""

    def __init__(self, folder: str, lock: int, overlay: Overlay, place: SandboxPlace, git: str) -> None:
        self.folder = folder
        self.overlay = overlay
        self.place = replace(
            place, write=(), read=(*place.read, *place.write), caches=(), plugin_data=(), isolated=True
        )
        self.spawner = SupervisorSpawner(place=self.place, mode="bubblewrap", overlay=overlay)
        self.is_applied = False
        """True once all changes are in the workspace."""
        self._git = git
        self._lock = lock
        self._state: asyncio.Future[CopyState] | None = None

    def belongs_to(self, session: str, agent: str, description: str) -> None:
        """Store the session and agent of the copy, for recovery if Overt is killed."""
        record = replace(read_record(self.folder), session=session, agent=agent, description=description)
        write_record(self.folder, record)

    async def keep_state(self) -> CopyState:
        """End the programs of the agent and commit its changes. Later calls return the same state."""
        if self._state is None:
            self._state = asyncio.ensure_future(self._keep_state())
        return await asyncio.shield(self._state)

    async def _keep_state(self) -> CopyState:
        await self.spawner.close()
        return await asyncio.to_thread(keep_state, self.folder, self._git)

    async def close(self) -> None:
        """Release the copy. Commit its changes first if that was not done."""
        try:
            state = await self.keep_state()
        finally:
            self.overlay.close()
            unlock_folder(self._lock)
        await asyncio.to_thread(settle_folder, self.folder, replace(state, folder="") if self.is_applied else state)


async def open_copy(setting: Setting, shared: WorkspaceServices) -> WorkspaceCopy:
    """Make a copy for an agent. Raise ToolError if that is not possible."""
    mode = setting.config.sandbox.mode
    if mode not in ("auto", "bubblewrap"):
        raise ToolError(IMPOSSIBLE.format(why=f"sandbox.mode is {mode}"), code="isolation")
    if not find_bubblewrap():
        raise ToolError(IMPOSSIBLE.format(why=f"bubblewrap is not installed: {ADVICE}"), code="isolation")
    opening = asyncio.ensure_future(asyncio.to_thread(_open_copy, setting, shared))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.wait([opening])  # the thread cannot be stopped, and nobody else would close the copy
        if not opening.cancelled() and not opening.exception():
            await opening.result().close()
        raise
    except (OvertError, OSError) as error:
        raise ToolError(IMPOSSIBLE.format(why=str(error)), code="isolation") from error


def _open_copy(setting: Setting, shared: WorkspaceServices) -> WorkspaceCopy:
    base, workspace, id = copies_folder(setting), setting.roots.workspace, new_id()
    make_private(base)
    unfinished, folder = f"{base}/{UNFINISHED}{id}", f"{base}/{id}"
    os.mkdir(unfinished, 0o700)
    lock = lock_folder(unfinished)
    assert lock >= 0  # the name is new, so no other process can hold the lock
    try:
        write_record(unfinished, CopyRecord(workspace=workspace))
        since = os.stat(f"{unfinished}/{RECORD}").st_ctime_ns
        write_record(unfinished, CopyRecord(workspace=workspace, since_ns=since))
        os.rename(unfinished, folder)
        overlay = mount_overlay(workspace, folder)
    except BaseException:
        unlock_folder(lock)
        for path in (unfinished, folder):
            remove_private(path)
        raise
    return WorkspaceCopy(folder, lock, overlay, shared.place, shared.git)


def copies_folder(setting: Setting) -> str:
    return os.path.join(
        os.path.realpath(setting.environment.data_dir), "isolated", slug(os.path.abspath(setting.roots.workspace))
    )


def keep_state(folder: str, git: str) -> CopyState:
    """Commit the changes of a copy. Blocking."""
    changes: Sequence[CopyChange] = ()
    try:
        record = read_record(folder)
        changes = find_changes(os.path.join(folder, UPPER), record.workspace, since_ns=record.since_ns)
        if not changes:
            return CopyState(changes=())
        repository = find_repository(record.workspace)
        if repository is None or not git:
            in_git = repository is not None
            why = "no trusted git program was found" if in_git else "the workspace is not a git repository"
            return CopyState(changes=tuple(changes), in_git=in_git, why_not=why, folder=folder)
        name = record.session or os.path.basename(folder)
        message = f"{record.agent or 'agent'}: {record.description or 'changes'}\n\nSession: {name}"
        kept = AgentCommits(git, repository, record.workspace, folder).keep(changes, name=name, message=message)
        changes = mark_deleted(changes, kept.missing, record.workspace, since_ns=record.since_ns)
    except Exception as error:  # noqa: BLE001 - no copy may keep Overt from starting; it stays
        return CopyState(changes=tuple(changes), why_not=str(error) or type(error).__name__, folder=folder)
    return CopyState(changes=tuple(changes), kept=kept, folder=folder if kept.left_out else "")


def settle_folder(folder: str, state: CopyState) -> None:
    """Remove the folder of a copy if its commit has everything. Blocking."""
    if state.folder:
        write_record(folder, replace(read_record(folder), finished=True))
    elif remove_private(folder):
        for parent in (os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))):
            try:
                os.rmdir(parent)
            except OSError:
                return  # other copies are in it


def recover_copies(setting: Setting, git: str) -> list[str]:
    """Commit the copies that were left behind when Overt was killed. Return notices for the user. Blocking."""
    base, notices = copies_folder(setting), []
    for name in sorted(os.listdir(base)) if os.path.isdir(base) else ():
        folder = os.path.join(base, name)
        if name.startswith(UNFINISHED) or (lock := lock_folder(folder)) < 0:
            continue
        try:
            notices += _recover_copy(folder, lock, setting.roots.workspace, git)
        except (OvertError, OSError) as error:
            notices.append(say("agents.copy_left", agent=name, folder=folder, why=str(error)))
    return notices


def _recover_copy(folder: str, lock: int, workspace: str, git: str) -> list[str]:
    """Commit a copy and remove it. `lock` is released."""
    try:
        record = read_record(folder)
        if record.finished or record.workspace != workspace:
            return []
        state = keep_state(folder, git)
    finally:
        unlock_folder(lock)
    settle_folder(folder, state)
    agent, notices = record.agent or os.path.basename(folder), []
    if state.kept:
        notices.append(say("agents.copy_recovered", agent=agent, ref=state.kept.ref, files=len(state.changes)))
    if state.folder:
        missing = ", ".join(state.kept.left_out) if state.kept else state.why_not
        notices.append(say("agents.copy_left", agent=agent, folder=folder, why=missing))
    return notices


def lock_folder(folder: str) -> int:
    """Lock the folder of a copy and return the descriptor, or -1 if it is gone or in use."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return -1
    return lock


def unlock_folder(lock: int) -> None:
    fcntl.flock(lock, fcntl.LOCK_UN)  # closing is not enough: a child that is starting may have the descriptor too
    os.close(lock)


def read_record(folder: str) -> CopyRecord:
    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            return decode(file.read(), type=CopyRecord)
    except (OSError, ValueError) as error:
        raise OvertError(f"{RECORD}: {error}") from error


def write_record(folder: str, record: CopyRecord) -> None:
    atomic.replace(os.path.join(folder, RECORD), encode(record))
