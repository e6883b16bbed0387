"""What journeys share: the installed program in a home and a workspace of its own, a terminal, and what to check."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.fakes.model_server import FakeCall, ModelServer, Turn

from overt.config.paths import Environment
from overt.config.project_files import hash_project_files
from overt.config.trust import TrustAnswer, check_trust, decide
from overt.sessions.load import load

OVERT = str(Path(sys.executable).with_name("overt"))
KEY = "sk-journey-5f0c2e7a91b84d63"
PATIENCE = 60.0
PROMPT = "› "
ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


def overt_after(*lines: str) -> tuple[str, ...]:
    """Words that run the installed program in a Python which has run these lines of code."""
    run = "sys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
    return (sys.executable, "-c", "\n".join(("import runpy, sys", *lines, run)))


PATIENT = overt_after(
    "from overt.app import session_workspace",
    "from overt.workspace.undo import first_snapshot, snapshot_keeper, maintenance",
    "first_snapshot.FIRST_SNAPSHOT_LIMIT_S = snapshot_keeper.FIRST_PATIENCE = snapshot_keeper.PATIENCE = 100.0",
    "session_workspace.CLOSE_WITHIN_S = maintenance.CLOSE_WAIT_S = 100.0",
)
"""Snapshots may take as long as they like: a busy machine does not decide what a test of undo sees."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Place:
    """A home and a workspace, and the program run in them. No output may hold a traceback or the key."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.under: Sequence[str] = ()
        """Words before the program and its own, such as `PATIENT`."""
        self.home.mkdir()
        self.work.mkdir()

    def environment(self, server: ModelServer | None = None, more: Mapping[str, str] | None = None) -> dict[str, str]:
        found = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "OVERT_API_KEY": KEY}
        if server is not None:
            found |= {"OVERT_BASE_URL": server.url, "OVERT_MODEL": "fake-model"}
        return found | dict(more or {})

    def run(
        self,
        *words: str,
        server: ModelServer | None = None,
        stdin: bytes | int = subprocess.DEVNULL,
        env: Mapping[str, str] | None = None,
        under: Sequence[str] = (),
        closed: str = "",
        patience: float = PATIENCE,
    ) -> Ran:
        argv = [*(under or self.under), OVERT, *words]
        if closed:
            argv = ["sh", "-c", f'exec "$@" {closed}', "sh", *argv]
        done = subprocess.run(
            argv,
            cwd=self.work,
            env=self.environment(server, env),
            input=stdin if isinstance(stdin, bytes) else None,
            stdin=None if isinstance(stdin, bytes) else stdin,
            capture_output=True,
            timeout=patience,
            check=False,
        )
        return checked(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def started(
        self, *words: str, server: ModelServer, env: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        child = subprocess.Popen(
            [*self.under, OVERT, *words],
            cwd=self.work,
            env=self.environment(server, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with child:
            try:
                yield child
            finally:
                child.kill()

    @contextmanager
    def chat(self, *words: str, server: ModelServer, env: Mapping[str, str] | None = None) -> "Iterator[Terminal]":
        more = {"TERM": "xterm", "NO_COLOR": "1", **(env or {})}
        self.distrust()
        terminal = Terminal([*self.under, OVERT, "--plain", *words], cwd=self.work, env=self.environment(server, more))
        try:
            yield terminal
        finally:
            terminal.close()

    def distrust(self) -> None:
        """As if the question about this folder had been answered with no, so that it is not in the way."""
        folders = {name: str(self.home / ".local" / name / "overt") for name in ("config", "share", "cache")}
        where = Environment(
            home=str(self.home),
            config_dir=folders["config"],
            data_dir=folders["share"],
            cache_dir=folders["cache"],
            cwd=str(self.work),
            variables={},
        )
        if check_trust(where, str(self.work)).answer is not None:
            return
        decide(where, str(self.work), TrustAnswer(trusted=False, files=hash_project_files(str(self.work)).files))

    def sessions(self) -> list[Path]:
        return sorted(self.home.rglob("sessions/*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def session(self) -> Path:
        (only,) = self.sessions()
        return only

    def alive(self) -> list[str]:
        """Every process that has this home: the program and whatever it started for the model."""
        return with_environment(f"HOME={self.home}")

    def leaks(self) -> list[str]:
        return [str(path) for path in self.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Whatever happens in it, no process stays, no file holds the key, and every session is whole."""
    made = Place(tmp_path)
    yield made
    assert gone(made.alive) == []
    assert made.leaks() == []
    for session in made.sessions():
        assert_intact(session)


def checked(code: int, out: bytes, err: bytes) -> Ran:
    for text in (out, err):
        assert b"Traceback" not in text, text.decode(errors="replace")
        assert KEY.encode() not in text
    return Ran(code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape"))


class Terminal:
    """The program in a pseudo-terminal, as its controlling one, so that Ctrl-C is a signal."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (50, 200))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv], cwd=cwd, env=dict(env), stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.raw = b""
        self.seen = 0

    def expect(self, wanted: str, within: float = 20.0) -> str:
        """Everything since the last hit up to and with `wanted`."""
        deadline = time.monotonic() + within
        while True:
            text = self.text()[self.seen :]
            at = text.find(wanted)
            if at >= 0:
                self.seen += at + len(wanted)
                return text[: at + len(wanted)]
            if not self._more(deadline - time.monotonic()):
                raise AssertionError(f"{wanted!r} did not come; on the screen since: {text[-2000:]!r}")

    def text(self) -> str:
        return ANSI.sub("", self.raw.decode("utf-8", "replace"))

    def _more(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # Linux says EIO when the other side is gone
            return False
        self.raw += piece
        return bool(piece)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def line(self, text: str) -> None:
        self.type(text + "\n")

    def interrupt(self) -> None:
        self.type("\x03")

    def interrupt_until(self, wanted: str) -> float:
        """Press Ctrl-C and give the milliseconds until something is on the screen."""
        self.ready()
        began = time.monotonic()
        self.interrupt()
        self.expect(wanted)
        return (time.monotonic() - began) * 1000

    def ready(self) -> None:
        """Until the program sleeps: a key pressed between its prompt and its reading is seen one key late."""
        until(lambda: _stat(self.process.pid)[0] == b"S")

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._master)

    def wait(self) -> int:
        """Read on until the program is gone; its exit code."""
        deadline = time.monotonic() + 20
        while self._more(deadline - time.monotonic()):
            pass
        code = self.process.wait(20)
        checked(code, self.raw, b"")
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(20)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        assert b"Traceback" not in self.raw, self.text()
        assert KEY.encode() not in self.raw


# ── what the model's server saw ──────────────────────────────────────────────────────────────────────────


def calls(*made: FakeCall, text: str = "") -> Turn:
    return Turn(text=text, calls=made)


def call(name: str, /, id: str = "", **arguments: Any) -> FakeCall:
    return FakeCall(name=name, arguments=arguments, id=id)


def results(server: ModelServer) -> list[str]:
    """The text of every tool result in the last request, in order."""
    return [str(message["content"]) for message in messages(server) if message["role"] == "tool"]


def messages(server: ModelServer, number: int = -1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.posts[number].json()["messages"]
    return found


def assert_each_extends_the_one_before(server: ModelServer) -> None:
    """On the bytes the server received: all but the closing bytes of a request stands again in the next."""
    bodies = [request.body for request in server.posts]
    for before, after in pairwise(bodies):
        stable = before[: before.rindex(b"]")]
        assert after.startswith(stable), (before[-300:], after[len(stable) - 300 : len(stable) + 300])


def assert_paired(said: list[dict[str, Any]]) -> None:
    """Every call is answered exactly once, right behind its reply, and no answer is without a call."""
    waiting: list[str] = []
    for message in said:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        waiting = [made["id"] for made in message.get("tool_calls", ())]
    assert waiting == []


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def assert_intact(path: Path) -> None:
    """Whole lines of JSON in one unbroken chain."""
    loaded = load(str(path))
    assert (loaded.damage, len(loaded.entries)) == ((), len(entries(path)))


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────


def with_environment(variable: str) -> list[str]:
    found = []
    for pid in _pids():
        if variable.encode() in _proc(pid, "environ").split(b"\0"):
            found.append(f"{pid} {_proc(pid, 'cmdline').replace(bytes(1), b' ').decode(errors='replace')}")
    return found


def descendants(pid: int) -> dict[int, bytes]:
    """Every process below, by pid, with the time it began, so that a reused pid is not mistaken for it."""
    stats = {each: words for each in _pids() if (words := _stat(each))}
    found: dict[int, bytes] = {}
    level = {pid}
    while level:
        level = {each for each, words in stats.items() if int(words[1]) in level}
        found |= {each: stats[each][19] for each in level}
    return found


def still(known: Mapping[int, bytes]) -> list[str]:
    """Those that have not ended; a zombie has."""
    return [
        f"{pid} {_proc(pid, 'cmdline').replace(bytes(1), b' ').decode(errors='replace')}"
        for pid, began in known.items()
        if (words := _stat(pid)) and words[19] == began and words[0] != b"Z"
    ]


def gone(look: Callable[[], list[str]], seconds: float = 30.0) -> list[str]:
    """What is left when everything has gone, or when the time is over."""
    deadline = time.monotonic() + seconds
    while (left := look()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def until(true: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.005)
    return found


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> list[bytes]:
    """The fields from the state on."""
    return _proc(pid, "stat").rpartition(b") ")[2].split()


def _proc(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
