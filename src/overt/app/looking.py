"""What the inspectors of a face look up in a conversation, or do to it, for the thread that the engine runs in.

Whatever reads files or programs does it in a thread or in pieces: a turn that runs meanwhile goes on.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from overt.app.conversation import Conversation
from overt.app.late_hands import LateHands
from overt.app.looked import Models
from overt.core.effects import JobOutput, JobState
from overt.core.views import Todo

TAIL = 2000
"""Lines of a job's output that are shown."""


async def look(conversation: Conversation, kind: str, text: str = "", number: int = 0) -> Any:
    """What a wish of a panel comes to; an OvertError where it cannot be had."""
    match kind:
        case "jobs":
            return await _jobs(conversation)
        case "job":
            return await _output(conversation, text)
        case "stop":
            return await _stop(conversation, text)
        case "todos":
            return _todos(conversation)
        case "models":
            from overt.app.listing import list_models  # late: 26 ms

            listing = await list_models(conversation.setting)
            agent = conversation.agent
            return Models(listing=listing, current=(agent.provider.name, agent.params.model))
        case "context" | "request":
            from overt.app import looking_context  # late: 29 ms

            query = looking_context.context if kind == "context" else looking_context.request
            return await query(conversation, number)
        case "sessions":
            from overt.app.looking_sessions import sessions  # late: 2 ms

            return await asyncio.to_thread(sessions, conversation, number)
        case "preview":
            from overt.app.looking_sessions import preview  # late: 2 ms

            return await asyncio.to_thread(preview, text)
        case "search":
            from overt.app.looking_sessions import search  # late: 2 ms

            return await asyncio.to_thread(search, conversation, text, number)
        case "turns" | "diff":
            from overt.app import looking_files  # late: 112 ms

            return await (looking_files.turns if kind == "turns" else looking_files.diff)(conversation)
        case "undone":
            from overt.app.looking_files import undone  # late: 112 ms

            return await undone(conversation, number)
        case "permissions" | "decisions":
            from overt.app import looking_rules  # late: 5 ms

            lookup = looking_rules.permissions if kind == "permissions" else looking_rules.decisions
            return await asyncio.to_thread(lookup, conversation)
        case "revoke":
            from overt.app.looking_rules import revoke  # late: 5 ms

            return await revoke(conversation, text)
        case _:
            raise KeyError(kind)


def _todos(conversation: Conversation) -> tuple[Todo, ...]:
    return conversation.history.todos


async def _jobs(conversation: Conversation) -> Sequence[JobState]:
    """The newest first, those that run before those that have ended."""
    found: Sequence[JobState] = await _programs(conversation).jobs()
    newest = found[::-1]
    return (*(job for job in newest if job.state == "running"), *(job for job in newest if job.state != "running"))


async def _output(conversation: Conversation, id: str) -> JobOutput:
    found: JobOutput = await _programs(conversation).output(id, since=0, tail=TAIL, filter="")
    return found


async def _stop(conversation: Conversation, id: str) -> JobState:
    found: JobState = await _programs(conversation).stop(id)
    return found


def _programs(conversation: Conversation) -> Any:
    """Lent as to a call; what is kept up for a call is let go of again."""
    hands = conversation.agent.hands
    loan = hands.lend("", {"programs": "run"})
    if isinstance(hands, LateHands):
        hands.rest()
    return loan.capabilities["programs"]
