"""A repository that a command made: until then there was nothing to protect, so it could hold programs already.

`git init` and `git clone` leave sample hooks and a few plain settings. Anything that git would run later, outside
the box, makes the whole folder suspect: it is moved aside, where git does not find it and nothing is lost.

This also runs inside the sandbox, and as the last program of one: it imports only the standard library and
`overt.sandbox`.
"""

import os
import stat
import sys

from overt.sandbox.git_folders import modules, read_small_file, worktrees

SETTINGS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol",
    "remote": "url fetch tagopt prune promisor partialclonefilter",
    "branch": "remote merge rebase",
    "user": "name email",
    "init": "defaultbranch",
    "extensions": "objectformat refstorage partialclone",
    "commit": "gpgsign",
    "pull": "rebase ff",
    "push": "default",
    "submodule": "active url",
}
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
PATH = NAME | frozenset("_./")
LARGEST = 64 * 1024
LINK = "a link to another repository"


def harmful(git: str) -> str:
    """What in a new `.git` would run something, by its name there; an empty string for none."""
    try:
        found = os.lstat(git)
    except OSError:
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
    if read_small_file(f"{folder}/commondir", 64) != "../..\n":
        return "commondir"
    return "config.worktree" if read_small_file(f"{folder}/config.worktree", 16, missing="") else ""


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
    text = read_small_file(git, 4096)
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
    for name in ("commondir", "config.worktree"):
        if os.path.lexists(f"{git}/{name}"):
            return name
    return find_unusual_setting(f"{git}/config", git=git, within=within)


def _real_folder(path: str, *, missing: bool) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return missing
    except OSError:
        return False


def find_unusual_setting(path: str, *, git: str, within: str = "") -> str:
    """Return the first setting in a file that is not one of the plain ones, or an empty string.

    `git` is the folder that the settings are for; a submodule may be checked out below `within`.
    """
    text = read_small_file(path, LARGEST, missing="")
    if "\0" in text:
        return "config"
    section = ""
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if line[0] in "#;":
            continue
        if name := _parse_section(line):
            section = name
            continue
        key, value = _parse_setting(line)
        is_place = within and (section, key) == ("core", "worktree") and value[:3] == "../" and PATH.issuperset(value)
        if is_place and os.path.realpath(os.path.join(git, value)).startswith(within + "/"):
            continue  # a submodule says where it is checked out
        if key.lower() not in SETTINGS.get(section, "").split():
            return f"config: {section}.{key or '?'}"
    return ""


def _parse_section(line: str) -> str:
    """The name in `[name]` or `[name "part"]`, in small letters; empty for any other line."""
    if not (line.startswith("[") and line.endswith("]")):
        return ""
    name, _, part = line[1:-1].strip().replace("\t", " ", 1).partition(" ")
    plain = part.strip().replace("\\\\", "").replace('\\"', "")
    is_quoted = not plain or (len(plain) > 1 and plain[0] == plain[-1] == '"' and not {'"', "\\"} & {*plain[1:-1]})
    return name.lower() if name and (NAME | {"."}).issuperset(name) and is_quoted else ""


def _parse_setting(line: str) -> tuple[str, str]:
    """Key and value of a line; an empty key where the line is anything else."""
    key, _, value = line.partition("=")
    key = key.strip()
    if not NAME.issuperset(key) or not key[:1].isalpha() or value.endswith("\\"):
        return "", ""
    return key, value.strip()


def main() -> None:
    """After Overt was killed together with what ran in a sandbox: move away what must not be there. Words: the folder
    of the package, then names that did not exist when the sandbox was started."""
    for path in sys.argv[2:]:
        try:
            if harmful(path) if path.endswith("/.git") else os.path.lexists(path):
                set_aside(path)
        except OSError:
            pass  # nobody is there to be told
