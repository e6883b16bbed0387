"""The slash commands by name: what each takes, where it may run, and the value it returns."""

from collections.abc import Awaitable, Callable
from enum import Enum

from msgspec import Struct

from overt.core.errors import OvertError
from overt.core.events import TurnEnded
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
"""Commands that stand in this file. Any other is in a module of its own."""

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
    play: Callable[[], Awaitable[TurnEnded]] | None = None
    resume: str = ""
    value: str = ""
    panel: str = ""


def named(text: str) -> tuple[str, str]:
    """The command that a line beginning with a slash means, by its own name, and its argument."""
    name, _, argument = text[1:].strip().partition(" ")
    return ALIASES.get(name, name) or "help", argument.strip()


def misused(name: str) -> OvertError:
    """For a command that was given what it does not take."""
    return OvertError(say("chat.usage", usage=f"/{name} {USAGE[name]}".strip()))
