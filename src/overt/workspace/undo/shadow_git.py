"""Git for the shadow store: its own folder, nothing of the person's or the project's settings, nothing run but git."""

import fcntl
import glob
import hashlib
import os
import shutil
import stat
import subprocess
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from overt.core.errors import OvertError
from overt.lib import atomic
from overt.lib.encoding import show_name
from overt.workspace.git.process import GitPlaces, start_git, wait_for_git
from overt.workspace.undo.content_store import make_private

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
BATCH_BYTES = 32 * 1024**2
READ_BY_GIT = (".gitignore", ".gitattributes")


class UnusableStoreError(OvertError):
    """Trying again does not help."""


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
        """Remove what a git that was killed has left: it takes space, and a lock keeps the next one out."""
        for path in self.find_files("index.lock", "objects/tmp_*", "objects/pack/tmp_*"):
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
        """Write a file of the store, whole or not at all; not synced, since it can be made again."""
        atomic.replace(f"{self.folder}/{name}", data, sync=False)

    def find_files(self, *patterns: str) -> list[str]:
        """Return the paths of files in the store, hidden ones included."""
        start = glob.escape(self.folder)
        return [path for name in patterns for path in glob.glob(f"{start}/{name}", include_hidden=True)]

    def remove(self, *names: str) -> None:
        """Remove files of the store, if they are there."""
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(f"{self.folder}/{name}")

    def has_objects(self) -> bool:
        """False for a store that holds no snapshot."""
        return bool(self.find_files("objects/[0-9a-f][0-9a-f]", "objects/pack/*.pack"))

    def wipe(self) -> None:
        """Remove everything that the store holds; what is left of it opens as an empty store.

        `state` goes first: without it nothing relies on the index, and without the index nothing on the objects.
        """
        self.remove("state", "index", "recent", "rules")
        self.clear()
        for path in self.find_files("objects/*"):
            shutil.rmtree(path)
        self.remove("first")

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
        """Wait for its output. A pipe with a name that git reads would hold it up for good; so if it takes long, such
        a pipe is looked for."""
        pipes: list[str] = []
        over = threading.Event()

        def watch() -> None:
            while not pipes and not over.wait(STUCK):
                if _sleeps(child.pid) and (path := find_blocking_pipe(self._work_tree)):
                    pipes.append(path)
                    child.kill()

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            return wait_for_git(child, feed, timeout_s=LONGEST, none_is_error=none_is_error)
        except OvertError:
            if pipes:
                raise UnusableStoreError(f"{pipes[0]} is not a file, and git would wait for it") from None
            raise
        finally:
            over.set()
            watching.join()
            with self._mutex:
                self._running.discard(child)

    def run_both(self, one: Sequence[str], other: Sequence[str]) -> tuple[bytes, bytes]:
        """Run two commands at the same time; both have ended when this returns."""
        first = self.start(*one)
        try:
            second_output = self.run(*other)
        finally:
            first_output = self.end(first)
        return first_output, second_output

    def run(
        self, *words: str, feed: bytes | None = None, more: dict[str, str] | None = None, none_is_error: bool = True
    ) -> bytes:
        return self.end(self.start(*words, feed=feed is not None, more=more), feed, none_is_error=none_is_error)

    def ignored(self, rules: bytes, below: str) -> list[bytes]:
        """Return what rules keep out that stood in a folder of the work tree, by paths from there."""
        self.write("rules", rules)
        words = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={self.folder}/rules")
        return self.end(self.start(*words, below=below or ".")).split(b"\0")[:-1]

    def read_blobs(self, hashes: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield contents with their names in git, a bounded number of bytes at once."""
        for batch in self._batches(hashes):
            out = self.run("cat-file", "--batch", feed=as_lines(batch))
            at = 0
            for hash in batch:
                end = out.index(b"\n", at)
                head = out[at:end].split(b" ")
                if head[1:2] != [b"blob"]:
                    raise OvertError(f"the store of snapshots has lost {hash}")
                at = end + 2 + int(head[2])
                yield hash, out[end + 1 : at - 1]

    def _batches(self, hashes: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        headroom = BATCH_BYTES
        for hash, size in zip(hashes, self.check_objects("%(objectsize)", hashes), strict=False):
            needed = int(size) if size.isdigit() else 0
            if batch and needed > headroom:
                yield batch
                batch, headroom = [], BATCH_BYTES
            headroom -= needed
            batch.append(hash)
        if batch:
            yield batch

    def check_objects(self, form: str, names: Sequence[str]) -> list[str]:
        """Return one line in the given format for each object, or "… missing" if it is not there."""
        return (
            self.run("cat-file", f"--batch-check={form}", feed=as_lines(names)).decode().splitlines() if names else []
        )

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


def find_blocking_pipe(root: str) -> str:
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


def as_lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


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
