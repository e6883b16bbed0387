"""The usage ledger: one line for each request to a model, without a word of what was said.

It lies beside the sessions and outlives them. A line is one `write` to a file opened for appending, so any number
of processes may write at once; readers skip a line that a crash or a full disk tore.
"""

import os
import stat
from collections.abc import Callable, Iterator
from errno import ENOSPC
from time import time

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, Encoder
from msgspec.structs import asdict

from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, RequestSent, TurnStarted
from overt.core.spending.spend import Charge, Purpose, Spend, fold_spend
from overt.lib.paths import slug
from overt.lib.translations import say
from overt.sessions.log import make_private

NAME = "ledger.jsonl"


class LedgerLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request. `project` is the slug of its folder, `possible` how many of its tokens a cache could have held.

    `cost` and `saved` are US dollars at the prices of that day, `saved` what the cache took off; None if unknown.
    """

    ts: float
    session: str
    project: str
    agent: str = "main"
    provider: str = ""
    model: str = ""
    turn: int = 0
    step: int = 0
    purpose: Purpose = "step"
    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    possible: int = 0
    cost: float | None = None
    saved: float | None = None
    ms: int = 0
    estimated: bool = False


_encoder = Encoder()
_decoder = Decoder(LedgerLine)


class UsageLedger:
    """The file that requests are written to. A full disk is no error of the turn: `missed` counts the lines instead."""

    def __init__(self, data_dir: str) -> None:
        self.path = os.path.join(data_dir, NAME)
        self.missed = 0

    def book(self, line: LedgerLine) -> str:
        """Write one line. Return the error of the system, or an empty string."""
        data = _encoder.encode(line) + b"\n"
        try:
            make_private(os.path.dirname(self.path))
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o600)
            try:
                self._append(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.missed += 1
            return error.strerror or str(error)
        return ""

    def _append(self, descriptor: int, data: bytes) -> None:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(0, "it is not a file")
        if facts.st_size and os.pread(descriptor, 1, facts.st_size - 1) != b"\n":
            data = b"\n" + data  # another process was cut off in the middle of a line
        if os.write(descriptor, data) < len(data):
            raise OSError(ENOSPC, os.strerror(ENOSPC))


class LedgerWriter:
    """Writes what each request of a session cost, as its events come in. `spend` is what was spent before.

    `notify` gets one notice, for the first line that could not be written.
    """

    def __init__(
        self, data_dir: str, project: str, session: str, *, spend: Spend, notify: Callable[[Noticed], None]
    ) -> None:
        self._ledger = UsageLedger(data_dir)
        self._project = slug(project)
        self._session = session
        self._spend = spend
        self._step = 0
        self._notify = notify

    def receive(self, event: Event) -> None:
        before, self._spend = self._spend.last, fold_spend(self._spend, event)
        if isinstance(event, TurnStarted):
            self._step = 0
        elif isinstance(event, RequestSent) and event.agent == "main":
            self._step += 1
        if (charge := self._spend.last) and charge is not before:
            self._append(charge)

    def _append(self, charge: Charge) -> None:
        fields = asdict(charge)
        usage = fields.pop("usage")
        error = self._ledger.book(
            LedgerLine(
                ts=round(time(), 3),
                session=self._session,
                project=self._project,
                turn=self._spend.turn_number,
                step=self._step,
                **fields,
                **asdict(usage),
            )
        )
        if error and self._ledger.missed == 1:
            text = say("ledger.missed", path=self._ledger.path, why=error)
            self._notify(Noticed(text=text, level="warning"))


def read_ledger(data_dir: str) -> Iterator[LedgerLine]:
    """Yield every line that is whole, in the order of the file; none if the ledger does not exist."""
    path = os.path.join(data_dir, NAME)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SessionError(f"The ledger {path} cannot be read_ledger: {error.strerror}. Check its mode.") from error
    with open(descriptor, "rb", buffering=1 << 20) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SessionError(f"{path} is not a file, so it is no ledger. Move it away; a new one is begun.")
        decode = _decoder.decode
        for line in file:
            try:
                yield decode(line)
            except (DecodeError, UnicodeDecodeError):
                pass  # torn, or not ours: the other lines still count
