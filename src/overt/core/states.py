"""How a file stood at one moment, and what a change made of it."""

import stat

from msgspec import Struct


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
    """None: nothing was there. `path` is as people see it, below the workspace or absolute."""

    path: str
    before: FileState | None
    after: FileState | None
