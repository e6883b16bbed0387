"""What the model is told while a turn runs: text that the user typed, and that the step limit is near.

Text steers at the next step, or waits for the next turn.
"""

from collections import deque

from overt.core.messages import Message, own_message, said
from overt.core.text_fragments import STEERED

NEAR_LIMIT = (
    "{used} of the {limit} steps that this turn may take are used. Finish what matters most, and leave the "
    "work in a state that can be handed over."
)


class Inbox:
    def __init__(self) -> None:
        self._steering: deque[str] = deque()
        self._queued: deque[str] = deque()
        self._news: deque[str] = deque()

    def tell(self, text: str) -> None:
        """Tell the model something before its next request, such as a file that another agent changed."""
        self._news.append(text)

    def steer(self, text: str) -> None:
        self._steering.append(text)

    def queue(self, text: str) -> None:
        self._queued.append(text)

    def steering(self) -> list[str]:
        """Return and remove everything that is to be sent to the model now."""
        taken = list(self._steering)
        self._steering.clear()
        return taken

    def messages(self, step: int, limit: int) -> list[Message]:
        """Messages to put before the request of a step: none before the first one, which has the prompt.

        The model learns of the step limit when 80 % of it are used; a `limit` of 0 is none.
        """
        if step == 1:
            return []
        used = -(-4 * limit // 5)
        near = step == used + 1 <= limit
        notices = [own_message(NEAR_LIMIT.format(used=used, limit=limit), "steps")] if near else []
        notices += [own_message(text, "notice") for text in self._news]
        self._news.clear()
        return [*(said(text, origin=STEERED) for text in self.steering()), *notices]

    def has_steering(self) -> bool:
        return bool(self._steering)

    def next_prompt(self) -> str | None:
        """Return the next queued prompt, or None. Steering that came too late for its turn goes first."""
        waiting = self._steering or self._queued
        return waiting.popleft() if waiting else None
