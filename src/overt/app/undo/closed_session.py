"""Undo from the shell: open a session that no process writes to at the moment, put files back, and record it."""

from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from overt.app.options import Options
from overt.app.redaction.redact_events import redact_event
from overt.app.redaction.secrets import make_redactor
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting, read_setting
from overt.app.undo.git_undo import GitUndo, run_undo
from overt.app.undo.session_undo import SessionUndo, UndoRequest, UndoResult, turn_lines
from overt.app.workspace_services import WorkspaceServices
from overt.core.errors import OvertError, SessionError
from overt.core.events import Event, UserSpoke
from overt.core.messages import own_message
from overt.lib.translations import say
from overt.sessions.index import find_path, latest_path, summary
from overt.sessions.log import SessionLog
from overt.sessions.resume import resume


class ClosedSession(Struct, frozen=True, kw_only=True):
    """Which session: by its id, or the newest one of the project. `setting` is that of the folder `-C` names.

    `directory` and `add_dirs` are as they were typed.
    """

    setting: Setting
    reference: str = ""
    directory: str = ""
    add_dirs: tuple[str, ...] = ()

    def command(self) -> str:
        """How to call `overt undo` for the same session again."""
        words = [self.reference] if self.reference else []
        words += ["-C", self.directory] if self.directory else []
        return " ".join(["overt undo", *map(quote, words)])


def turns_of(where: ClosedSession) -> tuple[str, ...]:
    path, setting = _find_session(where)
    work, _ = _undoing(path, setting)
    work.require_enabled()
    lines = turn_lines(work.points()) or (say("undo.no_turns"),)
    return (*lines, *work.damage())


def undo_session(where: ClosedSession, request: UndoRequest) -> UndoResult:
    path, setting = _find_session(where)
    log, loaded = SessionLog.open(path)
    try:
        last = resume(loaded.entries)
        if request.turn > last.turn:
            raise OvertError(say("undo.no_turn", turn=request.turn, last=last.turn))
        work, git = _undoing(path, setting)
        done = run_undo(work, replace(request, shell=where.command()), git)
        events: list[Event] = [*done.facts]
        if done.notice:
            events.append(UserSpoke(message=own_message(done.notice, "notice"), steered=True))
        clean = make_redactor(setting).clean
        for event in events:
            log.append(redact_event(event, clean), turn=last.turn, step=last.step)
    finally:
        log.close()
    if log.unsaved:
        return replace(done, lines=(*done.lines, say("undo.unrecorded", path=path)))
    return done


def _find_session(where: ClosedSession) -> tuple[str, Setting]:
    """Return the path of the session and the setting of the folder that it worked in."""
    setting = where.setting
    data, project = setting.environment.data_dir, setting.roots.project
    path = find_path(data, where.reference, None) if where.reference else latest_path(data, project)
    if path is None:
        raise SessionError(say("session.none", project=project), code="missing")
    workspace = summary(path).workspace
    if workspace in ("", setting.roots.workspace):
        return path, setting
    return path, read_setting(Options(directory=workspace, add_dirs=where.add_dirs, registries=setting.registries))


def _undoing(path: str, setting: Setting) -> tuple[SessionUndo, GitUndo]:
    services = WorkspaceServices(setting)
    work = SessionUndo(path, SessionWorkspace(setting, services).workspace, services.keeper)
    return work, GitUndo(setting.roots.workspace, services.keeper.store, services.git)
