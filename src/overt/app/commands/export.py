"""`/export`: write this session to a file."""

import os
from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer, require_session_file
from overt.core.errors import OvertError
from overt.lib.translations import say


async def export(conversation: Conversation, argument: str) -> CommandOutcome:
    """Write the file, but never over one that exists: a name typed in passing should not cost the user a file."""
    from overt.app.records.archive import export_text, format_for, write_export  # late: 4 ms

    path = require_session_file(conversation, "/export")
    target = os.path.join(conversation.workspace, os.path.expanduser(argument)) if argument else _unused(conversation)
    if os.path.lexists(target):
        raise OvertError(say("session.exists", path=target))
    try:
        write_export(target, export_text(path, format_for("", target)))
    except OSError as error:
        raise OvertError(say("session.unwritable", path=target, why=error.strerror)) from error
    return CommandOutcome(lines=(say("session.exported", path=target),))


def _unused(conversation: Conversation) -> str:
    """Return the path of a file in the workspace that does not exist yet."""
    start = os.path.join(conversation.workspace, f"overt-{conversation.id}")
    number = 1
    while os.path.lexists(path := f"{start}{f'-{number}' if number > 1 else ''}.md"):
        number += 1
    return path


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    names = [f"overt-{facts.conversation.id}.{ending}" for ending in ("md", "html", "json")]
    folder = facts.conversation.workspace
    return [Offer(name) for name in names if not os.path.lexists(os.path.join(folder, name))]


COMMAND = Command(name="export", run=export, usage="[FILE]", order=280, anytime=True, complete=offers)
