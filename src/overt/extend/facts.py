"""Facts about a project that are read from its files and never asked of its programs."""

import os

from overt.lib.regular import read_regular

LARGEST = 4096
LONGEST = 200
BRANCH = "ref: refs/heads/"
HEX = frozenset("0123456789abcdef")
UNFIT = frozenset(" ~^:?*[\\")


def branch(workspace: str, project: str) -> str:
    """The branch that is checked out, or where else HEAD stands; nothing when there is no telling.

    git itself would run what a repository's configuration says.
    """
    folder = workspace
    while True:
        if head := _head(os.path.join(folder, ".git")):
            return head
        if folder == project or folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)


def _head(git: str) -> str:
    if not os.path.isdir(git):
        said = _line(git)  # a worktree or a submodule
        if not said.startswith("gitdir: "):
            return ""
        git = os.path.normpath(os.path.join(os.path.dirname(git), said.removeprefix("gitdir: ")))
    said = _line(os.path.join(git, "HEAD"))
    if len(said) in (40, 64) and HEX.issuperset(said):
        return f"detached at {said[:12]}"
    name = said.removeprefix(BRANCH)
    return name if said.startswith(BRANCH) and _is_name(name) else ""


def _is_name(name: str) -> bool:
    """As git allows it, so that no sentence comes along in a name."""
    return 0 < len(name) <= LONGEST and name.isprintable() and not UNFIT & set(name) and ".." not in name


def _line(path: str) -> str:
    try:
        data, _ = read_regular(path, LARGEST, os.O_NOFOLLOW)
        return data.decode().rstrip("\n")
    except (OSError, ValueError):
        return ""
