"""Slash commands on the session itself: fork, rename, export, pin."""

import os

from overt import __version__
from overt.app.command_table import Action, Done
from overt.app.conversation import Conversation
from overt.app.records.archive import export_text, format_for, name_of, write_export
from overt.core.errors import OvertError
from overt.core.events import Pinned, TitleSet
from overt.lib.catalogue import say
from overt.sessions.fork import fork as fork_file
from overt.sessions.names import id_of

OFF = "--off"


async def fork(conversation: Conversation, argument: str) -> Done:
    path = _file(conversation, "/fork")
    if argument and not (argument.isascii() and argument.isdecimal() and len(argument) < 10):
        raise OvertError(say("session.not_a_turn", text=argument))
    copy = fork_file(path, turn=int(argument) if argument else None, overt=__version__)
    lines = (say("session.forked", parent=conversation.id),)
    return Done(action=Action.NEW, resume=id_of(copy), lines=lines)


async def rename(conversation: Conversation, argument: str) -> Done:
    title = name_of(conversation.redact(argument))
    if not title:
        raise OvertError(say("session.no_name"))
    conversation.record(TitleSet(title=title, model=""))
    return Done(lines=(say("session.named", title=title),))


async def export(conversation: Conversation, argument: str) -> Done:
    """Never over a file that is there: what a person typed in passing should not cost them one."""
    path = _file(conversation, "/export")
    target = os.path.join(conversation.workspace, os.path.expanduser(argument)) if argument else _unused(conversation)
    if os.path.lexists(target):
        raise OvertError(say("session.exists", path=target))
    try:
        write_export(target, export_text(path, format_for("", target)))
    except OSError as error:
        raise OvertError(say("session.unwritable", path=target, why=error.strerror)) from error
    return Done(lines=(say("session.exported", path=target),))


async def pin(conversation: Conversation, argument: str) -> Done:
    """Only what was said can be pinned: else a compaction would put words into the history that nobody sent."""
    pins = conversation.history.pins
    if not argument:
        listed = tuple(f"  {number}  {_short(text)}" for number, text in enumerate(pins, 1))
        return Done(lines=(say("pin.list"), *listed) if pins else (say("pin.none"),))
    if argument.split()[0] == OFF:
        number = argument.removeprefix(OFF).strip()
        if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= len(pins)):
            raise OvertError(say("pin.no_number", number=number or "?"))
        text = pins[int(number) - 1]
        conversation.record(Pinned(text=text, off=True))
        return Done(lines=(say("pin.removed", text=_short(text)),))
    text = _last(conversation) if argument == "last" else _said(conversation, argument)
    conversation.record(Pinned(text=text))
    return Done(lines=(say("pin.added", text=_short(text)),))


def _prompts(conversation: Conversation) -> list[str]:
    return [message.text() for message in conversation.history.messages if message.origin.kind == "user"]


def _last(conversation: Conversation) -> str:
    prompts = _prompts(conversation)
    if not prompts:
        raise OvertError(say("pin.no_prompt"))
    return prompts[-1]


def _said(conversation: Conversation, words: str) -> str:
    """The words as they were said; how they were broken into lines does not matter for finding them."""
    wanted = words.split()
    for prompt in reversed(_prompts(conversation)):
        if words in prompt:
            return words
        if " ".join(wanted) in " ".join(prompt.split()):
            return " ".join(wanted)
    raise OvertError(say("pin.not_said"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"


def _file(conversation: Conversation, what: str) -> str:
    if not conversation.path or not os.path.exists(conversation.path):
        raise OvertError(say("session.no_file", what=what))
    return conversation.path


def _unused(conversation: Conversation) -> str:
    """A name in the workspace that nothing has yet."""
    start = os.path.join(conversation.workspace, f"overt-{conversation.id}")
    number = 1
    while os.path.lexists(found := f"{start}{f'-{number}' if number > 1 else ''}.md"):
        number += 1
    return found
