"""Starts every command of a conversation, and sees to it that none of them outlives Overt.

A program of its own, run by path with nothing but the standard library, so that a sandbox can hold it.

    Overt ── link (fd 0) ──> keepers, forked by the supervisor ── spawn ──> the command, in its own session
      └── control, one per command ──┘

One spare keeper waits on the link, so that no command waits for a fork. An order on the link carries two
descriptors: the control of this command and the pipe for its output. A keeper is a subreaper: whatever the
command starts, however it detaches itself (`setsid`, `nohup &`, a double fork), ends up below its own keeper,
so a command is killed whole, its neighbours are left alone, and "nothing is left" is one system call (no
child to wait for). Lifetimes are descriptors: when Overt goes, in whatever way, every control and the link
read end-of-file, and the keepers kill what they keep. Strays of a killed keeper come to the supervisor, which
is a subreaper too.

On a control the keeper says `pid N`, then `exit CODE KILLED`, or `failed ERRNO`; it is told `kill GRACE`.
"""

import ctypes
import os
import resource
import select
import signal
import socket
import sys
import time

LEFT_OVER = 0.1
"""Seconds a command's background processes get to finish by themselves (`> >(tee log)`) once it has ended."""
DESTROY = 3.0
FAREWELL = 0.5
GROUP = "overt-"
PR_SET_CHILD_SUBREAPER = 36
DEFAULTED = tuple(signal.Signals["SIG" + name] for name in "INT HUP TERM QUIT PIPE TSTP TTIN TTOU XFSZ".split())
"""Ignored here, where the terminal and the commands must not reach; as usual again in a command."""


class Order:
    """One program to start: `linger` lets what it leaves behind live on, as a declared background job."""

    def __init__(self, payload: bytes, descriptors: list[int]) -> None:
        flag, cwd, count, *words = payload.split(b"\0")
        self.linger = flag == b"linger"
        self.cwd = cwd
        self.argv = words[: int(count)]
        self.env = dict(pair.split(b"=", 1) for pair in words[int(count) :])
        self.control, self.output = descriptors


def become_subreaper() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def stat_of(pid: str) -> list[bytes]:
    """State, parent, group, … of a process, or nothing when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            data = file.read(1024)
    except OSError:
        data = b""
    return data.rpartition(b") ")[2].split()


def below(root: int, spare: frozenset[int] = frozenset()) -> dict[int, int]:
    """Living descendants and their process groups, without the branches in `spare`."""
    children: dict[int, list[tuple[int, int, bool]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := stat_of(name)):
            found = (int(name), int(stat[2]), stat[0] not in b"ZX")
            children.setdefault(int(stat[1]), []).append(found)
    living: dict[int, int] = {}
    branches = [root]
    while branches:
        for pid, group, alive in children.get(branches.pop(), ()):
            if pid in spare:
                continue
            branches.append(pid)
            if alive:
                living[pid] = group
    return living


def tell(number: int, processes: dict[int, int]) -> None:
    """Signal whole groups where possible: against one that forks without end, only that is atomic."""
    own = os.getpgrp()
    groups = set(processes.values()) - {own}
    for target in [-group for group in groups] + [pid for pid, group in processes.items() if group == own]:
        try:
            os.kill(target, number)
        except OSError:
            pass  # gone meanwhile, or not ours to signal


def destroy(spare: frozenset[int] = frozenset()) -> bool:
    """Freeze everything below this process, then kill it. Frozen processes still count against a limit on
    processes, so what forks without end runs into the limit instead of away from us."""
    deadline = time.monotonic() + DESTROY
    while time.monotonic() < deadline:
        frozen: dict[int, int] = {}
        while fresh := {pid: group for pid, group in below(os.getpid(), spare).items() if pid not in frozen}:
            tell(signal.SIGSTOP, fresh)
            frozen |= fresh
            if time.monotonic() > deadline:
                break
        if not frozen:
            return True
        tell(signal.SIGKILL, frozen)
        if not spare:
            Reaped().collect(until=min(deadline, time.monotonic() + 0.2))
        else:
            time.sleep(0.005)
    return False


class Reaped:
    """Children that have ended, with their statuses, and whether none is left."""

    def __init__(self) -> None:
        self.status: dict[int, int] = {}
        self.alone = False

    def collect(self, *, until: float = 0.0) -> None:
        while not self.alone:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.alone = True
                return
            if pid:
                self.status[pid] = status
            elif time.monotonic() > until:
                return
            else:
                time.sleep(0.001)


def wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def start(order: Order) -> int:
    os.chdir(order.cwd)
    os.environb[b"PATH"] = order.env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin")
    return os.posix_spawnp(
        order.argv[0],
        order.argv,
        order.env,
        file_actions=[(os.POSIX_SPAWN_DUP2, order.output, 1), (os.POSIX_SPAWN_DUP2, order.output, 2)],
        setsid=True,
        setsigmask=(),
        setsigdef=DEFAULTED,
    )


class Keeper:
    def __init__(self) -> None:
        become_subreaper()
        self.wake = wake_on_child()
        self.poller = select.poll()
        self.poller.register(self.wake, select.POLLIN)
        self.deadline = float("inf")
        self.status: int | None = None
        self.killed = 0

    def run(self, order: Order) -> bool:
        """Keep a command until nothing of it is left; False when something could not be killed."""
        self.linger = order.linger
        self.control = socket.socket(fileno=order.control)
        try:
            root = start(order)
        except OSError as error:
            self.say(b"failed %d\n" % (error.errno or 0))
            return True
        self.say(b"pid %d\n" % root)
        os.close(order.output)
        self.poller.register(self.control, select.POLLIN)
        while not self.ended(root) and time.monotonic() < self.deadline:
            wait = min(self.deadline - time.monotonic(), 3600.0)
            ready = {file for file, _ in self.poller.poll(max(wait, 0.0) * 1000)}
            if self.wake in ready:
                os.read(self.wake, 4096)
            if self.control.fileno() in ready and not self.obey():
                self.poller.unregister(self.control)
        gone = True
        if not self.ended(root):
            self.killed = len(below(os.getpid()))
            gone = destroy()
            self.ended(root)
        code = -signal.SIGKILL if self.status is None else os.waitstatus_to_exitcode(self.status)
        self.say(b"exit %d %d\n" % (code, self.killed))
        return gone

    def ended(self, root: int) -> bool:
        """Reap; True when the command and everything it started are gone."""
        reaped = Reaped()
        reaped.collect()
        if root in reaped.status:
            self.status = reaped.status[root]
            if not self.linger:
                self.deadline = min(self.deadline, time.monotonic() + LEFT_OVER)
        return reaped.alone

    def obey(self) -> bool:
        """Take what came on the control; False at its end, which means: kill, nobody is listening."""
        try:
            words = self.control.recv(256).split()
        except OSError:
            words = []
        grace = float(words[-1]) if words else 0.0
        if grace:
            tell(signal.SIGTERM, below(os.getpid()))
        self.deadline = min(self.deadline, time.monotonic() + grace)
        return bool(words)

    def say(self, line: bytes) -> None:
        try:
            self.control.sendall(line)
        except OSError:
            pass  # nobody is listening any more; the end of the control says the rest


def write(path: str, text: str) -> None:
    with open(path, "r+b", buffering=0) as file:  # never creates: a folder that is no control group must fail
        file.write(text.encode())


def limit(most: int) -> str:
    """At most `most` processes: by a control group where one can be made, whose folder is returned, else
    by the limit on a user's processes, which does not bind root."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        write("/proc/self/oom_score_adj", "500")  # when memory runs out, a command goes before Overt does
    except OSError:
        pass  # a courtesy, not a wall
    for home in homes() * 2:  # once more, should another one have swept ours before we were in it
        if folder := enter(home, most):
            return folder
    stats = [stat_of(name) for name in os.listdir("/proc") if name.isdigit()]
    wanted = most + sum(int(stat[17]) for stat in stats if stat)
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))
    return ""


def homes() -> list[str]:
    """Control groups that could hold ours: the one we are in, and its parent."""
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    roots = {"pids": "/sys/fs/cgroup/pids", "": "/sys/fs/cgroup"}
    found = [(roots[names] + path).rstrip("/") for _, names, path in lines if names in roots]
    return [home for path in found for home in (path, os.path.dirname(path))]


def enter(home: str, most: int) -> str:
    folder = f"{home}/{GROUP}{os.urandom(6).hex()}"
    try:
        for stale in os.listdir(home):
            if stale.startswith(GROUP):
                sweep(f"{home}/{stale}")
        os.mkdir(folder)
    except OSError:
        return ""
    try:
        write(f"{folder}/pids.max", str(most))
        write(f"{folder}/cgroup.procs", str(os.getpid()))
    except OSError:
        sweep(folder)
        return ""
    return folder


def sweep(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass  # in use, or gone already


def leave(folder: str) -> None:
    try:
        write(os.path.dirname(folder) + "/cgroup.procs", str(os.getpid()))
    except OSError:
        return  # there was none; or the next supervisor sweeps it
    sweep(folder)


def receive(link: socket.socket) -> Order | None:
    """The next order, or None when Overt is gone."""
    try:
        head, ancillary, _, _ = link.recvmsg(8, socket.CMSG_SPACE(8), socket.MSG_CMSG_CLOEXEC)
    except OSError:
        return None
    descriptors = [
        int.from_bytes(data[at : at + 4], sys.byteorder) for _, _, data in ancillary for at in range(0, len(data), 4)
    ]
    if not head or len(descriptors) != 2:
        return None
    data = bytearray(head)
    while len(data) < 8 or len(data) < 8 + int(data[:8], 16):
        wanted = 8 if len(data) < 8 else 8 + int(data[:8], 16)
        more = link.recv(wanted - len(data))
        if not more:
            return None
        data += more
    return Order(bytes(data[8:]), descriptors)


class Supervisor:
    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.keepers: set[int] = set()
        self.spare = 0
        self.taken, self.take = os.pipe()

    def run(self) -> None:
        wake = wake_on_child()
        poller = select.poll()
        poller.register(wake, select.POLLIN)
        poller.register(self.taken, select.POLLIN)
        poller.register(self.link, 0)  # its end only: what comes on it is for the spare keeper
        ready: set[int] = set()
        while self.link.fileno() not in ready:
            if not self.spare:
                self.fork()
            ready = {file for file, _ in poller.poll(None if self.spare else 50)}
            if self.taken in ready:
                taker = int.from_bytes(os.read(self.taken, 4), sys.byteorder)
                self.spare = 0 if taker == self.spare else self.spare
            if wake in ready:
                os.read(wake, 4096)
                self.reap()
        Reaped().collect(until=time.monotonic() + FAREWELL)
        destroy()

    def fork(self) -> None:
        """Make a spare keeper; where no process can be made now, the next round tries again."""
        try:
            self.spare = os.fork()
        except OSError:
            return
        if self.spare:
            self.keepers.add(self.spare)
            return
        gone = False
        try:
            os.close(self.taken)
            gone = self.keep()
        finally:
            os._exit(0 if gone else 1)

    def keep(self) -> bool:
        keeper = Keeper()
        order = receive(self.link)
        if order is None:
            return True
        try:
            os.write(self.take, os.getpid().to_bytes(4, sys.byteorder))
        except BrokenPipeError:
            pass  # the supervisor was killed; the order can be carried out without it
        os.close(self.take)
        self.link.close()
        return keeper.run(order)

    def reap(self) -> None:
        reaped = Reaped()
        reaped.collect()
        ended = self.keepers & reaped.status.keys()
        self.keepers -= ended
        self.spare = 0 if self.spare in ended else self.spare
        if any(reaped.status[keeper] for keeper in ended):
            destroy(frozenset(self.keepers))


def main() -> None:
    for number in DEFAULTED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    os.closerange(3, 65536)  # whatever Overt's own parent had left open is not for commands
    link = socket.socket(fileno=os.dup(0))
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    become_subreaper()
    folder = limit(int(sys.argv[1]))
    try:
        Supervisor(link).run()
    finally:
        leave(folder)


if __name__ == "__main__":
    main()
