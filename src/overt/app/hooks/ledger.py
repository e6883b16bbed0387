"""The ledger of hooks: one line for each time that an event found hooks which match it."""

import os
from collections.abc import Iterator

from msgspec import DecodeError, Struct, json

from overt.sessions.log import make_private

NAME = "hooks.jsonl"
MOST_BYTES = 4 * 1024 * 1024
"""A ledger that is larger is put aside as `hooks.jsonl.1`, and the one before that is deleted."""


class RunLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hook that ran. `exit` is None if it did not start or was ended; `failure` says why."""

    command: str
    origin: str
    exit: int | None = None
    ms: int = 0
    verdict: str = ""
    failure: str = ""


class FiringLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`verdict` is that of all hooks together; `changed` are the arguments that they put in place of others."""

    ts: float
    session: str
    project: str
    event: str
    hooks: tuple[RunLine, ...]
    tool: str = ""
    call_id: str = ""
    agent: str = "main"
    mode: str = ""
    verdict: str = ""
    reason: str = ""
    changed: str = ""
    context: int = 0
    """Characters that were added for the model."""


def add_line(data_dir: str, line: FiringLine) -> None:
    """Append a line. A full disk or a broken folder does not stop the session."""
    path, data = os.path.join(data_dir, NAME), json.encode(line) + b"\n"
    try:
        make_private(data_dir)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
        if size > MOST_BYTES:
            os.replace(path, f"{path}.1")
    except OSError:
        pass


def read_lines(data_dir: str) -> Iterator[FiringLine]:
    """Yield every line that is whole, the oldest first."""
    decoder = json.Decoder(FiringLine)
    for name in (f"{NAME}.1", NAME):
        try:
            with open(os.path.join(data_dir, name), "rb") as file:
                for line in file:
                    try:
                        yield decoder.decode(line)
                    except (DecodeError, UnicodeDecodeError):
                        pass  # torn by a crash: the other lines still count
        except OSError:
            continue
