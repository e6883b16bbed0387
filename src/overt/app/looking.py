"""What the inspectors of a face look up in a conversation, or do to it, for the thread that the engine runs in.

Whatever reads files or programs does it in a thread or in pieces: a turn that runs meanwhile goes on.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from overt.app.conversation import Conversation
from overt.app.looked import Models
from overt.core.effects import JobState
from overt.core.views import Todo

TAIL = 2000
"""Lines of a job's output that are shown."""


async def look(conversation: Conversation, kind: str, text: str = "", number: int = 0) -> Any:
    """What a wish of a panel comes to; an OvertError where it cannot be had."""
    match kind:
        case "jobs":
            return _jobs(conversation)
        case "job":
            return await conversation.session_workspace.jobs.output(text, since=0, tail=TAIL, filter="")
        case "stop":
            return await conversation.session_workspace.jobs.stop(text)
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


def _jobs(conversation: Conversation) -> Sequence[JobState]:
    """The newest first, those that run before those that have ended."""
    newest = conversation.session_workspace.list_jobs()[::-1]
    return (*(job for job in newest if job.state == "running"), *(job for job in newest if job.state != "running"))
