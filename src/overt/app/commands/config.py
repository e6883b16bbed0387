"""`/config`: the settings, and where each comes from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.codec import printable
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.config.schema import SettingValue


async def config(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.inspect.queries import list_settings  # late: 2 ms
    from overt.app.inspect.settings import explain_setting, setting_lines  # late: 8 ms

    if argument in ("", "all"):
        rows, warnings = list_settings(conversation.setting)
        shown = [row for row in rows if argument or row.origin != "default"]
        head = () if shown else (say("config.defaults"),)
        more = () if argument else (say("config.all"),)
        return CommandOutcome(lines=(*head, *map(_line, shown), *more, *warnings))
    settings, warnings = explain_setting(conversation.setting, argument)
    return CommandOutcome(lines=(*setting_lines(settings), *warnings))


def _line(row: "SettingValue") -> str:
    return f"{row.key} = {printable(row.value)}  ({row.origin})"


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    from overt.app.inspect.queries import list_settings  # late: 2 ms

    rows, _ = list_settings(facts.conversation.setting)
    return [Offer("all"), *(Offer(row.key, f"{row.value}") for row in rows)]


COMMAND = Command(
    name="config",
    run=config,
    usage="[all | KEY]",
    aliases=("settings",),
    order=300,
    anytime=True,
    complete=offers,
)
