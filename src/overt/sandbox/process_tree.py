"""The processes below this one: who they are, how to reach them all, and when none is left."""

import os
import signal
import time


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


def destroy(spare: frozenset[int] = frozenset(), *, within: float = 3.0) -> bool:
    """Freeze everything below this process, then kill it. Frozen processes still count against a limit on
    processes, so what forks without end runs into the limit instead of away from us."""
    deadline = time.monotonic() + within
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
            EndedChildren().collect(until=min(deadline, time.monotonic() + 0.2))
        else:
            time.sleep(0.005)
    return False


class EndedChildren:
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


def effective_capabilities() -> int:
    """The capabilities of this process, as bits."""
    with open("/proc/self/status", "rb", buffering=0) as file:
        lines = file.read(65536).splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith(b"CapEff:"))


def wake_on_child() -> int:
    """A descriptor that becomes readable when a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reader
