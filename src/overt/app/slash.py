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

NAMES = (
    "help", "new", "retry", "compact", "context", "undo", "redo", "rewind", "pin", "memory", "fork", "rename",
    "export", "mode", "model", "todo", "status", "exit",
)  # fmt: skip
ALIASES = {
    "quit": "exit",
    "q": "exit",
    "clear": "new",
    "todos": "todo",
    "models": "model",
    "?": "help",
    "branch": "fork",
}
LATE = frozenset({"context", "undo", "redo", "rewind", "pin", "memory", "fork", "rename", "export", "status"})
"""Commands with a module of their own: `late("slash.NAME")` is `async (conversation, argument) -> Done`."""
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Action(Enum):
    """What the face must do itself."""

    NOTHING = "nothing"
    NEW = "new"
    LEAVE = "leave"


class Done(Struct, frozen=True, kw_only=True):
    """`play` is a turn for the face to follow; `resume` the session to go on with, with the action NEW."""

    lines: tuple[str, ...] = ()
    action: Action = Action.NOTHING
    play: Callable[[], AsyncGenerator[Event, None]] | None = None
    resume: str = ""


async def slash(conversation: Conversation, text: str) -> Done:
    name, _, argument = text[1:].strip().partition(" ")
    name = ALIASES.get(name, name)
    match name:
        case "help" | "":
            return Done(lines=(say("chat.help"), *(f"  /{each:9}{say(f'slash.{each}')}" for each in NAMES)))
        case "new":
            return Done(action=Action.NEW)
        case "retry":
            return Done(play=conversation.retry)
        case "compact":
            return Done(play=lambda: conversation.compact(argument.strip()))
        case "exit":
            return Done(action=Action.LEAVE)
        case "mode":
            return _mode(conversation, argument.strip())
        case "model":
            return await _model(conversation, argument.strip())
        case "todo":
            items = tuple(f"{MARKS[item.status]} {item.content}" for item in conversation.history.todos)
            return Done(lines=items or (say("chat.no_todos"),))
        case _ if name in LATE:
            done: Done = await late(f"slash.{name}")(conversation, argument.strip())
            return done
        case _:
            near = late("difflib").get_close_matches(name, NAMES, n=1)
            raise OvertError(say("chat.unknown", name=f"/{name}") + (f" (/{near[0]}?)" if near else ""))


def _mode(conversation: Conversation, wanted: str) -> Done:
    if wanted:
        mode = CLAUDE_MODES.get(wanted)
        if mode is None or wanted == "dontAsk":
            raise OvertError(f"There is no mode {wanted!r}; modes are {', '.join(get_args(Mode))}.")
        conversation.set_mode(mode)  # type: ignore[arg-type]
    return Done(lines=(say("chat.mode", mode=conversation.mode),))


async def _model(conversation: Conversation, wanted: str) -> Done:
    if wanted:
        await conversation.set_model(wanted)
        return Done(lines=(say("chat.model", model=conversation.agent.params.model),))
    known = await conversation.agent.provider.models()
    current = conversation.agent.params.model
    return Done(lines=(say("chat.model", model=current), *(f"  {name}" for name in known if name != current)))
