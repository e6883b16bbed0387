"""Open the record of a session: a new one, one that is continued, or none."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from overt import __version__
from overt.app.options import Options
from overt.app.setting import Setting
from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, SessionOpened
from overt.core.ids import new_id
from overt.core.protocols import UnsavedEntry
from overt.lib.translations import say
from overt.sessions.entries import VERSION
from overt.sessions.load import Loaded, load
from overt.sessions.log import SessionLog
from overt.sessions.names import agents_folder
from overt.sessions.resume import ResumedSession, resume

if TYPE_CHECKING:
    from overt.app.session import Session


class Recorder(Protocol):
    """Where events are recorded. `append` never raises for a full disk: it keeps trying and reports it elsewhere."""

    def append(self, event: Event, *, turn: int, step: int) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> tuple[UnsavedEntry, ...]: ...


class NoLog:
    """The recorder of a session that is not stored."""

    def append(self, event: Event, *, turn: int, step: int) -> None: ...
    def sync(self) -> None: ...

    def close(self) -> tuple[UnsavedEntry, ...]:
        return ()


class SessionRecord(Struct, frozen=True, kw_only=True):
    """Where a session is recorded, and what a continued one had come to. `path` is empty if it is not stored.

    `notices` are for the user.
    """

    log: Recorder
    id: str
    path: str = ""
    resumed: ResumedSession | None = None
    notices: tuple[str, ...] = ()


def open_record(options: Options, setting: Setting, notify: Callable[[Noticed], None]) -> SessionRecord:
    path = _path_to_continue(options, setting)
    places = setting.roots
    id = ""
    if options.session_id:
        from overt.sessions.fork import free_id  # late: 0.3 ms

        id = free_id(setting.environment.data_dir, options.session_id)
    if path is None:
        if not options.persist:
            return SessionRecord(log=NoLog(), id=id or new_id())
        log = SessionLog.create(
            setting.environment.data_dir,
            workspace=places.workspace,
            project=places.project,
            overt=__version__,
            id=id,
            notify=notify,
        )
        return SessionRecord(log=log, id=log.id, path=log.path)
    if not options.persist:
        loaded = load(path)
        return _continued(NoLog(), "", loaded, setting)
    if options.fork:
        from overt.sessions.fork import fork  # late: 0.3 ms

        path = fork(path, id=id, overt=__version__)
    header = SessionOpened(
        id="", format=VERSION, overt=__version__, workspace=places.workspace, project=places.project, created=""
    )
    log, loaded = SessionLog.open(path, opened=header, notify=notify)
    return _continued(log, path, loaded, setting)


def open_agent_record(
    parent: "Session", setting: Setting, *, agent_path: str, notify: Callable[[Noticed], None]
) -> SessionRecord:
    """Open the record of a sub-agent beside that of its parent. If the parent is not stored, neither is it."""
    if not parent.path:
        return SessionRecord(log=NoLog(), id=new_id())
    header = SessionOpened(
        id=parent.id,
        format=VERSION,
        overt=__version__,
        workspace=setting.roots.workspace,
        project=setting.roots.project,
        created="",
    )
    log = SessionLog.create_for_agent(header, agents_folder(parent.path), agent_path=agent_path, notify=notify)
    return SessionRecord(log=log, id=log.id, path=log.path)


def _path_to_continue(options: Options, setting: Setting) -> str | None:
    data, project = setting.environment.data_dir, setting.roots.project
    if not options.resume and not options.continue_last:
        return None
    from overt.sessions.index import find_path, latest_path  # late: 0.2 ms

    if options.resume:
        return find_path(data, options.resume, project)
    path = latest_path(data, project)
    if path is None:
        raise SessionError(say("session.none", project=project), code="missing")
    return path


def _continued(log: Recorder, path: str, loaded: Loaded, setting: Setting) -> SessionRecord:
    """Return the record of a loaded session. In another folder, the files that it has read do not count as read."""
    resumed, notices = resume(loaded.entries), loaded.damage
    there = loaded.opened.workspace
    if there and there != setting.roots.workspace:
        resumed = replace(resumed, history=replace(resumed.history, seen={}))
        notices = (*notices, say("session.moved", there=there))
    return SessionRecord(log=log, id=loaded.id, path=path, resumed=resumed, notices=notices)
