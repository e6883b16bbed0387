"""Read regular files up to a limit. A pipe or a device must not make the program wait."""

import os
import stat


def read_regular(path: str, limit: int, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """Read at most `limit` + 1 bytes, so that the caller sees if there are more. Anything but a file is an OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        chunks: list[bytes] = []
        left = limit + 1
        while left > 0 and (chunk := os.read(fd, left)):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks), found
    finally:
        os.close(fd)
