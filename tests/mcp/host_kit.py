"""Entries of servers that tests of the MCP host connect to, and a real HTTP server in a process of its own."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import structs

from overt.core.settings import ServerEntry

SERVERS = Path(__file__).parent / "servers"


def stdio_entry(script: str = "good_server.py", *arguments: str, name: str = "good") -> ServerEntry:
    return ServerEntry(name=name, command=(sys.executable, str(SERVERS / script), *arguments))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def http_server(
    *command: str, kind: Literal["http", "sse"] = "http", path: str = "/mcp", port: int = 0
) -> Iterator[ServerEntry]:
    """Run a server until the block ends. `{port}` in its command is the port to listen on."""
    port = port or free_port()
    command = command or (sys.executable, str(SERVERS / "good_server.py"), kind, "{port}")
    process = subprocess.Popen([word.replace("{port}", str(port)) for word in command], stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield ServerEntry(name="good", kind=kind, url=f"http://127.0.0.1:{port}{path}")
    finally:
        process.kill()
        process.wait(30)


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"the server did not listen on {port}; its exit code is {process.poll()}")


def replaced(entry: ServerEntry, **changes: object) -> ServerEntry:
    return structs.replace(entry, **changes)


def peak_memory_kb(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
