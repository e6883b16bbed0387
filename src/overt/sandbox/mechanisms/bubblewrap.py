"""Access rules as the words for bubblewrap, which builds namespaces of mounts, processes and network around a program.

Mounts are laid from the top down, so the deepest says what a path is: a workspace inside a hidden folder is open,
a hidden folder inside a workspace is not. A folder that merely contains a mount point can be renamed, mounts and
all, and a new one put in its place; a mount point cannot. So every folder between a writable root and a
protected name is mounted on itself.
"""

import os
from collections.abc import Callable, Iterable, Sequence

from overt.sandbox.profile import AccessRules

NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
AS_ROOT = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID")
"""What root needs to work on files of others. None of them passes a mount that is read-only or not there."""
OF_PROC = "sys sysrq-trigger irq bus fs acpi scsi mtrr driver tty kcore kmsg keys timer_list".split()
"""Root owns them, with or without capabilities: `kernel/core_pattern` alone would be a way out."""
SHOWN_OF_RUN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
"""Where NixOS has its programs."""
RESOLVER = ("/etc/resolv.conf", "/etc/hosts")
EMPTY = "empty"
"""In the private folder: stands for a hidden file. Tools get along without their settings, not with an error."""


def words(rules: AccessRules, *, program: str, root: bool) -> tuple[str, ...]:
    """The words before a command line; `root` says that we are, with the right to make namespaces."""
    laid: dict[str, tuple[str, ...]] = {}
    empty = f"{rules.temp}/{EMPTY}"
    for path in rules.read:
        laid[path] = ("--ro-bind-try", path, path)
    for path in rules.write:
        laid[path] = ("--bind-try", path, path)
    for path in between(rules.write, (*rules.protected, *rules.hidden)):
        laid[path] = ("--bind-try", path, path)
    folders = [path for path in rules.hidden if os.path.isdir(path)]
    for path in rules.hidden:
        laid[path] = ("--ro-bind-try", empty, path)
    for path in folders:
        # What is open inside must be reachable.
        way = any(other.startswith(path + "/") for other in (*rules.read, *rules.write))
        laid[path] = ("--perms", "0711" if way else "0000", "--tmpfs", path)
    for path in rules.protected:
        laid[path] = ("--ro-bind-try", path, path)
    ordered = sorted(laid, key=lambda path: path.split("/"))
    return (
        *(program, *NAMESPACES, "--die-with-parent", "--as-pid-1", "--chdir", "/"),
        *(() if rules.network else ("--unshare-net",)),
        *(() if root else ("--unshare-user",)),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(_proc() if root else ()),
        *_private(rules),
        *(word for path in ordered for word in laid[path]),
        *(word for path in folders for word in ("--remount-ro", path)),
        *("--cap-drop", "ALL", *(word for name in AS_ROOT if root for word in ("--cap-add", name))),
        "--",
    )


def describe_mounts(rules: AccessRules, on_host: Callable[[str], str] = str) -> tuple[str, ...]:
    """The same mounts for `sandbox_process.py`: `w` can be written, `r` cannot, `h` hides; then what lies there.

    `on_host` translates a path in the box to one that this process can open."""
    flags = dict.fromkeys(rules.write, "w")
    flags |= dict.fromkeys(between(rules.write, (*rules.protected, *rules.hidden)), "w")
    flags |= dict.fromkeys(rules.hidden, "h")
    flags |= dict.fromkeys(rules.protected, "r")
    found = []
    for path, flag in flags.items():
        try:
            there = os.lstat(on_host(path))
        except OSError:
            continue
        found.append(f"{flag}{there.st_dev}:{there.st_ino}:{path}")
    return tuple(found)


def _proc() -> Iterable[str]:
    for name in OF_PROC:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")


def _private(rules: AccessRules) -> Iterable[str]:
    """Own folders for temporary files and sockets; without a private folder on disk they live in memory."""
    yield from ("--tmpfs", "/run")
    if os.path.isdir("/var/run") and not os.path.islink("/var/run"):
        yield from ("--tmpfs", "/var/run")
    for path in SHOWN_OF_RUN:
        yield from ("--ro-bind-try", path, path)
    if rules.network:
        for path in {os.path.realpath(each) for each in RESOLVER}:
            if path.startswith("/run/"):
                yield from ("--ro-bind-try", path, path)
    for path, name in (("/tmp", "tmp"), ("/var/tmp", "var")):
        yield from ("--bind", f"{rules.temp}/{name}", path) if rules.temp else ("--perms", "1777", "--tmpfs", path)


def between(roots: Sequence[str], places: Iterable[str]) -> list[str]:
    """Folders above a place that lie below a root."""
    found: dict[str, None] = {}
    for place in places:
        root = max((each for each in roots if place.startswith(each + "/")), key=len, default="")
        folder = os.path.dirname(place)
        while root and folder != root:
            found[folder] = None
            folder = os.path.dirname(folder)
    return list(found)
