"""`/resume`: go on with another session, found by its id or its name."""

import asyncio
from time import localtime, strftime

from overt.app.command_table import Action, Done
from overt.app.conversation import Conversation
from overt.app.queries import find_session, sessions
from overt.core.errors import OvertError
from overt.lib.catalogue import say
from overt.sessions.index import Summary
from overt.sessions.names import id_of

SHOWN = 10
WIDEST = 60


async def resume(conversation: Conversation, argument: str) -> Done:
    if not argument:
        return Done(lines=await asyncio.to_thread(_recent, conversation))
    found = id_of(await asyncio.to_thread(find_session, argument, conversation.setting))
    if found == conversation.id:
        raise OvertError(say("session.already", id=found))
    return Done(action=Action.NEW, resume=found)


def _recent(conversation: Conversation) -> tuple[str, ...]:
    found = [each for each in sessions(conversation.setting, everywhere=False) if each.id != conversation.id]
    if not found:
        return (say("session.no_other"),)
    more = (say("session.more", count=len(found) - SHOWN),) if len(found) > SHOWN else ()
    return (say("session.which"), *map(_line, found[:SHOWN]), *more)


def _line(session: Summary) -> str:
    title = " ".join(session.title.split())
    short = title if len(title) <= WIDEST else f"{title[: WIDEST - 1]}…"
    return f"  {session.id}  {strftime('%Y-%m-%d %H:%M', localtime(session.changed))}  {short}".rstrip()
