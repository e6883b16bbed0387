"""At most so many processes for everything the supervisor starts: a control group where one can be made."""

import os
import resource

from overt.world.sandbox.tree import stat_of

GROUP = "overt-"


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
