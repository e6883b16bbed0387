"""Stands outside a box: enters control groups, puts place-holders up, starts the box and tidies after its end.

A program of its own beside Overt, so that what was made on the host goes even when Overt is killed. It sees the
end of the link too, and ends a box that does not do so by itself: who can stop the supervisor cannot reach us.
Words: the package's folder, the limit on processes, the private folder, how many names to hold follow, those
names, and the command line of the box.
"""

import ctypes
import fcntl
import os
import select
import signal
import sys
import time

from overt.world.sandbox.holding import hold, hold_private, release, remove_private
from overt.world.sandbox.limits import limit
from overt.world.sandbox.tree import Reaped, destroy

PR_SET_CHILD_SUBREAPER = 36
IGNORED = tuple(signal.Signals["SIG" + name] for name in "INT HUP TERM QUIT PIPE TSTP TTIN TTOU".split())
KEYCTL = {"x86_64": 250, "aarch64": 219}
JOIN_SESSION_KEYRING = 1
PATIENCE = 1.0
TRIES = 20
GRACE = 0.8
"""Seconds a box gets to end by itself once Overt has hung up or is gone; whoever waits for us waits longer."""


def main() -> None:
    for ignored in IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    os.closerange(3, 65536)
    os.chdir("/")
    usual = os.umask(0)
    most, temp, count, *words = sys.argv[2:]
    names, command = words[: int(count)], words[int(count) :]
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if (number := KEYCTL.get(os.uname().machine)) is not None:
        libc.syscall(number, JOIN_SESSION_KEYRING, None)  # the keys of the person's session stay outside
    groups = limit(int(most))
    private = hold_private(temp) if temp else -1
    held = [(path, fd) for path in names if (fd := hold(path)) >= 0]
    os.umask(usual)
    try:
        _run(command)
    finally:
        for path, fd in held:
            release(path, fd)
        for group in groups:
            group.leave()
        if private >= 0:
            os.close(private)
            _remove(temp)


def _remove(temp: str) -> None:
    """The private folder, unless others use it on; an Overt that is just ending lets go of it in a moment."""
    deadline = time.monotonic() + PATIENCE
    while not remove_private(temp) and time.monotonic() < deadline:
        time.sleep(0.02)


def _run(command: list[str]) -> None:
    link = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)  # for its end only: what comes on it is for the supervisor
    wake = _wake_on_child()
    pid = os.posix_spawnp(command[0], command, {"PATH": os.defpath})
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    poller.register(link, 0)
    deadline = float("inf")
    while (left := deadline - time.monotonic()) > 0:
        ready = {fd for fd, _ in poller.poll(min(left, 3600.0) * 1000)}
        if link in ready:
            poller.unregister(link)
            deadline = time.monotonic() + GRACE
        if wake in ready:
            os.read(wake, 4096)
            reaped = Reaped()
            reaped.collect()
            if pid in reaped.status:
                break
    for _ in range(TRIES):
        if destroy():
            break
    os.close(link)
    Reaped().collect()


def _wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reader
