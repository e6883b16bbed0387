"""Read where a git repository stands, from its files: HEAD, refs, stash, index, an operation in progress.

No git is started: this runs before and after every command that may write. What did not change on disk since the last
reading is not read again. Files are read with a limit, and links out of the repository are not followed.
"""

import hashlib
import os
import stat
import struct
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from overt.core.file_states import GitState, StashEntry
from overt.lib.read_file import read_regular
from overt.workspace.git.process import GitPlaces

MOST_TEXT = 4096
MOST_PACKED_BYTES = 64 * 1024**2
MOST_LOG_BYTES = 1024**2
MOST_INDEX_BYTES = 64 * 1024**2
MOST_LOOSE_REFS = 20_000
HEX = frozenset("0123456789abcdef")
STASH = "refs/stash"
OWN = "refs/overt/"
"""Backups made by `overt undo --git`."""
OPERATIONS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
Stamp = tuple[int, int, int, int]


class Repository(NamedTuple):
    """`git_dir` has HEAD and the index; `common_dir` has refs and objects. They differ in a linked worktree.

    `work_tree` is the folder that holds `.git`.
    """

    git_dir: str
    common_dir: str
    work_tree: str

    def places(self, cwd: str) -> GitPlaces:
        """For a git that only reads the repository and its files."""
        return GitPlaces(git_dir=self.git_dir, cwd=cwd, read=tuple(self), work_tree=self.work_tree)


class GitReading(NamedTuple):
    """The state of a repository, its folder and its index file; all empty where there is no repository."""

    state: GitState = GitState()
    git_dir: str = ""
    index_file: bytes = b""


class GitReader:
    """Reads the repository that a folder lies in. Files that did not change since the last time are not read again."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._earlier: dict[str, tuple[Stamp, bytes]] = {}
        self._files: dict[str, tuple[Stamp, bytes]] = {}

    def read(self) -> GitReading:
        repository = find_repository(self._folder)
        if repository is None:
            return GitReading()
        self._earlier, self._files = self._files, {}
        git_dir, common_dir, _ = repository
        refs = dict(parse_packed_refs(self._bytes(f"{common_dir}/packed-refs", MOST_PACKED_BYTES)))
        self._add_loose(common_dir, refs)
        head, commit = self._read_head(git_dir, refs)
        has_stash = refs.pop(STASH, "") != ""
        index = f"{git_dir}/index"
        raw = self._bytes(index, MOST_INDEX_BYTES)
        hash_size = 32 if len(commit) == 64 else 20
        state = GitState(
            head=head,
            commit=commit,
            refs={name: value for name, value in refs.items() if not name.startswith(OWN)},
            stash=parse_stash(self._bytes(f"{common_dir}/logs/{STASH}", MOST_LOG_BYTES)) if has_stash else (),
            index=digest_index(raw, hash_size=hash_size) if index in self._files else "",
            index_mtime=self._files[index][0][1] if index in self._files else 0,
            operation=find_operation(git_dir),
        )
        return GitReading(state, git_dir, raw)

    def _read_head(self, git_dir: str, refs: dict[str, str]) -> tuple[str, str]:
        text = self._text(f"{git_dir}/HEAD")
        if text.startswith("ref:"):
            name = text.removeprefix("ref:").strip()
            return name, refs.get(name, "")
        return "", text if is_commit(text) else ""

    def _add_loose(self, common_dir: str, refs: dict[str, str]) -> None:
        folders = ["refs"]
        while folders and len(self._files) < MOST_LOOSE_REFS:
            folder = folders.pop()
            try:
                with os.scandir(os.path.join(common_dir, folder)) as entries:
                    names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            except OSError:
                continue
            for name, is_folder in names:
                ref = f"{folder}/{name}"
                if is_folder:
                    folders.append(ref)
                elif not name.endswith(".lock") and is_commit(value := self._text(f"{common_dir}/{ref}")):
                    refs[ref] = value

    def _text(self, path: str) -> str:
        return self._bytes(path, MOST_TEXT).decode("utf-8", "surrogateescape").strip()

    def _bytes(self, path: str, limit: int) -> bytes:
        stamp = stamp_of(path)
        if stamp is None:
            return b""
        known = self._earlier.get(path)
        self._files[path] = known if known and known[0] == stamp else (stamp, _read(path, limit))
        return self._files[path][1]


@lru_cache(maxsize=1)
def parse_packed_refs(raw: bytes) -> dict[str, str]:
    refs: dict[str, str] = {}
    for line in raw.decode("utf-8", "surrogateescape").splitlines():
        value, _, name = line.partition(" ")
        if name and is_commit(value):
            refs[name] = value
    return refs


def parse_stash(raw: bytes) -> tuple[StashEntry, ...]:
    entries: list[StashEntry] = []
    for line in raw.decode("utf-8", "replace").splitlines():
        head, _, message = line.partition("\t")
        words = head.split(" ")
        if len(words) > 1 and is_commit(words[1]):
            entries.append(StashEntry(commit=words[1], message=message))
    return tuple(reversed(entries))


def find_repository(folder: str) -> Repository | None:
    """The repository that a folder lies in, found as git does it: the nearest `.git`, a folder or a file."""
    while True:
        place = os.path.join(folder, ".git")
        if os.path.lexists(place):
            git_dir = place
            if not os.path.isdir(place):
                key, _, target = _read(place, MOST_TEXT).decode("utf-8", "surrogateescape").partition(":")
                git_dir = os.path.normpath(os.path.join(folder, target.strip())) if key == "gitdir" else ""
            if git_dir and os.path.lexists(os.path.join(git_dir, "HEAD")):
                common = _read(os.path.join(git_dir, "commondir"), MOST_TEXT).decode("utf-8", "surrogateescape")
                return Repository(git_dir, os.path.normpath(os.path.join(git_dir, common.strip())), folder)
        if folder == (folder := os.path.dirname(folder)):
            return None


def find_operation(git_dir: str) -> str:
    """Return the name of a merge, rebase or the like that is in progress, or an empty string."""
    for name, operation in OPERATIONS.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            return operation
    return ""


def differ(before: GitState, after: GitState) -> bool:
    """Compare two states, without regard to when the index was written."""
    return replace(before, index_copy="", index_mtime=0) != replace(after, index_copy="", index_mtime=0)


def keep_differing_refs(before: GitState, after: GitState) -> tuple[dict[str, str], dict[str, str]]:
    """Return the refs of both states that are not the same in the other one."""
    old = {name: value for name, value in before.refs.items() if after.refs.get(name) != value}
    new = {name: value for name, value in after.refs.items() if before.refs.get(name) != value}
    return old, new


@lru_cache(maxsize=1)
def digest_index(raw: bytes, *, hash_size: int = 20) -> str:
    """Digest paths, modes, stages and contents of an index file; times and sizes of files may differ.

    `git status` writes new times into the index, which is no change to report.
    """
    hasher = hashlib.sha1(usedforsecurity=False)
    try:
        for piece in _entries(raw, hash_size):
            hasher.update(piece)
    except (struct.error, ValueError, IndexError):
        return hashlib.sha1(raw, usedforsecurity=False).hexdigest()  # a format that we do not know
    return hasher.hexdigest()


def _entries(raw: bytes, hash_size: int) -> list[bytes]:
    magic, version, count = struct.unpack_from(">4sII", raw)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index of git")
    pieces: list[bytes] = []
    at, size = 12, 40 + hash_size + 2
    for _ in range(count):
        flags = raw[at + size - 2] << 8 | raw[at + size - 1]
        head = size + 2 if version > 2 and flags & 0x4000 else size
        start = at + head
        length = flags & 0xFFF
        if version == 4 or length == 0xFFF:
            number = start
            if version == 4:  # how much of the path before is taken off, then the rest of the path
                while raw[number] & 0x80:
                    number += 1
                number += 1
            end = raw.index(b"\0", number)
        else:
            end = start + length
        pieces.append(raw[at + 24 : at + 28])
        pieces.append(raw[at + 40 : end])
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)
    if at > len(raw):
        raise ValueError("the index is cut short")
    return pieces


def is_commit(text: str) -> bool:
    return len(text) in (40, 64) and HEX.issuperset(text)


def stamp_of(path: str) -> Stamp | None:
    """What changes when a file is written or replaced; None where there is no plain file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _read(path: str, limit: int) -> bytes:
    try:
        data, _ = read_regular(path, limit, os.O_NOFOLLOW)
    except OSError:
        return b""
    return data if len(data) <= limit else b""
