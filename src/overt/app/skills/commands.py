"""Skills as commands of the chat: `/name words` starts a turn with the text of the skill."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from overt.agent.tool_calls import run_single_call
from overt.app.custom.command_files import CommandTurn, PreparedPrompt
from overt.app.skills.library import SkillLibrary
from overt.app.slash_command import Command, CommandOutcome
from overt.core.codec import compact
from overt.core.events import Emit, TurnEnded
from overt.core.ids import new_id
from overt.core.messages import Call, said
from overt.core.text_fragments import Origin
from overt.lib.text import first_line
from overt.lib.translations import say
from overt.tools.skill import skill as load_skill

if TYPE_CHECKING:
    from overt.agent.agent import Agent
    from overt.app.conversation import Conversation
    from overt.extensions.skills import Skill

LONGEST_ABOUT = 80


def skill_commands(library: SkillLibrary) -> Iterator[Command]:
    """Return a command for each skill that the user may run."""
    for skill in library.for_user.values():
        yield _make_command(library, skill)


def _make_command(library: SkillLibrary, skill: "Skill") -> Command:
    async def run(conversation: "Conversation", argument: str) -> CommandOutcome:
        task = f"The user ran /{skill.name} {argument}".rstrip()
        if skill.agent:
            return CommandOutcome(play=lambda: conversation.run_command_turn(_run_in_agent(skill, argument, task)))
        loaded = library.read(skill, argument)

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


def _run_in_agent(skill: "Skill", argument: str, task: str) -> CommandTurn:
    """Return a turn that runs the skill in a sub-agent, then gives its answer to the model."""

    async def make_prompt(agent: "Agent", emit: Emit) -> PreparedPrompt | None:
        call = Call(id=new_id(), name=load_skill.name, arguments=compact({"name": skill.name, "arguments": argument}))
        finished = await run_single_call(agent, call, {load_skill.name: load_skill}, emit)
        if finished.code:
            return None
        message = said(f"{finished.result.text()}\n\n{task}", origin=Origin(kind="user", where=f"/{skill.name}"))
        return PreparedPrompt(message=message, own_text="")

    return CommandTurn(name=f"/{skill.name}", make_prompt=make_prompt)
