"""Slash commands: what a person may say to the program instead of the model."""

from enum import Enum
from typing import get_args

from msgspec import Struct

from overt.app.conversation import Conversation
from overt.app.options import CLAUDE_MODES
from overt.core.errors import OvertError
from overt.core.late import late
from overt.core.settings import Mode
from overt.engine.gate import told_of_sandbox
from overt.lib.catalogue import say
from overt.lib.tokens import estimate

NAMES = ("help", "new", "retry", "mode", "model", "todo", "status", "exit")
ALIASES = {"quit": "exit", "q": "exit", "clear": "new", "todos": "todo", "models": "model", "?": "help"}
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Action(Enum):
    """What the face must do itself."""

    NOTHING = "nothing"
    RETRY = "retry"
    NEW = "new"
    LEAVE = "leave"


class Done(Struct, frozen=True, kw_only=True):
    lines: tuple[str, ...] = ()
    action: Action = Action.NOTHING


async def slash(conversation: Conversation, text: str) -> Done:
    name, _, argument = text[1:].strip().partition(" ")
    name = ALIASES.get(name, name)
    match name:
        case "help":
            return Done(lines=(say("chat.help"), *(f"  /{each:8} {say(f'slash.{each}')}" for each in NAMES)))
        case "new":
            return Done(action=Action.NEW)
        case "retry":
            return Done(action=Action.RETRY)
        case "exit":
            return Done(action=Action.LEAVE)
        case "mode":
            return _mode(conversation, argument.strip())
        case "model":
            return await _model(conversation, argument.strip())
        case "todo":
            items = tuple(f"{MARKS[item.status]} {item.content}" for item in conversation.history.todos)
            return Done(lines=items or (say("chat.no_todos"),))
        case "status":
            told = told_of_sandbox(conversation.agent.hands.guess())
            balance = await conversation.agent.provider.balance()
            beside = (
                told,
                say("chat.offline", why=conversation.offline) if conversation.offline else "",
                say("chat.balance", balance=balance) if balance else "",
            )
            return Done(lines=(_status(conversation), *filter(None, beside)))
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


def _status(conversation: Conversation) -> str:
    agent = conversation.agent
    system = agent.prefix.system_text()
    used = estimate(system) + sum(
        estimate(str(message)) for message in (*agent.prefix.shots, *conversation.history.messages)
    )
    return say(
        "chat.status",
        model=agent.params.model,
        mode=conversation.mode,
        sandbox=agent.hands.guess().kind,
        id=conversation.id,
        turns=conversation.turn,
        used=used,
        limit=conversation.window or "?",
        input=conversation.usage.input,
        cached=conversation.usage.cached,
        output=conversation.usage.output,
    )
