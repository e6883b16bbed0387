"""How a file stood at one moment, and what a change made of it."""

import stat
from typing import Literal

from msgspec import Struct

from overt.core.redaction import Exact

MAIN_AGENT = "main"
Doubt = Literal["", "maybe", "shared"]
"""Whose change it is: certainly the turn's; perhaps somebody else's; also changed by somebody else."""


class FileState(Struct, frozen=True, kw_only=True):
    """`hash` names the content, or where a link leads, in one of the stores: 64 digits are the SHA-256 of it,
    40 the name that git gives it. `mode` are the permissions, with the kind for what is no plain file."""

    hash: str = ""
    mode: int = 0

    @property
    def folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def link(self) -> bool:
        return stat.S_ISLNK(self.mode)

    @property
    def permissions(self) -> int:
        return stat.S_IMODE(self.mode)


class FileChange(Struct, frozen=True, kw_only=True):
    """None: nothing was there. `path` is as people see it, below the workspace or absolute.

    `command` is the one that ran meanwhile, where there is a doubt. `agent` is the path of the agent that made it.
    """

    path: str
    before: FileState | None
    after: FileState | None
    doubt: Doubt = ""
    command: str = ""
    agent: str = MAIN_AGENT


class StashEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of `git stash list`, the newest is the first."""

    commit: Exact
    message: str = ""


class GitState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a git repository stands. All fields are empty where there is no repository.

    `head` is the branch as a full ref, empty if HEAD is detached; `commit` is empty on a branch without commits.
    `index` is a digest of the entries of the index without the times of files. `index_copy` names the index file in
    the store of snapshots, with its time `index_mtime` in nanoseconds. `operation` is a merge or rebase in progress.
    """

    head: Exact = ""
    commit: Exact = ""
    refs: dict[Exact, Exact] = {}
    stash: tuple[StashEntry, ...] = ()
    index: Exact = ""
    index_copy: Exact = ""
    index_mtime: int = 0
    operation: str = ""

    @property
    def stash_commits(self) -> tuple[str, ...]:
        return tuple(entry.commit for entry in self.stash)

    @property
    def exists(self) -> bool:
        return bool(self.head or self.commit)
