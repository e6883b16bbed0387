"""Queries of the user about sub-agents: the tree, the events and requests of one, and a fork of it."""

import asyncio
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from overt import __version__
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import AgentEvents, AgentListing, Contents, ForkedAgent, RequestBody
from overt.app.session import HIDDEN_AGENTS, Subscription
from overt.app.slash_command import no_session_file
from overt.app.subagents.tree import AgentNode, AgentTree
from overt.core.errors import OvertError
from overt.core.events import Event
from overt.lib.translations import say
from overt.sessions.fork import fork
from overt.sessions.index import find_path
from overt.sessions.load import load
from overt.sessions.names import id_of


def agent_tree(conversation: Conversation) -> AgentTree:
    if conversation.agents is None:
        raise OvertError(say("agents.none"))
    return conversation.agents


def list_agents(conversation: Conversation) -> AgentListing:
    tree = conversation.agents
    if tree is None:
        return AgentListing((), ())
    return AgentListing(tuple(tree), tree.library.startable(conversation.agent.runtime.gate.permissions.rules))


def session_file(conversation: Conversation, node: AgentNode) -> str:
    """Return the path of an agent's session, or raise an error if it is not stored."""
    if node.session_path:
        return node.session_path
    if not conversation.path:
        raise no_session_file("/agents")
    return find_path(conversation.setting.environment.data_dir, node.session)


async def read_events(conversation: Conversation, reference: str, start: int) -> AgentEvents:
    """Return the events of an agent from number `start` on."""
    tree = agent_tree(conversation)
    node = tree.resolve(reference)
    follower = _FOLLOWERS.setdefault(tree, AgentFollower())
    if not follower.follows(node):
        if live := tree.conversation(node.path):
            follower.subscribe(node, live)
        else:
            path = session_file(conversation, node)
            follower.keep(node, await asyncio.to_thread(_read_file, path))
    return AgentEvents(tree.resolve(node.path), start, follower.events(start))


def _read_file(path: str) -> list[Event]:
    return [entry.data for entry in load(path).entries if entry.agent not in HIDDEN_AGENTS]


class AgentFollower:
    """Keeps the events of the agent that was shown last. While that agent runs, new events are added, streamed text
    included."""

    def __init__(self) -> None:
        self._session = ""
        self._events: list[Event] = []
        self._subscription: Subscription | None = None

    def follows(self, node: AgentNode) -> bool:
        return self._session == node.session

    def subscribe(self, node: AgentNode, conversation: Conversation) -> None:
        self.keep(node, [])
        session = conversation.session
        self._subscription = session.subscribe(self._events.append, name="agent inspector", catch_up=True)

    def keep(self, node: AgentNode, events: list[Event]) -> None:
        if self._subscription:
            self._subscription.close()
        self._session, self._events, self._subscription = node.session, events, None

    def events(self, start: int) -> tuple[Event, ...]:
        return tuple(self._events[start:])


async def show_context(conversation: Conversation, reference: str, number: int) -> Contents:
    """Return a request of an agent by its number. 0 is the next one or, if the agent has ended, its last."""
    from overt.app.context.request_contents import recorded_contents, request_contents  # late: 2 ms

    node = agent_tree(conversation).resolve(reference)
    if live := agent_tree(conversation).conversation(node.path):
        return await request_contents(live, number)
    path, wires = session_file(conversation, node), conversation.setting.registries.wires
    return await asyncio.to_thread(recorded_contents, path, wires, number)


async def show_body(conversation: Conversation, reference: str, number: int) -> RequestBody:
    from overt.app.context.request_contents import recorded_body, request_body  # late: 2 ms

    node = agent_tree(conversation).resolve(reference)
    if live := agent_tree(conversation).conversation(node.path):
        return await request_body(live, number)
    path, wires = session_file(conversation, node), conversation.setting.registries.wires
    return await asyncio.to_thread(recorded_body, path, wires, number)


async def fork_agent(conversation: Conversation, reference: str, step: int | None) -> ForkedAgent:
    """Copy what an agent did up to the end of a step into a session of its own."""
    node = agent_tree(conversation).resolve(reference)
    copy = await asyncio.to_thread(_fork, session_file(conversation, node), step)
    return ForkedAgent(node, id_of(copy))


def _fork(path: str, step: int | None) -> str:
    return fork(path, step=step, overt=__version__)


async def agent_text(conversation: Conversation, reference: str) -> Sequence[str]:
    """Return what an agent has said and done so far, as Markdown."""
    from overt.app.records.archive import export_text  # late: 6 ms

    path = session_file(conversation, agent_tree(conversation).resolve(reference))
    return (await asyncio.to_thread(export_text, path, "markdown")).splitlines()


_FOLLOWERS: WeakKeyDictionary[AgentTree, AgentFollower] = WeakKeyDictionary()
"""One per tree: an inspector shows one agent at a time."""
