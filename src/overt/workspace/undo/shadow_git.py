"""Git for the shadow store: its own folder, nothing of the person's or the project's settings, nothing run but git."""

import fcntl
import hashlib
import os
import stat
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from overt.core.errors import OvertError
from overt.lib.atomic import NEW, new_name, write_all
from overt.lib.encoding import show_name
from overt.workspace._search import OF_THE_SYSTEM, lies_outside, only_ours
from overt.workspace.git.process import GitPlaces, start_git
from overt.workspace.undo.snapshots import make_private

SETTINGS = """[core]
	repositoryformatversion = 0
	bare = false
	hooksPath = /dev/null
	fsmonitor = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	autocrlf = false
	safecrlf = false
	fileMode = true
	symlinks = true
	ignoreCase = false
	precomposeUnicode = false
	protectNTFS = false
	protectHFS = false
	trustctime = true
	checkStat = default
	untrackedCache = false
	splitIndex = false
	compression = 1
	fsync = none
[gc]
	auto = 0
[maintenance]
	auto = false
"""
ATTRIBUTES = "* !text !crlf !eol !ident !filter !working-tree-encoding\n"
"""Before every other word about a file: its bytes stay as they are, and no filter runs."""
LAYOUT = {
    "config": SETTINGS,
    "info/attributes": ATTRIBUTES,
    "info/exclude": ".overt-*.tmp\n",
    "HEAD": "ref: refs/heads/none\n",
}
"""The last one stands for all of them."""
LONGEST = 120.0
STUCK = 1.0
PAUSE = 0.01
LOWEST = 19
READ_BY_GIT = (".gitignore", ".gitattributes")


class NoUse(OvertError):
    """Trying again does not help."""


def find_git(environ_path: str, *, writable: Sequence[str]) -> str:
    """The real path of a git that no command in a box and no other user can change; empty when there is none."""
    for folder in (*environ_path.split(os.pathsep), *OF_THE_SYSTEM):
        path = os.path.realpath(os.path.join(folder, "git"))
        if not folder.startswith("/") or os.path.basename(path) != "git" or not os.path.isfile(path):
            continue
        if os.access(path, os.X_OK) and lies_outside(path, writable) and only_ours(path):
            return path
    return ""


class Git:
    """One store and its work tree. Whoever holds `locked` is alone with it, the children of a dead one included."""

    def __init__(self, program: str, folder: str, work_tree: str) -> None:
        self.folder = folder
        self._program = program
        self._work_tree = work_tree
        self._running: set[subprocess.Popen[bytes]] = set()
        self._mutex = threading.Lock()
        self._lock = -1
        self.stopped = False
        self.idle = False
        """Whether what is started steps back for everything else."""

    def stop(self) -> None:
        """End what runs and start nothing more."""
        with self._mutex:
            self.stopped = True
            for child in self._running:
                child.kill()

    @contextmanager
    def locked(self) -> Iterator[None]:
        make_private(self.folder)
        lock = os.open(f"{self.folder}/overt.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self._acquire(lock)
            self._lock = lock
            self._prepare()
            yield
        finally:
            self._lock = -1
            os.close(lock)

    def clear(self) -> None:
        """Away with what a git that was killed has left: it takes place, and a lock keeps the next one out."""
        left = [f"{self.folder}/index.lock"]
        for folder in (f"{self.folder}/objects", f"{self.folder}/objects/pack"):
            try:
                left += [f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("tmp_")]
            except FileNotFoundError:
                pass
        for path in left:
            if os.path.lexists(path):
                os.unlink(path)

    def _prepare(self) -> None:
        """Lay the store out."""
        self.clear()
        if os.path.exists(f"{self.folder}/HEAD"):
            return
        for name in ("objects", "refs", "info"):
            make_private(f"{self.folder}/{name}")
        for name, text in LAYOUT.items():
            self.write(name, text.encode())

    def write(self, name: str, data: bytes) -> None:
        """A file of ours beside those of git, whole or not at all; not synced, it can be made again."""
        staged = f"{self.folder}/{new_name()}"
        fd = os.open(staged, NEW, 0o600)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)
        os.rename(staged, f"{self.folder}/{name}")

    def put(self, kind: str, data: bytes) -> str:
        """An object as git keeps it, without starting one; gives its name."""
        raw = f"{kind} {len(data)}\0".encode() + data
        name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        place = f"{self.folder}/objects/{name[:2]}"
        if not os.path.exists(f"{place}/{name[2:]}"):
            make_private(place)
            self.write(f"objects/{name[:2]}/{name[2:]}", zlib.compress(raw, 1))
        return name

    def _acquire(self, lock: int) -> None:
        deadline = time.monotonic() + LONGEST
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if self.stopped or time.monotonic() > deadline:
                    raise OvertError("another Overt works on the snapshots of this workspace") from None
                time.sleep(PAUSE)

    def start(
        self, *words: str, more: dict[str, str] | None = None, feed: bool = False, below: str = ""
    ) -> subprocess.Popen[bytes]:
        """`below` is a folder of the work tree that is to be looked at as if it were a whole one, without an index."""
        with self._mutex:
            if self.stopped:
                raise OvertError("the snapshot was broken off")
            locks = () if self._lock < 0 else (self._lock,)
            child = start_git(self._program, words, self._places(below), settings=more, feed=feed, pass_fds=locks)
            self._running.add(child)
        if self.idle:
            _step_back(child.pid)
        return child

    def end(self, child: subprocess.Popen[bytes], feed: bytes | None = None, *, none_is_error: bool = True) -> bytes:
        """Wait for its output. Exit code 1 without a message means that nothing matches."""
        try:
            out, err = self._waited(child, feed)
        finally:
            with self._mutex:
                self._running.discard(child)
        if child.returncode and (none_is_error or child.returncode > 1 or err):
            said = err.decode("utf-8", "replace").strip().split("\n")[-1][:200]
            raise OvertError(f"git: {said or f'ended with {child.returncode}'}")
        return out

    def _waited(self, child: subprocess.Popen[bytes], feed: bytes | None) -> tuple[bytes, bytes]:
        """A pipe of a name that git reads would hold it for good; that is looked for once it takes long."""
        odd: list[str] = []
        over = threading.Event()

        def watch() -> None:
            while not odd and not over.wait(STUCK):
                if _sleeps(child.pid) and (found := holding_up(self._work_tree)):
                    odd.append(found)
                    child.kill()

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            out = child.communicate(feed, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise OvertError(f"git took longer than {LONGEST:g} s") from None
        finally:
            over.set()
            watching.join()
        if odd and child.returncode:
            raise NoUse(f"{odd[0]} is not a file, and git would wait for it")
        return out

    def together(self, *commands: Sequence[str]) -> list[bytes]:
        """Several that only look, beside each other; all of them have ended when this returns."""
        children: list[subprocess.Popen[bytes]] = []
        found: list[bytes] = []
        trouble: OvertError | None = None
        for words in commands:
            try:
                children.append(self.start(*words))
            except OvertError as error:
                trouble = error
        for child in children:
            try:
                found.append(self.end(child))
            except OvertError as error:
                trouble = error
        if trouble:
            raise trouble
        return found

    def run(
        self, *words: str, feed: bytes | None = None, more: dict[str, str] | None = None, none_is_error: bool = True
    ) -> bytes:
        return self.end(self.start(*words, feed=feed is not None, more=more), feed, none_is_error=none_is_error)

    def ignored(self, rules: bytes, below: str) -> list[bytes]:
        """What rules that stood in a folder of the work tree keep out, by paths from there."""
        self.write("rules", rules)
        words = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={self.folder}/rules")
        return self.end(self.start(*words, below=below or ".")).split(b"\0")[:-1]

    def _places(self, below: str) -> GitPlaces:
        """The store is all that git may write; it reads that and the work tree."""
        cwd = os.path.join(self._work_tree, below)
        return GitPlaces(
            git_dir=self.folder,
            cwd=cwd,
            write=(self.folder,),
            read=(self._work_tree,),
            work_tree=os.path.normpath(cwd) if below else self._work_tree,
            index_file=f"{self.folder}/none" if below else "",
        )


def holding_up(root: str) -> str:
    """What has a name that git opens in every folder, and is neither a file nor a link nor a folder."""
    for top, folders, files in os.walk(root):
        for name in READ_BY_GIT:
            if name in files:
                try:
                    mode = os.lstat(os.path.join(top, name)).st_mode
                except OSError:
                    continue
                if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                    return show_name(os.path.relpath(os.path.join(top, name), root))
        if ".git" in folders:
            folders.remove(".git")
    return ""


def _sleeps(process: int) -> bool:
    """Whether it waits for something; where that cannot be told, it may."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] == b"S"
    except OSError:
        return True


def _step_back(process: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, process, LOWEST)
    except OSError:  # it has ended already
        pass
