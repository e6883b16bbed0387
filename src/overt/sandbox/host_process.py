"""Stands outside a box: enters control groups, starts the box and tidies after its end.

A program of its own beside Overt, so that what was made on the host goes even when Overt is killed. It sees the
end of the link too, and ends a box that does not do so by itself: who can stop the supervisor cannot reach us.
Where Overt was killed, nobody looks at what the last command left: `new_repository.py` is started to do it.
Words: the package's folder, the limit on processes, the private folder, how many names follow that must not exist
at the end, those names, and the command line of the box.
"""

import ctypes
import fcntl
import os
import select
import signal
import sys
import time

from overt.sandbox.mechanisms.limits import limit
from overt.sandbox.private_folder import hold_private, remove_private
from overt.sandbox.process_tree import EndedChildren, destroy, wake_on_child

PR_SET_CHILD_SUBREAPER = 36
IGNORED = tuple(signal.Signals["SIG" + name] for name in "INT HUP TERM QUIT PIPE TSTP TTIN TTOU".split())
KEYCTL = {"x86_64": 250, "aarch64": 219}
JOIN_SESSION_KEYRING = 1
LAST_LOOK = "import sys; sys.path[:0] = sys.argv[1:2]; from overt.sandbox.harmful_repository import main; main()"
PATIENCE = 1.0
TRIES = 20
GRACE = 0.8
"""Seconds a box gets to end by itself once Overt has hung up or is gone; whoever waits for us waits longer."""


def main() -> None:
    for ignored in IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    os.closerange(3, 65536)
    os.chdir("/")
    parent = os.getppid()
    most, temp, count, *words = sys.argv[2:]
    names, command = words[: int(count)], words[int(count) :]
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if (number := KEYCTL.get(os.uname().machine)) is not None:
        libc.syscall(number, JOIN_SESSION_KEYRING, None)  # the keys of the person's session stay outside
    groups = limit(int(most))
    private = hold_private(temp) if temp else -1
    try:
        _run(command)
    finally:
        for group in groups:
            group.leave()
        if private >= 0:
            os.close(private)
            _remove(temp)
    if os.getppid() != parent and names:
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", LAST_LOOK, sys.argv[1], *names])


def _remove(temp: str) -> None:
    """The private folder, unless others use it on; an Overt that is just ending lets go of it in a moment."""
    deadline = time.monotonic() + PATIENCE
    while not remove_private(temp) and time.monotonic() < deadline:
        time.sleep(0.02)


def _run(command: list[str]) -> None:
    link = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)  # for its end only: what comes on it is for the supervisor
    wake = wake_on_child()
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
            reaped = EndedChildren()
            reaped.collect()
            if pid in reaped.status:
                break
    for _ in range(TRIES):
        if destroy():
            break
    os.close(link)
    EndedChildren().collect()
