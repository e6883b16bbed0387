"""The supervisor inside a sandbox. The limits were set outside; words: the folder, the limit, how many mounts follow,
those, then what kind of sandbox.

`bubblewrap NETWORK USER [COUNT ROOT… NAME…]`: the mounts were made; see `name_guard.py` for roots and names.
`landlock NETWORK COUNT WRITE… HIDDEN…`: it binds itself.

Before a sandbox says that it is up, every mount is checked: it is where it was meant to be, and nothing else can be
written. A mount is asked for by its path, and a path can lead elsewhere a moment later: a link in place of a folder
would open what it leads to.
"""

import ctypes
import os
import signal
import sys

from overt.sandbox.mechanisms import landlock, seccomp
from overt.sandbox.mechanisms.limits import limit_here
from overt.sandbox.supervisor import PR_SET_PDEATHSIG, supervise, take_link
from overt.sandbox.tracking.name_guard import parse_guard
from overt.sandbox.tracking.write_calls import can_guard

PR_SET_DUMPABLE = 4
OWN = frozenset({"/tmp", "/var/tmp", "/run", "/var/run"})


def main() -> None:
    most, count, *words = sys.argv[2:]
    wanted, (kind, network, *words) = words[: int(count)], words[int(count) :]
    if wanted and (wrong := find_misplaced_mount(wanted, mounts())):
        sys.exit(f"{wrong} is not mounted as it was meant to be")
    guard = None
    if kind == "landlock":
        count, *paths = words
        lacking = landlock.restrict(paths[: int(count)], paths[int(count) :], bool(network))
    else:
        lacking = _finish(int(most), network=bool(network), user=bool(words[0]))
        guard = parse_guard(words[1:])
        if guard and not can_guard():
            guard, lacking = None, (*lacking, "names that do not exist yet")
    os.chdir("/")
    # No command can look into the one who starts it, or take its descriptors.
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # without somebody outside nobody would end the box
    supervise(take_link(), lacking, guard)


def _finish(most: int, *, network: bool, user: bool) -> tuple[str, ...]:
    """What namespaces do not do by themselves."""
    if user:
        limit_here(most)
    # With the network outside come the abstract sockets of every program there.
    lacking = ("abstract sockets",) if network and not landlock.isolate() else ()
    if seccomp.known():
        seccomp.install(True)
    return lacking


def mounts() -> dict[str, bool]:
    """Mount points, the uppermost mount on each: whether it can be written."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.split(" ", 6) for line in file]
    return {_plain(words[4]): "rw" in words[5].split(",") for words in lines}


def find_misplaced_mount(wanted: list[str], found: dict[str, bool]) -> str:
    """The first path that is not as wanted."""
    writable = []
    for word in wanted:
        flag, rest = word[0], word[1:]
        device, number, path = rest.split(":", 2)
        if path not in found or (found[path] and flag != "w"):
            return path
        if flag == "w":
            writable.append(path)
        if flag in "wr":
            there = os.lstat(path)
            if (there.st_dev, there.st_ino) != (int(device), int(number)):
                return path
    for path, open_ in found.items():
        inside = path in OWN or any((path + "/").startswith(each + "/") for each in (*writable, "/dev", "/proc"))
        if open_ and not inside and os.access(path, os.W_OK):
            return path
    return ""


def _plain(name: str) -> str:
    """The kernel writes blanks and backslashes as three octal digits."""
    first, *rest = name.split("\\")
    return first + "".join(chr(int(part[:3], 8)) + part[3:] for part in rest)
