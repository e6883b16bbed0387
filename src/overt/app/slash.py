"""Run a slash command: what a person may say to the program instead of the model."""

from typing import get_args

from overt.app.command_table import (
    ALIASES,
    HERE,
    MARKS,
    NAMES,
    PANELS,
    THEMES,
    USAGE,
    Action,
    Done,
    misused,
    named,
)
from overt.app.conversation import Conversation
from overt.app.options import CLAUDE_MODES
from overt.app.slash_load import load_command
from overt.core.errors import OvertError
from overt.core.settings import Mode
from overt.lib.catalogue import say


async def slash(conversation: Conversation, text: str, *, panels: bool = False) -> Done:
    """`panels`: the face has inspectors, themes, an editor and a clipboard; without them, lines say what there is."""
    name, argument = named(text)
    if name not in USAGE:
        import difflib  # late: 0.5 ms

        near = difflib.get_close_matches(name, (*NAMES, *ALIASES), n=1)
        raise OvertError(say("chat.unknown", name=f"/{name}") + (f" (/{near[0]}?)" if near else ""))
    if argument and not USAGE[name]:
        raise misused(name)
    if panels and not argument and name in PANELS:
        return Done(panel=PANELS[name])
    if not panels and name in ("theme", "editor", "copy"):
        raise OvertError(say("chat.only_terminal", name=f"/{name}"))
    if name in HERE:
        return _here(conversation, name, argument)
    return await load_command(name)(conversation, argument)


def _here(conversation: Conversation, name: str, argument: str) -> Done:
    match name:
        case "help":
            return Done(lines=(say("chat.help"), *(f"  /{each:12}{say(f'slash.{each}')}" for each in NAMES)))
        case "new":
            return Done(action=Action.NEW)
        case "retry":
            return Done(play=conversation.retry)
        case "compact":
            return Done(play=lambda: conversation.compact(argument))
        case "exit":
            return Done(action=Action.LEAVE)
        case "mode":
            return _mode(conversation, argument)
        case "plan":
            done = _mode(conversation, "plan")
            return Done(lines=done.lines, play=(lambda: conversation.prompt(argument)) if argument else None)
        case "todo":
            items = tuple(f"{MARKS[item.status]} {item.content}" for item in conversation.history.todos)
            return Done(lines=items or (say("chat.no_todos"),))
        case "theme":
            if argument and argument not in THEMES:
                raise misused(name)
            return Done(action=Action.THEME, value=argument)
        case _:
            return Done(action=Action.EDITOR)


def _mode(conversation: Conversation, wanted: str) -> Done:
    if wanted:
        mode = CLAUDE_MODES.get(wanted)
        if mode is None or wanted == "dontAsk":
            raise OvertError(f"There is no mode {wanted!r}; modes are {', '.join(get_args(Mode))}.")
        conversation.set_mode(mode)  # type: ignore[arg-type]
    return Done(lines=(say("chat.mode", mode=conversation.mode),))
