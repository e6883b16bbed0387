"""Who owns the tasks of a turn: leaving this context, early or not, stops every tool."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from overt.core.events import Event
from overt.core.history import History
from overt.engine.agent import Agent
from overt.engine.inbox import Inbox
from overt.engine.loop import run_turn


@asynccontextmanager
async def open_turn(
    agent: Agent, history: Callable[[], History], inbox: Inbox
) -> AsyncIterator[AsyncGenerator[Event, None]]:
    async with asyncio.TaskGroup() as workers, aclosing(run_turn(agent, history, inbox, workers)) as events:
        yield events
