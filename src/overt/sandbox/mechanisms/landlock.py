"""Access rules for machines without namespaces: Landlock for files, sockets and signals, and a filter of system calls.

The supervisor calls `restrict` on itself before it starts anything: what binds a thread binds all it starts, for
good. Only the standard library is at hand there.

Landlock has no denials. What may not be read is left out: every place on the way to a hidden one is opened child
by child, as it stands at that moment, and cannot be listed itself. It knows neither exceptions inside a place
that may be written nor who owns a file, so `restrict` says by name what it does not hold.
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable, Sequence

from overt.sandbox.mechanisms import capabilities as _capabilities
from overt.sandbox.mechanisms import seccomp

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""The same numbers on every architecture."""
ASK_VERSION, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All there is to forbid on files, by version; later ones added none that we know."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING = EXECUTE | READ_FILE | READ_DIR
TCP = 3
ABSTRACT_SOCKETS, SIGNALS = 1, 2
NET_SINCE, TRUNCATE_SINCE, SCOPES_SINCE = 4, 3, 6

DEVICES = "null zero full random urandom shm".split()
"""Of /dev nothing else is opened: a disk read as root would show every hidden file, and terminals of programs inside
are numbered among those that people sit at. So there are none inside."""
ALWAYS_HIDDEN = ("/dev", "/run/secrets", "/run/credentials", "/run/user")
MOST_RULES = 20_000

NEVER_HELD = {
    "protected files inside the workspace": ("hooks", "gitconfig", "agent"),
    "names that do not exist yet": ("hooks", "gitconfig", "agent"),
    "permissions, owners and times of files outside": ("outside",),
    "a process tree of its own": (),
    "shared memory of other programs": (),
}
"""With the walls of the self-test that therefore do not stand."""
UNIX_SOCKETS = "UNIX sockets that lead out"


class Ruleset:
    """What will be allowed, collected until `bind`. It handles `rights` on files and what else is given, and leaves
    everything else as it is; nothing is allowed below `hidden`."""

    def __init__(self, version: int, rights: int, *, hidden: Iterable[str] = (), tcp: int = 0, scopes: int = 0) -> None:
        self.rights = rights
        # A socket cannot be read; whether it can be called is not for rules on files to say.
        self.hidden = {real for path in hidden if not _is_socket(real := os.path.realpath(path))}
        self.rules = 0
        size = 8 if version < NET_SINCE else 16 if version < SCOPES_SINCE else 24  # older kernels know a shorter head
        self.fd = _call(CREATE_RULESET, struct.pack("=3Q", rights, tcp, scopes), size, 0)

    def open_up(self, path: str, rights: int) -> None:
        """Allow `rights` below a path, but for what is hidden there; what is not there needs no rule."""
        if path in self.hidden or self.rules >= MOST_RULES:
            return
        if not any(place.startswith(path.rstrip("/") + "/") for place in self.hidden):
            self.allow(path, rights)
            return
        try:
            with os.scandir(path) as found:
                # A link is judged by where it leads.
                inner = [entry.path for entry in found if not entry.is_symlink()]
        except OSError:
            return  # whoever may not list it could not read the names we would allow
        for each in inner:
            self.open_up(each, rights)

    def allow(self, path: str, rights: int) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not os.path.isdir(path):
                rights &= OF_FILES
            if rights & self.rights:
                _call(ADD_RULE, self.fd, PATH_BENEATH, struct.pack("=Qi", rights & self.rights, fd), 0)
                self.rules += 1
        finally:
            os.close(fd)

    def bind(self) -> None:
        _call(RESTRICT_SELF, self.fd, 0)

    def close(self) -> None:
        os.close(self.fd)


def version() -> int:
    """Which Landlock this kernel has; 0 for none."""
    try:
        return _call(CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def restrict(
    write: Sequence[str], hidden: Sequence[str], network: bool, *, read: Sequence[str] = ()
) -> tuple[str, ...]:
    """Bind this thread and everything it starts; returns the names of the walls that do not stand.

    Without Landlock an OSError is raised before anything has changed. What is in `write` or `read` is open where
    it lies inside a hidden place, and a hidden place inside it stays closed.
    """
    found = version()
    if found < 1:
        raise OSError("this kernel has no Landlock")
    tcp = 0 if network or found < NET_SINCE else TCP
    scopes = ABSTRACT_SOCKETS | SIGNALS if found >= SCOPES_SINCE else 0
    everything = RIGHTS[min(found, max(RIGHTS))]
    rules = Ruleset(found, everything, hidden=(*hidden, *ALWAYS_HIDDEN), tcp=tcp, scopes=scopes)
    try:
        rules.open_up("/", READING)
        for path in (sys.prefix, sys.base_prefix, *read):
            rules.open_up(os.path.realpath(path), READING)
        for path in write:
            rules.open_up(os.path.realpath(path), rules.rights & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV))
        for name in DEVICES:
            rules.allow(f"/dev/{name}", rules.rights & ~(MAKE_CHAR | MAKE_BLOCK | EXECUTE))
        no_new_privileges()
        lacking = [] if _capabilities.drop() else ["capabilities of root"]
        rules.bind()
    finally:
        rules.close()
    return (*NEVER_HELD, *lacking, *_lacks(found, network), *_filter(network))


def isolate() -> bool:
    """Let signals and abstract sockets of this thread, and of what it starts, reach nothing started before.

    A box with namespaces of its own needs this only where it shares the network. False: the kernel cannot.
    """
    if version() < SCOPES_SINCE:
        return False
    rules = Ruleset(SCOPES_SINCE, 0, scopes=ABSTRACT_SOCKETS | SIGNALS)
    try:
        no_new_privileges()
        rules.bind()
    finally:
        rules.close()
    return True


def _lacks(found: int, network: bool) -> list[str]:
    names = []
    if found < TRUNCATE_SINCE:
        names.append("truncating files outside")
    if found < SCOPES_SINCE:
        names.append("signals to programs outside")
    if network and found < SCOPES_SINCE:
        names.append("abstract sockets")
    if network:
        names.append(UNIX_SOCKETS)
    return names


def _filter(network: bool) -> list[str]:
    try:
        if not seccomp.known():
            raise OSError("no table for this machine")
        seccomp.install(network)
    except OSError:
        return ["system calls"] + ([] if network else ["the network", UNIX_SOCKETS])
    return []


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def no_new_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    _require(libc.prctl(seccomp.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _call(*words: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return _require(libc.syscall(*(ctypes.c_long(word) if isinstance(word, int) else word for word in words)))


def _require(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
