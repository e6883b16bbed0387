"""Look up in a conversation, or do to it, what an inspector wants, in the thread that the engine runs in.

Whatever reads files or programs does it in a thread or in pieces: a turn that runs meanwhile goes on.
"""

import asyncio
from typing import assert_never

from overt.app.conversation import Conversation
from overt.app.looked import JobListing, Looked, Models, Query, Todos

TAIL = 2000
"""Lines of a job's output that are shown."""


async def look(conversation: Conversation, kind: Query, text: str = "", number: int = 0) -> Looked:
    """Answer a query of an inspector, or raise an OvertError. `text` and `number` say of what, such as of which job."""
    match kind:
        case "jobs":
            return _jobs(conversation)
        case "job":
            return await conversation.session_workspace.jobs.output(text, since=0, tail=TAIL, filter="")
        case "stop":
            return await conversation.session_workspace.jobs.stop(text)
        case "todos":
            return Todos(conversation.history.todos)
        case "models":
            from overt.app.listing import list_models  # late: 26 ms

            listing = await list_models(conversation.setting)
            agent = conversation.agent
            return Models(listing=listing, current=(agent.runtime.provider.name, agent.spec.params.model))
        case "context":
            from overt.app.looking_context import context  # late: 29 ms

            return await context(conversation, number)
        case "request":
            from overt.app.looking_context import request  # late: 29 ms

            return await request(conversation, number)
        case "sessions":
            from overt.app.looking_sessions import sessions  # late: 2 ms

            return await asyncio.to_thread(sessions, conversation, number)
        case "preview":
            from overt.app.looking_sessions import preview  # late: 2 ms

            return await asyncio.to_thread(preview, text)
        case "search":
            from overt.app.looking_sessions import search  # late: 2 ms

            return await asyncio.to_thread(search, conversation, text, number)
        case "turns":
            from overt.app.looking_files import turns  # late: 112 ms

            return await turns(conversation)
        case "diff":
            from overt.app.looking_files import diff  # late: 112 ms

            return await diff(conversation)
        case "undone":
            from overt.app.looking_files import undone  # late: 112 ms

            return await undone(conversation, number)
        case "permissions":
            from overt.app.looking_rules import permissions  # late: 5 ms

            return await asyncio.to_thread(permissions, conversation)
        case "decisions":
            from overt.app.looking_rules import decisions  # late: 5 ms

            return await asyncio.to_thread(decisions, conversation)
        case "revoke":
            from overt.app.looking_rules import revoke  # late: 5 ms

            return await revoke(conversation, text)
        case _:
            assert_never(kind)


def _jobs(conversation: Conversation) -> JobListing:
    newest = conversation.session_workspace.list_jobs()[::-1]
    running = (job for job in newest if job.state == "running")
    return JobListing((*running, *(job for job in newest if job.state != "running")))
