"""Finding sessions without reading them whole: names first, then the head and the tail of each file."""

import os
from collections.abc import Iterable
from typing import BinaryIO

from msgspec import Struct

from overt.core.errors import OvertError, SessionError
from overt.core.events import Event, ModelSet, PrefixSet, Replied, SessionOpened, TitleSet, UserSpoke
from overt.core.history import ALONG
from overt.sessions._lock import Lock
from overt.sessions.entries import Entry, decode_line
from overt.sessions.load import open_regular, rebuilt
from overt.sessions.names import SUFFIX, created_of, folder_of, id_of, sessions_folder

_HEAD_MOST = 1024 * 1024
_TAIL = 32 * 1024
_TITLE = 120
_TITLE_WITHIN = 64 * 1024
"""How far behind the first prompt its title is looked for."""


class Summary(Struct, frozen=True, kw_only=True):
    """`created` is what the clock said then, as `20260102T030405Z`; `changed` is when the file was last written."""

    id: str
    path: str
    project: str
    workspace: str
    title: str
    created: str
    changed: float
    turns: int
    model: str
    size: int


def list_sessions(data_dir: str, project: str | None = None) -> tuple[Summary, ...]:
    """Every session of a project, or of all, the one written last first. None is left out, whatever its clock said."""
    found: list[Summary] = []
    for path in paths(data_dir, project):
        try:
            found.append(summary(path))
        except (OSError, OvertError):
            found.append(_bare(path))
    return tuple(found)


def paths(data_dir: str, project: str | None = None) -> tuple[str, ...]:
    """The files of the sessions, the one written last first; equal times are ordered by name."""
    folders = [folder_of(data_dir, project)] if project is not None else _folders(data_dir)
    found = [entry for folder in folders for entry in _scan(folder) if entry.name.endswith(SUFFIX)]
    dated = [(_changed(entry), entry.name, entry.path) for entry in found if entry.is_file(follow_symlinks=False)]
    return tuple(path for _, _, path in sorted(dated, reverse=True))


def latest(data_dir: str, project: str) -> str | None:
    """The session of the project that was written last."""
    return next(iter(paths(data_dir, project)), None)


def find(data_dir: str, reference: str, project: str | None = None) -> str:
    """The one session whose id begins with `reference`: in the project, or, when it has none, anywhere."""
    wanted = reference.strip().lower()
    for scope in dict.fromkeys((project, None)):
        known = paths(data_dir, scope)
        hits = [path for path in known if id_of(path).lower().startswith(wanted)] if wanted else []
        hits = [path for path in hits if id_of(path).lower() == wanted] or hits
        if len(hits) > 1:
            names = ", ".join(f"{id_of(path)} ({created_of(path)})" for path in hits[:10])
            raise SessionError(
                f"`{reference}` could be any of {len(hits)} sessions: {names}. Give more of the id.", code="ambiguous"
            )
        if hits:
            return hits[0]
    raise SessionError(
        f"No session has an id that begins with `{reference}`. `overt sessions` lists them.", code="missing"
    )


def delete(path: str) -> None:
    """Remove a session and what lies beside it; one that is being written is refused."""
    if not os.path.exists(path):
        raise SessionError(f"There is no session {path}. `overt sessions` lists them.", code="missing")
    try:
        lock = Lock(path)
        try:
            os.unlink(path)
            if os.path.exists(f"{path}.torn"):
                os.unlink(f"{path}.torn")
        finally:
            lock.release()
    except OSError as error:
        raise SessionError(
            f"Session {path} cannot be deleted: {error.strerror}. Check the mode of its folder."
        ) from error


def summary(path: str) -> Summary:
    """What a list shows of one session, from its first and last bytes."""
    with open_regular(path, buffering=_TAIL) as file:
        facts = os.fstat(file.fileno())
        head = _head(file)
        tail = _tail(file, facts.st_size)
    opened = next((e.data for e in (*head, *tail) if isinstance(e.data, SessionOpened)), None) or rebuilt(path)
    return Summary(
        id=id_of(path),
        path=path,
        project=opened.project,
        workspace=opened.workspace,
        title=next((title for kind in (TitleSet, UserSpoke) for e in head if (title := _title(e.data, kind))), ""),
        created=created_of(path),
        changed=facts.st_mtime,
        turns=max((e.turn for e in (*head, *tail)), default=0),
        model=next((name for e in reversed((*head, *tail)) if (name := _model(e.data))), ""),
        size=facts.st_size,
    )


def _head(file: BinaryIO) -> list[Entry[Event]]:
    """Entries up to the first prompt and the title that was found for it, as far as they lie near the beginning."""
    found: list[Entry[Event]] = []
    most = _HEAD_MOST
    while file.tell() < most and (line := file.readline(_HEAD_MOST)):
        found += _entries((line,))
        last = found[-1].data if found else None
        if isinstance(last, TitleSet):
            break
        if most == _HEAD_MOST and last and _title(last, UserSpoke):
            most = file.tell() + _TITLE_WITHIN
    return found


def _tail(file: BinaryIO, size: int) -> list[Entry[Event]]:
    file.seek(max(0, size - _TAIL))
    lines = file.read(_TAIL).split(b"\n")
    return _entries(lines if size <= _TAIL else lines[1:])


def _entries(lines: Iterable[bytes]) -> list[Entry[Event]]:
    found: list[Entry[Event]] = []
    for line in lines:
        try:
            found.append(decode_line(line))
        except (ValueError, SessionError):
            pass  # a list shows what it can; `load` names the damage
    return found


def _title(event: Event, kind: type[Event]) -> str:
    """What this event calls the session, when it is of the kind; what went along with a prompt is none."""
    match event:
        case TitleSet(title=title) if kind is TitleSet:
            return title
        case UserSpoke(message=message) if kind is UserSpoke and message.origin.kind not in ALONG:
            text = " ".join(message.text()[: 10 * _TITLE].split())
        case _:
            return ""
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"


def _model(event: Event) -> str:
    return event.model if isinstance(event, PrefixSet | ModelSet | Replied) else ""


def _bare(path: str) -> Summary:
    return Summary(
        id=id_of(path),
        path=path,
        project="",
        workspace="",
        title="",
        created=created_of(path),
        changed=0.0,
        turns=0,
        model="",
        size=0,
    )


def _folders(data_dir: str) -> list[str]:
    return [entry.path for entry in _scan(sessions_folder(data_dir)) if entry.is_dir(follow_symlinks=False)]


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SessionError(f"The sessions in {folder} cannot be listed: {error.strerror}. Check its mode.") from error


def _changed(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0
