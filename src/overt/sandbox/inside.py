"""The supervisor behind walls. The limits were set outside; words: the folder, the limit, then what kind of box.

`bubblewrap NETWORK USER [COUNT ROOT… NAME…]`: the walls stand already; see `name_guard.py` for roots and names.
`landlock NETWORK COUNT WRITE… HIDDEN…`: it binds itself.
"""

import ctypes
import os
import signal
import sys

from overt.sandbox.supervisor import PR_SET_PDEATHSIG, supervise, take_link
from overt.sandbox.tracking.name_guard import parse_guard
from overt.sandbox.tracking.write_calls import can_guard
from overt.sandbox.walls import landlock, seccomp
from overt.sandbox.walls.limits import limit_here

PR_SET_DUMPABLE = 4


def main() -> None:
    most, kind, network, *words = sys.argv[2:]
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
