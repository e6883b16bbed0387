"""The scripted model server of the tests, run as a program."""

import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from msgspec import Struct, json

from bench.runs import PYTHON, ROOT, Site

Turn = dict[str, Any]


class Recorded(Struct, frozen=True):
    at: float
    method: str
    body: str = ""
    size: int = 0
    own: float = 0.0


class Arrival(Struct, frozen=True):
    """`own` is how long the client had been busy with itself before it sent this."""

    at: float
    size: int
    own: float


class Server:
    """Plays its turns again and again. It can tell of each request what it held ("bodies"), or more cheaply only
    when it came and how long it was ("times")."""

    def __init__(
        self, site: Site, name: str, turns: list[Turn], *, record: Literal["bodies", "times", ""] = ""
    ) -> None:
        self._program = "bench.model" if record == "times" else "tests.fakes.model_server"
        self._script = site.keep(f"{name}.script", json.encode({"turns": turns, "after": "loop"}))
        self._port_file = site.folder / f"{name}.port"
        self._record = site.folder / f"{name}.record" if record else None
        self._read = 0
        self.port = 0
        self.body = b""

    def __enter__(self) -> Self:
        for stale in (self._port_file, self._record):
            if stale:
                stale.unlink(missing_ok=True)
        argv = [PYTHON, "-m", self._program]
        argv += ["--script", str(self._script), "--port-file", str(self._port_file)]
        argv += ["--record", str(self._record)] if self._record else []
        self._process = subprocess.Popen(argv, cwd=ROOT)
        deadline = time.monotonic() + 30
        while not self._port_file.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("bench: the model server did not start")
            time.sleep(0.01)
        self.port = int(self._port_file.read_text())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait()
        if self._record:
            self._record.unlink(missing_ok=True)

    def arrivals(self) -> list[Arrival]:
        """The requests that came since the last time this was asked. Of their bodies only the last is kept, because
        a child is charged for the memory of the process that started it."""
        assert self._record is not None
        found: list[Arrival] = []
        if not self._record.exists():
            return found
        with self._record.open("rb") as file:
            file.seek(self._read)
            while (line := file.readline()).endswith(b"\n"):
                request = json.decode(line, type=Recorded)
                if request.method == "POST":
                    self.body = request.body.encode()
                    found.append(Arrival(request.at, request.size or len(self.body), request.own))
                self._read = file.tell()  # a line that is being written is read next time
        return found


def calls(name: str, *arguments: dict[str, Any]) -> Turn:
    """A reply with one or more calls of a tool."""
    return {"calls": [{"name": name, "arguments": each} for each in arguments]}


def text(said: str = "done", **more: Any) -> Turn:
    return {"text": said, **more}


def write_files(workspace: Path, *, count: int = 10, size: int = 20) -> list[str]:
    """Small files to read in turn: the same call three times over would be refused."""
    names = [f"note{number}.txt" for number in range(count)]
    for number, name in enumerate(names):
        line = f"{number} " + "lorem ipsum dolor sit amet " * 2
        (workspace / name).write_text("\n".join([line] * (size // len(line))) + f"\n{number} end\n")
    return names
