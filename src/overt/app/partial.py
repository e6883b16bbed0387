"""What has streamed of a reply that is not whole yet: saved every second, kept when the reply breaks off."""

from collections.abc import Callable
from time import monotonic

EVERY = 1.0


class Partial:
    """`save` gets what came since the last time."""

    def __init__(self, save: Callable[[str], None]) -> None:
        self._save = save
        self._pieces: list[str] = []
        self._saved = 0
        self._saved_at = 0.0

    def begin(self) -> None:
        self._pieces, self._saved, self._saved_at = [], 0, monotonic()

    def add(self, text: str) -> None:
        self._pieces.append(text)
        if monotonic() - self._saved_at >= EVERY:
            self.save()

    def save(self) -> None:
        fresh = "".join(self._pieces[self._saved :])
        self._saved, self._saved_at = len(self._pieces), monotonic()
        if fresh:
            self._save(fresh)

    def text(self) -> str:
        return "".join(self._pieces)
