"""The append-only file of one session: one `write` per entry, one writer, and no fault of the disk ends a turn.

An entry has its number and its sum before it is written. What cannot be written waits in memory, in order,
and is tried again with the next entry; a line that got only half way is cut off first. The file and its
lock are created with the first entry, so that an unused session leaves nothing behind.
"""

import os
from collections import deque
from collections.abc import Callable
from errno import ENOSPC

from msgspec.structs import replace

from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, SessionOpened
from overt.core.ids import new_id
from overt.core.protocols import UnsavedEntry
from overt.sessions._lock import Lock
from overt.sessions._repair import repair
from overt.sessions.entries import VERSION, encode_line, entry_type
from overt.sessions.load import Loaded, load
from overt.sessions.names import file_name, folder_of, utc_stamp

Notify = Callable[[Noticed], None]


def _silent(_: Noticed) -> None: ...


class SessionLog:
    """Made by `create` or `open`. `notify` hears once when saving starts to fail and once when it works again."""

    def __init__(self, path: str, opened: SessionOpened, *, notify: Notify) -> None:
        self.path = path
        self.opened = opened
        self._notify = notify
        self._header_due = True
        self._waiting: deque[tuple[bytes, UnsavedEntry]] = deque()
        self._lock: Lock | None = None
        self._descriptor = -1
        self._length = 0
        self._seq = 1
        self._chain = 0
        self._half_written = False
        self._folder_synced = True
        self._failing = False
        self._sync_failed = False
        self._closed = False

    @classmethod
    def create(
        cls, data_dir: str, *, workspace: str, project: str, overt: str, id: str = "", notify: Notify = _silent
    ) -> "SessionLog":
        """A new session of a project; its file comes with the first entry."""
        created, id = utc_stamp(), id or new_id()
        opened = SessionOpened(
            id=id, format=VERSION, overt=overt, workspace=workspace, project=project, created=created
        )
        return cls(os.path.join(folder_of(data_dir, project), file_name(created, id)), opened, notify=notify)

    @classmethod
    def create_for_agent(cls, parent: SessionOpened, folder: str, *, agent_path: str, notify: Notify) -> "SessionLog":
        """Create the session of a sub-agent in the folder that all agents of its tree share."""
        created, id = utc_stamp(), new_id()
        opened = replace(parent, id=id, created=created, parent=parent.id, agent_path=agent_path)
        return cls(os.path.join(folder, file_name(created, id)), opened, notify=notify)

    @classmethod
    def open(
        cls, path: str, *, opened: SessionOpened | None = None, notify: Notify = _silent
    ) -> tuple["SessionLog", Loaded]:
        """Go on with a session: lock it, read it, move aside what is torn.

        Should its header be lost, `opened` is written as a new one, under the id and the time of the file's name.
        """
        lock = _lock(path)
        try:
            loaded = load(path)
            length = repair(path, loaded)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            lock.release()
            raise _unwritable(path, error) from error
        except BaseException:
            lock.release()
            raise
        header = loaded.opened
        if loaded.headless and opened:
            header = replace(opened, id=header.id, created=header.created)
        log = cls(path, header, notify=notify)
        log._lock, log._descriptor, log._length = lock, descriptor, length
        log._seq, log._chain, log._header_due = loaded.next_seq, loaded.last_sum, loaded.headless
        return log, loaded

    @property
    def id(self) -> str:
        return self.opened.id

    @property
    def unsaved(self) -> int:
        """Entries that wait in memory because the disk refused them."""
        return len(self._waiting)

    def append(self, event: Event, *, turn: int, step: int) -> None:
        """Record a fact; an event that is not one is passed over. When this returns, the fact is with the kernel."""
        if self._closed:
            raise SessionError(f"Session {self.id} is closed; open it again to write to it.")
        if not entry_type(event):
            return
        if self._header_due:
            self._header_due = False
            self._enqueue(self.opened, turn=0, step=0)
        self._enqueue(event, turn=turn, step=step)
        self._flush()

    def sync(self) -> None:
        """Ask the disk itself to hold everything; at the end of a turn and on exit."""
        if self._waiting:
            self._flush()
        if self._descriptor < 0:
            return
        try:
            os.fsync(self._descriptor)
            if not self._folder_synced:
                _sync_folder(os.path.dirname(self.path))
                self._folder_synced = True
        except OSError as error:
            if not self._sync_failed:
                self._sync_failed = True
                self._warn(f"The disk did not confirm this session ({error.strerror}); a power cut may lose its end.")

    def close(self) -> tuple[UnsavedEntry, ...]:
        """Try what still waits once more, then release the lock. Return the entries that could not be written."""
        self._closed = True
        self.sync()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
        if self._lock:
            self._lock.release()
            self._lock = None
        return tuple(entry for _, entry in self._waiting)

    def _enqueue(self, event: Event, *, turn: int, step: int) -> None:
        line, self._chain = encode_line(event, seq=self._seq, turn=turn, step=step, chain=self._chain)
        self._seq += 1
        self._waiting.append((line, UnsavedEntry(turn, entry_type(event))))

    def _flush(self) -> None:
        try:
            if self._descriptor < 0:
                self._make()
            while self._waiting:
                self._write(self._waiting[0][0])
                self._waiting.popleft()
        except OSError as error:
            if not self._failing:
                self._failing = True
                self._warn(
                    f"This session is not being saved ({error.strerror}: {self.path}). The conversation goes on in "
                    "memory, and everything is written as soon as the disk takes it again."
                )
            return
        if self._failing:
            self._failing = False
            self._notify(Noticed(text="The session is saved again; nothing of it is missing."))

    def _write(self, line: bytes) -> None:
        if self._half_written:
            self._cut()
        self._half_written = True
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        except OSError:
            self._cut()
            raise
        self._length += written
        self._half_written = False

    def _cut(self) -> None:
        os.ftruncate(self._descriptor, self._length)
        self._half_written = False

    def _make(self) -> None:
        make_private(os.path.dirname(self.path))
        if self._lock is None:
            self._lock = Lock(self.path)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o600)
        self._folder_synced = False

    def _warn(self, text: str) -> None:
        self._notify(Noticed(text=text, level="warning"))


def make_private(folder: str) -> None:
    """Make a folder and those above it that are missing, for the owner only, whatever the umask."""
    if not folder or os.path.isdir(folder):
        return
    make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass  # another process was faster


def _lock(path: str) -> Lock:
    if not os.path.exists(path):
        raise SessionError(f"There is no session {path}. `overt sessions` lists them.", code="missing")
    try:
        return Lock(path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str, error: OSError) -> SessionError:
    return SessionError(
        f"Session {path} cannot be opened for writing: {error.strerror}. Check its disk and its mode; "
        "`overt sessions show` still reads it.",
        code="full" if error.errno == ENOSPC else "unreadable",
    )


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
