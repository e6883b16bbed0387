"""Skills as commands of the chat: `/name words` starts a turn with the text of the skill."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from overt.app.skills.library import SkillLibrary
from overt.app.slash_command import Command, CommandOutcome
from overt.core.events import TurnEnded
from overt.core.text_fragments import Origin
from overt.lib.text import first_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation
    from overt.extensions.skills import Skill

LONGEST_ABOUT = 80


def skill_commands(library: SkillLibrary) -> Iterator[Command]:
    """Return a command for each skill that the user may run."""
    for skill in library.for_user.values():
        yield _make_command(library, skill)


def _make_command(library: SkillLibrary, skill: "Skill") -> Command:
    async def run(conversation: "Conversation", argument: str) -> CommandOutcome:
        loaded = library.read(skill, argument)
        task = f"The user ran /{skill.name} {argument}".rstrip()

        def play() -> asyncio.Task[TurnEnded]:
            library.activate(skill)
            origin = Origin(kind="user", where=f"/{skill.name}")
            return conversation.prompt(f"{loaded.for_model()}\n\n{task}", origin=origin)

        return CommandOutcome(play=play)

    about = first_line(skill.description, LONGEST_ABOUT)
    return Command(
        name=skill.name,
        run=run,
        about=say("skills.command", about=about, where=skill.where),
        usage=skill.argument_hint or "[TEXT]",
        order=1900,
        is_prompt=True,
    )
