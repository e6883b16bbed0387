"""Where a path really lies, for whoever judges a call before it runs.

The answer may be outdated a moment later; what holds is the check at the moment of use (`_contain`).
"""

import os
import stat
from typing import Literal

from msgspec import Struct

from overt.lib.encoding import read_name
from overt.workspace._contain import Workspace, lies_below

Kind = Literal["file", "folder", "link", "other", "absent"]

KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class Sight(Struct, frozen=True, kw_only=True):
    """`spelled` and `real` are relative to the workspace where they lie in it, else absolute.

    `real` has every link resolved; where nothing is yet, it is the real folder and the name. `inside` means below
    the workspace or an extra root. `links` counts the names of a regular file. A `link` is one that leads in circles.
    """

    spelled: str
    real: str
    inside: bool
    kind: Kind = "absent"
    links: int = 0

    @property
    def exists(self) -> bool:
        return self.kind != "absent"


def look(workspace: Workspace, path: str) -> Sight:
    """Nothing is opened, so pipes and devices are safe to look at. An odd name may be given as it is shown."""
    spelled = _place(workspace, os.path.normpath(os.path.join(workspace.root, path)))
    if "\0" in path:
        return Sight(spelled=spelled, real=spelled, inside=False)
    sight = _look(workspace, spelled, path)
    meant = read_name(path)
    if not sight.exists and meant != path and "\0" not in meant:
        other = _look(workspace, spelled, meant)
        return other if other.exists else sight
    return sight


def _look(workspace: Workspace, spelled: str, path: str) -> Sight:
    whole = os.path.realpath(os.path.join(workspace.root, path))
    real = _place(workspace, whole)
    inside = any(lies_below(whole, root) is not None for root in workspace.roots(writing=False))
    try:
        found = os.lstat(whole)
    except OSError:
        return Sight(spelled=spelled, real=real, inside=inside)
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "other")
    return Sight(
        spelled=spelled, real=real, inside=inside, kind=kind, links=found.st_nlink if stat.S_ISREG(found.st_mode) else 0
    )


def _place(workspace: Workspace, whole: str) -> str:
    below = lies_below(whole, workspace.root)
    return whole if below is None else below or "."
