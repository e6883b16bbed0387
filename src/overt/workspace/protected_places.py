"""Places inside the roots that file tools never change, whatever the rules say."""

import os

from overt.core.errors import ToolError
from overt.lib.protected_names import EVERYWHERE, Protection, fold_name, protected_name
from overt.lib.read_file import read_regular
from overt.sandbox.protected_paths import targets_in_work_tree
from overt.workspace.contained_path import OpenPath, Workspace, lies_below


def require_unprotected(workspace: Workspace, spot: OpenPath) -> None:
    reason = protection(workspace, spot)
    if reason is Protection.GIT:
        raise ToolError(
            f"{spot.path} belongs to git's own data, which file tools never change; use git commands through bash.",
            code="protected",
        )
    if reason:
        raise ToolError(
            f"{spot.path} is protected ({reason}): only the user changes it; tell them what to write.",
            code="protected",
        )


def protection(workspace: Workspace, spot: OpenPath) -> Protection | None:
    """Why a place is protected: by its real path, by a name on the way to it, or by what a protected link means.

    The names above the workspace do not count, since a person opened that very folder.
    """
    if workspace.copy and spot.root == workspace.root:
        return None
    whole = os.path.join(spot.root, *spot.parts)
    reason = protected_name("/".join(spot.trail), home="elsewhere") or protected_name(spot.real, home="elsewhere")
    reason = reason or _below_home(workspace, whole) or _own(workspace, whole)
    return reason or _meant_elsewhere(workspace, whole) or _obeyed_by_git(workspace, whole)


def _below_home(workspace: Workspace, whole: str) -> Protection | None:
    below = lies_below(fold_name(whole), fold_name(workspace.home)) if workspace.home else None
    return protected_name(below, home="here") if below else None


def _own(workspace: Workspace, whole: str) -> Protection | None:
    inside = any(lies_below(fold_name(whole), fold_name(folder)) is not None for folder in workspace.own)
    return Protection.OWN_FILES if inside else None


def _meant_elsewhere(workspace: Workspace, whole: str) -> Protection | None:
    """A protected name may be a link, and `.git` a file that names a folder: then that is what programs read."""
    for name, reason in EVERYWHERE.items():
        place = os.path.join(workspace.root, name)
        target = os.path.realpath(place) if os.path.islink(place) else _git_folder(place) if name == ".git" else ""
        if target and lies_below(whole, target) is not None:
            return reason
    return None


def _obeyed_by_git(workspace: Workspace, whole: str) -> Protection | None:
    """The repository's settings can name hooks and further settings that lie in the work tree."""
    targets = targets_in_work_tree(os.path.join(workspace.root, ".git"), (workspace.root,))
    inside = any(lies_below(fold_name(whole), fold_name(os.path.realpath(target))) is not None for target in targets)
    return Protection.GIT_TARGET if inside else None


def _git_folder(place: str) -> str:
    """What a `.git` file says; empty for a folder and for anything else."""
    try:
        text, _ = read_regular(place, 4096, os.O_NOFOLLOW)
    except OSError:
        return ""
    if not text.startswith(b"gitdir:"):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(place), os.fsdecode(text[7:].strip())))
