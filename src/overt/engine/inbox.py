"""Text typed while a turn runs: it steers at the next step, or waits for the next turn."""

from collections import deque


class Inbox:
    def __init__(self) -> None:
        self._steering: deque[str] = deque()
        self._queued: deque[str] = deque()

    def steer(self, text: str) -> None:
        self._steering.append(text)

    def queue(self, text: str) -> None:
        self._queued.append(text)

    def steering(self) -> list[str]:
        """Everything to be said to the model now."""
        taken = list(self._steering)
        self._steering.clear()
        return taken

    def has_steering(self) -> bool:
        return bool(self._steering)

    def next_prompt(self) -> str | None:
        """The next queued prompt; steering that came too late for its turn goes first."""
        waiting = self._steering or self._queued
        return waiting.popleft() if waiting else None
