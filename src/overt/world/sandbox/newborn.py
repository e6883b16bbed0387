"""A repository that a command made: until then there was nothing to protect, so it could hold programs already.

`git init` and `git clone` leave sample hooks and a few plain settings. Anything that git would run later, outside
the box, makes the whole folder suspect: it is moved aside, where git does not find it and nothing is lost.
"""

import os
import re
import stat

from overt.lib.held import held_status
from overt.world.sandbox.guards import modules, worktrees

SETTINGS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks",
    "remote": "url fetch",
    "branch": "remote merge",
    "user": "name email",
    "init": "defaultbranch",
    "extensions": "objectformat refstorage",
    "submodule": "active url",
}
SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]')
SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=[^\n]*[^\\]|=?)")
WORKTREE = re.compile(r"worktree\s*=\s*((?:\.\./)+[\w./-]+)")
LARGEST = 64 * 1024
LINK = "a link to another repository"


def harmful(git: str) -> str:
    """What in a new `.git` would run something, by its name there; an empty string for none."""
    try:
        found = os.lstat(git)
    except OSError:
        return ""
    if held_status(found, git):
        return ""
    if not stat.S_ISDIR(found.st_mode):
        return "" if stat.S_ISREG(found.st_mode) and _own(git) else LINK
    if what := _folder(git):
        return what
    for name in ("modules", "worktrees"):
        if not _real_folder(f"{git}/{name}", missing=True):
            return name
    inner = modules(git)
    if inner is None:
        return "modules"
    for folder in inner:
        if what := harmful_module(folder, git):
            return f"{folder.removeprefix(git + '/')}/{what}"
    for folder in worktrees(git):
        if what := harmful_worktree(folder):
            return f"{folder.removeprefix(git + '/')}/{what}"
    return ""


def harmful_module(folder: str, git: str) -> str:
    return _folder(folder, within=os.path.dirname(git))


def harmful_worktree(folder: str) -> str:
    """Git writes three small files there; `commondir` could name another repository."""
    if _content(f"{folder}/commondir", 64) != "../..\n":
        return "commondir"
    return "config.worktree" if _content(f"{folder}/config.worktree", 16, missing="") else ""


def set_aside(git: str, *, name: str = "") -> str:
    """Move it to a name that git does not look for; returns that name."""
    base = f"{os.path.dirname(git)}/{name}" if name else f"{git}.blocked"
    for number in range(1, 1000):
        aside = base + ("" if number == 1 else f"-{number}")
        if not os.path.lexists(aside):
            os.rename(git, aside)
            return os.path.basename(aside)
    raise FileExistsError(git)


def _own(git: str) -> bool:
    """Whether a `.git` file leads to what a repository above keeps for submodules and worktrees: that is looked at."""
    text = _content(git, 4096)
    if not text.startswith("gitdir: "):
        return False
    target = os.path.normpath(os.path.join(os.path.dirname(git), text.removeprefix("gitdir: ").rstrip("\n")))
    above, _, _ = target.partition("/.git/")
    if not git.startswith(above + "/") or os.path.realpath(target) != target or not os.path.isdir(target):
        return False
    if target in worktrees(f"{above}/.git"):
        return not harmful_worktree(target)
    return target in (modules(f"{above}/.git") or ()) and not harmful_module(target, f"{above}/.git")


def _folder(git: str, *, within: str = "") -> str:
    if not _real_folder(f"{git}/hooks", missing=True):
        return "hooks"
    try:
        names = os.listdir(f"{git}/hooks")
    except FileNotFoundError:
        names = []
    except OSError:
        return "hooks"
    for name in names:
        if not name.endswith(".sample"):
            return f"hooks/{name}"
    if _content(f"{git}/commondir", 16, missing=".\n", held=True) != ".\n":
        return "commondir"
    if _content(f"{git}/config.worktree", 16, missing="", held=True) != "":
        return "config.worktree"
    return _setting(git, within)


def _real_folder(path: str, *, missing: bool) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return missing
    except OSError:
        return False


def _content(path: str, most: int, *, missing: str = "\0", held: bool = False) -> str:
    """Of a regular file, no link; a NUL for what cannot be read. `held`: only a place-holder may be there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return missing
    except OSError:
        return "\0"
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most or (held and not held_status(found, path)):
            return "\0"
        return os.read(fd, most).decode("utf-8", "surrogateescape")
    except OSError:
        return "\0"
    finally:
        os.close(fd)


def _setting(git: str, within: str) -> str:
    """The first setting that is not one of the plain ones."""
    text = _content(f"{git}/config", LARGEST, missing="")
    if "\0" in text:
        return "config"
    section = ""
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if line[0] in "#;":
            continue
        if found := SECTION.fullmatch(line):
            section = found.group(1).lower()
            continue
        if within and section == "core" and (found := WORKTREE.fullmatch(line)):
            place = os.path.realpath(os.path.join(git, found.group(1)))
            if place.startswith(within + "/"):
                continue  # a submodule says where it is checked out
        found = SETTING.fullmatch(line)
        if not found or found.group(1).lower() not in SETTINGS.get(section, "").split():
            return f"config: {section}.{found.group(1) if found else '?'}"
    return ""
