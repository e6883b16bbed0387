"""Mount an overlay in new namespaces, or run a program in the namespaces of one; see `overlay.py`.

`mount ROOT FOLDER USER`: mounts, sends the descriptors of the view, the mounts and the users over fd 0, and ends. With
an empty USER, we are root and may mount without a user namespace.
`enter USERS MOUNTS COMMAND…`: enters the namespaces, stays in the same folder by its descriptor, since a folder of the
view has no path outside of them, and executes the command.
"""

import ctypes
import os
import socket
import sys

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_SLAVE = 0x4000, 0x80000
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC if sys.platform == "linux" else 0
OLD_KERNEL = "this kernel does not mount overlays for users (5.11 or later is needed)"


class MountError(Exception):
    pass


def main() -> None:
    action, first, second, *words = sys.argv[2:]
    if action == "enter":
        enter(first, second, words)
    link = socket.socket(fileno=0)
    try:
        descriptors = mount(first, second, user=bool(words[0]))
    except (MountError, OSError) as error:
        link.sendall(str(error).encode())
    else:
        socket.send_fds(link, [b"mounted"], descriptors)
        link.settimeout(None)
        link.recv(1)  # wait until we are told that they arrived: only they keep the namespaces alive


def enter(users: str, mounts: str, command: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    kinds = {path: kind for path, kind in ((users, CLONE_NEWUSER), (mounts, CLONE_NEWNS)) if path}
    # Open all first: inside the user namespace, the descriptors of our process cannot be opened.
    here = os.open(".", FOLDER)
    opened = [(os.open(path, os.O_RDONLY | os.O_CLOEXEC), kind) for path, kind in kinds.items()]
    for descriptor, kind in opened:
        call("setns", libc.setns(descriptor, kind))
    os.fchdir(here)
    os.execv(command[0], command)


def mount(root: str, folder: str, *, user: bool) -> list[int]:
    """Return the descriptors of the view, of the mounts, and with `user` of the users."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    call("user namespaces", libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if user else 0)))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    call("mounts", libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None))
    # Paths are passed as descriptors, because some characters have a meaning in mount options.
    lower, upper, work = (os.open(path, FOLDER) for path in (root, f"{folder}/upper", f"{folder}/work"))
    at = "/proc/self/fd/{}".format
    options = f"lowerdir={at(lower)},upperdir={at(upper)},workdir={at(work)},userxattr"
    call("overlay", libc.mount(b"overlay", at(lower).encode(), b"overlay", 0, options.encode()))
    view = os.open(root, FOLDER)
    if os.fstat(view).st_dev == os.fstat(lower).st_dev:
        raise MountError(f"{root} was replaced meanwhile")
    kinds = ("mnt", "user") if user else ("mnt",)
    return [view, *(os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds)]


def call(what: str, result: int) -> None:
    if result:
        number = ctypes.get_errno()
        reason = OLD_KERNEL if what == "overlay" and number in (1, 22) else os.strerror(number)
        raise MountError(f"{what}: {reason}")
