"""Questions go up as events; answers come back here, from whichever face has one."""

import asyncio

from overt.core.events import PermissionAsked
from overt.core.ports import Answer


class Mailbox:
    """The Asker of every face with a person behind it."""

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
        """False when nobody waits for it any more."""
        future = self._waiting.get(question)
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True
