"""Undo without a conversation: a session that nobody writes to at the moment is opened, and told of it."""

from msgspec import Struct
from msgspec.structs import replace

from overt.app.hands import WorldHands
from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.app.undo import Undoing, Words, first_line, turn_lines
from overt.core.errors import OvertError, SessionError
from overt.core.events import UserSpoke
from overt.core.fragments import HARNESS
from overt.core.history import History
from overt.core.messages import said
from overt.lib.catalogue import say
from overt.sessions.index import find, latest, summary
from overt.sessions.log import SessionLog
from overt.sessions.resume import resume


class Where(Struct, frozen=True, kw_only=True):
    """Which session: by its id, or the newest one of the project of a folder."""

    reference: str = ""
    directory: str = ""
    add_dirs: tuple[str, ...] = ()


def turns_of(where: Where) -> tuple[str, ...]:
    path, setting = _found(where)
    work = _undoing(path, setting)
    lines = turn_lines(work.points(), first_line) or (say("undo.no_turns"),)
    return (*lines, *work.damage())


def undo_session(where: Where, *, turn: int, redo: bool, force: bool) -> tuple[str, ...]:
    """`turn`: back to before it; 0 is the last one that did something."""
    path, setting = _found(where)
    log, loaded = SessionLog.open(path)
    try:
        last = resume(loaded.entries)
        if turn > last.turn:
            raise OvertError(say("undo.no_turn", turn=turn, last=last.turn))
        work = _undoing(path, setting)
        words = Words(force="--force", redo="overt undo --redo")
        if redo:
            done = work.redo(force=force, words=replace(words, redo="overt undo"))
        elif turn:
            done = work.rewind(turn, force=force, words=words)
        else:
            done = work.undo(force=force, words=words)
        for fact in done.facts:
            log.append(fact, turn=last.turn, step=last.step)
        if done.told:
            message = said(f"[overt] {done.told}", origin=HARNESS)
            log.append(UserSpoke(message=message, steered=True), turn=last.turn, step=last.step)
    finally:
        log.close()
    return (*done.lines, say("undo.unrecorded", path=path)) if log.unsaved else done.lines


def _found(where: Where) -> tuple[str, Setting]:
    """The session and the setting of the folder that it worked in."""
    setting = read_setting(Options(directory=where.directory))
    data, project = setting.environment.data_dir, setting.roots.project
    path = find(data, where.reference, None) if where.reference else latest(data, project)
    if path is None:
        raise SessionError(say("session.none", project=project), code="missing")
    workspace = summary(path).workspace or setting.roots.workspace
    return path, read_setting(Options(directory=workspace, add_dirs=where.add_dirs))


def _undoing(path: str, setting: Setting) -> Undoing:
    hands = WorldHands(setting, history=History)
    return Undoing(path, hands.workspace, hands.keeper)
