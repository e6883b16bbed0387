"""Refuse changes to names that git, direnv or Overt obey outside the sandbox and that no mount can protect.

A mount needs something to be mounted on. A name that does not exist yet has nothing, and a placeholder would be
visible in the workspace. So the monitor of a command, which sees every call that changes a name (`write_tracker.py`),
refuses the calls that would create one of these names. Three kinds are refused:

- the given names: protected names that did not exist when the sandbox was started, and protected links
- in every `.git` below the roots: hooks that git would run, `commondir`, `config.worktree`, and a `config` with
  settings that are not harmless. `git init`, `git clone` and `git submodule` work
- a `.git` that is a link, or was prepared under another name and is renamed

The caller's memory and the links on a path can change between this check and the call itself. So the monitor also
watches the folders of these names, and moves away what appears there all the same (`is_breach`).

This runs inside the sandbox: it imports only the standard library and `overt.sandbox`.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterable, Sequence

from overt.sandbox.harmful_repository import find_unusual_setting, set_aside
from overt.sandbox.tracking.file_checks import RENAME_EXCHANGE, has_writer

FREE, GIT, FOLDER, CONFIG, NEVER, MODULE = range(6)
"""What a path is to git: nothing special, a `.git`, a name that must be a folder, its settings, a name that nobody in
the sandbox may create, and anything else below `.git/modules`."""
PARTS = {
    b"hooks": FOLDER,
    b"modules": FOLDER,
    b"worktrees": FOLDER,
    b"config": CONFIG,
    b"commondir": NEVER,
    b"config.worktree": NEVER,
}
SET_ID = stat.S_ISUID | stat.S_ISGID
DATA_FOLDERS = frozenset({b"refs", b"logs", b"objects", b"info", b"lfs"})
"""Below `modules`: names in these are branches and the like."""
IGNORABLE = ((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
             (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))  # fmt: skip
"""Characters that a file system may skip, beside those of the category Cf."""


class RefusedError(OSError):
    """The call is refused with this errno."""


class NameGuard:
    """`names` are absolute real paths; the rules for git hold below `roots`."""

    def __init__(self, roots: Iterable[bytes], names: Iterable[bytes]) -> None:
        self.roots = tuple(dict.fromkeys(roots))
        self.names = tuple(dict.fromkeys(names))
        self._below_roots = tuple(fold_path(root).rstrip(b"/") + b"/" for root in self.roots)
        self._names = frozenset(map(fold_path, self.names))
        self._below_names = tuple(name + b"/" for name in self._names)
        self.folders = tuple({*map(os.path.dirname, self.names), *self.roots})
        """Where to watch for names that appear all the same."""

    def require_open(self, path: bytes, flags: int) -> None:
        """For a call that opens a file for writing or creates it."""
        folded = fold_path(path)
        if self._is_kept(folded) or (part := self._git_part(folded)) not in (FREE, MODULE, GIT):
            if flags & os.O_CREAT or os.path.lexists(path):
                refuse(path)
        elif part == GIT and flags & os.O_CREAT and not os.path.isdir(path) and not _has_repository_above(path):
            refuse(path)

    def require_creation(self, path: bytes, *, is_folder: bool = False) -> None:
        """For a call that creates a name and fails if it exists."""
        folded = fold_path(path)
        part = self._git_part(folded)
        is_kept = self._is_kept(folded) or (not is_folder and self._kept_below(folded))
        allowed = (FREE, MODULE, GIT, FOLDER) if is_folder else (FREE, MODULE)
        if (is_kept or part not in allowed) and not os.path.lexists(path):
            refuse(path)

    def require_removal(self, path: bytes) -> None:
        if self._is_kept(fold_path(path)) and os.path.lexists(path):
            refuse(path)

    def require_link(self, source: bytes, target: bytes) -> None:
        """A second name for git's settings would open them for writing."""
        self.require_creation(target)
        folded = fold_path(source)
        if self._is_kept(folded) or self._git_part(folded) not in (FREE, MODULE):
            refuse(source)

    def require_rename(self, old: bytes, new: bytes, flags: int) -> None:
        self.require_removal(old)
        self._require_target(old, new)
        if flags & RENAME_EXCHANGE:
            self.require_removal(new)
            self._require_target(new, old)

    def require_mode(self, path: bytes, mode: int) -> None:
        """A program with such a bit would run with our rights, whoever starts it; folders hand their group on."""
        if self.roots and mode & SET_ID and not os.path.isdir(path):
            raise RefusedError(errno.EPERM, "set-id bit", path)

    def is_breach(self, path: bytes, *, was_moved: bool) -> bool:
        """True if what has just appeared at a path is there in spite of every refusal."""
        folded = fold_path(path)
        if self._is_kept(folded):
            return os.path.lexists(path)
        if self._git_part(folded) != GIT:
            return False
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        return os.path.lexists(path) and (was_moved or not is_folder) and not _has_repository_above(path)

    def _require_target(self, source: bytes, target: bytes) -> None:
        folded = fold_path(target)
        part = self._git_part(folded)
        is_folder = os.path.isdir(source) and not os.path.islink(source)
        is_gits = fold_path(source).endswith(b"/.git") or b"/.git/" in source
        if self._is_kept(folded) or part in (FOLDER, NEVER):
            refuse(target)
        for name in self._kept_below(folded):
            if not is_folder or os.path.lexists(source + name[len(folded) :]):
                refuse(target)
        if part == GIT and not (is_folder and is_gits and self._git_part(fold_path(source)) == GIT):
            refuse(target)
        if part == MODULE and is_folder and not is_gits:
            refuse(target)
        if part == CONFIG and not _is_harmless_config(source, target):
            refuse(target)

    def _is_kept(self, folded: bytes) -> bool:
        return folded in self._names or folded.startswith(self._below_names)

    def _kept_below(self, folded: bytes) -> list[bytes]:
        return [name for name in self._names if name.startswith(folded + b"/")]

    def _git_part(self, folded: bytes) -> int:
        if b"/.git" not in folded or not folded.startswith(self._below_roots):
            return FREE
        if folded.endswith(b"/.git"):
            return GIT
        _, separator, inner = folded.rpartition(b"/.git/")
        if not separator:
            return FREE
        *folders, name = inner.split(b"/")
        in_modules = bool(folders) and folders[0] == b"modules"
        if in_modules and not DATA_FOLDERS.isdisjoint(folders):
            return FREE
        if folders and folders[-1] == b"hooks" and (in_modules or len(folders) == 1):
            return FREE if name.endswith(b".sample") else NEVER
        if folders and not in_modules:
            return FREE
        return PARTS.get(name, MODULE if in_modules else FREE)


def refuse(path: bytes) -> None:
    raise RefusedError(errno.EROFS, "protected", path)


def move_aside(path: bytes) -> None:
    try:
        set_aside(os.fsdecode(path))
    except OSError:
        pass  # it is gone again, or Overt moves it


def fold_path(path: bytes) -> bytes:
    """One spelling for all that a file system may take for the same path: letter case, compatible and invisible
    characters, dots and blanks at the end of a name."""
    if path.isascii():
        folded = path.lower()
    else:
        text = "".join(char for char in path.decode("utf-8", "surrogateescape") if not _is_ignorable(char))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        folded = text.encode("utf-8", "surrogateescape")
    if folded.endswith((b".", b" ")) or b"./" in folded or b" /" in folded:
        folded = b"/".join(part.rstrip(b". ") or part for part in folded.split(b"/"))
    return folded


def _is_ignorable(char: str) -> bool:
    number = ord(char)
    return unicodedata.category(char) == "Cf" or any(first <= number <= last for first, last in IGNORABLE)


def _has_repository_above(path: bytes) -> bool:
    """True if a folder above has a `.git`: then a `.git` file may belong to a submodule or a worktree."""
    folder = os.path.dirname(path)
    while folder != b"/":
        folder = os.path.dirname(folder)
        if os.path.lexists(folder.rstrip(b"/") + b"/.git"):
            return True
    return False


def _is_harmless_config(source: bytes, target: bytes) -> bool:
    """True if settings are of the kind that `git init` and `git clone` write, and nobody can change them any more."""
    try:
        status = os.lstat(source)
    except OSError:
        return True  # the call fails
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or has_writer(source):
        return False
    git = os.fsdecode(os.path.dirname(target))
    above = git.partition("/.git/modules/")[0] if "/.git/modules/" in git else ""
    return not find_unusual_setting(os.fsdecode(source), git=git, within=above)


def parse_guard(words: Sequence[str]) -> NameGuard | None:
    """The number of roots, the roots, then the names; None where nothing can be written."""
    if len(words) < 2:
        return None
    count = int(words[0])
    paths = [os.fsencode(word) for word in words[1:]]
    return NameGuard(paths[:count], paths[count:])
