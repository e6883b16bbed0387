"""The tree of sub-agents below one session: what each is doing, and how the user stops or steers it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError
from overt.core.events import (
    Event,
    PermissionAsked,
    PermissionDecided,
    RequestSent,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from overt.core.questions import FormAsked, FormClosed
from overt.core.spending.spend import Totals
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation
    from overt.app.subagents.profiles import AgentLibrary

NodeState = Literal["running", "asking", "done", "stopped", "failed"]


class AgentNode(Struct, frozen=True, kw_only=True):
    """One sub-agent as the user sees it. `activity` is what it does now: a call, or empty while the model thinks."""

    path: str
    session: str
    session_path: str
    profile: str
    description: str = ""
    model: str = ""
    state: NodeState = "running"
    steps: int = 0
    spent: Totals = Totals()
    activity: str = ""
    isolated: bool = False

    @property
    def depth(self) -> int:
        return self.path.count("/")

    @property
    def is_live(self) -> bool:
        return self.state in ("running", "asking")


class AgentTree:
    """All sub-agents that a session has started in this process, at any depth, in the order of their start. `library`
    holds the agents that there are to start."""

    def __init__(self, root: str, library: "AgentLibrary") -> None:
        """`root` is the id of the session."""
        self.root = root
        self.library = library
        self._nodes: dict[str, AgentNode] = {}
        self._conversations: dict[str, Conversation] = {}
        self._names: dict[str, int] = {}

    def __iter__(self) -> Iterator[AgentNode]:
        """Give the nodes with each agent before those that it has started."""
        return iter(sorted(self._nodes.values(), key=lambda node: _order(node.path)))

    def new_path(self, parent: str, profile: str) -> str:
        """Return a path that no agent of this session has had: `main/explore-2`."""
        stem = f"{parent}/{profile.replace('/', '-')}"
        self._names[stem] = self._names.get(stem, 0) + 1
        return f"{stem}-{self._names[stem]}"

    def add(self, node: AgentNode, conversation: "Conversation") -> None:
        self._nodes[node.path] = node
        self._conversations[node.path] = conversation

    def end(self, path: str, state: NodeState) -> None:
        """Note that an agent has ended. What it has spent and its session stay in the tree."""
        self._conversations.pop(path, None)
        self._nodes[path] = replace(self._nodes[path], state=state, activity="")

    def find(self, path: str) -> AgentNode | None:
        return self._nodes.get(path)

    def conversation(self, path: str) -> "Conversation | None":
        """Return the live conversation of an agent, or None if it has ended."""
        return self._conversations.get(path)

    def running(self) -> tuple[AgentNode, ...]:
        return tuple(node for node in self if node.is_live)

    def see(self, path: str, event: Event) -> None:
        """Keep what an agent is doing, from an event of its own session."""
        node, conversation = self._nodes[path], self._conversations.get(path)
        if conversation is not None:
            node = replace(node, spent=conversation.spend.session)
        if event.agent == "main":
            node = _follow(node, event)
        self._nodes[path] = node

    def stop(self, path: str) -> None:
        """Stop a running agent and everything below it. What waits for records does not hold up the processes."""
        conversation = self._live(path)
        conversation.interrupt()
        conversation.session_workspace.end_jobs()

    def steer(self, path: str, text: str) -> None:
        """Give a running agent a message, which it reads before its next request."""
        self._live(path).inbox.steer(text)

    def _live(self, path: str) -> "Conversation":
        conversation = self._conversations.get(path)
        if conversation is None:
            raise OvertError(say("agents.not_running", path=path))
        return conversation


def _order(path: str) -> list[tuple[str, int]]:
    """Sort siblings by name and number, so that `explore-10` comes after `explore-9`."""
    parts = (part.rpartition("-") for part in path.split("/"))
    return [(name, int(number) if number.isdigit() else 0) for name, _, number in parts]


def _follow(node: AgentNode, event: Event) -> AgentNode:
    match event:
        case RequestSent(purpose="step"):
            return replace(node, steps=node.steps + 1, activity="")
        case ToolStarted(call=call, headline=headline):
            return replace(node, activity=f"{call.name} {headline}".strip())
        case ToolFinished():
            return replace(node, activity="")
        case PermissionAsked() | FormAsked():
            return replace(node, state="asking")
        case PermissionDecided() | FormClosed():
            return replace(node, state="running")
        case TurnEnded():
            return replace(node, activity="")
        case _:
            return node
