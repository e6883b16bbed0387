"""Runs inside a box and tries to get out of it, harmlessly; only the standard library is at hand.

Started by its path with what it needs to know as JSON. Each line it prints is `[wall, attempt, outcome, note]`:
`done`, `refused` with the name of the error, or `unmade` with a reason. `selftest.py` compares that with what was seen
outside.
"""

import ctypes
import errno
import json
import os
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypedDict

REFUSALS = frozenset(
    """EPERM EACCES EROFS ENOENT ENOTDIR EISDIR EEXIST ENOTEMPTY EBUSY EXDEV ESRCH ENOSYS EAGAIN ENXIO ENODEV
    ECONNREFUSED ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL EAFNOSUPPORT ENETDOWN ETIMEDOUT""".split()
)
"""What a wall answers with. Anything else (no space, too many files) says nothing about a wall."""
PTRACE_SEIZE = 0x4206
AF_VSOCK = 40
"""To the host of a virtual machine; no network namespace holds it."""
SENT = b"overt self-test"
WAIT = 2.0
UNROUTED = "192.0.2.1"
"""Reserved for documentation. Connecting a datagram socket only asks for a route; nothing is sent."""

Try = Callable[[], object]


class AttemptFacts(TypedDict):
    """What the one inside has to know: folders, a secret, ports and a socket that listen outside, and processes."""

    workspace: str
    outside: str
    home: str
    config: str
    data: str
    secret: str
    etc: str
    tcp: int
    udp: int
    abstract: str
    pid: int
    opener: int


def append(path: str) -> None:
    with open(path, "ab", buffering=0) as file:
        file.write(b"changed\n")


def create(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


def temporary() -> str:
    """What the box says, which is not what its opener was told."""
    found = [each for each in _bytes("/proc/self/environ").split(b"\0") if each.startswith(b"TMPDIR=")]
    return os.fsdecode(found[0][7:]) if found else "/tmp"


def create_and_remove(path: str) -> None:
    create(path)
    os.unlink(path)


def append_through_link(link: str, target: str) -> None:
    os.symlink(target, link)
    append(link)


def replace(path: str) -> None:
    create(path + ".new")
    os.rename(path + ".new", path)


def move_away_and_back(path: str) -> None:
    os.rename(path, path + "-moved")
    os.rename(path + "-moved", path)


def create_inside(folder: str, name: str) -> None:
    os.makedirs(folder, exist_ok=True)
    create(f"{folder}/{name}")


def read_secret(path: str, secret: str) -> None:
    with open(path, "rb", buffering=0) as file:
        if secret.encode() not in file.read(4096):
            raise FileNotFoundError(errno.ENOENT, "something else is there", path)


def list_secrets(folder: str, name: str) -> None:
    if name not in os.listdir(folder):
        raise FileNotFoundError(errno.ENOENT, "it looks empty", folder)


def connect_tcp(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), WAIT) as found:
        found.sendall(SENT)


def send_udp(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
        mine.sendto(SENT, ("127.0.0.1", port))
    # Without a wall it has arrived by now; in a network of its own nobody hears it, which only the outside knows.


def find_route(kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == socket.SOCK_STREAM else kind) as mine:
        mine.connect((UNROUTED, 443 if kind == socket.SOCK_STREAM else 53))


def connect_unix(folder: str, name: str) -> None:
    os.chdir(folder)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
        mine.connect(name)
        mine.sendall(SENT)


def send_unix(folder: str, name: str) -> None:
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mine:
        mine.sendto(SENT, name)


def connect_abstract(name: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
        mine.connect("\0" + name)
        mine.sendall(SENT)


def attach(pid: int) -> None:
    system("ptrace", PTRACE_SEIZE, pid, None, None)  # it runs on, and is let go when we end


def read_environments(secret: str) -> None:
    for name in os.listdir("/proc"):
        if name.isdigit() and secret.encode() in _bytes(f"/proc/{name}/environ"):
            return
    raise PermissionError(errno.EACCES, "no environment holds it")


def mount(folder: str) -> None:
    system("mount", b"none", folder.encode(), b"tmpfs", 0, None)
    system("umount", folder.encode())


def no_new_privileges() -> None:
    if b"NoNewPrivs:\t1" in _bytes("/proc/self/status"):
        raise PermissionError(errno.EPERM, "programs gain nothing from their file")


def capabilities() -> None:
    harmless = 0b11011  # to change owner, permissions and content of files, wherever these can be reached
    lines = _bytes("/proc/self/status").splitlines()
    held = next(int(line.split()[1], 16) for line in lines if line.startswith(b"CapEff:"))
    if not held & ~harmless:
        raise PermissionError(errno.EPERM, "none that matters")


def open_for_writing(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY))


def system(name: str, *words: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*words) == -1:
        raise OSError(ctypes.get_errno(), name)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def loopback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT)
        with socket.create_connection(server.getsockname(), WAIT) as client, server.accept()[0] as found:
            client.sendall(SENT)
            if found.recv(64) != SENT:
                raise ConnectionRefusedError(errno.ECONNREFUSED, "it did not arrive")


def run_program() -> None:
    pid = os.posix_spawnp("true", ["true"], {"PATH": os.defpath})
    if os.waitpid(pid, 0)[1]:
        raise PermissionError(errno.EPERM, "it failed")


def all_attempts(told: AttemptFacts) -> Iterator[tuple[str, str, Try]]:
    yield from attempts_on_files(told)
    yield from attempts_beyond_files(told)


def attempts_on_files(told: AttemptFacts) -> Iterator[tuple[str, str, Try]]:
    work, out, home, secret = told["workspace"], told["outside"], told["home"], told["secret"]
    git, config, data = f"{work}/.git", told["config"], told["data"]
    yield "allowed", "write in the workspace", lambda: append(f"{work}/allowed")
    yield "allowed", "write in the temporary folder", lambda: create_and_remove(f"{temporary()}/{secret}")
    yield "allowed", "read the system", lambda: os.listdir("/usr/bin")
    yield "allowed", "start a program", run_program
    yield "loopback", "serve on the loopback", loopback
    yield "outside", "append to a file", lambda: append(f"{out}/file")
    yield "outside", "empty a file", lambda: os.truncate(f"{out}/file", 0)
    yield "outside", "create a file", lambda: create(f"{out}/new")
    yield "outside", "delete a file", lambda: os.unlink(f"{out}/doomed")
    yield "outside", "rename a file", lambda: os.rename(f"{out}/moving", f"{out}/moved")
    yield "outside", "move a file in", lambda: os.rename(f"{out}/leaving", f"{work}/leaving")
    yield "outside", "follow a link out", lambda: append_through_link(f"{work}/link", f"{out}/linked")
    yield "outside", "create a file in /etc", lambda: create(told["etc"])
    yield "outside", "change permissions", lambda: os.chmod(f"{out}/mode", 0o777)
    yield "hooks", "create a hook", lambda: create(f"{git}/hooks/pre-commit")
    yield "hooks", "change a hook", lambda: append(f"{git}/hooks/post-commit")
    yield "hooks", "move the hooks away", lambda: move_away_and_back(f"{git}/hooks")
    yield "hooks", "move .git away", lambda: move_away_and_back(git)
    yield "gitconfig", "change it", lambda: append(f"{git}/config")
    yield "gitconfig", "replace it", lambda: replace(f"{git}/config")
    yield "gitconfig", "lead to another one", lambda: create(f"{git}/commondir")
    yield "agent", "create .overt/hooks.json", lambda: create_inside(f"{work}/.overt", "hooks.json")
    yield "agent", "create overt.toml", lambda: create(f"{work}/overt.toml")
    yield "agent", "create .envrc", lambda: create(f"{work}/.envrc")
    yield "agent", "change overt.jsonc", lambda: append(f"{work}/overt.jsonc")
    yield "agent", "change the user's configuration", lambda: append(f"{config}/config.toml")
    yield "agent", "trust a folder", lambda: append(f"{data}/trust.json")
    yield "secrets", "read a key", lambda: read_secret(f"{home}/.ssh/id_ed25519", secret)
    yield "secrets", "read credentials", lambda: read_secret(f"{home}/.aws/credentials", secret)
    yield "secrets", "read the user's configuration", lambda: read_secret(f"{config}/config.toml", secret)
    yield "secrets", "list .ssh", lambda: list_secrets(f"{home}/.ssh", "id_ed25519")


def attempts_beyond_files(told: AttemptFacts) -> Iterator[tuple[str, str, Try]]:
    work, out, secret = told["workspace"], told["outside"], told["secret"]
    yield "tcp", "connect", lambda: connect_tcp(told["tcp"])
    yield "tcp", "find a route", lambda: find_route(socket.SOCK_STREAM)
    yield "tcp", "go around it (vsock)", lambda: socket.socket(AF_VSOCK, socket.SOCK_STREAM).close()
    yield "udp", "send", lambda: send_udp(told["udp"])
    yield "udp", "find a route to a name server", lambda: find_route(socket.SOCK_DGRAM)
    yield "unix", "connect to a file", lambda: connect_unix(out, "stream")
    yield "unix", "send to a file", lambda: send_unix(out, "datagram")
    yield "unix", "connect to an abstract name", lambda: connect_abstract(told["abstract"])
    yield "processes", "attach", lambda: attach(told["pid"])
    yield "processes", "read the environment", lambda: read_environments(secret)
    yield "processes", "signal", lambda: os.kill(told["pid"], signal.SIGTERM)
    yield "processes", "signal the one that opened the box", lambda: os.kill(told["opener"], 0)
    yield "privileges", "setuid programs", no_new_privileges
    yield "privileges", "capabilities", capabilities
    yield "privileges", "mount", lambda: mount(f"{work}/mounted")
    yield "privileges", "make a device", lambda: os.mknod(f"{work}/null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    yield "privileges", "set the kernel", lambda: open_for_writing("/proc/sys/kernel/core_pattern")
    yield "privileges", "press a system key", lambda: open_for_writing("/proc/sysrq-trigger")


def outcome(attempt: Try) -> tuple[str, str]:
    try:
        attempt()
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "ETIMEDOUT" if isinstance(error, TimeoutError) else "")
        return ("refused", name) if name in REFUSALS else ("unmade", str(error))
    except (ValueError, ctypes.ArgumentError, AttributeError, struct.error) as error:
        return "unmade", f"{type(error).__name__}: {error}"
    return "done", ""


def forks(count: int) -> tuple[str, str]:
    """At most so many children that wait for us; what stopped it."""
    reader, writer = os.pipe()
    made: list[int] = []
    try:
        for _ in range(count):
            pid = os.fork()
            if not pid:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            made.append(pid)
    except OSError as error:
        return "refused", errno.errorcode[error.errno or 0]
    finally:
        os.close(writer)
        for pid in made:
            os.waitpid(pid, 0)
    return "done", ""


def detach(mark: str, *, orphan: bool) -> None:
    """Leave a process behind that belongs to nobody; with `orphan`, it does away with those above it first."""
    above = ancestors() if orphan else []
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for pid in reversed(above):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass  # it is behind a wall, or gone
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)", mark])


def ancestors() -> list[int]:
    """Those above this process that were started for the box, nearest first."""
    found: list[int] = []
    pid = os.getppid()
    while pid > 1 and b"supervisor" in _bytes(f"/proc/{pid}/cmdline"):
        found.append(pid)
        pid = int(_bytes(f"/proc/{pid}/stat").rpartition(b") ")[2].split()[1])
    return found


def main() -> None:
    told = json.loads(sys.argv[1])
    match told:
        case {"forks": count}:
            print(json.dumps(["limit", "start many processes", *forks(count)]))
        case {"mark": mark, "orphan": orphan}:
            detach(mark, orphan=orphan)
            time.sleep(0.2)
            print(json.dumps(["lifetime", mark, "done", ""]))
        case _:
            for wall, name, attempt in all_attempts(told):
                print(json.dumps([wall, name, *outcome(attempt)]), flush=True)


if __name__ == "__main__":
    main()
