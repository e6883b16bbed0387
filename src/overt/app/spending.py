"""What one session has cost so far, as the ledger has it: earlier runs, titles and summaries included."""

import os

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from overt.core.spend import Totals
from overt.sessions.ledger import NAME, Booked
from overt.sessions.tail import Tail


class Sums:
    """Totals that grow with each line."""

    def __init__(self) -> None:
        self.totals = Totals()

    def add(self, line: Booked) -> None:
        now = self.totals
        self.totals = Totals(
            requests=now.requests + 1,
            input=now.input + line.input,
            cached=now.cached + line.cached,
            cache_write=now.cache_write + line.cache_write,
            output=now.output + line.output,
            reasoning=now.reasoning + line.reasoning,
            possible=now.possible + line.possible,
            cost=now.cost + (line.cost or 0.0),
            saved=now.saved + (line.saved or 0.0),
            unpriced=now.unpriced + (line.cost is None),
        )


class Spent(Struct, frozen=True, kw_only=True):
    """`turn` holds what was booked under the number of the last turn."""

    session: Totals
    turn: Totals


class Spending:
    """The ledger as it grows, for one session. `fresh`: nothing of it can have been booked before."""

    def __init__(self, data_dir: str, session: str, *, fresh: bool = False) -> None:
        self._tail = Tail(os.path.join(data_dir, NAME), f'"session":"{session}"'.encode(), end=fresh)
        self._decode = Decoder(Booked).decode
        self._session = Sums()
        self._turn = Sums()
        self._number = 0

    def read(self, turn: int) -> Spent:
        for text in self._tail.fresh():
            try:
                line = self._decode(text)
            except (DecodeError, UnicodeDecodeError):
                continue  # torn: the other lines still count
            if line.turn != self._number:
                self._number, self._turn = line.turn, Sums()
            self._turn.add(line)
            self._session.add(line)
        return Spent(session=self._session.totals, turn=self._turn.totals if turn == self._number else Totals())


def known_cost(totals: Totals) -> float | None:
    """None where there were requests and none of them has a price."""
    return None if totals.requests and totals.unpriced == totals.requests else totals.cost


def cached_share(totals: Totals) -> float | None:
    return min(1.0, totals.cached / totals.input) if totals.input else None
