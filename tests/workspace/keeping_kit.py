"""A workspace with its stores, and everything in it to compare."""

import os
import stat
import threading
from pathlib import Path

from overt.core.file_states import FileState
from overt.workspace.trusted_programs import find_git
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_repository import LARGEST, Shadow
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

GIT = find_git(os.environ["PATH"], writable=())


def shadow(folder: Path, root: Path, *, own: tuple[str, ...] = (), largest: int = LARGEST) -> Shadow:
    return Shadow(Git(GIT, str(folder), str(root)), str(root), own=own, largest=largest)


def keeper(folder: Path, root: Path) -> SnapshotKeeper:
    return SnapshotKeeper(ContentStore(str(folder / "snapshots")), shadow(folder / "shadow", root))


def has_stored(folder: Path) -> bool:
    """True if git has begun to write contents to the stores below `folder`."""
    return any(folder.rglob("tmp_*")) or any(folder.rglob("objects/??/*"))


def timer_until_stored(folder: Path) -> type[threading.Timer]:
    """A timer that runs out when a store below `folder` has got its first contents, however fast the machine is."""

    class TimerUntilStored(threading.Timer):
        def run(self) -> None:
            while not has_stored(folder):
                if self.finished.wait(0.001):
                    return
            self.function()

    return TimerUntilStored


def whole(root: Path) -> dict[str, tuple[str, str | bytes]]:
    """Everything below, with kind, permissions and content."""
    found: dict[str, tuple[str, str | bytes]] = {}
    for top, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(top, name)
            mode = os.lstat(path).st_mode
            held: str | bytes = ""
            if stat.S_ISLNK(mode):
                held = os.readlink(path)
            elif stat.S_ISREG(mode):
                held = Path(path).read_bytes()
            found[os.path.relpath(path, root)] = (stat.filemode(mode), held)
    return found


def folder(mode: int = 0o755) -> FileState:
    return FileState(mode=stat.S_IFDIR | mode)
