"""`/memory`: the notes that join at the start of a session."""

import asyncio
from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.lib.translations import say

SHELVES = ("global/", "project/")
"""How the names of private notes begin. Other rows of `/memory` are files that it does not remove."""


async def memory(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.context.memory_notes import Notebook, run_memory_command  # late: 1.3 ms

    book = Notebook(conversation.setting, session=conversation.id, turn=conversation.session.turn)
    return CommandOutcome(lines=run_memory_command(book, conversation.redact(argument), how="/memory"))


async def offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    verb, blank, _ = argument.partition(" ")
    if verb in ("remove", "rm", "keep") and blank:
        from overt.app.context.memory_notes import Notebook  # late: 1.3 ms

        rows = await asyncio.to_thread(lambda: Notebook(facts.conversation.setting).rows())
        notes = [row for row in rows if row.name.startswith(SHELVES) and (row.stale or verb != "keep")]
        return [Offer(f"{verb} {row.name}", row.first, row.name) for row in notes]
    if verb == "add" and blank:
        return [Offer("add --global", say("tui.complete.memory_global"), "--global", more=True)]
    if blank:
        return []
    return [
        Offer("list"),
        Offer("add", say("tui.complete.memory_add"), more=True),
        Offer("remove", say("tui.complete.memory_remove"), more=True),
        Offer("keep", say("tui.complete.memory_keep"), more=True),
        Offer("undo", say("tui.complete.memory_undo")),
    ]


COMMAND = Command(
    name="memory",
    run=memory,
    usage="[add [--global] TEXT | remove NAME | keep NAME | undo]",
    order=250,
    anytime=True,
    complete=offers,
)
