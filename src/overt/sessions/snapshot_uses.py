"""Find out which snapshots the turns of sessions need. Sessions are read as lines; nothing is folded.

The session files are the only record of who needs what: forks, old sessions and repaired ones are covered without
a second list that could disagree with them.
"""

import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from msgspec import Struct
from msgspec.json import Decoder

from overt.core.errors import OvertError, SessionError
from overt.core.events import SessionOpened
from overt.sessions._lock import lock_holder
from overt.sessions.entries import sound_entries
from overt.sessions.index import paths
from overt.sessions.load import open_regular

KINDS = (b"tree", b"snapshot", b"git")
LONGEST_LINE = 64 * 1024 * 1024
TREE_NAME, CONTENT_NAME = 40, 64


class TurnUse(Struct, frozen=True, kw_only=True):
    """The snapshots that one turn of one session names; `time` is when the last of them was recorded.

    `workspace` is empty if the header of the session is damaged. `before_contents` are the contents without which the
    turn cannot be put back; the others only may be stored. `running` are states before commands that have not
    ended, in a session that a process is writing now.
    """

    session: str
    workspace: str
    turn: int
    time: float
    trees: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    before_contents: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


class _GitState(Struct, frozen=True):
    index_copy: str = ""


class _Names(Struct, frozen=True):
    """Of a `git` entry only the copy of the index counts: without it the index cannot be put back."""

    call_id: str = ""
    before: str | _GitState = ""
    after: str | _GitState = ""
    hash: str = ""
    uncovered: str | tuple[str, ...] = ""


class _Line(Struct, frozen=True):
    ts: float
    turn: int
    data: _Names
    agent: str = "main"


class _Turn(Struct):
    time: float = 0.0
    names: dict[str, None] = {}
    before: dict[str, None] = {}


_line = Decoder(_Line)


def session_files(data_dir: str, project: str, workspaces: Iterable[str]) -> tuple[str, ...]:
    """Return the session files that may name snapshots of a project or of its workspaces.

    A workspace changes its project when a `.git` is created above it or removed, so the folders of sessions of all
    its ancestors count.
    """
    folders = {os.path.abspath(project): None}
    for workspace in workspaces:
        folders[workspace] = None
        while (above := os.path.dirname(workspace)) != workspace:
            folders[above] = None
            workspace = above
    return tuple(path for folder in folders for path in paths(data_dir, folder))


def read_uses(files: Iterable[str]) -> list[TurnUse]:
    """Read all uses, the newest first. A session that cannot be read raises OvertError: its needs are unknown."""
    uses: list[TurnUse] = []
    for path in files:
        try:
            uses += _uses_of(path)
        except SessionError as error:
            if error.code != "missing":  # else deleted meanwhile
                raise
        except OSError as error:
            raise OvertError(f"{path}: {error.strerror}") from error
    return sorted(uses, key=lambda use: use.time, reverse=True)


def _uses_of(path: str) -> Iterator[TurnUse]:
    with open_regular(path, buffering=1024 * 1024) as file:
        workspace = _workspace_of(file.readline(LONGEST_LINE))
        file.seek(0)
        turns, running = _read_turns(file)
    is_live = bool(running) and lock_holder(path) is not None
    for number, turn in turns.items():
        yield TurnUse(
            session=path,
            workspace=workspace,
            turn=number,
            time=turn.time,
            trees=tuple(name for name in turn.names if len(name) == TREE_NAME),
            contents=tuple(name for name in turn.names if len(name) == CONTENT_NAME),
            before_contents=tuple(turn.before),
            running=tuple(name for at, name in running.values() if at == number) if is_live else (),
        )


def _read_turns(file: BinaryIO) -> tuple[dict[int, _Turn], dict[tuple[str, str], tuple[int, str]]]:
    turns: dict[int, _Turn] = {}
    running: dict[tuple[str, str], tuple[int, str]] = {}
    while line := file.readline(LONGEST_LINE):
        start = line.find(b'"type":"') + 8
        kind = line[start : line.find(b'"', start)]
        if kind not in KINDS:
            continue
        try:
            entry = _line.decode(line)
        except ValueError:
            continue
        names = entry.data
        if isinstance(names.before, _GitState):
            names = _Names(hash=names.before.index_copy)
        turn = turns.setdefault(entry.turn, _Turn())
        turn.time = max(turn.time, entry.ts)
        turn.names |= {name: None for name in (names.before, names.after, names.hash) if name and isinstance(name, str)}
        if names.hash and not names.uncovered:
            turn.before[names.hash] = None
        if kind == b"tree" and isinstance(names.before, str) and names.before and not names.after:
            running[entry.agent, names.call_id] = (entry.turn, names.before)
        else:
            running.pop((entry.agent, names.call_id), None)
    return turns, running


def _workspace_of(line: bytes) -> str:
    headers = (entry.data for entry in sound_entries((line,)))
    return next((header.workspace for header in headers if isinstance(header, SessionOpened)), "")
