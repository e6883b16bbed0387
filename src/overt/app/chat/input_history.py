"""Earlier prompts of the user, shared by all sessions and running processes: one JSON text per line.

A lock keeps two processes from writing into each other's line. Lines that cannot be read are skipped. The file is
private, and the caller has taken secrets out of what it adds.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from overt.lib.atomic import replace, write_all

NEWEST = 2000
SLACK = 500
"""So many more may be in the file before it is shortened."""
LONGEST = 100_000
"""Characters. Longer prompts are not stored, and half a prompt would be a trap."""
READ = 64_000_000
"""Bytes from the end of the file that are read."""


class InputHistory:
    def __init__(self, data_dir: str) -> None:
        self._folder = data_dir
        self._path = os.path.join(data_dir, "prompts.jsonl")
        self._last = ""

    def load(self) -> list[str]:
        """Return the newest 2000, oldest first, without repetitions in a row; nothing if the file cannot be read."""
        try:
            with self._locked(fcntl.LOCK_SH) as fd:
                prompts = _texts(_tail(fd))
        except FileNotFoundError:
            prompts = self._import_old()
        except OSError:
            return []
        self._last = prompts[-1] if prompts else ""
        return prompts

    def add(self, text: str) -> None:
        """Store a prompt. Never raises: a history that cannot be stored must not disturb the turn."""
        if not text.strip() or len(text) > LONGEST or text == self._last:
            return
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if not os.path.exists(self._path):
                self._import_old()
            with self._locked(fcntl.LOCK_EX, os.O_CREAT) as fd:
                whole = _tail(fd)
                # A line that a process could not finish must not swallow this one.
                torn = b"\n" if whole and not whole.endswith(b"\n") else b""
                write_all(fd, torn + _line(text))
                if whole.count(b"\n") >= NEWEST + SLACK:
                    self._shorten([*_texts(whole), text])
        except (OSError, UnicodeError):
            return
        self._last = text

    def _shorten(self, texts: list[str]) -> None:
        replace(self._path, b"".join(map(_line, texts[-NEWEST:])))

    def _import_old(self) -> list[str]:
        """Take over, once, what the line editor of the plain chat stored in earlier versions."""
        try:
            with open(os.path.join(self._folder, "history"), "rb") as file:
                lines = file.read(READ).decode(errors="replace").splitlines()
        except OSError:
            return []
        prompts = _once([line for line in lines if line.strip() and line != "_HiStOrY_V2_"])[-NEWEST:]
        try:
            with self._locked(fcntl.LOCK_EX, os.O_CREAT | os.O_EXCL) as fd:
                write_all(fd, b"".join(map(_line, prompts)))
        except (OSError, UnicodeError):
            pass  # another program was first, or the folder cannot be written: they are shown all the same
        return prompts

    @contextmanager
    def _locked(self, how: int, flags: int = 0) -> Iterator[int]:
        """Open and lock the file. Open it again if it was replaced by a shortened one meanwhile."""
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | flags, 0o600)
            try:
                fcntl.flock(fd, how)
                if os.path.samestat(os.fstat(fd), os.stat(self._path)):
                    yield fd
                    return
            except FileNotFoundError:
                if not flags & os.O_CREAT:
                    raise
            finally:
                os.close(fd)


def _tail(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    chunks: list[bytes] = []
    place = max(size - READ, 0)
    while chunk := os.pread(fd, 1 << 20, place):
        chunks.append(chunk)
        place += len(chunk)
    return b"".join(chunks)


def _line(text: str) -> bytes:
    return msgspec.json.encode(text) + b"\n"


def _texts(data: bytes) -> list[str]:
    prompts: list[str] = []
    for line in data.split(b"\n")[-NEWEST - 2 * SLACK :]:
        try:
            text = msgspec.json.decode(line, type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        prompts.append(text)
    return _once(prompts)[-NEWEST:]


def _once(texts: list[str]) -> list[str]:
    return [text for number, text in enumerate(texts) if number == 0 or texts[number - 1] != text]
