"""The error output of a server's program, line by line, until the program ends."""

import asyncio
import os
from collections.abc import Callable

from overt.core.protocols import ServerChild
from overt.lib.text import visible

READ_BYTES = 64 * 1024
LONGEST_LINE = 1000


async def watch_program(program: ServerChild, add_line: Callable[[str], None]) -> int:
    """Hand over each line of a program's error output. Return its exit code when it has ended."""
    loop, rest = asyncio.get_running_loop(), b""

    def read() -> None:
        nonlocal rest
        try:
            data = os.read(program.output, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            loop.remove_reader(program.output)
        *lines, rest = (rest + data).split(b"\n")
        for line in (*lines, rest) if not data else lines:
            if text := visible(line.decode("utf-8", "replace")).strip()[:LONGEST_LINE]:
                add_line(text)
        rest = rest[-READ_BYTES:]

    loop.add_reader(program.output, read)
    try:
        code = await program.wait()
        read()
    finally:
        program.close()
    return code
