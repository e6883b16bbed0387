"""`/config` and `/doctor`: the settings with their origin, and what Overt finds when it looks at itself."""

import asyncio

from overt.app.conversation import Conversation
from overt.app.doctor import examine
from overt.app.doctor_lines import lines
from overt.app.queries import Row, configuration
from overt.app.slash import Done
from overt.core.codec import printable
from overt.core.errors import OvertError
from overt.core.late import late
from overt.lib.catalogue import say


async def config(conversation: Conversation, argument: str) -> Done:
    rows, warnings = await asyncio.to_thread(configuration, conversation.workspace)
    if argument in ("", "all"):
        shown = [row for row in rows if argument or row.origin != "default"]
        head = () if shown else (say("config.defaults"),)
        more = () if argument else (say("config.all"),)
        return Done(lines=(*head, *map(_line, shown), *more, *warnings))
    shown = [row for row in rows if row.key == argument or row.key.startswith(f"{argument}.")]
    if not shown:
        keys = tuple(dict.fromkeys(row.key for row in rows))
        near = late("difflib").get_close_matches(argument, keys, n=1)
        raise OvertError(say("config.unknown", name=argument) + (f" ({near[0]}?)" if near else ""))
    return Done(lines=tuple(map(_line, shown)))


def _line(row: Row) -> str:
    return f"{row.key} = {printable(row.value)}  ({row.origin})"


async def doctor(conversation: Conversation, _argument: str) -> Done:
    return Done(lines=tuple(lines(await examine(conversation.workspace))))
