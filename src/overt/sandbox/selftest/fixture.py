"""The set for a self-test: a workspace, a home with secrets, and an outside world that notices what reaches it."""

import os
import shutil
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from overt.sandbox.selftest.attempts import AttemptFacts

CONTENT = "as it was\n"
ENVIRONMENT = "OVERT_SELF_TEST"
LONGEST_FOLDER = 90
"""A socket's name has at most 107 bytes."""


class SelfTestFolders(Struct, frozen=True, kw_only=True):
    """Where everything is; all below one folder that is removed afterwards. `config` and `data` are Overt's."""

    folder: str
    workspace: str
    home: str
    config: str
    data: str
    outside: str
    temp: str


class HostObserver:
    """What listens and lives outside of the box, and what it noticed."""

    def __init__(self, stage: SelfTestFolders, held: ExitStack) -> None:
        self.stage = stage
        self.secret = f"self-test-{os.urandom(12).hex()}"
        self.etc = f"/etc/overt-{self.secret}"
        self.tcp = self._listen(held, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = self._listen(held, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.abstract = self._listen(held, socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.secret}")
        folder = os.open(stage.outside, os.O_PATH | os.O_DIRECTORY)
        try:
            short = len(os.fsencode(stage.outside)) <= LONGEST_FOLDER
            near = stage.outside if short else f"/proc/self/fd/{folder}"
            self.stream = self._listen(held, socket.AF_UNIX, socket.SOCK_STREAM, f"{near}/stream")
            self.datagram = self._listen(held, socket.AF_UNIX, socket.SOCK_DGRAM, f"{near}/datagram")
        finally:
            os.close(folder)
        self._fill()
        self.pid = os.posix_spawnp("sleep", ["sleep", "120"], {"PATH": os.defpath, ENVIRONMENT: self.secret})
        held.callback(self._end)

    def told(self) -> "AttemptFacts":
        return {
            "workspace": self.stage.workspace,
            "outside": self.stage.outside,
            "home": self.stage.home,
            "config": self.stage.config,
            "data": self.stage.data,
            "secret": self.secret,
            "etc": self.etc,
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "abstract": self.secret,
            "pid": self.pid,
            "opener": os.getpid(),
        }

    def noticed(self) -> dict[tuple[str, str], bool]:
        """For each attempt that leaves a trace: whether it did."""
        out, work = self.stage.outside, self.stage.workspace
        git, config, data = f"{work}/.git", self.stage.config, self.stage.data
        return {
            ("outside", "append to a file"): not _intact(f"{out}/file"),
            ("outside", "empty a file"): not _intact(f"{out}/file"),
            ("outside", "create a file"): os.path.lexists(f"{out}/new"),
            ("outside", "delete a file"): not _intact(f"{out}/doomed"),
            ("outside", "rename a file"): not _intact(f"{out}/moving"),
            ("outside", "move a file in"): not _intact(f"{out}/leaving"),
            ("outside", "follow a link out"): not _intact(f"{out}/linked"),
            ("outside", "create a file in /etc"): os.path.lexists(self.etc),
            ("outside", "change permissions"): stat.S_IMODE(os.stat(f"{out}/mode").st_mode) != 0o600,
            ("hooks", "create a hook"): os.path.lexists(f"{git}/hooks/pre-commit"),
            ("hooks", "change a hook"): not _intact(f"{git}/hooks/post-commit"),
            ("gitconfig", "change it"): not _intact(f"{git}/config"),
            ("gitconfig", "replace it"): not _intact(f"{git}/config"),
            ("gitconfig", "lead to another one"): os.path.isfile(f"{git}/commondir"),
            ("agent", "create .overt/hooks.json"): os.path.lexists(f"{work}/.overt/hooks.json"),
            ("agent", "create overt.toml"): os.path.isfile(f"{work}/overt.toml"),
            ("agent", "create .envrc"): os.path.isfile(f"{work}/.envrc"),
            ("agent", "change overt.jsonc"): not _intact(f"{work}/overt.jsonc"),
            ("agent", "change the user's configuration"): not _holds(f"{config}/config.toml", self.secret),
            ("agent", "trust a folder"): not _intact(f"{data}/trust.json"),
            ("tcp", "connect"): _reached(self.tcp),
            ("udp", "send"): _reached(self.udp),
            ("unix", "connect to a file"): _reached(self.stream),
            ("unix", "send to a file"): _reached(self.datagram),
            ("unix", "connect to an abstract name"): _reached(self.abstract),
            ("processes", "signal"): os.waitpid(self.pid, os.WNOHANG)[0] != 0,
        }

    def worked(self) -> bool:
        """Whether what was allowed has really happened."""
        return os.path.isfile(f"{self.stage.workspace}/allowed")

    def _fill(self) -> None:
        work, out, home, config = self.stage.workspace, self.stage.outside, self.stage.home, self.stage.config
        plain = [f"{out}/{name}" for name in "file doomed moving leaving linked mode".split()]
        plain += [f"{work}/.git/hooks/post-commit", f"{work}/.git/config", f"{work}/overt.jsonc"]
        plain.append(f"{self.stage.data}/trust.json")
        secret = [f"{home}/.ssh/id_ed25519", f"{home}/.aws/credentials", f"{config}/config.toml"]
        for path in (*plain, *secret):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "x", encoding="utf-8", opener=_private) as file:
                file.write(CONTENT if path in plain else _secret_line(self.secret))
        os.makedirs(f"{work}/mounted")
        with open(f"{work}/.git/HEAD", "x", encoding="utf-8") as file:
            file.write("ref: refs/heads/main\n")

    def _listen(self, held: ExitStack, family: int, kind: int, address: tuple[str, int] | str) -> socket.socket:
        made = held.enter_context(socket.socket(family, kind))
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen(8)
        made.setblocking(False)
        return made

    def _end(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # the box reached it, which `noticed` has told
        if os.path.lexists(self.etc):
            os.unlink(self.etc)


@contextmanager
def staged(base: str) -> Iterator[tuple[SelfTestFolders, HostObserver]]:
    """A stage in a folder of its own below `base`; nothing of it is left afterwards."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="overt-self-test-", dir=base))
    try:
        stage = SelfTestFolders(
            folder=folder,
            workspace=f"{folder}/workspace",
            home=f"{folder}/home",
            config=f"{folder}/home/.config/overt",
            data=f"{folder}/home/.local/share/overt",
            outside=f"{folder}/outside",
            temp=f"{folder}/temp",
        )
        for path in (stage.workspace, stage.home, stage.outside, stage.temp):
            os.mkdir(path, 0o700)
        with ExitStack() as held:
            yield stage, HostObserver(stage, held)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def marked(mark: str) -> list[int]:
    """Living processes with this word on their command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and name != str(os.getpid()) and mark.encode() in _line(name).split(b"\0"):
            found.append(int(name))
    return found


def threads() -> int:
    """How many there are on this machine: the limit of a user counts on top of them."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            total += len(os.listdir(f"/proc/{name}/task")) if name.isdigit() else 0
        except OSError:
            pass  # it ended meanwhile
    return total


def _line(name: str) -> bytes:
    try:
        with open(f"/proc/{name}/cmdline", "rb", buffering=0) as file:
            return file.read(65536)
    except OSError:
        return b""


def _secret_line(secret: str) -> str:
    return f"# {secret}\n"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _intact(path: str) -> bool:
    return _text(path) == CONTENT


def _holds(path: str, secret: str) -> bool:
    return _text(path) == _secret_line(secret)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(4096)
    except OSError:
        return ""


def _reached(listening: socket.socket) -> bool:
    try:
        if listening.type == socket.SOCK_DGRAM:
            listening.recv(64)
        else:
            listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True
