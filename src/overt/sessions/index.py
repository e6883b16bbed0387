"""Finding sessions without reading them whole: names first, then the head and the tail of each file."""

import contextlib
import os
from collections.abc import Iterable
from typing import BinaryIO

from msgspec import Struct

from overt.core.errors import OvertError, SessionError
from overt.core.events import Event, ModelSet, PrefixSet, Replied, SessionOpened, TitleSet, UserSpoke
from overt.sessions._lock import Lock
from overt.sessions.entries import Entry, sound_entries
from overt.sessions.load import header_from_name, open_regular
from overt.sessions.names import SUFFIX, agents_folder, created_of, folder_of, id_of, outputs_of, sessions_folder

_HEAD_MOST = 1024 * 1024
_TAIL = 32 * 1024
_TITLE = 120
_TITLE_MARK = b',"type":"title","data":{'
"""No string of an entry holds these bytes: its quotes would be escaped."""
_BLOCK = 1024 * 1024
_FEWEST = 3
"""Characters of a name that are enough to mean it."""


class Summary(Struct, frozen=True, kw_only=True):
    """`created` is what the clock said then, as `20260102T030405Z`; `changed` is when the file was last written.

    `title` is the name a person gave last, else the one a model found, else the first prompt. `parent` is the session
    this one was forked from or, with an `agent_path`, the one that started this agent.
    """

    id: str
    path: str
    project: str = ""
    workspace: str = ""
    title: str = ""
    created: str
    changed: float = 0.0
    turns: int = 0
    model: str = ""
    size: int = 0
    parent: str = ""
    agent_path: str = ""


def list_sessions(data_dir: str, project: str | None = None) -> tuple[Summary, ...]:
    """Every session of a project, or of all, the one written last first. None is left out, whatever its clock said."""
    return tuple(map(summary_or_name, paths(data_dir, project)))


def summary_or_name(path: str) -> Summary:
    """Return the summary of a session; of one that cannot be read, only what its file name says."""
    try:
        return summary(path)
    except (OSError, OvertError):
        return Summary(id=id_of(path), path=path, created=created_of(path))


def paths(data_dir: str, project: str | None = None) -> tuple[str, ...]:
    """The files of the sessions, the one written last first; equal times are ordered by name."""
    folders = [folder_of(data_dir, project)] if project is not None else _folders(data_dir)
    files = [entry for folder in folders for entry in _scan(folder) if entry.name.endswith(SUFFIX)]
    dated = [(_changed(entry), entry.name, entry.path) for entry in files if entry.is_file(follow_symlinks=False)]
    return tuple(path for _, _, path in sorted(dated, reverse=True))


def latest_path(data_dir: str, project: str) -> str | None:
    """The session of the project that was written last."""
    return next(iter(paths(data_dir, project)), None)


def agent_paths(path: str) -> tuple[str, ...]:
    """The session files of all sub-agents in the tree of a session, in the order of their start."""
    files = [entry for entry in _scan(agents_folder(path)) if entry.name.endswith(SUFFIX)]
    return tuple(sorted(entry.path for entry in files if entry.is_file(follow_symlinks=False)))


def find_path(data_dir: str, reference: str, project: str | None = None, *, by_name: bool = True) -> str:
    """The one session whose id begins with `reference`, else whose name is or begins with it.

    In the project, or, when it has none, anywhere.
    """
    prefix = reference.strip().lower()
    scopes = tuple(dict.fromkeys((project, None)))
    for look in (_by_id, _by_name)[: 1 + by_name] if prefix else ():
        for scope in scopes:
            hits = look(paths(data_dir, scope), prefix)
            if len(hits) > 1:
                names = ", ".join(f"{id_of(path)} ({created_of(path)})" for path in hits[:10])
                raise SessionError(
                    f"`{reference}` could be any of {len(hits)} sessions: {names}. Give more of the id.",
                    code="ambiguous",
                )
            if hits:
                return hits[0]
    for path in paths(data_dir) if len(prefix) >= _FEWEST else ():  # a sub-agent has an id and no name
        if hits := _by_id(agent_paths(path), prefix):
            return hits[0]
    raise SessionError(
        f"No session has an id that begins with `{reference}`{', nor such a name' if by_name else ''}. "
        "`overt sessions` lists them.",
        code="missing",
    )


def _by_id(known: Iterable[str], prefix: str) -> list[str]:
    hits = [path for path in known if id_of(path).lower().startswith(prefix)]
    return [path for path in hits if id_of(path).lower() == prefix] or hits


def _by_name(known: Iterable[str], prefix: str) -> list[str]:
    prefix = _plain(prefix)
    if len(prefix) < _FEWEST and prefix.isascii():
        return []
    names = [(path, _plain(summary_or_name(path).title)) for path in known]
    exact = [path for path, name in names if name == prefix]
    return exact or [path for path, name in names if name.startswith(prefix)]


def _plain(name: str) -> str:
    name = " ".join(name.casefold().split())
    if name.isascii():
        return name
    import unicodedata  # late: 0.2 ms

    return unicodedata.normalize("NFC", name)


def delete(path: str) -> None:
    """Remove a session, what lies beside it and what its commands printed; one that is being written is refused."""
    if not os.path.exists(path):
        raise SessionError(f"There is no session {path}. `overt sessions` lists them.", code="missing")
    try:
        lock = Lock(path)
        try:
            os.unlink(path)
            if os.path.exists(f"{path}.torn"):
                os.unlink(f"{path}.torn")
            _delete_outputs(outputs_of(path))
            _delete_agents(path)
        finally:
            lock.release()
    except OSError as error:
        raise SessionError(
            f"Session {path} cannot be deleted: {error.strerror}. Check the mode of its folder."
        ) from error


def _delete_agents(path: str) -> None:
    """Delete the sub-agents of a session. For the session of a sub-agent, delete nothing else."""
    folder = agents_folder(path)
    if folder == os.path.dirname(path) or not os.path.isdir(folder):
        return
    for each in agent_paths(path):
        delete(each)
    with contextlib.suppress(OSError):  # files that are not ours stay, and so does the folder
        os.rmdir(folder)


def _delete_outputs(folder: str) -> None:
    if not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)


def summary(path: str) -> Summary:
    """What a list shows of one session, from its first and last bytes."""
    with open_regular(path, buffering=_TAIL) as file:
        facts = os.fstat(file.fileno())
        head = _head(file)
        tail = _tail(file, facts.st_size)
        title = _newest_title(file, facts.st_size)
    opened = next((e.data for e in (*head, *tail) if isinstance(e.data, SessionOpened)), None) or header_from_name(path)
    return Summary(
        id=id_of(path),
        path=path,
        project=opened.project,
        workspace=opened.workspace,
        title=title or next((words for e in head if (words := _prompted(e.data))), ""),
        created=created_of(path),
        changed=facts.st_mtime,
        turns=max((e.turn for e in (*head, *tail)), default=0),
        model=next((name for e in reversed((*head, *tail)) if e.agent == "main" and (name := _model(e.data))), ""),
        size=facts.st_size,
        parent=opened.parent,
        agent_path=opened.agent_path,
    )


def _head(file: BinaryIO) -> list[Entry[Event]]:
    """Entries up to the first prompt, as far as they lie near the beginning."""
    entries: list[Entry[Event]] = []
    while file.tell() < _HEAD_MOST and (line := file.readline(_HEAD_MOST)):
        entries += sound_entries((line,))
        if entries and _prompted(entries[-1].data):
            break
    return entries


def _tail(file: BinaryIO, size: int) -> list[Entry[Event]]:
    file.seek(max(0, size - _TAIL))
    lines = file.read(_TAIL).split(b"\n")
    return list(sound_entries(lines if size <= _TAIL else lines[1:]))


def _newest_title(file: BinaryIO, size: int) -> str:
    """The last name a person gave, wherever in the file it stands, else the last that a model found.

    From the end, in blocks and without reading them as JSON: a list costs what the disk costs.
    """
    by_model = ""
    end = size
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        block = file.read(end - start + len(_TITLE_MARK) - 1)
        at = len(block)
        while (at := block.rfind(_TITLE_MARK, 0, at)) >= 0:
            title = _title_at(file, start + at)
            if title and not title.model:
                return title.title
            by_model = by_model or (title.title if title else "")
        end = start
    return by_model


def _title_at(file: BinaryIO, offset: int) -> TitleSet | None:
    """What stands in the line around a mark; before the mark a line has only numbers and the name of an agent."""
    start = max(0, offset - 4096)
    file.seek(start)
    before = file.read(offset - start)
    file.seek(start + before.rfind(b"\n") + 1)
    titles = (entry.data for entry in sound_entries((file.readline(_BLOCK),)) if isinstance(entry.data, TitleSet))
    return next(titles, None)


def _prompted(event: Event) -> str:
    """Return the prompt of the user, or of the agent that started this one, as a title; else an empty string."""
    if not isinstance(event, UserSpoke) or not event.message.origin.is_prompt:
        return ""
    text = " ".join(event.message.text()[: 10 * _TITLE].split())
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"


def _model(event: Event) -> str:
    return event.model if isinstance(event, PrefixSet | ModelSet | Replied) else ""


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
