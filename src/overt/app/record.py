"""Where a conversation is recorded: a new session, one that goes on, or none."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from overt import __version__
from overt.app.options import Options
from overt.app.session_state import Recorder
from overt.app.setting import Setting
from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, SessionOpened, TitleSet
from overt.core.ids import new_id
from overt.core.ports import UnsavedEntry
from overt.lib.catalogue import say
from overt.sessions.entries import VERSION
from overt.sessions.load import Loaded, load
from overt.sessions.log import SessionLog
from overt.sessions.resume import Resumed, resume


class NoLog:
    """The recorder of a session that is not kept."""

    def append(self, event: object, *, turn: int, step: int) -> None: ...
    def sync(self) -> None: ...

    def close(self) -> tuple[UnsavedEntry, ...]:
        return ()


class Naming:
    """Records the name of a session just before its first fact, so that one nobody used leaves nothing behind."""

    def __init__(self, log: Recorder, name: str) -> None:
        self._log = log
        self._name = name

    def append(self, event: Event, *, turn: int, step: int) -> None:
        name, self._name = self._name, ""
        if name:
            self._log.append(TitleSet(title=name, model=""), turn=turn, step=step)
        self._log.append(event, turn=turn, step=step)

    def sync(self) -> None:
        self._log.sync()

    def close(self) -> tuple[UnsavedEntry, ...]:
        return self._log.close()


class Recorded(Struct, frozen=True, kw_only=True):
    """`resumed` is what a session that goes on had come to; `notices` are for the person."""

    log: Recorder
    id: str
    path: str = ""
    resumed: Resumed | None = None
    notices: tuple[str, ...] = ()


def open_record(options: Options, setting: Setting, notify: Callable[[Noticed], None]) -> Recorded:
    path = _wanted(options, setting)
    places = setting.roots
    id = ""
    if options.session_id:
        from overt.sessions.fork import free_id  # late: 0.3 ms

        id = free_id(setting.environment.data_dir, options.session_id)
    if path is None:
        if not options.persist:
            return Recorded(log=NoLog(), id=id or new_id())
        log = SessionLog.create(
            setting.environment.data_dir,
            workspace=places.workspace,
            project=places.project,
            overt=__version__,
            id=id,
            notify=notify,
        )
        return Recorded(log=log, id=log.id, path=log.path)
    if not options.persist:
        loaded = load(path)
        return _going_on(NoLog(), "", loaded, setting)
    if options.fork:
        from overt.sessions.fork import fork  # late: 0.3 ms

        path = fork(path, id=id, overt=__version__)
    header = SessionOpened(
        id="", format=VERSION, overt=__version__, workspace=places.workspace, project=places.project, created=""
    )
    log, loaded = SessionLog.open(path, opened=header, notify=notify)
    return _going_on(log, path, loaded, setting)


def _wanted(options: Options, setting: Setting) -> str | None:
    data, project = setting.environment.data_dir, setting.roots.project
    if not options.resume and not options.continue_last:
        return None
    from overt.sessions.index import find, latest  # late: 0.2 ms

    if options.resume:
        return find(data, options.resume, project)
    path = latest(data, project)
    if path is None:
        raise SessionError(say("session.none", project=project), code="missing")
    return path


def _going_on(log: Recorder, path: str, loaded: Loaded, setting: Setting) -> Recorded:
    """In another folder, what was read there is not known here."""
    resumed, notices = resume(loaded.entries), loaded.damage
    there = loaded.opened.workspace
    if there and there != setting.roots.workspace:
        resumed = replace(resumed, history=replace(resumed.history, seen={}))
        notices = (*notices, say("session.moved", there=there))
    return Recorded(log=log, id=loaded.id, path=path, resumed=resumed, notices=notices)
