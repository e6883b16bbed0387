"""Starts every command of a conversation, and sees to it that none of them outlives Overt.

A program of its own that loads nothing but the standard library and its neighbours here, so that a sandbox can
hold it: `launch/supervisor_process.py` starts it with the folder of the package as its only word besides the
limit, or lets `sandbox_process.py` do so behind walls.

    Overt ── link (fd 0) ─> monitors, forked by the supervisor ── spawn ──> the command, in its own session
      └── control, one per command ──┘

A spare monitor always waits on the link, so that no command waits for a fork, and one whose command is gone with
everything it started waits again: forking an interpreter costs more than most commands. An order carries three
descriptors: the control of this command, the pipe for its output, and the ledger, where the place of the order is
marked before anything is started: what was taken is not given to somebody else. A monitor is a subreaper: whatever the
command starts, however it detaches itself (`setsid`, `nohup &`, a double fork), ends up below its own monitor,
so a command is killed whole, its neighbours are left alone, and "nothing is left" is one system call (no
child to wait for). Lifetimes are descriptors: when Overt goes, in whatever way, every control and the link
read end-of-file, and the monitors kill what they keep. Strays of a killed monitor come to the supervisor, which
is a subreaper too.

On a control the monitor says `pid N`, then `exit CODE KILLED`, or `failed ERRNO`, and `breach PATH` (in hexadecimal)
before it ends a command that got around `name_guard.py`; it is told `kill GRACE`. An order may
bring a fourth descriptor, a file in memory for the record of what the command changes (see `write_tracker.py`): it is
written before the exit is said, and when `report` is asked for, which is answered with `report`. The order for a
server (`stdio`) brings two more at the end, its standard input and output; the pipe for the output then takes only
its stderr.
"""

import ctypes
import fcntl
import os
import select
import signal
import socket
import sys
import time

from overt.sandbox.mechanisms import landlock
from overt.sandbox.mechanisms.limits import limit
from overt.sandbox.mechanisms.read_only import start_reading
from overt.sandbox.process_tree import EndedChildren, below, destroy, tell, wake_on_child
from overt.sandbox.tracking.name_guard import NameGuard
from overt.sandbox.tracking.write_calls import start_tracked
from overt.sandbox.tracking.write_tracker import WriteTracker

LEFT_OVER = 0.1
"""Seconds a command's background processes get to finish by themselves (`> >(tee log)`) once it has ended."""
FAREWELL = 0.5
FIRST = os.getpid() == 1
"""In a namespace of our own, which ends with us at once: what cannot be killed one by one goes so."""
WITHIN = 0.4 if FIRST else 3.0
RECORD_STEP = 1024 * 1024
MOST_KEEPERS = 65536
"""More than any limit on processes lets there be."""
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
DEFAULTED = tuple(signal.Signals["SIG" + name] for name in "INT HUP TERM QUIT PIPE IO TSTP TTIN TTOU XFSZ".split())
"""Ignored here, where the terminal and the commands must not reach."""
USUAL = tuple(sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}))
"""As usual again in a command. All of them, because the C library asks the kernel about each that is not named."""


class Order:
    """One program to start: `linger` lets what it leaves behind live on, as a declared background job; with
    `reading` it may write only to `places`, with `track` changes below `places` are recorded."""

    def __init__(self, payload: bytes, descriptors: list[int]) -> None:
        place, flags, self.cwd, count, *words = payload.split(b"\0")
        self.place = int(place)
        self.linger, self.reading = b"linger" in flags, b"reading" in flags
        self.track = int(flags.partition(b"track:")[2] or 0)
        self.places = [os.fsdecode(word) for word in words[: int(count)]]
        count, *words = words[int(count) :]
        self.argv = words[: int(count)]
        self.env = dict([pair.split(b"=", 1) for pair in words[int(count) :]])
        self.control, self.output, self.ledger = descriptors[:3]
        self.pipes = descriptors[-2:] if b"stdio" in flags else []
        self.record = descriptors[3] if len(descriptors) - len(self.pipes) > 3 else -1

    def start(self, guard: NameGuard | None) -> tuple[int, WriteTracker | None]:
        if self.reading and (not guard or landlock.version()):
            return start_reading(lambda: start(self), self.places), None
        if self.track or guard:
            roots = [os.fsencode(place) + b"/" for place in self.places if self.track]
            return start_tracked(lambda: start(self), roots=roots, since=self.track, guard=guard)
        return start(self), None


def become_subreaper() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def drain(wake: int) -> None:
    try:
        os.read(wake, 4096)
    except BlockingIOError:
        pass  # somebody reaped before us


def start(order: Order) -> int:
    streams = {0: order.pipes[0], 1: order.pipes[1]} if order.pipes else {1: order.output}
    os.chdir(order.cwd)
    path = order.env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin")
    if os.environb.get(b"PATH") != path:
        os.environb[b"PATH"] = path
    return os.posix_spawnp(
        order.argv[0],
        order.argv,
        order.env,
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in (streams | {2: order.output}).items()],
        setsid=True,
        setsigmask=(),
        setsigdef=USUAL,
    )


class CommandMonitor:
    """Keeps one command; `wake` becomes readable when a child of ours has ended."""

    def __init__(self, order: Order, wake: int) -> None:
        self.wake = wake
        self.poller = select.poll()
        self.poller.register(self.wake, select.POLLIN)
        self.deadline = float("inf")
        self.status: int | None = None
        self.killed = 0
        self.linger = order.linger
        self.control = socket.socket(fileno=order.control)
        self.record = order.record
        self.tracker: WriteTracker | None = None

    def run(self, order: Order, guard: NameGuard | None) -> bool:
        """Keep it until nothing of it is left; False when something could not be killed."""
        os.pwrite(order.ledger, b"\1", order.place)
        os.close(order.ledger)
        try:
            root, self.tracker = order.start(guard)
        except OSError as error:
            self.say(b"failed %d\n" % (error.errno or 0))
            return True
        finally:
            for fd in order.pipes:  # or the end of the program would not be the end of its output
                os.close(fd)
        self.say(b"pid %d\n" % root)
        self.poller.register(self.control, select.POLLIN)
        if self.tracker:
            for descriptor in self.tracker.descriptors():
                self.poller.register(descriptor, select.POLLIN)
        while not self.ended(root) and time.monotonic() < self.deadline:
            wait = min(self.deadline - time.monotonic(), 3600.0)
            ready = dict(self.poller.poll(max(wait, 0.0) * 1000))
            if self.tracker:
                self.note_writes(self.tracker, ready)
            if self.wake in ready:
                drain(self.wake)
            if self.control.fileno() in ready and not self.obey():
                self.poller.unregister(self.control)
        gone = True
        if not self.ended(root):
            self.killed = len(below(os.getpid()))
            gone = destroy(within=WITHIN)
            self.ended(root)
        if self.tracker:
            self.tracker.count_reports()
            self.report_breaches(self.tracker)
        code = -signal.SIGKILL if self.status is None else os.waitstatus_to_exitcode(self.status)
        self.write_record(is_final=True)
        self.say(b"exit %d %d\n" % (code, self.killed))
        return gone

    def note_writes(self, tracker: WriteTracker, ready: dict[int, int]) -> None:
        if tracker.listener not in ready:
            tracker.count_reports()
        elif not (ready[tracker.listener] & select.POLLIN and tracker.handle()):
            self.poller.unregister(tracker.listener)
        if tracker.breaches:
            self.report_breaches(tracker)
            self.deadline = time.monotonic()

    def report_breaches(self, tracker: WriteTracker) -> None:
        """Something got around the refusals, and was moved away."""
        for path in tracker.breaches:
            self.say(b"breach %b\n" % path.hex().encode())
        tracker.breaches.clear()

    def write_record(self, *, is_final: bool) -> None:
        if self.record >= 0:
            data = (
                self.tracker.record(is_final=is_final) if self.tracker else b"this kernel does not report system calls"
            )
            os.ftruncate(self.record, 0)
            for at in range(0, len(data), RECORD_STEP):
                os.pwrite(self.record, data[at : at + RECORD_STEP], at)

    def ended(self, root: int) -> bool:
        """Reap; True when the command and everything it started are gone."""
        reaped = EndedChildren()
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
        if words == [b"report"]:
            self.write_record(is_final=False)
            self.say(b"report\n")
            return True
        grace = float(words[-1]) if words else 0.0
        if grace:
            tell(signal.SIGTERM, below(os.getpid()))
        self.deadline = min(self.deadline, time.monotonic() + grace)
        return bool(words)

    def close_tracker(self) -> None:
        if self.tracker:
            self.tracker.close()
        if self.record >= 0:
            os.close(self.record)

    def say(self, line: bytes) -> None:
        try:
            self.control.sendall(line)
        except OSError:
            pass  # nobody is listening any more; the end of the control says the rest


def receive(link: socket.socket) -> Order | None:
    """The next order, or None when Overt is gone."""
    try:
        head, ancillary, _, _ = link.recvmsg(8, socket.CMSG_SPACE(24), socket.MSG_CMSG_CLOEXEC)
    except OSError:
        return None
    descriptors = [
        int.from_bytes(data[at : at + 4], sys.byteorder) for _, _, data in ancillary for at in range(0, len(data), 4)
    ]
    if not head or len(descriptors) not in (3, 4, 5, 6):
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
    """`monitors` are all of them, each with its place in `turn`: a file in memory that they share, with a byte for
    each, set while it waits for an order. Only who holds the lock on `turn` reads from the link. Who then sees nobody
    else waiting asks for a spare; with one there, an order wakes nobody but the monitor that takes it."""

    def __init__(self, link: socket.socket, guard: NameGuard | None) -> None:
        self.link = link
        self.guard = guard
        self.pid = os.getpid()
        self.monitors: dict[int, int] = {}
        self.heard, self.tell = os.pipe()
        self.turn = os.memfd_create("turn")

    def run(self) -> None:
        wake = wake_on_child()
        poller = select.poll()
        poller.register(wake, select.POLLIN)
        poller.register(self.heard, select.POLLIN)
        poller.register(self.link, 0)  # its end only: what comes on it is for the monitors
        ready: set[int] = set()
        while self.link.fileno() not in ready:
            ready = {file for file, _ in poller.poll(None if self.waiting() or self.fork() else 50)}
            if self.heard in ready:
                os.read(self.heard, 4096)
            if wake in ready:
                drain(wake)
                self.reap()
        if not FIRST:
            EndedChildren().collect(until=time.monotonic() + FAREWELL)
            destroy()

    def waiting(self) -> bool:
        """Whether somebody would take an order."""
        return b"\1" in os.pread(self.turn, MOST_KEEPERS, 0)

    def waits(self, place: int, waits: bool) -> None:
        os.pwrite(self.turn, b"\1" if waits else b"\0", place)

    def fork(self) -> bool:
        """Make a spare monitor; False where no process can be made now."""
        taken = set(self.monitors.values())
        place = next(number for number in range(len(taken) + 1) if number not in taken)
        self.waits(place, True)  # before it can have taken an order
        try:
            pid = os.fork()
        except OSError:
            self.waits(place, False)
            return False
        if pid:
            self.monitors[pid] = place
            return True
        gone = False
        try:
            os.close(self.heard)
            gone = self.keep(place)
        finally:
            os._exit(0 if gone else 1)

    def keep(self, place: int) -> bool:
        """Take orders until there are no more; a monitor outlives its supervisor by its command only."""
        signal.signal(signal.SIGUSR1, lambda number, frame: self.link.close())
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
        if os.getppid() != self.pid:
            return True  # it was gone before it could be waited for
        become_subreaper()
        wake = wake_on_child()
        while order := self.next_order(place):
            monitor = CommandMonitor(order, wake)
            gone = monitor.run(order, self.guard)
            monitor.control.close()
            monitor.close_tracker()
            os.close(order.output)  # not before it was told: the end of the output would only wake Overt once more
            if not gone or os.getppid() != self.pid:
                return gone
            self.waits(place, True)
        return True

    def next_order(self, place: int) -> Order | None:
        fcntl.lockf(self.turn, fcntl.LOCK_EX)
        try:
            order = receive(self.link)
            self.waits(place, False)
            last = not self.waiting()
        finally:
            fcntl.lockf(self.turn, fcntl.LOCK_UN)
        if last:
            self.ask_for_spare()
        return order

    def ask_for_spare(self) -> None:
        try:
            os.write(self.tell, b"\0")
        except BrokenPipeError:
            pass  # the supervisor was killed; the order can be carried out without it

    def reap(self) -> None:
        reaped = EndedChildren()
        reaped.collect()
        ended = self.monitors.keys() & reaped.status.keys()
        for monitor in ended:
            self.waits(self.monitors.pop(monitor), False)
        if any(reaped.status[monitor] for monitor in ended):
            gone = destroy(frozenset(self.monitors), within=WITHIN)
            if FIRST and not gone:
                os._exit(1)


def take_link() -> socket.socket:
    """Make this process fit to supervise, and find the way to Overt."""
    for number in DEFAULTED:
        signal.signal(number, signal.SIG_IGN)
    os.closerange(3, 65536)  # whatever Overt's own parent had left open is not for commands
    link = socket.socket(fileno=os.dup(0))
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    become_subreaper()
    return link


def supervise(link: socket.socket, lacking: tuple[str, ...] = (), guard: NameGuard | None = None) -> None:
    """Say that we are up, and which walls are lacking; then take orders until the link ends."""
    try:
        link.sendall(b"up\0" + "\0".join(lacking).encode() + b"\n")
    except OSError:
        return  # Overt is gone already
    Supervisor(link, guard).run()


def main() -> None:
    link = take_link()
    groups = limit(int(sys.argv[2]))
    try:
        supervise(link)
    finally:
        for group in groups:
            group.leave()
