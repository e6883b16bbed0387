"""Which sandbox: the best that this machine has and the configuration lets us use."""

import os
import stat
import sys
from collections.abc import Sequence

from overt.core.protocols import SandboxState

SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/run/wrappers/bin")
"""Never the search path of the person: a workspace could be on it."""
SYS_ADMIN = 1 << 21
UNMAPPED = 65534
"""Whom root is shown as in a namespace that does not know it."""
NO_WALLS = (
    "writes outside the workspace",
    "protected files",
    "names that do not exist yet",
    "hidden files",
    "the network",
    "sockets that lead out",
    "programs outside",
    "new privileges",
    "a process tree of its own",
)
ADVICE = "install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap, …)"
USER_NAMESPACES = (
    "bubblewrap could not make its namespaces ({said}); where user namespaces are switched off, an administrator can "
    "allow them: sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0"
)


def choose(mode: str, *, failed: Sequence[tuple[str, str]] = (), program: str | None = None) -> SandboxState:
    """`failed` are kinds that did not come up, each with what it said; `program` is where bubblewrap is."""
    said = dict(failed)
    program = find_bubblewrap() if program is None else program
    if mode == "none":
        return SandboxState(kind="none", missing=NO_WALLS, why="sandbox.mode is none", disabled=True)
    if sys.platform == "darwin":
        return _seatbelt(said)
    why = ""
    if mode in ("auto", "bubblewrap"):
        if program and "bubblewrap" not in said:
            return SandboxState(kind="bubblewrap")
        why = USER_NAMESPACES.format(said=said["bubblewrap"]) if program else f"bubblewrap is not there: {ADVICE}"
    if mode in ("auto", "landlock") and "landlock" not in said:
        missing = ("protected files inside the workspace", "names that do not exist yet", "a process tree of its own")
        return SandboxState(kind="landlock", missing=missing, why=why or "sandbox.mode is landlock")
    if "landlock" in said:
        why = f"{why + '; ' if why else ''}Landlock: {said['landlock']}"
    return SandboxState(kind="none", missing=NO_WALLS, why=why)


def _seatbelt(said: dict[str, str]) -> SandboxState:
    if "seatbelt" not in said and os.path.exists("/usr/bin/sandbox-exec"):
        return SandboxState(kind="seatbelt")
    return SandboxState(kind="none", missing=NO_WALLS, why=f"seatbelt: {said.get('seatbelt', 'not there')}")


def find_bubblewrap() -> str:
    """Its path, if it is a program that only root can change; else an empty string."""
    for folder in SYSTEM_PATH:
        path = f"{folder}/bwrap"
        try:
            real = os.path.realpath(path)
            found = os.stat(real)
        except OSError:
            continue
        foreign = found.st_uid == 0 or (found.st_uid == UNMAPPED and os.geteuid() != UNMAPPED)
        if foreign and stat.S_ISREG(found.st_mode) and not found.st_mode & 0o022 and os.access(real, os.X_OK):
            return real
    return ""


def can_make_namespaces() -> bool:
    """True if we are root and the kernel lets us create namespaces."""
    from overt.sandbox.process_tree import effective_capabilities  # late: 0.6 ms

    try:
        return os.geteuid() == 0 and bool(effective_capabilities() & SYS_ADMIN)
    except (OSError, StopIteration):
        return False
