"""Moving aside what is no entry, so that the file a writer goes on with is whole lines of JSON again."""

import os
from collections.abc import Iterable

from overt.lib import atomic
from overt.sessions.load import Loaded


def repair(path: str, loaded: Loaded) -> int:
    """Put a session that is locked for writing in order; what it was of no use for goes to `<name>.torn`.

    Gives the length of the file afterwards. Killed at any point, nothing good is lost: aside first, then cut.
    """
    if not loaded.torn and not loaded.unended:
        return loaded.good_length
    with open(path, "r+b", buffering=0) as file:
        if loaded.torn:
            _keep(f"{path}.torn", (_read(file.fileno(), *torn) for torn in loaded.torn))
        inner = [torn for torn in loaded.torn if torn[0] < loaded.good_length]
        if inner:
            return _rewrite(path, file.fileno(), inner, loaded)
        os.ftruncate(file.fileno(), loaded.good_length)
        if loaded.unended:
            os.pwrite(file.fileno(), b"\n", loaded.good_length)
        os.fsync(file.fileno())
        return loaded.good_length + loaded.unended


def _keep(path: str, pieces: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "ab") as aside:
        for piece in pieces:
            aside.write(piece if piece.endswith(b"\n") else piece + b"\n")
        aside.flush()
        os.fsync(descriptor)


def _rewrite(path: str, source: int, torn: list[tuple[int, int]], loaded: Loaded) -> int:
    pieces: list[bytes] = []
    start = 0
    for offset, length in [*torn, (loaded.good_length, 0)]:
        pieces.append(_read(source, start, offset - start))
        start = offset + length
    data = b"".join(pieces) + b"\n" * loaded.unended
    atomic.replace(path, data)
    return len(data)


def _read(descriptor: int, offset: int, length: int) -> bytes:
    pieces: list[bytes] = []
    while length > 0 and (piece := os.pread(descriptor, length, offset)):
        pieces.append(piece)
        offset, length = offset + len(piece), length - len(piece)
    return b"".join(pieces)
