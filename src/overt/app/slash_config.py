"""`/config` and `/doctor`: the settings with their origin, and what Overt finds when it looks at itself."""

from overt.app.command_table import Done
from overt.app.conversation import Conversation
from overt.app.doctor import examine
from overt.app.doctor_lines import lines
from overt.app.queries import Row, configuration
from overt.app.setting_rows import explain_setting, lines_of
from overt.core.codec import printable
from overt.lib.catalogue import say


async def config(conversation: Conversation, argument: str) -> Done:
    if argument in ("", "all"):
        rows, warnings = configuration(conversation.setting)
        shown = [row for row in rows if argument or row.origin != "default"]
        head = () if shown else (say("config.defaults"),)
        more = () if argument else (say("config.all"),)
        return Done(lines=(*head, *map(_line, shown), *more, *warnings))
    settings, warnings = explain_setting(conversation.setting, argument)
    return Done(lines=(*lines_of(settings), *warnings))


def _line(row: Row) -> str:
    return f"{row.key} = {printable(row.value)}  ({row.origin})"


async def doctor(conversation: Conversation, _argument: str) -> Done:
    return Done(lines=tuple(lines(await examine(conversation.setting))))
