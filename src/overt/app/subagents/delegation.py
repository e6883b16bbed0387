"""Start the sub-agents of one agent, wait for them and end them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from overt.agent.permission_settings import PermissionState
from overt.app.limits.session_limits import SessionLimits
from overt.app.models.session_models import SessionModels
from overt.app.session import MAIN, Session
from overt.app.subagents.earlier_agents import restore_agents
from overt.app.subagents.parent_link import ParentLink
from overt.app.subagents.profiles import AgentLibrary
from overt.app.subagents.tree import AgentNode, AgentTree, state_after
from overt.core.agents.agent_events import AgentEnded, AgentStarted
from overt.core.agents.profile import AgentProfile
from overt.core.agents.writer import Writer
from overt.core.capabilities import AgentResult
from overt.core.errors import OvertError, ToolError
from overt.core.events import Event, Noticed, PermissionDecided, TurnEnded
from overt.core.settings import Rule
from overt.core.text_fragments import Origin
from overt.lib.redaction.redact import Redactor
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation
    from overt.app.subagents.workspace_copy import WorkspaceCopy

CLOSE_WITHIN_S = 2.0
"""Wait this long for a stopped sub-agent; everything it started ends in any case."""
ENDINGS = {
    "limit": "It reached its limit, so this may be incomplete:",
    "storm": "It was stopped because it repeated calls that failed:",
    "denied": "It was stopped:",
}


class ParentParts(Struct, frozen=True, kw_only=True):
    """What sub-agents take over from the agent that starts them."""

    conversation: "Conversation"
    models: SessionModels
    permissions: PermissionState
    redactor: Redactor
    limits: SessionLimits


class Delegation:
    """The sub-agents of one agent.

    `open_agent` opens the conversation of one. `parent` links the agent to its own parent, None for the main agent of a
    session. `profile` is the agent's own, None for the default main agent. `earlier` are the recorded events about
    sub-agents of a resumed session.
    """

    def __init__(
        self,
        session: Session,
        parent: ParentLink | None,
        open_agent: "Callable[[ParentLink], Awaitable[Conversation]]",
        *,
        library: AgentLibrary,
        profile: AgentProfile | None,
        earlier: Sequence[Event] = (),
    ) -> None:
        self.profile = profile
        self.tree = parent.tree if parent else AgentTree(session.id, library, restore_agents(earlier, session.path))
        self.path = parent.path if parent else MAIN
        self._session = session
        self._open_agent = open_agent
        self._max_depth = session.setting.config.agent.max_depth
        self._parts: ParentParts | None = None
        self._warned_of: set[str] = set()

    def connect(self, parts: ParentParts) -> None:
        """Set the parts that exist only once the agent is open."""
        self._parts = parts

    def for_call(self, call_id: str) -> "CallDelegation":
        return CallDelegation(self, call_id)

    async def run(
        self, call_id: str, agent: str, prompt: str, description: str, *, rules: tuple[Rule, ...] = ()
    ) -> AgentResult:
        """Run a sub-agent to its end. However it ends, close it and everything that it started.

        `rules` are permission rules for this agent only.
        """
        profile = self.tree.library.find_for_task(agent, self._connected().permissions.rules, self.profile)
        if self.path.count("/") >= self._max_depth:
            raise ToolError(
                f"agents may be nested {self._max_depth} levels deep, and this one is at that depth: "
                "do the work here instead",
                code="depth",
            )
        self._warn_of_unused_fields(profile)
        path = self.tree.new_path(self.path, profile.name)  # in the order of the calls
        copy = await self._open_copy(profile) if profile.isolated else None
        try:
            writer = Writer(path, description, parent=self._connected().conversation.session_workspace.writer)
            link = self._link_to(profile, writer, copy)
            conversation = await self._open_agent(link)
            conversation.agent.runtime.gate.permissions.add_turn_rules(rules)
            if copy is not None:
                copy.belongs_to(conversation.id, link.path, description)
            try:
                return await self._run_to_end(conversation, link, prompt, call_id=call_id, description=description)
            finally:
                await _finish(conversation.close())
        finally:
            if copy is not None:
                await _finish(copy.close())

    def _warn_of_unused_fields(self, profile: AgentProfile) -> None:
        """Warn the user once per session about parts of a definition that are not used."""
        if profile.warnings and profile.name not in self._warned_of:
            self._warned_of.add(profile.name)
            count, origin = len(profile.warnings), profile.origin
            text = say("agents.unused_fields", name=profile.name, count=count, origin=origin)
            self._session.publish(Noticed(text=text))

    async def _open_copy(self, profile: AgentProfile) -> "WorkspaceCopy":
        """Make the copy of the workspace that an isolated agent works in."""
        from overt.app.subagents.workspace_copy import NESTED, open_copy  # late: 12 ms

        workspace = self._connected().conversation.session_workspace
        if workspace.copy is not None:
            raise ToolError(NESTED.format(agent=profile.name), code="isolation")
        return await open_copy(self._session.setting, workspace.shared)

    def _connected(self) -> ParentParts:
        assert self._parts is not None  # calls run only after the agent is open
        return self._parts

    def _link_to(self, profile: AgentProfile, writer: Writer, copy: "WorkspaceCopy | None") -> ParentLink:
        parts, settings = self._connected(), self._session.setting.config.agent
        conversation = parts.conversation
        return ParentLink(
            path=writer.path,
            writer=writer,
            profile=profile,
            session=self._session,
            agent=conversation.agent,
            tree=self.tree,
            model=settings.subagent_models.get(profile.name) or profile.model or settings.subagent_model,
            parent_model=parts.models.in_use(),
            permissions=parts.permissions,
            mailbox=conversation.mailbox,
            redactor=parts.redactor,
            limits=parts.limits,
            max_depth=self._max_depth,
            copy=copy or conversation.session_workspace.copy,
        )

    async def _run_to_end(
        self, conversation: "Conversation", link: ParentLink, prompt: str, *, call_id: str, description: str
    ) -> AgentResult:
        path, session, agent = link.path, conversation.session, conversation.agent
        started = monotonic()
        node = AgentNode(
            path=path,
            session=session.id,
            session_path=session.path,
            profile=link.profile.name,
            description=description,
            model=agent.spec.params.model,
            isolated=link.profile.isolated,
        )
        self.tree.add(node, conversation)
        conversation.session_workspace.join(conversation.inbox.tell)
        self._session.emit(
            AgentStarted(
                agent=link.relative_path,
                session=node.session,
                profile=node.profile,
                call_id=call_id,
                description=description,
                model=node.model,
                isolated=node.isolated,
            )
        )
        end: TurnEnded | None = None
        changes = ""
        turn = conversation.prompt(prompt, origin=Origin(kind="model", where=self.path, detail="task"))
        try:
            await asyncio.wait([turn])
            end = turn.result()
            if link.copy is not None and node.isolated:
                end, changes = await self._merge_copy(link.copy, conversation, end, agent=path, call_id=call_id)
        finally:
            if not turn.done():
                conversation.interrupt()
                conversation.session_workspace.end_jobs()  # at once: closing waits for records first
                await _finish(asyncio.wait([turn]))
            if end is None:
                is_done = turn.done() and not turn.cancelled()
                end = turn.result() if is_done else TurnEnded(reason="interrupted")
            conversation.session_workspace.leave_claims()
            self.tree.end(path, state_after(end.reason))
            spent = session.spend.session
            self._session.emit(
                AgentEnded(
                    agent=link.relative_path,
                    reason=end.reason,
                    steps=end.steps,
                    usage=spent.usage,
                    cost=spent.known_cost,
                    ms=round((monotonic() - started) * 1000),
                )
            )
        return _result(end, node, changes, tokens=spent.input + spent.output)

    async def _merge_copy(
        self, copy: "WorkspaceCopy", conversation: "Conversation", end: TurnEnded, *, agent: str, call_id: str
    ) -> tuple[TurnEnded, str]:
        """Commit what an isolated agent changed, and apply it if the agent has finished and the user or the mode allows
        that. Return how the agent ended, which may be stopped by now, and a text for the model."""
        from overt.app.subagents.copy_result import MergeParts, describe_stopped, merge_copy  # late: 3 ms

        parts = self._connected()
        await conversation.session_workspace.jobs.close()
        if end.reason != "done":
            return end, await describe_stopped(copy)
        workspace, may_ask = parts.conversation.session_workspace, not parts.permissions.terms.dont_ask
        merge_parts = MergeParts(
            workspace=workspace,
            emit=self._session.emit,
            ask=conversation.session.emit,
            permissions=parts.permissions,
            mailbox=parts.conversation.mailbox if workspace.shared.interactive and may_ask else None,
            call_id=call_id,
            agent=agent,
        )
        merge = asyncio.ensure_future(merge_copy(copy, merge_parts))
        self.tree.add_merge(agent, merge)
        try:
            await asyncio.wait([merge])
        finally:
            if not merge.done():
                merge.cancel()
                await _finish(asyncio.wait([merge]))
            node = self.tree.find(agent)
            if node and call_id in node.questions:  # the merge was cancelled while it asked
                decided = PermissionDecided(call_id=call_id, verdict="deny", rule="copy", origin="mode", by="person")
                conversation.session.emit(decided)
        if merge.cancelled():
            return replace(end, reason="interrupted"), await describe_stopped(copy)
        return end, merge.result()


class CallDelegation:
    """The capability `Delegate` of one call."""

    def __init__(self, delegation: Delegation, call_id: str) -> None:
        self._delegation = delegation
        self._call_id = call_id

    async def run(self, agent: str, prompt: str, description: str, *, rules: tuple[Rule, ...] = ()) -> AgentResult:
        return await self._delegation.run(self._call_id, agent, prompt, description, rules=rules)


def _result(end: TurnEnded, node: AgentNode, changes: str, *, tokens: int) -> AgentResult:
    """Return the result for the model. `changes` is the text about the changes of an isolated agent."""
    changes = f"\n[overt] {changes}" if changes else ""
    if end.reason in ("interrupted", "terminated"):
        raise ToolError(say("agents.stopped_result", path=node.path, session=node.session) + changes, code="stopped")
    if end.reason == "error":
        raise ToolError(f"{node.path} failed: {end.text}{changes}", code="failed")
    text = (f"{ENDINGS[end.reason]}\n{end.text}" if end.reason in ENDINGS else end.text) + changes
    return AgentResult(
        text=text, path=node.path, session=node.session, reason=end.reason, steps=end.steps, tokens=tokens
    )


async def _finish(work: Awaitable[object]) -> None:
    """Wait a limited time for the clean-up of a sub-agent, even if the call is cancelled."""
    closing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(asyncio.wait([closing], timeout=CLOSE_WITHIN_S))
    except asyncio.CancelledError:
        await asyncio.wait([closing], timeout=CLOSE_WITHIN_S)
        raise
    if closing.done() and (error := closing.exception()) and not isinstance(error, OvertError):
        raise error
