"""Where answers to permission questions arrive. Questions go up as events; any frontend may answer."""

import asyncio

from overt.core.events import PermissionAsked
from overt.core.protocols import Answer


class Mailbox:
    """The Asker of sessions with a user."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Answer]] = {}

    async def ask(self, question: PermissionAsked) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = future
        try:
            return await future
        finally:
            del self._waiting[question.id]

    def answer(self, question: str, answer: Answer) -> bool:
        """Hand over an answer. Return False if the question is no longer open."""
        future = self._waiting.get(question)
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True
