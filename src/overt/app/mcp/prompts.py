"""Prompts of MCP servers as commands of the chat: `/mcp__SERVER__PROMPT words`."""

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.errors import OvertError
from overt.core.messages import Image
from overt.core.text_fragments import Origin
from overt.lib.text import first_line, plain_name
from overt.lib.translations import say
from overt.mcp.manifest import ServerPrompt

if TYPE_CHECKING:
    from overt.app.completion.completion_facts import CompletionFacts
    from overt.app.conversation import Conversation
    from overt.mcp.manifest_cache import KnownServers

LONGEST_ABOUT = 80


def prompt_commands(known: "KnownServers") -> Iterator[Command]:
    """Return a command for each prompt of the servers whose offers are known."""
    for entry in known.enabled:
        manifest = known.manifest(entry.name)
        for prompt in manifest.prompts if manifest else ():
            yield make_command(entry.name, prompt)


def command_name(server: str, prompt: str) -> str:
    return f"mcp__{plain_name(server)}__{plain_name(prompt)}"


def make_command(server: str, prompt: ServerPrompt) -> Command:
    name = command_name(server, prompt.name)
    names = [argument.name for argument in prompt.arguments]
    required = [argument.name for argument in prompt.arguments if argument.required]
    usage = " ".join(each.upper() if each in required else f"[{each.upper()}]" for each in names)

    async def run(conversation: "Conversation", argument: str) -> CommandOutcome:
        values = read_arguments(prompt, argument)
        if missing := [each for each in required if each not in values]:
            raise OvertError(say("mcp.prompt_missing", name=f"/{name}", missing=", ".join(missing), usage=usage))
        servers = conversation.session_workspace.shared.servers()
        reply = await servers.get_prompt(server, prompt.name, values)
        texts = [part.text if role == "user" else f"[{role}] {part.text}" for role, part in reply.messages if part.text]
        images = [part for _, part in reply.messages if part.media.startswith("image/")]
        if not texts and not images:
            raise OvertError(say("mcp.prompt_empty", name=f"/{name}"))
        attached = tuple(Image(media=part.media, data=part.data) for part in images)
        origin = Origin(kind="user", where=f"/{name}")
        return CommandOutcome(play=lambda: conversation.prompt("\n\n".join(texts), attached, origin=origin))

    async def offers(_facts: "CompletionFacts", _argument: str) -> Sequence[Offer]:
        return [Offer(f"{each.name}=", each.description, more=True) for each in prompt.arguments]

    return Command(
        name=name,
        run=run,
        about=first_line(prompt.description, LONGEST_ABOUT) or say("mcp.prompt_of", server=server),
        usage=usage,
        order=2000,
        complete=offers if names else None,
        needs_argument=bool(required),
        is_prompt=True,
    )


def read_arguments(prompt: ServerPrompt, text: str) -> dict[str, str]:
    """Read `name=value` and values in their order; the last argument takes all words that are left."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    names = [argument.name for argument in prompt.arguments]
    values: dict[str, str] = {}
    positional: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            positional.append(word)
    free = [name for name in names if name not in values]
    if positional and free:
        *first, last = free
        values |= dict(zip(first, positional, strict=False))
        if rest := positional[len(first) :]:
            values[last] = " ".join(rest)
    return values
