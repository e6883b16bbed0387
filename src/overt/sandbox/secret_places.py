"""Where people and their programs keep what no command has to read, and sockets of services that act for them."""

import os
import re
import stat
import time
from collections.abc import Iterable, Sequence

HIDDEN = (
    ".ssh .aws .gnupg .config/overt .local/share/keyrings .password-store .kube .azure .config/gcloud .config/gh "
    ".config/hub .config/glab-cli .docker/config.json .docker/run .docker/desktop .netrc .npmrc .yarnrc.yml .pypirc "
    ".git-credentials .config/git/credentials .cargo/credentials .cargo/credentials.toml .gem/credentials "
    ".m2/settings-security.xml .terraform.d/credentials.tfrc.json .vault-token "
    ".config/op .config/rclone .config/doctl .config/heroku .config/hcloud .oci .s3cfg .boto .pgpass .my.cnf "
    ".mylogin.cnf .databrickscfg .config/containers/auth.json .config/sops .age .config/age .local/share/kwalletd "
    ".config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/opera "
    ".mozilla .thunderbird .var/app .config/Slack .config/discord .config/Signal .config/Bitwarden .config/1Password "
    ".1password .electrum .bitcoin .ethereum .bash_history .zsh_history .python_history .node_repl_history "
    ".psql_history .mysql_history .sqlite_history .local/share/fish/fish_history .lesshst .viminfo "
    ".claude.json .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .config/github-copilot "
    ".local/share/opencode/auth.json .colima .lima .orbstack .emacs.d/server"
).split()
"""Below the home folder."""
FOLDERS_OF_SOCKETS = ("/var/snap/lxd/common/lxd", "/var/lib/lxd", "/var/lib/docker", "/var/lib/libvirt")
NAMED_SOCKET = re.compile(rb"^\S+ \S+ \S+ (\S+) (\S+) \S+ +(\d+) ([^@\n][^\n]*)$", re.MULTILINE)
LISTENING, DATAGRAM = b"00010000", b"0002"
MOST_SEARCHED = 20_000
TICK = 2_000_000_000
"""Nanoseconds: no file system counts in larger steps."""
SEARCH = 0.2
"""Seconds for one look through a home folder, or through the descriptors of all processes."""


class ExistingNames:
    """Which of `names` below a folder exist, links counted as they are; asked before every command.

    A folder tells by its time when something came into it or left it; one that has only just changed could do so
    again within the same tick, and is looked through once more.
    """

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self._folder = folder
        self._names = names
        self._above: list[str] = [folder]
        self._seen: list[tuple[int, int]] = []
        self._found: tuple[str, ...] = ()

    def now(self) -> tuple[str, ...]:
        if not self._seen or self._seen != self._times():
            self._found = self._look()
        return self._found

    def _look(self) -> tuple[str, ...]:
        above = dict.fromkeys(name.rpartition("/")[0] for name in self._names)
        above |= dict.fromkeys(name.rpartition("/")[0] for name in tuple(above))
        there = {name for name in above if os.access(f"{self._folder}/{name}", os.F_OK)}
        self._above = [f"{self._folder}/{name}" for name in sorted(there)]
        seen = self._times()
        settled = all(time.time_ns() - changed > TICK for _, changed in seen)
        self._seen = seen if settled else []
        return tuple(
            name
            for name in self._names
            if name.rpartition("/")[0] in there and os.access(f"{self._folder}/{name}", os.F_OK, follow_symlinks=False)
        )

    def _times(self) -> list[tuple[int, int]]:
        try:
            return [(found.st_ino, found.st_mtime_ns) for found in map(os.stat, self._above)]
        except OSError:
            return []  # one of them went


class ListeningSockets:
    """Paths at which a program outside listens: a box that shows the path would lead to it.

    The kernel keeps the name as it was given. One that is relative is looked for where its owner stands or was
    started, then below the home folder, once; what lies deeper, or was renamed, is not found.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._seen = b""
        self._found: tuple[str, ...] = ()
        self._relative: dict[bytes, tuple[str, ...]] = {}

    def now(self) -> tuple[str, ...]:
        """Worked out again only when the kernel's list is another one."""
        try:
            data = _whole("/proc/net/unix")
        except OSError:
            return ()
        if data != self._seen:
            self._seen = data
            self._found = self._look(data)
        return self._found

    def _look(self, data: bytes) -> tuple[str, ...]:
        whole: set[str] = set()
        relative: dict[bytes, str] = {}
        for flags, kind, inode, name in NAMED_SOCKET.findall(data):
            if name.startswith(b"/") and not name.startswith(b"/proc/"):
                whole.add(os.fsdecode(name))
            elif flags == LISTENING or kind == DATAGRAM:
                relative[inode] = os.fsdecode(name)
        found = {real for path in whole if is_socket(real := os.path.realpath(path))}
        if fresh := {inode: name for inode, name in relative.items() if inode not in self._relative}:
            self._relative |= _placed(fresh, self._home)
        self._relative = {inode: self._relative[inode] for inode in relative}
        return tuple(sorted(found.union(*self._relative.values())))


def _whole(path: str) -> bytes:
    """Without what `open` does beside, as this is read before every command."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return b"".join(iter(lambda: os.read(fd, 65536), b""))
    finally:
        os.close(fd)


def is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _placed(names: dict[bytes, str], home: str) -> dict[bytes, tuple[str, ...]]:
    """Where sockets with relative names may lie; a namesake is taken for it, since a socket it is."""
    found: dict[bytes, set[str]] = {inode: set() for inode in names}
    for inode, folder in _owners(set(names)):
        path = os.path.realpath(os.path.join(folder, os.path.basename(names[inode])))
        near = os.path.realpath(os.path.join(folder, names[inode]))
        found[inode] |= {each for each in (path, near) if is_socket(each)}
    wanted = {os.path.basename(names[inode]) for inode, places in found.items() if not places}
    for path in _search(home, wanted) if wanted else ():
        for inode, name in names.items():
            if os.path.basename(name) == os.path.basename(path):
                found[inode].add(path)
    return {inode: tuple(places) for inode, places in found.items()}


def _owners(inodes: set[bytes]) -> Iterable[tuple[bytes, str]]:
    """The folders in which the owners of sockets stand, and in which they were started."""
    deadline = time.monotonic() + SEARCH
    wanted = {f"socket:[{inode.decode()}]": inode for inode in inodes}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if time.monotonic() > deadline:
            return
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            mine = [wanted[link] for link in links if link in wanted]
            if not mine:
                continue
            folders = [os.readlink(f"/proc/{pid}/cwd")]
            with open(f"/proc/{pid}/environ", "rb") as file:
                folders += [os.fsdecode(it[4:]) for it in file.read().split(b"\0") if it.startswith(b"PWD=/")]
        except OSError:
            continue  # gone, or somebody else's
        yield from ((inode, folder) for inode in mine for folder in folders)


def _search(home: str, names: set[str]) -> Iterable[str]:
    """Sockets of these names, nearest to the home folder first, as far as time allows."""
    deadline = time.monotonic() + SEARCH
    waiting = [home]
    left = MOST_SEARCHED
    for folder in waiting:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name in names and is_socket(entry.path):
                        yield entry.path
        except OSError:
            continue
        if left < 0 or time.monotonic() > deadline:
            return
