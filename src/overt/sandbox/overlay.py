"""A copy-on-write view of a folder: an overlay mount in private namespaces that need no running process.

`overlay_process.py` makes the namespaces, mounts the overlay over the folder in them, sends us three descriptors and
ends. The namespaces live as long as we hold the descriptors or a program runs in them, so nothing is left when this
process is killed. What was changed stays on disk, in `upper`:

    folder (not written) ──┐                      ┌── our file tools, by the descriptor of its root
                           ├── overlay at folder ─┤
    upper (what changed) ──┘                      └── commands, in the namespaces, at the path of the folder
"""

import os
import socket
import sys
from collections.abc import Sequence

from overt.core.errors import OvertError
from overt.sandbox.choose_sandbox import can_make_namespaces

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROCESS = "import sys; sys.path[:0] = sys.argv[1:2]; from overt.sandbox.overlay_process import main; main()"
PYTHON = (os.path.realpath(sys.executable), "-I", "-S", "-c", PROCESS, PACKAGE)
MOUNT_WITHIN_S = 10.0
UPPER, WORK = "upper", "work"


class Overlay:
    """A mounted view of `root`. The owner decides what happens to `upper`, where the changes are."""

    def __init__(self, root: str, folder: str, descriptors: Sequence[int]) -> None:
        self.root = root
        self.upper = os.path.join(folder, UPPER)
        self._view, self._mounts, *user = descriptors
        self._user = user[0] if user else -1

    @property
    def view(self) -> str:
        """The path of the view, valid only in this process."""
        return f"/proc/self/fd/{self._view}"

    def on_host(self, path: str) -> str:
        """Translate a path inside the namespaces to one that this process can open."""
        below = path.removeprefix(self.root.rstrip("/"))
        # With the slash, the view itself is meant and not the link that the descriptor is.
        return f"{self.view}/{below[1:]}" if path == self.root or (below != path and below[0] == "/") else path

    def enter(self) -> tuple[str, ...]:
        """Return the words to put before a command line so that it runs in the namespaces."""
        own = f"/proc/{os.getpid()}/fd"
        return (*PYTHON, "enter", f"{own}/{self._user}" if self._user >= 0 else "", f"{own}/{self._mounts}")

    def close(self) -> None:
        """Release the view. The kernel removes it when the last program in it ends."""
        for descriptor in {self._view, self._mounts, self._user} - {-1}:
            os.close(descriptor)
        self._view = self._mounts = self._user = -1


def mount_overlay(root: str, folder: str) -> Overlay:
    """Mount an overlay of `root` whose changes lie in `folder`, which is outside of it. Blocking.

    Raise OvertError with the reason if that is not possible: no user namespaces, an old kernel, a file system that
    cannot hold the changes.
    """
    if sys.platform != "linux":
        raise OvertError("overlays need Linux")
    for name in (UPPER, WORK):
        os.makedirs(os.path.join(folder, name), mode=0o700, exist_ok=True)
    os.chmod(os.path.join(folder, UPPER), os.stat(root).st_mode & 0o7777)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [*PYTHON, "mount", root, folder, "" if can_make_namespaces() else "user"]
        actions = [
            (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
            *((os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)),
        ]
        pid = os.posix_spawn(argv[0], argv, {"PATH": os.defpath}, file_actions=actions, setsid=True)
        theirs.close()
        ours.settimeout(MOUNT_WITHIN_S)
        try:
            answer, descriptors, _, _ = socket.recv_fds(ours, 4096, 3)
        except OSError as error:
            answer, descriptors = str(error).encode(), []
        finally:
            ours.close()  # the process does not outlive it
            os.waitpid(pid, 0)
    if not descriptors:
        raise OvertError(answer.decode("utf-8", "replace") or "the mounting process ended without a message")
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return Overlay(root, folder, descriptors)
