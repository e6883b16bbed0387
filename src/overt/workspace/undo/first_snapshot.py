"""The first snapshot of a workspace: limited in time, removed if it is abandoned, and not tried again by every run.

A first snapshot that takes too long leaves a file `too_large` in its store, with how much was listed and a sample of
the files. Later runs look only at the sample, with one git that lists nothing else: when most of it is gone or
ignored by now, the folder has shrunk and the snapshot is tried again. `overt undo --retry` removes the file.

    no store ──► first ──► complete            `first` exists while the first snapshot is being taken; a store in
                   │                           which it is found was left by a process that was killed
                   └─► wiped, `too_large`
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct
from msgspec.json import Decoder

from overt.core.codec import encode
from overt.core.errors import OvertError
from overt.lib.encoding import read_name, show_name
from overt.lib.sizes import show_size
from overt.lib.translations import say
from overt.workspace.undo.shadow_git import Git, UnusableStoreError

FIRST_SNAPSHOT_LIMIT_S = 10.0
SAMPLE_LARGEST = 64
SAMPLE_SPREAD = 64
BUSY_FILES_PER_S = 200
BUSY_BYTES_PER_S = 1024**2
"""A snapshot that is slower than this says nothing about the folder: the next run tries again."""
SHRUNK_SHARE = 0.5
"""Try again when less than this share of the sampled files or bytes is left."""


class FirstSnapshotError(UnusableStoreError):
    """The first snapshot was not taken: it is too large, or took too long. The store is empty."""


class SnapshotSizeError(UnusableStoreError):
    """One snapshot would add more files or bytes than a store may hold."""


class TooLargeMarker(Struct, frozen=True, kw_only=True):
    """The file that says why a workspace has no snapshots. `sample` holds paths with sizes.

    It is empty if listing the files took too long.
    """

    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    time: float = 0.0
    sample: tuple[tuple[str, int], ...] = ()
    is_busy: bool = False
    """The folder is small, so the machine was busy: the next run tries again."""

    def reason(self) -> str:
        if self.is_busy:
            return say("undo.too_busy", seconds=f"{self.seconds:g}")
        if not self.files:
            return say("undo.too_slow_to_list", seconds=f"{self.seconds:g}")
        if self.seconds:
            return say("undo.too_slow", files=self.files, size=show_size(self.bytes), seconds=f"{self.seconds:g}")
        return say("undo.too_large", files=self.files, size=show_size(self.bytes))


_too_large = Decoder(TooLargeMarker)


class FirstSnapshot:
    """Limits the time of the first snapshot of one store, and removes what a snapshot that failed has left."""

    def __init__(self, git: Git, root: str) -> None:
        self._git = git
        self._root = root
        self.listed: dict[bytes, int] = {}
        """Files that the snapshot is going to hold, with their sizes."""

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Context in which a snapshot is taken, with the store locked."""
        folder = self._git.folder
        if os.path.exists(f"{folder}/first"):
            self._git.wipe()
        elif self._git.has_objects():
            yield
            return
        if marker := read_marker(folder):
            if not marker.sample or not self._has_shrunk(marker):
                raise FirstSnapshotError(marker.reason())
            clear_marker(folder)
        self._git.write("first", b"")
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._git.stop()

        timer = threading.Timer(FIRST_SNAPSHOT_LIMIT_S, expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        except BaseException as error:
            timer.cancel()
            self._git.wipe()
            if isinstance(error, SnapshotSizeError):
                raise FirstSnapshotError(self.mark().reason()) from error
            if expired.is_set():
                raise FirstSnapshotError(self.mark(seconds=FIRST_SNAPSHOT_LIMIT_S).reason()) from error
            raise
        finally:
            timer.cancel()
            self.listed = {}
        os.unlink(f"{folder}/first")

    def mark(self, *, seconds: float = 0.0) -> TooLargeMarker:
        """Remember that the workspace is too large, or that its snapshot was too slow after so many seconds.

        If the folder is so small that the machine must have been busy, nothing is remembered.
        """
        files, total = len(self.listed), sum(self.listed.values())
        marker = TooLargeMarker(
            files=files,
            bytes=total,
            seconds=seconds,
            time=time.time(),
            sample=_sample(list(self.listed.items())),
            is_busy=0 < files < BUSY_FILES_PER_S * seconds and total < BUSY_BYTES_PER_S * seconds,
        )
        if not marker.is_busy:
            self._git.write("too_large", encode(marker))
        return marker

    def _has_shrunk(self, marker: TooLargeMarker) -> bool:
        paths = [os.fsencode(read_name(path)) for path, _ in marker.sample]
        words = ("ls-files", "-z", "--others", "--exclude-standard", "--", *(os.fsdecode(path) for path in paths))
        listed = self._git.run(*words).split(b"\0")[:-1]
        left = 0
        for name in listed:
            with suppress(OSError):
                left += os.lstat(os.path.join(self._root, os.fsdecode(name))).st_size
        wanted = sum(size for _, size in marker.sample)
        return len(listed) < SHRUNK_SHARE * len(paths) or left < SHRUNK_SHARE * wanted


def mark_indexed(git: Git, root: str) -> None:
    """Remember that the workspace is too large, from the files that its store holds."""
    first = FirstSnapshot(git, root)
    for name in git.run("ls-files", "-z").split(b"\0")[:-1]:
        with suppress(OSError):
            first.listed[name] = os.lstat(os.path.join(root, os.fsdecode(name))).st_size
    first.mark()


def _sample(listed: Sequence[tuple[bytes, int]]) -> tuple[tuple[str, int], ...]:
    """The largest files, and others from all over the list."""
    largest = sorted(listed, key=lambda each: each[1], reverse=True)[:SAMPLE_LARGEST]
    spread = listed[:: max(1, len(listed) // SAMPLE_SPREAD)][:SAMPLE_SPREAD]
    chosen = dict((*largest, *spread))
    return tuple((show_name(os.fsdecode(name)), size) for name, size in chosen.items())


def read_marker(folder: str) -> TooLargeMarker | None:
    try:
        with open(f"{folder}/too_large", "rb") as file:
            return _too_large.decode(file.read())
    except FileNotFoundError:
        return None
    except ValueError:
        return TooLargeMarker()
    except OSError as error:
        raise OvertError(f"{error.strerror}: {folder}/too_large") from error


def clear_marker(folder: str) -> bool:
    """Let the next run try a first snapshot again. Return False if nothing was in the way."""
    try:
        os.unlink(f"{folder}/too_large")
    except FileNotFoundError:
        return False
    return True
