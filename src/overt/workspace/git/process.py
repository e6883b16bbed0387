"""Start git with every program it could run switched off. All git processes of Overt are started here.

Git runs programs that a repository names: hooks, a file system monitor, filters, text converters, external diffs,
pagers, editors, credential helpers, ssh, and further gits for submodules or missing objects. Three layers keep that
from happening in a folder that commands of the model can write to:

1. Settings and variables that turn each of these off. They outrank the configuration of the repository.
2. `PATH` and `GIT_EXEC_PATH` lead nowhere, so that git finds no program by name, not even a second git.
3. Where the kernel has Landlock, the process may execute nothing but git itself, write only below `write`, and read
   only below `read` and the system's libraries. A link that replaces a folder while git looks leads to a refusal.

The third layer binds the thread that starts git, and so its child: a thread lives for one start only.
"""

import os
import struct
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.core.errors import OvertError

if TYPE_CHECKING:
    from overt.sandbox.mechanisms.landlock import Ruleset

SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.pager": "cat",
    "core.askPass": "",
    "core.sshCommand": "/dev/null",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
}
VARIABLES = {
    "PATH": "/dev/null",
    "GIT_EXEC_PATH": "/dev/null",
    "HOME": "/dev/null",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "/dev/null",
    "GIT_SEQUENCE_EDITOR": "/dev/null",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "/dev/null",
    "GIT_AUTHOR_NAME": "overt",
    "GIT_AUTHOR_EMAIL": "overt@localhost",
    "GIT_COMMITTER_NAME": "overt",
    "GIT_COMMITTER_EMAIL": "overt@localhost",
}
NO_PROGRAMS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
"""For every command that compares files."""
LIBRARIES = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/ld.so.preload")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
USE_LIBRARIES_BELOW = "/usr/"
"""Reading is limited for a git from here; one from elsewhere may have its libraries anywhere."""
PT_INTERP = 3
MOST_RULESETS = 4


class GitPlaces(Struct, frozen=True, kw_only=True):
    """The repository a git works on. Below `write` it may change files, below `read` and `write` it may read them."""

    git_dir: str
    cwd: str
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    work_tree: str = ""
    index_file: str = ""


def start_git_with_helpers(
    program: str, words: Sequence[str], places: GitPlaces, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a git that may run its own helpers for transports, to fetch into a folder that nothing else has written."""
    return subprocess.Popen(
        [program, *words],
        cwd=places.cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def start_git(
    program: str,
    words: Sequence[str],
    places: GitPlaces,
    *,
    settings: Mapping[str, str] | None = None,
    feed: bool = False,
    pass_fds: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a git that can run no other program. `settings` are added to those that switch programs off."""
    children: list[subprocess.Popen[bytes]] = []
    errors: list[OSError] = []
    environment = make_environment(places, settings or {})

    def start() -> None:
        try:
            limit_thread(program, places)
            children.append(
                subprocess.Popen(
                    [program, *words],
                    cwd=places.cwd,
                    env=environment,
                    stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=pass_fds,
                    umask=0o077 if places.work_tree else -1,
                )
            )
        except OSError as error:
            errors.append(error)

    try:
        thread = threading.Thread(target=start)
        thread.start()
    except RuntimeError as error:
        raise OvertError(f"git did not start: {error}") from error
    thread.join()
    if errors or not children:
        raise OvertError(f"git did not start: {errors[0].strerror if errors else 'unknown error'}")
    return children[0]


def wait_for_git(
    child: "subprocess.Popen[bytes]", feed: bytes | None = None, *, timeout_s: float, none_is_error: bool = True
) -> bytes:
    """Return what git prints. OvertError if it fails or is too slow.

    Exit code 1 without a message means that nothing matches, which need not be an error.
    """
    try:
        out, err = child.communicate(feed, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise OvertError(f"git took longer than {timeout_s:g} s") from None
    if child.returncode and (none_is_error or child.returncode > 1 or err):
        reason = err.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise OvertError(f"git: {reason or f'exit code {child.returncode}'}")
    return out


def read_git_version(program: str, timeout_s: float) -> str:
    """The first line that `git --version` prints, or "" if it does not run."""
    try:
        child = start_git(os.path.realpath(program), ["--version"], GitPlaces(git_dir="/dev/null", cwd="/"))
        return wait_for_git(child, timeout_s=timeout_s).decode("utf-8", "replace").partition("\n")[0]
    except OvertError:
        return ""


def make_environment(places: GitPlaces, settings: Mapping[str, str]) -> dict[str, str]:
    """All variables of a git process; nothing of our own environment is passed on."""
    environment = {**VARIABLES, "GIT_DIR": places.git_dir}
    if places.work_tree:
        environment["GIT_WORK_TREE"] = places.work_tree
    if places.index_file:
        environment["GIT_INDEX_FILE"] = places.index_file
    pairs = {**settings, **SETTINGS}
    environment["GIT_CONFIG_COUNT"] = str(len(pairs))
    for number, (key, value) in enumerate(pairs.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def limit_thread(program: str, places: GitPlaces) -> None:
    """Bind this thread and what it starts to the places; does nothing where the kernel has no Landlock."""
    from overt.sandbox.mechanisms import landlock  # late: 6 ms # it needs ctypes, which is slow to load

    version = landlock.version()
    if version < 1:
        return
    rights = landlock.RIGHTS[min(version, max(landlock.RIGHTS))]
    loader = find_loader(program)
    if loader is None:
        rights &= ~landlock.EXECUTE
    if not program.startswith(USE_LIBRARIES_BELOW):
        rights &= ~(landlock.READ_FILE | landlock.READ_DIR)
    with _rules_lock:
        key = (program, *map(identify_folder, places.write), "", *map(identify_folder, places.read))
        rules = _rules.pop(key, None) or make_rules(landlock.Ruleset(version, rights), program, places)
        _rules[key] = rules
        while len(_rules) > MOST_RULESETS:
            _rules.pop(next(iter(_rules))).close()
        landlock.no_new_privileges()
        rules.bind()


_rules: "dict[tuple[object, ...], Ruleset]" = {}
_rules_lock = threading.Lock()


def make_rules(rules: "Ruleset", program: str, places: GitPlaces) -> "Ruleset":
    """Fill a ruleset. It is kept for the next start, which is faster with it."""
    from overt.sandbox.mechanisms import landlock  # late: 6 ms

    try:
        for path in (*LIBRARIES, *places.read):
            rules.allow(path, landlock.READ_FILE | landlock.READ_DIR)
        for path in places.write:
            rules.allow(path, rules.rights & ~landlock.EXECUTE)
        for path in DEVICES:
            rules.allow(path, landlock.READ_FILE | landlock.WRITE_FILE)
        for path in filter(None, (program, find_loader(program))):
            rules.allow(path, landlock.EXECUTE | landlock.READ_FILE)
    except BaseException:
        rules.close()
        raise
    return rules


def identify_folder(path: str) -> tuple[str, int, int]:
    """What tells a folder from another one at the same path: rules hold for the folder, not for its name."""
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, status.st_dev, status.st_ino


def find_loader(program: str) -> str | None:
    """Return the dynamic loader that an ELF program names, "" if it needs none, None if it is no 64-bit ELF file."""
    if program not in _loaders:
        try:
            _loaders[program] = _read_loader(program)
        except (OSError, struct.error, ValueError):
            _loaders[program] = None
    return _loaders[program]


_loaders: dict[str, str | None] = {}


def _read_loader(program: str) -> str | None:
    with open(program, "rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02":
            return None
        order = "<" if head[5] == 1 else ">"
        (table,) = struct.unpack_from(f"{order}Q", head, 32)
        size, count = struct.unpack_from(f"{order}HH", head, 54)
        file.seek(table)
        segments = file.read(size * count)
        for number in range(count):
            (kind,) = struct.unpack_from(f"{order}I", segments, number * size)
            if kind == PT_INTERP:
                (offset,) = struct.unpack_from(f"{order}Q", segments, number * size + 8)
                (length,) = struct.unpack_from(f"{order}Q", segments, number * size + 32)
                file.seek(offset)
                return os.path.realpath(os.fsdecode(file.read(length).rstrip(b"\0")))
    return ""
