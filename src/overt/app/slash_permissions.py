"""`/permissions`: the rules that hold here, where each comes from, and taking back what was answered with always."""

import asyncio

from overt.app.command_table import Done, misused
from overt.app.conversation import Conversation
from overt.app.looked import Permits
from overt.app.looking_rules import permissions as rules_of
from overt.app.looking_rules import revoke
from overt.lib.catalogue import say


async def permissions(conversation: Conversation, argument: str) -> Done:
    word, _, rule = argument.partition(" ")
    if word == "revoke" and rule.strip():
        revoked = await revoke(conversation, rule.strip())
        return Done(lines=(say("permissions.revoked", rule=revoked.text),))
    if argument:
        raise misused("permissions")
    return Done(lines=_lines(await asyncio.to_thread(rules_of, conversation)))


def _lines(permits: Permits) -> tuple[str, ...]:
    """The same rules as in the panel: those of files and flags, then the saved ones, numbered for `revoke`."""
    saved = [rule for rule in permits.rules if rule.stored]
    return (
        say("chat.mode", mode=permits.mode),
        *(f"  {rule.action:5}  {rule.text}  ({rule.origin})" for rule in permits.rules if not rule.stored),
        permits.problem or say("permissions.stored" if saved else "permissions.none"),
        *(f"  {number:2}  {rule.action:5}  {rule.text}" for number, rule in enumerate(saved, 1)),
    )
