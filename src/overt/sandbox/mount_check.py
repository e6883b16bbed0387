"""Before a box says that it is up: every mount is where it was meant to be, and none can be written beside those.

A mount is asked for by its path, and a path can lead elsewhere a moment later: a link in place of a folder would
open what it leads to. Words: the folder, the limit, how many mounts follow, those, then what `inside.py` takes.
"""

import os
import sys

from overt.sandbox import inside as boxed

OWN = frozenset({"/tmp", "/var/tmp", "/run", "/var/run"})


def main() -> None:
    package, most, count, *words = sys.argv[1:]
    if wrong := misplaced(words[: int(count)], mounts()):
        sys.exit(f"{wrong} is not mounted as it was meant to be")
    sys.argv[1:] = [package, most, *words[int(count) :]]
    boxed.main()


def mounts() -> dict[str, bool]:
    """Mount points, the uppermost mount on each: whether it can be written."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.split(" ", 6) for line in file]
    return {_plain(words[4]): "rw" in words[5].split(",") for words in lines}


def misplaced(wanted: list[str], found: dict[str, bool]) -> str:
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
