"""The tree of sub-agents below one session: what each is doing, and ways to stop or steer it."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.core.agents.agent_paths import path_order
from overt.core.errors import OvertError
from overt.core.events import (
    EndReason,
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
    """One sub-agent as the user sees it. `calls` are the running calls and `questions` the open ones, by id.

    `session_path` is empty if the file of the session is not in the folder of the tree, as in a fork.
    """

    path: str
    session: str
    session_path: str
    profile: str
    description: str = ""
    model: str = ""
    state: NodeState = "running"
    steps: int = 0
    spent: Totals = Totals()
    calls: dict[str, str] = {}
    questions: frozenset[str] = frozenset()
    isolated: bool = False

    @property
    def activity(self) -> str:
        """The running call that started last, or an empty string while the model thinks."""
        return next(reversed(self.calls.values()), "")

    @property
    def depth(self) -> int:
        return self.path.count("/")

    @property
    def is_live(self) -> bool:
        return self.state in ("running", "asking")


class AgentTree:
    """All sub-agents of a session, at any depth. `earlier` are those from before it was resumed. `library` holds the
    agents that can be started."""

    def __init__(self, root: str, library: "AgentLibrary", earlier: Iterable[AgentNode] = ()) -> None:
        """`root` is the id of the session."""
        self.root = root
        self.library = library
        self._nodes: dict[str, AgentNode] = {node.path: node for node in earlier}
        self._conversations: dict[str, Conversation] = {}
        self._merges: dict[str, asyncio.Future[str]] = {}
        self._names: dict[str, int] = {}
        for path in self._nodes:
            stem, _, number = path.rpartition("-")
            self._names[stem] = max(self._names.get(stem, 0), int(number) if number.isdecimal() else 0)

    def __iter__(self) -> Iterator[AgentNode]:
        """Iterate over the nodes, parents first."""
        return iter(sorted(self._nodes.values(), key=lambda node: path_order(node.path)))

    def new_path(self, parent: str, profile: str) -> str:
        """Return an unused path for a new agent: `main/explore-2`."""
        stem = f"{parent}/{profile.replace('/', '-')}"
        self._names[stem] = self._names.get(stem, 0) + 1
        return f"{stem}-{self._names[stem]}"

    def add(self, node: AgentNode, conversation: "Conversation") -> None:
        self._nodes[node.path] = node
        self._conversations[node.path] = conversation

    def add_merge(self, path: str, merge: "asyncio.Future[str]") -> None:
        """Let `stop` cancel the merge of what an agent has changed while it waits for an answer of the user."""
        self._merges[path] = merge

    def end(self, path: str, state: NodeState) -> None:
        """Mark an agent as ended. Its node stays in the tree."""
        self._merges.pop(path, None)
        self._conversations.pop(path, None)
        self._nodes[path] = replace(self._nodes[path], state=state, calls={}, questions=frozenset())

    def find(self, path: str) -> AgentNode | None:
        return self._nodes.get(path)

    def resolve(self, reference: str) -> AgentNode:
        """Return an agent by its path or, if unambiguous, the end of its path: `explore-1` for `main/explore-1`."""
        matches = [node for path, node in self._nodes.items() if path == reference or path.endswith(f"/{reference}")]
        exact = [node for node in matches if node.path == reference]
        if len(exact or matches) != 1:
            raise OvertError(say("agents.unknown_path", path=reference))
        return (exact or matches)[0]

    def conversation(self, path: str) -> "Conversation | None":
        """Return the live conversation of an agent, or None if it has ended."""
        return self._conversations.get(path)

    def running(self) -> tuple[AgentNode, ...]:
        return tuple(node for node in self if node.is_live)

    def see(self, path: str, event: Event) -> None:
        """Update the node of an agent from an event of its own session."""
        node, conversation = self._nodes[path], self._conversations.get(path)
        if conversation is not None:
            node = replace(node, spent=conversation.spend.session)
        if event.agent == "main":
            node = _apply_event(node, event)
        self._nodes[path] = node

    def stop(self, path: str) -> None:
        """Stop a running agent and everything below it. Its processes end at once, before records are written."""
        conversation = self._live(path)
        conversation.interrupt()
        conversation.session_workspace.end_jobs()
        if path in self._merges and self._nodes[path].questions:
            self._merges[path].cancel()

    def steer(self, path: str, text: str) -> None:
        """Give a running agent a message, which it reads before its next request."""
        self._live(path).inbox.steer(text)

    def _live(self, path: str) -> "Conversation":
        conversation = self._conversations.get(path)
        if conversation is None:
            raise OvertError(say("agents.not_running", path=path))
        return conversation


def _apply_event(node: AgentNode, event: Event) -> AgentNode:
    match event:
        case RequestSent(purpose="step"):
            return replace(node, steps=node.steps + 1)
        case ToolStarted(call=call, headline=headline):
            return replace(node, calls=node.calls | {call.id: f"{call.name} {headline}".strip()})
        case ToolFinished(result=result):
            return replace(node, calls={id: text for id, text in node.calls.items() if id != result.call_id})
        case PermissionAsked(call=call):
            return _with_questions(node, node.questions | {call.id})
        case FormAsked(id=id):
            return _with_questions(node, node.questions | {id})
        case PermissionDecided(call_id=id) | FormClosed(id=id):
            return _with_questions(node, node.questions - {id})
        case TurnEnded():
            return _with_questions(replace(node, calls={}), frozenset())
        case _:
            return node


def _with_questions(node: AgentNode, questions: frozenset[str]) -> AgentNode:
    state: NodeState = ("asking" if questions else "running") if node.is_live else node.state
    return replace(node, state=state, questions=questions)


def state_after(reason: EndReason) -> NodeState:
    """Return the state of an agent whose turn ended for this reason."""
    if reason in ("interrupted", "terminated"):
        return "stopped"
    return "failed" if reason in ("error", "storm") else "done"
