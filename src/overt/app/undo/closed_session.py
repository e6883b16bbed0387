"""Undo without a conversation: a session that nobody writes to at the moment is opened, and told of it."""

from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from overt.app.options import Options
from overt.app.redaction.scrub import redact_event
from overt.app.redaction.secrets import make_redactor
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting, read_setting
from overt.app.undo.git import GitUndo, run_undo
from overt.app.undo.turns import Undoing, Undone, UndoOptions, turn_lines
from overt.app.workspace_services import WorkspaceServices
from overt.core.errors import OvertError, SessionError
from overt.core.events import Event, UserSpoke
from overt.core.messages import own_message
from overt.lib.catalogue import say
from overt.sessions.index import find, latest, summary
from overt.sessions.log import SessionLog
from overt.sessions.resume import resume


class Where(Struct, frozen=True, kw_only=True):
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


def turns_of(where: Where) -> tuple[str, ...]:
    path, setting = _find_session(where)
    work, _ = _undoing(path, setting)
    lines = turn_lines(work.points()) or (say("undo.no_turns"),)
    return (*lines, *work.damage())


class UndoRequest(Struct, frozen=True, kw_only=True):
    """`turn`: go back to before this turn; 0: undo the last turn that changed something. `yes` and `force` as in
    `UndoOptions`. `git`: also put back HEAD, branches, stash and index."""

    turn: int = 0
    redo: bool = False
    yes: bool = False
    force: bool = False
    git: bool = False


def undo_session(where: Where, request: UndoRequest) -> Undone:
    path, setting = _find_session(where)
    log, loaded = SessionLog.open(path)
    try:
        last, turn = resume(loaded.entries), request.turn
        if turn > last.turn:
            raise OvertError(say("undo.no_turn", turn=turn, last=last.turn))
        work, repository = _undoing(path, setting)
        command = where.command()
        options = UndoOptions(
            yes=request.yes,
            force=request.force,
            yes_command=f"{command} --yes",
            force_command=f"{command} --redo --force" if request.redo else f"{command} --force",
            redo_command=command if request.redo else f"{command} --redo",
        )
        if request.redo:
            done = work.redo(options)
        else:
            done = run_undo(
                repository,
                work.points(),
                turn,
                lambda: work.rewind(turn, options) if turn else work.undo(options),
                with_git=request.git,
                undo=f"{command} --git",
            )
        events: list[Event] = [*done.facts]
        if done.told:
            events.append(UserSpoke(message=own_message(done.told, "notice"), steered=True))
        clean = make_redactor(setting).clean
        for event in events:
            log.append(redact_event(event, clean), turn=last.turn, step=last.step)
    finally:
        log.close()
    if log.unsaved:
        return replace(done, lines=(*done.lines, say("undo.unrecorded", path=path)))
    return done


def _find_session(where: Where) -> tuple[str, Setting]:
    """Return the path of the session and the setting of the folder that it worked in."""
    setting = where.setting
    data, project = setting.environment.data_dir, setting.roots.project
    path = find(data, where.reference, None) if where.reference else latest(data, project)
    if path is None:
        raise SessionError(say("session.none", project=project), code="missing")
    workspace = summary(path).workspace
    if workspace in ("", setting.roots.workspace):
        return path, setting
    return path, read_setting(Options(directory=workspace, add_dirs=where.add_dirs, registries=setting.registries))


def _undoing(path: str, setting: Setting) -> tuple[Undoing, GitUndo]:
    services = WorkspaceServices(setting)
    git = GitUndo(setting.roots.workspace, services.keeper.store, services.git)
    work = Undoing(path, SessionWorkspace(setting, services).workspace, services.keeper)
    work.require_enabled()
    return work, git
