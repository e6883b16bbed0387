"""Containment that no race can break.

A path is never handed to the kernel whole. It is walked from the descriptor of a root, one component at a
time, each opened relative to the one before and never through a link. Links are read as text and their text
is walked the same way. What a swap can achieve at any moment is that a component is not found; it cannot
move the descriptor we already hold, and everything later happens relative to that descriptor.
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from overt.core.errors import ToolError
from overt.lib.encoding import read_name, show_name

FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
MAX_LINKS = 40

Forbid = Callable[[Literal["read", "write"], str], str]
"""The rule that forbids this at that place, or an empty string. The path is the real one, as `place` gives it."""


class Elsewhere(Protocol):
    """What may be read outside of every root: see `readable.py`."""

    def private(self) -> Mapping[str, str]: ...
    def root_of(self, path: str) -> str: ...
    def refusal(self, path: str) -> str: ...


class Workspace(Struct, frozen=True, kw_only=True):
    """Real absolute paths. Files may be changed below `root` and `write`, and also read below `read`.
    With `elsewhere`, reading goes as far as that lets it, and nowhere that it refuses, the roots included.

    `home` and Overt's `own` folders hold places that stay protected inside of these roots, and `forbid` is asked
    about every place once it was reached. `anchors` remembers which folder each root was when this was made. With a
    `copy`, that folder is opened instead of `root`, and nothing in it is protected: an isolated agent works there.
    """

    root: str
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    home: str = ""
    own: tuple[str, ...] = ()
    forbid: Forbid | None = None
    elsewhere: Elsewhere | None = None
    copy: str = ""
    anchors: dict[str, tuple[int, int]] = {}

    def __post_init__(self) -> None:
        for root in self.roots(writing=False):
            try:
                status = os.stat(self.reach(root))
            except OSError:  # it may come later; then whatever it is first holds
                continue
            self.anchors[root] = (status.st_dev, status.st_ino)

    def roots(self, *, writing: bool) -> tuple[str, ...]:
        return (self.root, *self.write) if writing else (self.root, *self.write, *self.read)

    def reach(self, root: str) -> str:
        """The folder that is opened for a root."""
        return self.copy if self.copy and root == self.root else root

    def open_root(self, root: str) -> int:
        """A descriptor of a root, which must still be the folder it was: a link put in its place leads nowhere."""
        if root not in self.roots(writing=False):
            if not (folder := self.on_host(root)):
                raise ToolError(
                    f"{root} is empty: commands have one of their own, and none has run yet.", code="missing"
                )
            return os.open(folder, FOLDER)
        fd = os.open(self.reach(root), FOLDER)
        status = os.fstat(fd)
        identity = (status.st_dev, status.st_ino)
        if self.anchors.setdefault(root, identity) != identity:
            os.close(fd)
            raise ToolError(
                f"The folder {show_name(root)} was replaced by another one. Tell the user to start again in it.",
                code="outside",
            )
        return fd

    def on_host(self, root: str) -> str:
        """Where a folder lies that commands see as `root`."""
        return self.elsewhere.private().get(root, root) if self.elsewhere else root

    def refusal(self, root: str, parts: tuple[str, ...]) -> str:
        """Why a place may not be read although no rule denies it; empty if it may."""
        if self.elsewhere is None or (root not in self.roots(writing=False) and root in self.elsewhere.private()):
            return ""
        return self.elsewhere.refusal(os.path.join(root, *parts))

    def place(self, root: str, *parts: str) -> str:
        """The path as it is on disk: relative to the workspace when it lies in it, else absolute."""
        whole = os.path.join(root, *parts)
        below = lies_below(whole, self.root)
        return whole if below is None else below or "."

    def show(self, root: str, parts: tuple[str, ...]) -> str:
        """The same for people and models."""
        return show_name(self.place(root, *parts))


def lies_below(path: str, folder: str) -> str | None:
    """What follows the folder in the path, empty for the folder itself; None when it does not lie there."""
    start = folder.rstrip("/")
    if path == folder:
        return ""
    return path[len(start) + 1 :] if path.startswith(f"{start}/") else None


def folders_above(path: str) -> list[str]:
    """Return the folders above a path, from the uppermost one down."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts)) if parts[count]]


class OpenPath(Struct, kw_only=True):
    """A place below a root, held by the descriptor of its folder.

    `name` is empty when the place is a folder, which `fd` then is. `missing` are the folders that would have
    to be made, followed by the name itself, when nothing is there; `stat` is None then. `real` is the path on
    disk and `path` the same to be shown; `trail` are the names on the way, links included.
    """

    root: str
    fd: int
    parts: tuple[str, ...]
    real: str
    trail: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    name: str = ""
    stat: os.stat_result | None = None

    @property
    def path(self) -> str:
        return show_name(self.real)

    def move_into(self, name: str) -> None:
        """Go down into a folder below, which becomes the one that is held."""
        below = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=self.fd)
        os.close(self.fd)
        self.fd = below

    def close(self) -> None:
        os.close(self.fd)

    def __enter__(self) -> "OpenPath":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_path(workspace: Workspace, path: str, *, writing: bool = False) -> OpenPath:
    """The place a path means, links resolved, inside a root or refused."""
    if "\0" in path or not path:
        raise ToolError("The path is empty or holds a NUL byte; give a path inside the workspace.", code="invalid")
    try:
        spot = _Walk(workspace, path, writing=writing).go()
        meant = read_name(path)
        if spot.stat is None and meant != path and "\0" not in meant:
            spot = _better(spot, workspace, meant, writing=writing)
    except OSError as error:
        raise as_tool_error(error, show_name(path)) from error
    try:
        require_allowed(workspace, spot, "write" if writing else "read")
    except BaseException:
        spot.close()
        raise
    return spot


def _better(spot: OpenPath, workspace: Workspace, meant: str, *, writing: bool) -> OpenPath:
    """What an odd name as it is shown stands for, if that exists; one of the two is closed."""
    try:
        other = _Walk(workspace, meant, writing=writing).go()
    except BaseException:
        spot.close()
        raise
    if other.stat is not None:
        spot, other = other, spot
    other.close()
    return spot


def require_allowed(workspace: Workspace, spot: OpenPath, effect: Literal["read", "write"]) -> None:
    """Rules speak of the place that was reached: what a link, another spelling or a swap made of the path is known."""
    if effect == "read" and (why := workspace.refusal(spot.root, spot.parts)):
        raise ToolError(f"{spot.path} may not be read: {why}.", code="hidden")
    rule = workspace.forbid(effect, spot.real) if workspace.forbid else ""
    if rule:
        done = "changed" if effect == "write" else "read"
        raise ToolError(f"{spot.path} may not be {done}: the rule {rule} denies it. Do without it.", code="denied")


class _Walk:
    """`stack` holds the folders from the root down; `todo` the components to come, the next one last."""

    def __init__(self, workspace: Workspace, path: str, *, writing: bool) -> None:
        self.workspace = workspace
        self.path = path
        self.writing = writing
        self.root = workspace.root
        self.stack: list[tuple[str, int]] = []
        self.todo: list[str] = []
        self.missing: list[str] = []
        self.trail: list[str] = []
        self.hops = 0

    def go(self) -> OpenPath:
        try:
            self._enter(self.path)
            last = self._walk()
            names = [name for name, _ in self.stack[1:]]
            if last is not None:
                names.append(last[0])
            parts, missing = (*names, *self.missing), tuple(self.missing)
            name, status = last or (missing[-1] if missing else "", None)
            real = self.workspace.place(self.root, *parts)
            fd = self.stack.pop()[1]
        finally:
            self._leave()
        if not name:
            status = os.fstat(fd)
        trail = tuple(self.trail)
        return OpenPath(
            root=self.root, fd=fd, parts=parts, real=real, trail=trail, missing=missing, name=name, stat=status
        )

    def _walk(self) -> tuple[str, os.stat_result] | None:
        """Walk to the end; what is returned is a last component that is no folder."""
        while self.todo:
            name = self.todo.pop()
            if name in ("", "."):
                continue
            self.trail.append(name)
            if name == "..":
                self._up()
            elif self.missing or (entry := self._look(name)) is None:
                self.missing.append(name)
            elif stat.S_ISLNK(entry.st_mode):
                self._follow(name)
            elif stat.S_ISDIR(entry.st_mode):
                self._down(name)
            elif any(rest not in ("", ".") for rest in self.todo):
                raise NotADirectoryError(errno.ENOTDIR, "a file stands where a folder was expected")
            else:
                return name, entry
        return None

    def _look(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self.stack[-1][1], follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _up(self) -> None:
        if self.missing:
            self.missing.pop()
        elif len(self.stack) > 1:
            os.close(self.stack.pop()[1])
        else:
            self._restart(os.path.dirname(self.root))

    def _down(self, name: str) -> None:
        if self.root == "/" and (place := self._temporary(name)):
            self._restart(place)
            return
        try:
            fd = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=self.stack[-1][1])
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.ENOENT):
                raise
            self._hop()
            self.todo.append(name)  # it was swapped under our eyes: look again
        else:
            self.stack.append((name, fd))

    def _follow(self, name: str) -> None:
        self._hop()
        try:
            target = os.readlink(name, dir_fd=self.stack[-1][1])
        except OSError:
            self.todo.append(name)
            return
        if target.startswith("/"):
            self._restart(target)
        else:
            self.todo.extend(reversed(target.split("/")))

    def _restart(self, absolute: str) -> None:
        self._hop()
        rest = "/".join(reversed(self.todo))
        self._leave()
        self._enter(f"{absolute}/{rest}" if rest else absolute)

    def _enter(self, path: str) -> None:
        root, rest = self._place(path)
        self.root = root
        self.todo = rest.split("/")[::-1]
        self.stack = [("", self.workspace.open_root(root))]

    def _place(self, path: str) -> tuple[str, str]:
        """The root a path starts from and what follows it; refused when there is none."""
        if not path.startswith("/"):
            return self.workspace.root, path
        roots = sorted(self.workspace.roots(writing=self.writing), key=len, reverse=True)
        if elsewhere := None if self.writing else self.workspace.elsewhere:
            root = max(
                (each for each in (*roots, elsewhere.root_of(path)) if lies_below(path, each) is not None), key=len
            )
            return root, path[len(root) :]
        for candidate in (path, os.path.realpath(path)):
            for root in roots:
                if lies_below(candidate, root) is not None:
                    return root, candidate[len(root) :]
        raise _outside(self.workspace, self.path, path)

    def _temporary(self, name: str) -> str:
        """The place of a folder in which commands see another one than is there; empty for every other folder."""
        place = os.path.join(self.root, *(each for each, _ in self.stack[1:]), name)
        elsewhere = None if self.writing else self.workspace.elsewhere
        return place if elsewhere is not None and place in elsewhere.private() else ""

    def _hop(self) -> None:
        self.hops += 1
        if self.hops > MAX_LINKS:
            raise OSError(errno.ELOOP, "too many links, or a folder that keeps changing")

    def _leave(self) -> None:
        while self.stack:
            os.close(self.stack.pop()[1])


def _outside(workspace: Workspace, path: str, place: str) -> ToolError:
    shown, place = show_name(path), show_name(os.path.normpath(place))
    where = shown if shown == place else f"{shown} (which is {place})"
    folder = show_name(os.path.dirname(place))
    if any(lies_below(place, root) is not None for root in workspace.read):
        return ToolError(
            f"{where} may be read but not changed. The user can allow it with --add-dir {folder}.", code="outside"
        )
    return ToolError(
        f"{where} is outside the workspace {show_name(workspace.root)}. Use a path inside it; "
        f"the user can allow more with --add-dir {folder}.",
        code="outside",
    )


CODES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("full", "the disk is full; nothing was changed. Free some space, then try again"),
    errno.EDQUOT: ("full", "the disk quota is used up; nothing was changed. Free some space, then try again"),
    errno.EFBIG: ("full", "the file would exceed the size limit; nothing was changed"),
    errno.EACCES: ("denied", "permission denied by the system. Check its owner and mode"),
    errno.EPERM: ("denied", "not permitted by the system. Check its owner, mode and flags"),
    errno.EROFS: ("denied", "the file system is read-only"),
    errno.ENAMETOOLONG: ("invalid", "the name is too long; choose a shorter one"),
    errno.ENOTDIR: ("invalid", "a part of the path is a file, not a folder"),
    errno.ELOOP: ("invalid", "too many links on the way, or it keeps changing. Name the real file"),
    errno.EMFILE: ("busy", "too many files are open at this moment. Try again"),
    errno.ENOENT: ("missing", "it does not exist (any more). Look with list or glob"),
}


def as_tool_error(error: OSError, shown: str) -> ToolError:
    code, words = CODES.get(error.errno or 0, ("io", f"{error.strerror or 'input/output error'}; nothing was changed"))
    return ToolError(f"{shown}: {words}.", code=code)
