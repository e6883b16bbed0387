"""What needs care in the index of the undo store: repositories inside the workspace, and files that are covered late.

`git update-index` turns a folder that became a repository a moment ago into a gitlink (mode 160000), and other
commands descend into a gitlink with the settings of that repository. So each tree is checked before it is used, and
an index written by an earlier version is checked once.
"""

import os
import re
import zlib
from collections.abc import Collection, Iterable, Sequence

from overt.core.errors import OvertError
from overt.lib.encoding import show_name
from overt.workspace.undo.shadow_git import Git

CHECKED = "no_gitlinks"
"""A file of the store: its index was written by a version that removes gitlinks."""
FEW = 200
"""For more names than this, git lists the whole index."""
FOLDER, GITLINK = b"40000", b"160000"
TREE_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)
LISTED = re.compile(rb"(?:\A|(?<=\0))160000 [^\0\t]*\t([^\0]+)\0")
LIST_INDEX = ("ls-files", "--stage", "-z")
RULES = b".gitignore"


def write_tree(git: Git, entered: Sequence[bytes], uncovered: dict[str, str]) -> str:
    """Write the index as a tree, without gitlinks, which are added to `uncovered`.

    Only names that were `entered` since the last time can be some. If they are few, they are looked up in the tree: to
    list an index of 20 000 files takes as long as all the rest.
    """
    gitlinks = None
    if len(entered) <= FEW:
        tree = git.run("write-tree").decode().strip()
        gitlinks = _find_in_tree(git, tree, entered)
    if gitlinks is None:
        raw, listed = git.run_both(("write-tree",), LIST_INDEX)
        tree, gitlinks = raw.decode().strip(), LISTED.findall(listed)
    if not gitlinks:
        return tree
    uncovered.update({f"{show_name(os.fsdecode(name))}/": "a repository of its own" for name in gitlinks})
    remove_from_index(git, gitlinks)
    return git.run("write-tree").decode().strip()


def _find_in_tree(git: Git, tree: str, names: Iterable[bytes]) -> list[bytes] | None:
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
    entries = TREE_ENTRY.findall(raw, raw.index(b"\0") + 1)
    return {name: (mode, hash.hex()) for mode, name, hash in entries}


def check_old_index(git: Git) -> None:
    """Remove gitlinks that an earlier version put into the index; done once for each store."""
    if os.path.exists(f"{git.folder}/{CHECKED}"):
        return
    if os.path.exists(f"{git.folder}/index") and (gitlinks := LISTED.findall(git.run(*LIST_INDEX))):
        git.remove("state")
        remove_from_index(git, gitlinks)
    git.write(CHECKED, b"")


def remove_from_index(git: Git, names: Collection[bytes]) -> None:
    git.run("update-index", "--force-remove", "-z", "--stdin", feed=b"\0".join((*names, b"")))


def find_newly_covered(
    git: Git, root: str, tree: str, unfit: Collection[str], *, new: Collection[bytes], changed: Iterable[bytes]
) -> set[str]:
    """Return those of the files `new` to the index that were there at the last pass: nothing may remove them.

    They were too large, unreadable or in a repository of their own, as `unfit` says, or were ignored by rules that
    have changed since. `tree` holds the files of the last pass.
    """
    if not tree or not new:
        return set()
    shown = {name: show_name(os.fsdecode(name)) for name in new}
    repositories = tuple(name for name in unfit if name.endswith("/"))
    covered = {path for path in shown.values() if path in unfit or path.startswith(repositories)}
    folders: dict[bytes, None] = {}
    for name in sorted((*changed, *new)):
        if os.path.basename(name) == RULES:
            while name:
                name = os.path.dirname(name)
                folders[name] = None
    for folder in folders:
        covered |= {shown[name] for name in _ignored_before(git, root, tree, folder) if name in shown}
    return covered


def _ignored_before(git: Git, root: str, tree: str, folder: bytes) -> list[bytes]:
    """What the rules of a folder kept out at the last pass."""
    below = os.fsdecode(folder)
    whole = os.path.normpath(os.path.join(root, below))
    if os.path.realpath(whole) != whole or not os.path.isdir(whole):
        return []
    try:
        rules = git.run("cat-file", "blob", os.fsdecode(tree.encode() + b":" + os.path.join(folder, RULES)))
    except OvertError:
        return []  # there were none
    return [os.path.join(folder, name) for name in git.ignored(rules, below)]
