"""Put a git repository back to an earlier state: HEAD, refs, stash and index. Files of the work tree are not touched.

Only the repository's own folders are written. Each commit that loses its ref gets a backup below `refs/overt/undo/`.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from overt.core.errors import OvertError
from overt.core.file_states import GitState, StashEntry
from overt.lib.atomic import NEW, discard, stage
from overt.lib.read_file import read_regular
from overt.workspace.git.process import GitPlaces, start_git, wait_for_git
from overt.workspace.git.state import OWN, STASH, Repository
from overt.workspace.undo.restore import name_in_git

BACKUP = f"{OWN}undo/"
REMOTES = "refs/remotes/"
TIMEOUT_S = 60.0
EMPTY_BLOBS = (name_in_git(b""), "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813")
GITLINK = b"160000"
MOST_FILE_BYTES = 64 * 1024**2


class GitChange(Struct, frozen=True, kw_only=True):
    """What one or more commands in a row did: `refs` are those that differ, with the value before and after."""

    git_dir: str
    before: GitState
    after: GitState
    refs: dict[str, tuple[str, str]]
    interrupted: bool = False
    """Something else moved the repository between the commands."""

    @property
    def local_refs(self) -> dict[str, tuple[str, str]]:
        """Without remote-tracking branches, which tell what others have and are never put back."""
        return {name: pair for name, pair in self.refs.items() if not name.startswith(REMOTES)}

    @property
    def index_changed(self) -> bool:
        return self.before.index != self.after.index

    @property
    def pushed_stash(self) -> tuple[StashEntry, ...]:
        """Entries that are new on top of the stash; empty if other entries changed as well."""
        count = max(0, len(self.after.stash) - len(self.before.stash))
        return self.after.stash[:count] if self.after.stash_commits[count:] == self.before.stash_commits else ()

    @property
    def dropped_stash(self) -> tuple[StashEntry, ...]:
        """Entries that went from the top of the stash; empty if other entries changed as well."""
        count = max(0, len(self.before.stash) - len(self.after.stash))
        return self.before.stash[:count] if self.before.stash_commits[count:] == self.after.stash_commits else ()


class GitRepository:
    """Runs git on the repository of the project. Blocking."""

    def __init__(self, program: str, repository: Repository) -> None:
        self._program = program
        self._repository = repository

    def query(self, *words: str, feed: bytes | None = None, index: str = "") -> bytes:
        """Run a command that changes nothing; it cannot write anywhere."""
        return self._run(words, (), feed, index)

    def change(self, *words: str, feed: bytes | None = None) -> None:
        """Run a command that can write the repository and nothing else."""
        self._run(words, (self._repository.git_dir, self._repository.common_dir), feed, "")

    def _run(self, words: Sequence[str], write: tuple[str, ...], feed: bytes | None, index: str) -> bytes:
        places = GitPlaces(
            git_dir=self._repository.git_dir, cwd=self._repository.git_dir, write=write, read=("/",), index_file=index
        )
        return wait_for_git(start_git(self._program, words, places, feed=feed is not None), feed, timeout_s=TIMEOUT_S)

    def count_commits(self, new: str, old: str, *more: str) -> int | None:
        """Count the commits of `new` that `old` does not have. Return None if git does not know one of them."""
        excluded = (f"^{old}",) if old else ()
        try:
            return int(self.query("rev-list", "--count", new, *excluded, *more))
        except (OvertError, ValueError):
            return None

    def find_remote_branch(self, new: str, old: str) -> str:
        """Return a remote-tracking branch that has one of the commits of `new` beyond `old`, or ""."""
        commits = self.count_commits(new, old)
        if not commits or self.count_commits(new, old, "--not", "--remotes") == commits:
            return ""
        excluded = (f"^{old}",) if old else ()
        first = self.query("rev-list", "--reverse", new, *excluded).split(b"\n")[0].decode()
        names = self.query("for-each-ref", f"--contains={first}", "--format=%(refname)", REMOTES)
        return names.decode("utf-8", "replace").split("\n")[0].removeprefix(REMOTES)

    def restore_refs(self, change: GitChange, message: str) -> tuple[str, ...]:
        """Put HEAD and all changed refs back, or nothing. Return the commits that have a backup ref now."""
        before, after = change.before, change.after
        moved = {(old or before.commit, new) for old, new in change.local_refs.values() if new}
        if not after.head and after.commit:
            moved.add((before.commit, after.commit))
        lost = sorted({new for old, new in moved if self.count_commits(new, old) != 0})
        self._set_head(before, after, message)
        try:
            words = [f"update {BACKUP}{commit[:12]}\0{commit}\0\0" for commit in lost]
            for name, (old, new) in change.local_refs.items():
                if not old:
                    words.append(f"delete {name}\0{new}\0")
                elif not new:
                    words.append(f"create {name}\0{old}\0")
                else:
                    words.append(f"update {name}\0{old}\0{new}\0")
            feed = "".join(words).encode("utf-8", "surrogateescape")
            self.change("update-ref", "-m", message, "--stdin", "-z", feed=feed)
        except OvertError:
            with suppress(OvertError):
                self._set_head(after, before, message)
            raise
        return tuple(lost)

    def _set_head(self, target: GitState, current: GitState, message: str) -> None:
        if target.head:
            if target.head != current.head:
                self.change("symbolic-ref", "-m", message, "HEAD", target.head)
        elif target.commit != current.commit or current.head:
            self.change("update-ref", "--no-deref", "-m", message, "HEAD", target.commit)

    def drop_stash(self, entries: Sequence[StashEntry], *, left: int) -> None:
        """Remove the newest entries; each keeps a backup ref. `left` is how many remain."""
        for entry in entries:
            self.change("update-ref", f"{BACKUP}{entry.commit[:12]}", entry.commit)
            self.change("reflog", "delete", "--updateref", "--rewrite", f"{STASH}@{{0}}")
        if not left:
            self.change("update-ref", "-d", STASH)

    def store_stash(self, entries: Sequence[StashEntry]) -> None:
        """Put entries on top of the stash again; the first one is the newest."""
        for entry in reversed(entries):
            self.change("update-ref", "--create-reflog", "-m", entry.message or "WIP", STASH, entry.commit)

    def stash_matches_files(self, entry: StashEntry) -> bool:
        """True if every file that the stash entry changed has the stashed content in the work tree."""
        try:
            parents = self.query("rev-list", "--parents", "-n1", entry.commit).split()
            lines = [self.query("diff-tree", "-r", "-z", "--no-renames", f"{entry.commit}^1", entry.commit)]
            if len(parents) > 3:  # untracked files are in a third parent
                lines.append(self.query("diff-tree", "-r", "-z", "--root", "--no-commit-id", parents[3].decode()))
        except OvertError:
            return False
        work_tree = os.fsencode(self._repository.work_tree)
        fields = b"".join(lines).split(b"\0")
        for head, name in zip(fields[::2], fields[1::2], strict=False):
            words = head.split(b" ")
            if _blob_of(os.path.join(work_tree, name)) != words[3].decode():
                if words[4] == b"D" and not os.path.lexists(os.path.join(work_tree, name)):
                    continue
                return False
        return True

    def restore_index(self, raw: bytes, mtime_ns: int) -> None:
        """Replace the index file under git's own lock. OvertError if git would miss objects that it names."""
        folder = os.open(self._repository.git_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not raw:
                with suppress(FileNotFoundError):
                    os.unlink("index", dir_fd=folder)
                return
            self._write_index(folder, raw, mtime_ns)
        except OSError as error:
            raise OvertError(f"the index: {error.strerror}") from error
        finally:
            os.close(folder)

    def _write_index(self, folder: int, raw: bytes, mtime_ns: int) -> None:
        os.close(os.open("index.lock", NEW, 0o600, dir_fd=folder))
        name, mode = "", 0o600
        try:
            with suppress(FileNotFoundError):
                mode = os.stat("index", dir_fd=folder).st_mode & 0o777
            name = stage(folder, raw, mode=mode)
            os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=folder)
            self._check_index(os.path.join(self._repository.git_dir, name))
            os.rename(name, "index", src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            discard(folder, name)
            raise
        finally:
            os.unlink("index.lock", dir_fd=folder)

    def _check_index(self, path: str) -> None:
        lines = self.query("ls-files", "--stage", "-z", index=path).split(b"\0")[:-1]
        hashes = {line.split(b" ")[1] for line in lines if not line.startswith(GITLINK)}
        hashes -= {blob.encode() for blob in EMPTY_BLOBS}
        answer = self.query("cat-file", "--batch-check", feed=b"".join(b"%s\n" % hash for hash in hashes))
        if b" missing\n" in answer:
            raise OvertError("the index before the turn names contents that git has deleted since")


def _blob_of(path: bytes) -> str:
    try:
        if os.path.islink(path):
            return name_in_git(os.readlink(path))
        raw, _ = read_regular(os.fsdecode(path), MOST_FILE_BYTES, os.O_NOFOLLOW)
    except OSError:
        return ""
    return name_in_git(raw)
