"""Keep repositories inside the workspace out of the undo store's index.

`git update-index` turns a folder that became a repository a moment ago into a gitlink (mode 160000), and other
commands descend into a gitlink with the settings of that repository. So each tree is checked before it is used, and
an index written by an earlier version is checked once.
"""

import os
import re
import zlib
from collections.abc import Sequence

from overt.lib.encoding import show_name
from overt.workspace.undo.shadow_git import Git

CHECKED = "no_gitlinks"
"""A file of the store: its index was written by a version that removes gitlinks."""
FEW = 200
"""For more names than this, git lists the whole index."""
FOLDER, GITLINK = b"40000", b"160000"
LISTED = re.compile(rb"(?:\A|(?<=\0))160000 [^\0\t]*\t([^\0]+)\0")


def write_tree(git: Git, entered: Sequence[bytes], uncovered: dict[str, str]) -> str:
    """Write the index as a tree, without gitlinks. Only names that were `entered` since the last time can be some."""
    if len(entered) <= FEW:
        tree = git.run("write-tree").decode().strip()
        gitlinks = _find_in_tree(git, tree, entered)
    else:
        gitlinks = None
    if gitlinks is None:
        raw, listed = git.together(("write-tree",), ("ls-files", "--stage", "-z"))
        tree, gitlinks = raw.decode().strip(), LISTED.findall(listed)
    if not gitlinks:
        return tree
    uncovered.update({f"{show_name(os.fsdecode(name))}/": "a repository of its own" for name in gitlinks})
    _remove(git, gitlinks)
    return git.run("write-tree").decode().strip()


def check_old_index(git: Git) -> None:
    """Remove gitlinks that an earlier version put into the index; done once for each store."""
    marker = f"{git.folder}/{CHECKED}"
    if os.path.exists(marker):
        return
    if os.path.exists(f"{git.folder}/index"):
        gitlinks = LISTED.findall(git.run("ls-files", "--stage", "-z"))
        if gitlinks:
            if os.path.exists(f"{git.folder}/state"):
                os.unlink(f"{git.folder}/state")
            _remove(git, gitlinks)
    git.write(CHECKED, b"")


def _find_in_tree(git: Git, tree: str, names: Sequence[bytes]) -> list[bytes] | None:
    """Which of these names are gitlinks in a tree, read without git; None if a folder of it is not a loose object."""
    folders: dict[bytes, dict[bytes, tuple[bytes, str]] | None] = {b"": _read_tree(git, tree)}
    gitlinks: list[bytes] = []
    for name in names:
        above, entry = b"", (FOLDER, tree)
        for part in name.split(b"/"):
            if above not in folders:
                folders[above] = _read_tree(git, entry[1])
            folder = folders[above]
            if folder is None:
                return None
            if part not in folder:
                break  # it went before it was entered
            above, entry = os.path.join(above, part), folder[part]
            if entry[0] == GITLINK:
                gitlinks.append(above)
            if entry[0] != FOLDER:
                break
    return gitlinks


def _read_tree(git: Git, hash: str) -> dict[bytes, tuple[bytes, str]] | None:
    """The entries of a tree: name → mode and hash. None if it is not a loose object."""
    try:
        with open(f"{git.folder}/objects/{hash[:2]}/{hash[2:]}", "rb") as file:
            raw = zlib.decompress(file.read())
    except (OSError, zlib.error):
        return None
    at = raw.index(b"\0") + 1
    entries: dict[bytes, tuple[bytes, str]] = {}
    while at < len(raw):
        mode, _, name = raw[at : (end := raw.index(b"\0", at))].partition(b" ")
        entries[name] = (mode, raw[end + 1 : end + 21].hex())
        at = end + 21
    return entries


def _remove(git: Git, names: list[bytes]) -> None:
    git.run("update-index", "--force-remove", "-z", "--stdin", feed=b"\0".join((*names, b"")))
