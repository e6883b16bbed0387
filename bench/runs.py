"""Running programs and weighing them: time, processor time and memory of each."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import TypeVar

from msgspec import Struct, json

A = TypeVar("A")
B = TypeVar("B")

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(Path(sys.executable).with_name("python"))
OVERT = str(Path(sys.executable).with_name("overt"))
YARDSTICKS = ROOT / "bench" / "yardsticks"
PATIENCE = 300.0


class Run(Struct, frozen=True, kw_only=True):
    """`began` and `ended` are on the clock of the server's records; `cpu` and `mib` include waited-for children."""

    began: float
    ended: float
    wall: float
    cpu: float
    mib: float
    out: bytes


class Site:
    """A temporary folder to measure `program` in. Children get the environment of a plain user."""

    def __init__(self, folder: Path, *, quick: bool, program: str = OVERT) -> None:
        self.folder = folder
        self.program = program
        self.quick = quick
        self.home = self.fresh("home")

    def fresh(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir(exist_ok=True)
        return made

    def times(self, usual: int) -> int:
        return max(2, usual // 3) if self.quick else usual

    def environment(self, port: int) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "OVERT_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OVERT_MODEL": "fake-model",
            "OVERT_API_KEY": "none",
        }

    def terminal(self) -> dict[str, str]:
        return {**self.environment(0), "TERM": "xterm-256color"}

    def run(self, argv: list[str], *, port: int = 0, cwd: Path | None = None) -> Run:
        env = self.environment(port)
        out, err = self.folder / "out", self.folder / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            began, begun = time.time(), time.monotonic()
            child = subprocess.Popen(
                argv, env=env, cwd=cwd or self.folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
            )
            guard = Timer(PATIENCE, child.kill)
            guard.start()
            _, status, used = os.wait4(child.pid, 0)
            wall, ended = time.monotonic() - begun, time.time()
            guard.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said = err.read_text(errors="replace")[-2000:]
            raise SystemExit(f"bench: {' '.join(argv)} ended with code {child.returncode}\n{said}")
        return Run(
            began=began,
            ended=ended,
            wall=wall,
            cpu=used.ru_utime + used.ru_stime,
            mib=used.ru_maxrss / 1024,
            out=out.read_bytes(),
        )

    def overt(self, port: int, workspace: Path, *flags: str) -> Run:
        return self.run([self.program, "run", "do the task", *flags], port=port, cwd=workspace)

    def yardstick(self, script: str, *words: object) -> Run:
        return self.run([PYTHON, str(YARDSTICKS / script), *map(str, words)])

    def keep(self, name: str, body: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(body)
        return path

    def sizes(self, name: str, sizes: list[int]) -> Path:
        return self.keep(name, json.encode(sizes))


def interleaved(times: int, ours: Callable[[], A], yardstick: Callable[[], B]) -> tuple[list[A], list[B]]:
    """Ours, yardstick, ours, … so that a busy minute of the machine falls on both; one of each goes unmeasured."""
    ours()
    yardstick()
    pairs = [(ours(), yardstick()) for _ in range(times)]
    return [mine for mine, _ in pairs], [theirs for _, theirs in pairs]
