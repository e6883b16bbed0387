"""Slash commands: what a person may say to the program instead of the model."""

from collections.abc import AsyncGenerator, Callable
from enum import Enum
from typing import get_args

from msgspec import Struct

from overt.app.conversation import Conversation
from overt.app.options import CLAUDE_MODES
from overt.core.errors import OvertError
from overt.core.events import Event
from overt.core.late import late
from overt.core.settings import Mode
from overt.lib.catalogue import say

USAGE: dict[str, str] = {
    "help": "",
    "new": "",
    "resume": "[ID | NAME]",
    "retry": "",
    "compact": "[WHAT TO KEEP]",
    "context": "[all]",
    "cost": "",
    "stats": "[all]",
    "status": "",
    "mode": "[review | auto | plan | yolo]",
    "plan": "[TASK]",
    "model": "[MODEL]",
    "models": "[MODEL]",
    "effort": "[LEVEL]",
    "budget": "[DOLLARS | off]",
    "permissions": "[revoke RULE | revoke N]",
    "todo": "",
    "jobs": "[ID | stop ID]",
    "diff": "",
    "undo": "[--yes] [--force] [--git]",
    "redo": "[--force]",
    "rewind": "[TURN [conversation | files | both] [--yes] [--force] [--git]]",
    "review": "[WHAT]",
    "init": "",
    "pin": "[last | WORDS | --off N]",
    "memory": "[add [--global] TEXT | remove NAME]",
    "fork": "[TURN]",
    "rename": "NAME",
    "export": "[FILE]",
    "copy": "[N]",
    "config": "[all | KEY]",
    "doctor": "",
    "theme": "[auto | dark | light]",
    "editor": "",
    "exit": "",
}
"""Every command in the order in which `/help` lists them, and what it takes."""

NAMES = tuple(USAGE)
ALIASES = {
    "quit": "exit",
    "q": "exit",
    "clear": "new",
    "todos": "todo",
    "?": "help",
    "branch": "fork",
    "usage": "cost",
    "continue": "resume",
    "sessions": "resume",
    "tasks": "jobs",
    "settings": "config",
}
HERE = frozenset({"help", "new", "retry", "compact", "exit", "mode", "plan", "todo", "theme", "editor"})
"""Commands that stand in this file. Any other is `late("slash.NAME")`: `async (conversation, argument) -> Done`."""

ANYTIME = frozenset(
    {
        *("help", "context", "cost", "stats", "status", "mode", "model", "models", "permissions", "todo", "jobs"),
        *("effort", "budget"),
        *("diff", "pin", "memory", "rename", "export", "copy", "config", "doctor", "theme", "editor", "exit"),
    }
)
"""Commands that may run while a turn does."""

PANELS = {
    "help": "help",
    "context": "context",
    "model": "models",
    "models": "models",
    "permissions": "permissions",
    "todo": "todo",
    "jobs": "jobs",
    "diff": "diff",
    "rewind": "rewind",
    "resume": "sessions",
}
"""What a face with inspectors opens for a command that says nothing more."""

THEMES = ("auto", "dark", "light")
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Action(Enum):
    """What the face must do itself; `Done.value` says more."""

    NOTHING = "nothing"
    NEW = "new"
    LEAVE = "leave"
    THEME = "theme"
    EDITOR = "editor"
    COPY = "copy"


class Done(Struct, frozen=True, kw_only=True):
    """`play` is a turn for the face to follow; `resume` the session to go on with, with the action NEW.

    `value` is the theme or the text to copy that an action is about, `panel` the inspector to open.
    """

    lines: tuple[str, ...] = ()
    action: Action = Action.NOTHING
    play: Callable[[], AsyncGenerator[Event, None]] | None = None
    resume: str = ""
    value: str = ""
    panel: str = ""


def named(text: str) -> tuple[str, str]:
    """The command that a line beginning with a slash means, by its own name, and its argument."""
    name, _, argument = text[1:].strip().partition(" ")
    return ALIASES.get(name, name) or "help", argument.strip()


def misused(name: str) -> OvertError:
    """For a command that was given what it does not take."""
    return OvertError(say("chat.usage", name=f"/{name}", usage=f"/{name} {USAGE[name]}".strip()))


async def slash(conversation: Conversation, text: str, *, panels: bool = False) -> Done:
    """`panels`: the face has inspectors, themes, an editor and a clipboard; without them, lines say what there is."""
    name, argument = named(text)
    if name not in USAGE:
        near = late("difflib").get_close_matches(name, (*NAMES, *ALIASES), n=1)
        raise OvertError(say("chat.unknown", name=f"/{name}") + (f" (/{near[0]}?)" if near else ""))
    if argument and not USAGE[name]:
        raise misused(name)
    if panels and not argument and name in PANELS:
        return Done(panel=PANELS[name])
    if not panels and name in ("theme", "editor", "copy"):
        raise OvertError(say("chat.only_terminal", name=f"/{name}"))
    if name in HERE:
        return _here(conversation, name, argument)
    done: Done = await late(f"slash.{name}")(conversation, argument)
    return done


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
