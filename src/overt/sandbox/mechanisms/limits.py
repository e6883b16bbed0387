"""At most so many processes and so much memory for everything a supervisor starts, by control groups where some
can be made."""

import os
import resource

from overt.sandbox.process_tree import stat_of

GROUP = "overt-"
SHARE_OF_MEMORY = 0.8


class ControlGroup:
    """One control group of ours, and the one we came from."""

    def __init__(self, home: str, origin: str) -> None:
        self.folder = f"{home}/{GROUP}{os.urandom(6).hex()}"
        self._home = home
        self._origin = origin

    def enter(self, limits: dict[str, int]) -> bool:
        """Make it and move in; False, and nothing is left, where that cannot be or none of the limits is known."""
        try:
            for stale in os.listdir(self._home):
                if stale.startswith(GROUP):
                    sweep(f"{self._home}/{stale}")
            os.mkdir(self.folder)
        except OSError:
            return False
        held = [name for name, value in limits.items() if _tried(f"{self.folder}/{name}", str(value))]
        if held and _tried(f"{self.folder}/cgroup.procs", str(os.getpid())):
            return True
        sweep(self.folder)
        return False

    def leave(self) -> None:
        _tried(f"{self._origin}/cgroup.procs", str(os.getpid()))
        sweep(self.folder)


def limit(most: int) -> list[ControlGroup]:
    """At most `most` processes and most of the memory: by control groups, which are returned, else by the limit
    on a user's processes, which does not bind root."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _tried("/proc/self/oom_score_adj", "500")  # when memory runs out, a command goes before Overt does
    memory = _memory()
    wanted = {
        "pids": {"pids.max": most},
        "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
        "": {"pids.max": most, "memory.max": memory, "memory.swap.max": 0},
    }
    groups: list[ControlGroup] = []
    for controller, point, path in _memberships():
        origin = (point + path).rstrip("/")
        homes = [origin] if controller or path == "/" else [origin, os.path.dirname(origin)]
        for home in homes * 2:  # once more, should another one have swept ours before we were in it
            group = ControlGroup(home, origin)
            if group.enter(wanted[controller]):
                groups.append(group)
                break
    if not any(os.path.exists(f"{group.folder}/pids.max") for group in groups):
        _limit_user(most)
    return groups


def limit_here(most: int) -> None:
    """Inside a user namespace of our own, where newer kernels count its processes apart from all others."""
    release = os.uname().release.split(".")
    if tuple(int(part) if part.isdigit() else 0 for part in release[:2]) >= (5, 14):
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))


def sweep(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass  # in use, or gone already


def _limit_user(most: int) -> None:
    stats = [stat_of(name) for name in os.listdir("/proc") if name.isdigit()]
    wanted = most + sum(int(stat[17]) for stat in stats if stat)
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))


def _memberships() -> list[tuple[str, str, str]]:
    """Controller (empty for version 2), mount point and path of the control groups we are in.

    Mount points come from the kernel: a folder that merely lies where one is expected is no control group.
    """
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        with open("/proc/self/mounts") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return []
    points: dict[str, str] = {}
    for _, point, kind, options, *_ in mounts:
        if kind == "cgroup2":
            points.setdefault("", point)
        elif kind == "cgroup":
            points |= dict.fromkeys({"pids", "memory"} & set(options.split(",")), point)
    return [
        (controller, points[controller], path)
        for _, names, path in lines
        for controller in names.split(",")
        if controller in points
    ]


def _memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SHARE_OF_MEMORY)


def _tried(path: str, text: str) -> bool:
    try:
        with open(path, "r+b", buffering=0) as file:  # never creates: what is no control group must fail
            file.write(text.encode())
    except OSError:
        return False
    return True
