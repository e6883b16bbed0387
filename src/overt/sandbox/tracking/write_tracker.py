"""Record which files a command changes, so that undo can tell them from files a person changed meanwhile.

The monitor of a command (see `supervisor.py`) starts it from a thread with a seccomp filter. The kernel stops every
system call below that thread that opens a file for writing, or creates, renames, links, truncates or removes a
name, and asks the monitor before it goes on:

    command ── openat("src/a.py", O_WRONLY) ──> kernel ── notification ──> monitor: note the path, watch its folder
       ^                                                                     │
       └──────────────────────────────── go on <────────────────────────────┘

The filter says what the command did, not that nobody else wrote the same file. So the monitor notes the signature of a
file (inode, size, time) whenever the command does not have it open, and looks again before the next call on it and at
the end: another signature means that somebody else changed it. While the command has it open, inotify counts how often
it is closed after writing: once more than the command opened it means another writer. A lease on the file tells
whether anyone still has it open. What happened between the last snapshot and the command's first call shows in the
change time (ctime), which no program can set; then the content is compared.

Every call goes on as it is, except those that `name_guard.py` refuses. This runs inside the sandbox: it imports only
the standard library and `overt.sandbox`.
"""

import ctypes
import errno
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence

from overt.sandbox.tracking.file_checks import (
    ABSENT,
    FOLDER,
    RENAME_EXCHANGE,
    can_open,
    can_rename,
    give_inotify_back,
    has_writer,
    is_exclusive,
    read_reports,
    read_signature,
    resolve_for_process,
    take_inotify,
)
from overt.sandbox.tracking.name_guard import SET_ID, NameGuard, RefusedError, move_aside
from overt.sandbox.tracking.notifications import Listener, ProcessMemory
from overt.sandbox.tracking.path_record import PathRecord, is_behind_link, read_start

MODIFIED, CLOSE_WRITE, MOVED_TO, CREATED, OVERFLOW = 0x2, 0x8, 0x80, 0x100, 0x4000
ONLY_DIRECTORY, ADD_TO_MASK = 0x01000000, 0x20000000

AT_SYMLINK_FOLLOW = 0x400
CURRENT_FOLDER = 0xFFFFFF9C
"""The current folder of a process (AT_FDCWD)."""
OPEN_HOW = struct.Struct("=QQQ")
UNKNOWN, SAME = b"?", b"="
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
OPEN_DELAY_S = 0.05
"""An open that was reported and has led to nothing after this time has failed."""
MAX_PATHS = 200_000
"""A record of more paths than this is given up as incomplete."""
NEVER_WATCHED = (b"/dev", b"/tmp", b"/var/tmp")
WATCHED = MODIFIED | CLOSE_WRITE | MOVED_TO | ONLY_DIRECTORY | ADD_TO_MASK
"""The kernel joins a report with an equal one just before it. A change between two closes keeps them apart, so that a
person who writes right after the command is counted, however late we read."""
IN_FLIGHT_S = 2.0
"""A protected name that appears within this time after a call went on is taken for the command's doing."""


class WriteTracker:
    """The record of one command. `calls` says how to note each system call by its number, `since` is the time of the
    snapshot before the command in nanoseconds; only paths below `roots` are recorded. `guard` refuses calls."""

    def __init__(
        self, listener: int, calls: "Mapping[int, Handler]", guard: NameGuard, *, roots: Sequence[bytes], since: int
    ) -> None:
        self._listener = Listener(listener)
        self._calls = calls
        self._guard = guard
        self.breaches: list[bytes] = []
        """Protected names that appeared in spite of every refusal, and were moved away."""
        self._last_resumed = 0.0
        self._foreign: set[bytes] = set()  # protected names that somebody else created
        self._roots = tuple(roots)
        self._since = since
        self._paths: dict[bytes, PathRecord] = {}
        self._new_paths: set[bytes] = set()
        self._moves: list[tuple[bytes, bytes]] = []
        self._gap = b""
        self._memory = ProcessMemory()
        self._folders: dict[int, bytes] = {}
        """Watch number → real path of the folder."""
        self._moving: set[int] = set()
        """Watches whose folder is being renamed; their path is looked up again."""
        self._own_folders: set[bytes] = set()
        self._replaced_folders: set[bytes] = set()
        """Folders that somebody may have put in place of others since the snapshot."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = take_inotify(self._libc)
        if self._inotify < 0:
            self._give_up(b"no inotify instance")
        for folder in self._guard.folders:
            watch = self._libc.inotify_add_watch(self._inotify, folder, CREATED | WATCHED)
            if watch >= 0:
                self._folders[watch] = folder
                self._check_replaced(folder)

    @property
    def listener(self) -> int:
        """The descriptor that notifications come from."""
        return self._listener.descriptor

    def descriptors(self) -> tuple[int, ...]:
        """What to poll: notifications come from the first, reports of changes from the second."""
        return (self.listener,) if self._inotify < 0 else (self.listener, self._inotify)

    def handle(self) -> bool:
        """Answer one notification. False at the end: no process is left below the filter."""
        try:
            call = self._listener.receive()
        except OSError:
            return False
        if call is None:
            return True
        id, pid, number, arguments = call
        refusal = 0
        try:
            self.count_reports()
            self._calls[number](self, pid, arguments)
        except RefusedError as error:
            refusal = error.errno or errno.EPERM
        except PermissionError as error:
            self._give_up(b"a call could not be read: " + str(error).encode("utf-8", "replace"))
            refusal = errno.EACCES if self._guard.roots else 0
        except (OSError, ValueError, OverflowError, struct.error):
            pass  # the call names nothing that exists, so it fails, or its process is gone
        self._last_resumed = self._last_resumed if refusal else time.monotonic()
        self._listener.answer(id, refusal)
        return True

    def record(self, *, is_final: bool) -> bytes:
        """Return the record so far as fields with a NUL between them, for `attribution.parse_record`: the reason if it
        is incomplete, the number of moves, from and to of each, then path, status, start and signature of each path.

        `is_final`: the command has ended, so whoever still has a file open is somebody else.
        """
        self.count_reports()
        words = [self._gap, b"%d" % len(self._moves)]
        words += [name for pair in self._moves for name in pair]
        for path, known in self._paths.items():
            self._settle(path, known, is_final=is_final)
            status = b"shared" if known.is_shared else b"own"
            words += (path, status, known.start, read_signature(path, with_ctime=True))
        return b"\0".join(words)

    def close(self) -> None:
        self._listener.close()
        self._memory.close()
        give_inotify_back(self._inotify, is_reusable=len(self._folders) == len(self._guard.folders))

    # ── system calls ─────────────────────────────────────────────────────────────────────────────────────

    def note_open(self, pid: int, folder: int, address: int, flags: int) -> None:
        if not flags & WRITING or flags & os.O_TMPFILE == os.O_TMPFILE:
            return  # `linkat` gives a name to a file without one
        path = self._real_path(pid, folder, address, follow=not flags & os.O_NOFOLLOW and not is_exclusive(flags))
        self._guard.require_open(path, flags)
        if not can_open(path, flags):
            return
        known = self._touch(path)
        if known and flags & os.O_ACCMODE:
            known.opens += 1
            known.last_open = time.monotonic()
        elif known:
            self._expect_any(path, known)

    def open_flags(self, pid: int, address: int) -> int:
        flags: int = OPEN_HOW.unpack(self._memory.read(pid, address, OPEN_HOW.size))[0]
        return flags

    def note_change(self, pid: int, folder: int, address: int, outcome: bytes, *, follow: bool = False) -> None:
        """A call that changes a name or a file at once, without opening it; `outcome` is the signature after it."""
        path = self._real_path(pid, folder, address, follow=follow)
        if outcome == ABSENT:
            self._guard.require_removal(path)
        elif follow and outcome == UNKNOWN:  # truncate
            self._guard.require_open(path, os.O_WRONLY)
        elif outcome != SAME:
            self._guard.require_creation(path, is_folder=outcome == FOLDER)
        known = self._touch(path)
        if known and outcome == UNKNOWN:
            self._expect_any(path, known)
        elif known and outcome != SAME:
            known.expected.add(outcome)

    def _expect_any(self, path: bytes, known: PathRecord) -> None:
        known.is_new = True
        self._new_paths.add(path)

    def note_descriptor_mode(self, pid: int, number: int, mode: int) -> None:
        path = os.readlink(b"/proc/%d/fd/%d" % (pid, number))
        self._guard.require_mode(path, mode)
        self._touch(path)

    def note_link(self, pid: int, source: tuple[int, int], target: tuple[int, int], flags: int = 0) -> None:
        if self._memory.read_string(pid, source[1]):
            old = self._real_path(pid, *source, follow=bool(flags & AT_SYMLINK_FOLLOW))
        else:
            old = os.readlink(b"/proc/%d/fd/%d" % (pid, source[0] & 0xFFFFFFFF))
        self._guard.require_link(old, self._real_path(pid, *target, follow=False))
        self.note_change(pid, *target, UNKNOWN)

    def note_mode(self, pid: int, folder: int, address: int, mode: int, *, follow: bool = True) -> None:
        if mode & SET_ID:
            self._guard.require_mode(self._real_path(pid, folder, address, follow=follow), mode)
        self.note_change(pid, folder, address, SAME, follow=follow)

    def note_rename(self, pid: int, source: tuple[int, int], target: tuple[int, int], flags: int = 0) -> None:
        old = self._real_path(pid, *source, follow=False)
        new = self._real_path(pid, *target, follow=False)
        self._guard.require_rename(old, new, flags)
        if old == new or not can_rename(old, new, flags):
            return
        self._move(old, new)
        if flags & RENAME_EXCHANGE:
            self._move(new, old)

    def _move(self, old: bytes, new: bytes) -> None:
        is_folder = os.path.isdir(old) and not os.path.islink(old)
        signature = read_signature(old)
        source, target = self._touch(old), self._touch(new)
        if source:
            source.expected.add(ABSENT)
        if target:
            target.expected.add(signature)
            target.renames += 1
        if source and target:
            target.is_shared |= source.is_shared
            target.opens, target.closes, target.last_open = source.opens, source.closes, source.last_open
            source.opens = source.closes = 0
        if (source or target) and (is_folder or (source and source.start not in (b"=", ABSENT))):
            self._moves.append((old, new))
        if is_folder:
            self._move_folder(old, new)

    def _move_folder(self, old: bytes, new: bytes) -> None:
        """What is known below a folder holds for its new name. The call may fail, so it holds for the old one, too."""
        below = old + b"/"
        for path in [path for path in self._paths if path.startswith(below)]:
            known, moved = self._paths[path], new + path[len(old) :]
            if moved.startswith(self._roots):
                there = self._paths.get(moved)
                record = self._paths[moved] = PathRecord(there.start if there else known.start, ABSENT)
                record.expected |= known.expected
                record.is_shared = known.is_shared
                record.opens, record.closes, record.last_open = known.opens, known.closes, known.last_open
            known.expected.add(ABSENT)
        for watch, name in self._folders.items():
            if (name + b"/").startswith(below):
                self._folders[watch] = new + name[len(old) :]
                self._moving.add(watch)

    # ── paths ────────────────────────────────────────────────────────────────────────────────────────────

    def _touch(self, path: bytes) -> PathRecord | None:
        """Note a path that is about to change; None when it is not below a root."""
        known = self._paths.get(path)
        if known:
            self._settle(path, known)
            return known
        if not path.startswith(self._roots) or b"/.git/" in path:
            return None
        if len(self._paths) >= MAX_PATHS:
            self._give_up(b"it changed more than %d paths" % MAX_PATHS)
            return None
        since = 0 if os.path.dirname(path) in self._replaced_folders else self._since
        known = self._paths[path] = PathRecord(read_start(path, since=since), read_signature(path))
        known.is_shared = known.start != ABSENT and has_writer(path)
        self._own_folders.add(os.path.dirname(path))
        return known

    def _settle(self, path: bytes, known: PathRecord, *, is_final: bool = False) -> None:
        """Find out whether somebody else changed the path since the last look."""
        if known.opens or known.closes:
            in_flight = not known.closes and time.monotonic() - known.last_open < OPEN_DELAY_S
            if not is_final and (in_flight or has_writer(path)):
                return  # the command has it open
            known.is_shared |= known.closes > known.opens
            known.opens = known.closes = 0
            known.expected = {read_signature(path)}
        elif known.is_new:
            known.is_new = False
            known.expected = {read_signature(path)}
        elif (signature := read_signature(path)) not in known.expected and not (
            ABSENT in known.expected and is_behind_link(path)
        ):
            known.is_shared = True
            known.expected = {signature}
        known.is_shared |= is_final and has_writer(path)

    def _real_path(self, pid: int, folder: int, address: int, *, follow: bool) -> bytes:
        """The path that a call names, without links on the way."""
        name = self._memory.read_string(pid, address)
        if not name.startswith(b"/"):
            base = b"cwd" if folder & 0xFFFFFFFF == CURRENT_FOLDER else b"fd/%d" % (folder & 0xFFFFFFFF)
            name = os.readlink(b"/proc/%d/%b" % (pid, base)) + b"/" + name.removeprefix(b"./")
        elif name.startswith((b"/dev/std", b"/dev/fd", b"/proc/")):
            name = resolve_for_process(name, pid, follow=follow)
        parent, _, last = name.rstrip(b"/").rpartition(b"/")
        if last in (b"", b".", b".."):
            return resolve_for_process(name, pid, follow=True)
        try:
            real = self._watch(parent or b"/")
        except FileNotFoundError:
            real = b""
        if real != parent:  # a link on the way may mean something else to the process than to us
            real = self._watch(resolve_for_process(parent or b"/", pid, follow=True))
        path = real.rstrip(b"/") + b"/" + last
        if follow and os.path.islink(path):
            path = resolve_for_process(path, pid, follow=True)
            self._watch(os.path.dirname(path))
        return path

    def _watch(self, folder: bytes) -> bytes:
        """Watch a folder and return its real path; FileNotFoundError when it does not exist."""
        if folder in NEVER_WATCHED:
            return folder
        watch = self._libc.inotify_add_watch(self._inotify, folder, WATCHED)
        if watch < 0:
            if (number := ctypes.get_errno()) in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
                raise FileNotFoundError(number, os.strerror(number))
            real = os.path.realpath(folder)
            if number != errno.EACCES or real.startswith(self._roots):
                self._give_up(b"inotify: " + os.strerror(number).encode())
            return real
        if watch not in self._folders or watch in self._moving:
            self._moving.discard(watch)
            self._folders[watch] = os.path.realpath(folder)
            self._check_replaced(self._folders[watch])
        return self._folders[watch]

    def _check_replaced(self, folder: bytes) -> None:
        """Renaming a folder changes its ctime, not that of the files in it."""
        above = folder
        while (above + b"/").startswith(self._roots) and above + b"/" not in self._roots:
            if above not in self._own_folders and os.lstat(above).st_ctime_ns >= self._since:
                self._replaced_folders.add(folder)
                return
            above = os.path.dirname(above)

    def count_reports(self) -> None:
        """Read what inotify has reported, and settle the files that were closed."""
        while self._new_paths:
            path = self._new_paths.pop()
            self._settle(path, self._paths[path])
        if self._inotify < 0:
            self.look_at_names()
        while self._inotify >= 0:
            reports = read_reports(self._inotify)
            if not reports:
                return
            closed: set[bytes] = set()
            for watch, mask, name in reports:
                path = self._folders.get(watch, b"") + b"/" + name
                if mask & OVERFLOW:
                    self._give_up(b"inotify lost events")
                    self.look_at_names()
                    continue
                if mask & (CREATED | MOVED_TO):
                    self._look_at(path, was_moved=bool(mask & MOVED_TO))
                if mask & (CLOSE_WRITE | MOVED_TO) and (known := self._paths.get(path)):
                    known.closes += mask & CLOSE_WRITE == CLOSE_WRITE
                    known.moves += mask & MOVED_TO == MOVED_TO
                    known.is_shared |= known.moves > known.renames
                    closed.add(path)
            for path in closed:
                self._settle(path, self._paths[path])

    def look_at_names(self) -> None:
        """Move away every protected name that exists although its creation is refused. A link may be the person's."""
        for name in self._guard.names:
            if not os.path.islink(name):
                self._look_at(name, was_moved=False)

    def _look_at(self, path: bytes, *, was_moved: bool) -> None:
        """What appears while no call of the command can be under way is somebody else's."""
        if path in self._foreign or not self._guard.is_breach(path, was_moved=was_moved):
            return
        if time.monotonic() - self._last_resumed > IN_FLIGHT_S:
            self._foreign.add(path)
        else:
            move_aside(path)
            self.breaches.append(path)

    def _give_up(self, reason: bytes) -> None:
        """Nothing is certain any more: undo asks about every file."""
        self._gap = self._gap or reason


Handler = Callable[[WriteTracker, int, Sequence[int]], None]
