"""What a slash command is: how it is written, what runs it, what completes it, and the value it returns."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from overt.core.errors import OvertError
from overt.core.events import TurnEnded
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.completion.completion_facts import CompletionFacts
    from overt.app.conversation import Conversation


class Action(Enum):
    """What the frontend must do itself; `CommandOutcome.value` says more."""

    NOTHING = "nothing"
    NEW = "new"
    LEAVE = "leave"
    THEME = "theme"
    EDITOR = "editor"
    COPY = "copy"


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """The result of a command.

    `play` starts a turn for the frontend to follow; `resume` is the session to continue, with the action NEW. `value`
    is the theme or the text to copy that an action is about, `panel` the inspector to open. `paged` lines are shown in
    an inspector where the frontend has one.
    """

    lines: tuple[str, ...] = ()
    action: Action = Action.NOTHING
    play: Callable[[], asyncio.Task[TurnEnded]] | None = None
    resume: str = ""
    value: str = ""
    panel: str = ""
    paged: bool = False


class Offer(NamedTuple):
    """One completion of a command's whole argument, so that `revoke bash(git push:*)` needs no grammar of its own.

    `label` is shown where the text is too long; typing `also` matches it too. If `more` is set, another word must or
    may follow and is offered next.
    """

    text: str
    detail: str = ""
    label: str = ""
    also: str = ""
    more: bool = False


Run = Callable[["Conversation", str], Awaitable[CommandOutcome]]
Complete = Callable[["CompletionFacts", str], Awaitable[Sequence[Offer]]]
Query = Callable[["Conversation", str, int], Coroutine[object, None, object]]


class Command(Struct, frozen=True, kw_only=True):
    """One slash command.

    `usage` is what it takes; what may be left out stands in brackets. `order` sorts `/help` and the menu. An `anytime`
    command may run during a turn. `panel` is the inspector that a frontend opens for the command without an argument,
    or `lines` to show its lines in one. `queries` are what inspectors of this command look up or do, by kind. A
    command that `needs_argument`, or `asks_for_argument` because it says little without one, does not run on Enter in
    the menu: the menu offers arguments first. If it `is_prompt`, it starts a turn with a prompt of its own, also in a
    non-interactive run.
    """

    name: str
    run: Run
    about: str = ""
    usage: str = ""
    aliases: tuple[str, ...] = ()
    order: int = 1000
    anytime: bool = False
    only_terminal: bool = False
    panel: str = ""
    complete: Complete | None = None
    needs_argument: bool = False
    asks_for_argument: bool = False
    queries: Mapping[str, Query] = {}
    is_prompt: bool = False

    def describe(self) -> str:
        """Return the line about this command in `/help`."""
        return self.about or say(f"slash.{self.name}")

    def usage_error(self) -> OvertError:
        """Return the error for an argument that the command does not take."""
        return OvertError(say("chat.usage", usage=f"/{self.name} {self.usage}".strip()))


def require_session_file(conversation: "Conversation", command: str) -> str:
    """Return the path of the session file, or raise an error that names the command that needs it."""
    if not conversation.path or not os.path.exists(conversation.path):
        raise no_session_file(command)
    return conversation.path


def no_session_file(command: str) -> OvertError:
    return OvertError(say("session.no_file", what=command))


def offer_words(*words: str) -> Complete:
    async def offers(_facts: "CompletionFacts", _argument: str) -> Sequence[Offer]:
        return [Offer(word) for word in words]

    return offers
