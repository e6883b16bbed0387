"""`/mcp`: how the MCP servers are doing, what one offers, and connecting or logging in again."""

import asyncio
from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.errors import OvertError
from overt.core.events import Noticed
from overt.lib.logs.background import log_failure
from overt.lib.translations import say

ACTIONS = ("reconnect", "login")


async def mcp(conversation: Conversation, argument: str) -> CommandOutcome:
    shared = conversation.session_workspace.shared
    known, problems = shared.known_servers, shared.configured_servers.problems
    if known is None:
        return CommandOutcome(lines=(say("mcp.none"),))
    from overt.app.mcp.describe_servers import manifest_lines, state_lines  # late: 12 ms

    servers = shared.servers()
    match argument.split():
        case []:
            return CommandOutcome(lines=tuple(state_lines(servers.list_states(), problems)))
        case ["reconnect", name] if name in known.entries:
            return CommandOutcome(lines=tuple(manifest_lines(name, await servers.reconnect(name))))
        case ["login", name] if name in known.entries:
            return CommandOutcome(lines=(await _log_in(conversation, name),))
        case [name] if name in known.entries:
            return CommandOutcome(lines=tuple(manifest_lines(name, await servers.load_manifest(name))))
        case [name] if name not in ACTIONS:
            raise OvertError(say("mcp.unknown", name=name))
        case _:
            raise COMMAND.usage_error()


async def _log_in(conversation: Conversation, name: str) -> str:
    from overt.app.chat.browser import open_page  # late: 2 ms
    from overt.mcp.messages import OpenPage  # late: 3 ms

    def show_page(page: OpenPage) -> None:
        conversation.session.publish(Noticed(text=say("mcp.open_page", name=name, url=page.url)))
        opening = asyncio.ensure_future(asyncio.to_thread(open_page, page.url, conversation.workspace))
        opening.add_done_callback(log_failure("mcp"))

    logged_in = await conversation.session_workspace.shared.servers().log_in(name, show_page)
    return say("mcp.logged_in", name=name, issuer=logged_in.issuer)


async def offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    known = facts.conversation.session_workspace.shared.known_servers
    names = [entry.name for entry in known.enabled] if known else []
    verb, blank, _ = argument.partition(" ")
    if blank and verb in ACTIONS:
        return [Offer(f"{verb} {name}", label=name) for name in names]
    return [*map(Offer, names), *(Offer(action, more=True) for action in ACTIONS)]


COMMAND = Command(
    name="mcp",
    run=mcp,
    usage="[NAME | reconnect NAME | login NAME]",
    order=260,
    anytime=True,
    panel="lines",
    complete=offers,
)
