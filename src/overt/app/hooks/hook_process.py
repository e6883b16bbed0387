"""Run the command of one hook in the sandbox: JSON on its standard input, its output and exit code back."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.core.errors import ToolError
from overt.core.protocols import Profile, ServerChild, Spawner

if TYPE_CHECKING:
    from overt.workspace.undo.snapshot_keeper import CommandWatch

MOST_OUTPUT = 1024 * 1024
READ_BYTES = 64 * 1024
KILL_GRACE_S = 0.3


class HookRun(Struct, frozen=True, kw_only=True):
    """How a command ended. `code` is negative for a signal, and None with a `failure`: no start, or a time-out."""

    code: int | None = None
    stdout: str = ""
    stderr: str = ""
    ms: int = 0
    failure: str = ""


class HookCommand(Struct, frozen=True, kw_only=True):
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    profile: Profile
    timeout_s: float
    watch: "CommandWatch | None" = None
    """Gets the record of what the command changes, for undo."""


async def run_hook(spawner: Spawner, command: HookCommand, data: bytes) -> HookRun:
    """Run a command with `data` as its input. If this is cancelled, the command and what it has started end."""
    started, code, failure = monotonic(), None, ""
    track = command.watch.tracking if command.watch else None
    try:
        child = await spawner.spawn_server(
            command.argv, cwd=command.cwd, env=command.env, profile=command.profile, track=track
        )
    except ToolError as error:
        return HookRun(failure=error.message, ms=_since(started))
    pipes = _Pipes(child, data)
    try:
        async with asyncio.timeout(command.timeout_s):
            code = await child.wait()
    except TimeoutError:
        await child.kill(grace=KILL_GRACE_S)
        failure = f"timed out after {command.timeout_s:g} s"
    except asyncio.CancelledError:
        await child.kill()
        raise
    finally:
        pipes.close()
        if command.watch:
            command.watch.writes = await child.write_record()
        child.close()
    stdout, stderr = (bytes(each).decode("utf-8", "replace") for each in (pipes.stdout, pipes.stderr))
    return HookRun(code=code, stdout=stdout, stderr=stderr, ms=_since(started), failure=failure)


def _since(started: float) -> int:
    return round((monotonic() - started) * 1000)


class _Pipes:
    """Feeds the input to a program and collects what it prints, as far as the limit; the rest is dropped."""

    def __init__(self, child: ServerChild, data: bytes) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._child = child
        self._left = memoryview(data)
        self._loop = asyncio.get_running_loop()
        for fd in (child.stdin, child.stdout):
            os.set_blocking(fd, False)
        self._readers = {child.stdout: self.stdout, child.output: self.stderr}
        self._loop.add_writer(child.stdin, self._write)
        for fd in self._readers:
            self._loop.add_reader(fd, self._read, fd)

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._child.stdin, self._left) :] if self._left else self._left
        except BlockingIOError:
            return
        except OSError:
            self._left = self._left[:0]  # it does not read its input
        if not self._left:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._child.stdin >= 0:
            self._loop.remove_writer(self._child.stdin)
            os.close(self._child.stdin)
            self._child.stdin = -1

    def _read(self, fd: int) -> bool:
        """Read once. Return False when there is nothing more for now."""
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(fd)
        kept = self._readers[fd]
        kept += data[: max(0, MOST_OUTPUT - len(kept))]
        return bool(data)

    def close(self) -> None:
        """Take what is still in the pipes, and let go of them."""
        self._close_stdin()
        for fd in self._readers:
            for _ in range(MOST_OUTPUT // READ_BYTES):
                if not self._read(fd):
                    break
            self._loop.remove_reader(fd)
