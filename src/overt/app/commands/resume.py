"""`/resume`: go on with another session, found by its id or its name."""

import asyncio
from collections.abc import Sequence
from time import localtime, strftime
from typing import TYPE_CHECKING

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Preview, SessionPage
from overt.app.slash_command import Action, Command, CommandOutcome, Offer
from overt.core.errors import OvertError
from overt.lib.text import shorten
from overt.lib.translations import say
from overt.sessions.names import id_of

if TYPE_CHECKING:
    from overt.sessions.index import Summary

SHOWN = 10
WIDEST = 60


async def resume(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.inspect.queries import find_session  # late: 1.5 ms

    if not argument:
        return CommandOutcome(lines=await asyncio.to_thread(_recent, conversation))
    found = id_of(await asyncio.to_thread(find_session, argument, conversation.setting))
    if found == conversation.id:
        raise OvertError(say("session.already", id=found))
    return CommandOutcome(action=Action.NEW, resume=found)


def _recent(conversation: Conversation) -> tuple[str, ...]:
    from overt.app.inspect.queries import list_project_sessions  # late: 1.5 ms

    found = [
        each for each in list_project_sessions(conversation.setting, everywhere=False) if each.id != conversation.id
    ]
    if not found:
        return (say("session.no_other"),)
    more = (say("session.more", count=len(found) - SHOWN),) if len(found) > SHOWN else ()
    return (say("session.which"), *map(_line, found[:SHOWN]), *more)


def _line(session: "Summary") -> str:
    short = shorten(" ".join(session.title.split()), WIDEST)
    return f"  {session.id}  {strftime('%Y-%m-%d %H:%M', localtime(session.changed))}  {short}".rstrip()


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    own = facts.conversation.id
    return [Offer(each.id, each.title, also=each.title) for each in await facts.sessions() if each.id != own]


async def list_sessions(conversation: Conversation, _text: str, start: int) -> SessionPage:
    from overt.app.inspect.sessions import session_page  # late: 0.5 ms

    return await asyncio.to_thread(session_page, conversation, start)


async def preview_session(_conversation: Conversation, path: str, _number: int) -> Preview:
    from overt.app.inspect.sessions import session_preview  # late: 0.5 ms

    return await asyncio.to_thread(session_preview, path)


async def search_sessions(conversation: Conversation, words: str, start: int) -> SessionPage:
    from overt.app.inspect.sessions import search_page  # late: 0.5 ms

    return await asyncio.to_thread(search_page, conversation, words, start)


COMMAND = Command(
    name="resume",
    run=resume,
    usage="[ID | NAME]",
    aliases=("continue", "sessions"),
    order=30,
    panel="sessions",
    complete=offers,
    queries={"sessions": list_sessions, "preview": preview_session, "search": search_sessions},
)
