"""Commands of Markdown files: `/name words` starts a turn with the text of a file."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from overt.agent.agent import Agent
from overt.agent.tool_calls import run_single_call
from overt.agent.turn_rules import read_turn_rules
from overt.app.command_registry import CommandRegistry
from overt.app.context.agent_references import MARK
from overt.app.custom.extension_places import extension_places
from overt.app.services import AgentSource, ModelSwitch
from overt.app.setting import Setting
from overt.app.slash_command import Command, CommandOutcome
from overt.app.subagents.main_agent import USUAL
from overt.core.codec import compact
from overt.core.errors import OvertError, UsageError
from overt.core.events import Emit, Noticed, PrefixSet
from overt.core.ids import new_id
from overt.core.messages import Call, Message, Text
from overt.core.settings import Rule
from overt.core.text_fragments import Origin
from overt.extensions.commands import (
    CommandFile,
    FoundCommands,
    Piece,
    UnsafeArgument,
    fill_in,
    read_commands,
    split_arguments,
)
from overt.extensions.discovery import extension_folders
from overt.lib.text import first_line
from overt.lib.translations import say
from overt.safety.command import read_command
from overt.tools.bash import bash

if TYPE_CHECKING:
    from overt.app.conversation import Conversation

LONGEST_ABOUT = 80
ORDER = 1500
"""In `/help`: after the built-in commands, before the prompts of MCP servers."""
SAME_MODEL = ("", "inherit", "default")


class PreparedPrompt(Struct, frozen=True, kw_only=True):
    """A prompt as it is sent. `@` names files in `own_text` only, not in what commands have printed."""

    message: Message
    own_text: str


class CommandTurn(Struct, frozen=True, kw_only=True):
    """A turn with the prompt of a command: what holds while it runs, and how the prompt is made at its start.

    `make_prompt` runs the commands in the text. If one of them may not run, it says so and returns None.
    """

    name: str
    make_prompt: Callable[[Agent, Emit], Awaitable[PreparedPrompt | None]]
    rules: tuple[Rule, ...] = ()
    model: str = ""
    notices: tuple[str, ...] = ()

    async def begin(self, agents: AgentSource, agent: Agent, opening: PrefixSet, emit: Emit) -> ModelSwitch | None:
        """Let the rules hold, and make an agent with the model of the command, if it names one that is available."""
        agent.runtime.gate.permissions.add_turn_rules(self.rules)
        for notice in self.notices:
            emit(Noticed(text=notice, level="warning"))
        try:
            return await agents.switch(self.model, agent, opening) if self.model else None
        except OvertError as error:
            why = error.message.partition("\n")[0]
            emit(Noticed(text=say("commands.no_model", name=self.name, model=self.model, why=why), level="warning"))
            return None


def file_commands(setting: Setting) -> Iterator[Command]:
    """Return a command of the chat for each file."""
    return map(make_command, _find_commands(setting).commands)


def list_commands(setting: Setting) -> tuple[CommandFile, ...]:
    """Return all command files by name, those that are not used included."""
    found, built_in = _find_commands(setting), CommandRegistry()
    first = {file.name: file.where for file in found.commands}
    files = [
        replace(file, unused=say("commands.built_in")) if built_in.is_reserved(file.name) else file
        for file in found.commands
    ]
    files += [replace(file, unused=say("commands.shadowed_by", file=first[file.name])) for file in found.shadowed]
    return tuple(sorted(files, key=lambda file: (file.name, bool(file.unused))))


def _find_commands(setting: Setting) -> FoundCommands:
    return read_commands(extension_folders(extension_places(setting), "commands"))


def make_command(file: CommandFile) -> Command:
    async def run(conversation: "Conversation", argument: str) -> CommandOutcome:
        turn = make_turn(file, argument, conversation.setting, agent=_find_agent(file.agent, conversation))
        return CommandOutcome(play=lambda: conversation.run_command_turn(turn))

    about = first_line(file.description, LONGEST_ABOUT)
    return Command(
        name=file.name,
        run=run,
        about=f"{about} ({file.where})" if about else file.where,
        usage=file.argument_hint or "[ARGUMENTS]",
        order=ORDER,
        asks_for_argument=bool(file.argument_hint),
        is_prompt=True,
    )


def _find_agent(name: str, conversation: "Conversation") -> str:
    """Return the agent that runs a command, or an empty string if it does not exist or may not be started."""
    if not name or conversation.agents is None or "task" not in conversation.agent.spec.tools:
        return ""
    rules = conversation.agent.runtime.gate.permissions.rules
    profile = conversation.agents.library.find_startable(name, rules, None)
    return profile.name if profile else ""


def make_turn(file: CommandFile, argument: str, setting: Setting, *, agent: str = "") -> CommandTurn:
    """Fill the arguments in and read the rules. Raise an error for a file without text or arguments that are unsafe.

    With an `agent`, the prompt asks the model to delegate to it.
    """
    if not file.body:
        raise OvertError(say("commands.unusable", name=f"/{file.name}", file=file.where, why=file.problem))
    try:
        pieces = fill_in(file.body, split_arguments(argument))
    except UnsafeArgument as error:
        raise UsageError(say("commands.unsafe", name=f"/{file.name}", why=str(error))) from None
    for piece in pieces:
        if piece.is_command and not _runs_the_same(piece):
            raise UsageError(say("commands.second_command", name=f"/{file.name}", command=piece.text))
    rules = read_turn_rules(
        file.allowed_tools, file.disallowed_tools, origin=file.where, tools=lambda: setting.tools.rule_names
    )
    is_missing = file.agent and not agent and file.agent != USUAL
    unused = say("commands.agent_unused", name=f"/{file.name}", agent=file.agent) if is_missing else ""
    origin = Origin(kind="user", where=f"/{file.name}", detail=file.where)
    return CommandTurn(
        name=f"/{file.name}",
        make_prompt=lambda runner, emit: _make_prompt(pieces, origin, runner, emit, delegate=agent),
        rules=rules.rules,
        model="" if file.model in SAME_MODEL else file.model,
        notices=(*rules.problems, *((unused,) if unused else ())),
    )


def _runs_the_same(piece: Piece) -> bool:
    """True if the arguments do not change which programs a command runs.

    They are quoted already. This catches the places where a quoted word is code, as in `sh -c "… $1"`.
    """
    if piece.text == piece.without_arguments:
        return True
    expected, filled = read_command(piece.without_arguments).commands, read_command(piece.text).commands
    programs = [(one.split(" ")[0], other.split(" ")[0]) for one, other in zip(expected, filled, strict=False)]
    return len(expected) == len(filled) and all(one in (other, "1") for one, other in programs)


async def _make_prompt(
    pieces: Sequence[Piece], origin: Origin, agent: Agent, emit: Emit, *, delegate: str
) -> PreparedPrompt | None:
    texts: list[str] = []
    for piece in pieces:
        output = await _run_inserted(piece.text, agent, emit) if piece.is_command else piece.text
        if output is None:
            emit(Noticed(text=say("commands.stopped", name=origin.where, command=piece.text), level="error"))
            return None
        texts.append(output)
    own_text = "".join(piece.text for piece in pieces if not piece.is_command)
    own_text += f"\n@{MARK}{delegate}" if delegate else ""
    message = Message(role="user", parts=(Text(text="".join(texts).strip()),), origin=origin)
    return PreparedPrompt(message=message, own_text=own_text)


async def _run_inserted(command: str, agent: Agent, emit: Emit) -> str | None:
    """Run a command through the gate and the sandbox, as if the model had called it.

    Return its bounded output, or None if it was denied.
    """
    call = Call(id=new_id(), name=bash.name, arguments=compact({"command": command}))
    finished = await run_single_call(agent, call, {bash.name: bash}, emit)
    return None if finished.code else finished.result.text()
