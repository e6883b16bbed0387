"""What a sub-agent inherits from the agent that started it, and the relay of its events to that agent's session."""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from overt.agent.agent import Agent
from overt.agent.permission_settings import PermissionState
from overt.app.limits.session_limits import SessionLimits
from overt.app.options import Options
from overt.app.permission_answers import Mailbox
from overt.app.session import HIDDEN_AGENTS, MAIN, Session
from overt.app.subagents.tool_choice import ToolChoice
from overt.app.subagents.tree import AgentTree
from overt.core.agents.agent_events import AgentCharged
from overt.core.agents.profile import AgentProfile
from overt.core.agents.writer import Writer
from overt.core.capabilities import Effect
from overt.core.events import Event
from overt.core.settings import Limits
from overt.core.spending.spend import Charge, charged
from overt.lib.redaction.redact import Redactor
from overt.providers.model_choice import ChosenModel

if TYPE_CHECKING:
    from overt.app.models.session_models import SessionModels
    from overt.app.subagents.workspace_copy import WorkspaceCopy

MAX_STEPS = 50
"""The step limit of a sub-agent whose profile sets none."""


class HookAgent(Struct, frozen=True, kw_only=True):
    """A sub-agent in the input of hooks: its path, the name of its profile and the id of the root session."""

    id: str
    type: str
    session: str


class ParentLink(Struct, frozen=True, kw_only=True):
    """`path` is the place of the sub-agent in the tree; `session` and `agent` are those of its parent.

    `model` comes from the profile or the settings; if it is empty, the sub-agent uses `parent_model`. Agents at
    `max_depth` cannot start others. An agent with a `copy` of the workspace works there; it shares the copy of its
    parent unless its own profile is isolated.
    """

    path: str
    writer: Writer
    profile: AgentProfile
    session: Session
    agent: Agent
    tree: AgentTree
    model: str
    parent_model: ChosenModel
    permissions: PermissionState
    mailbox: Mailbox
    redactor: Redactor
    limits: SessionLimits
    max_depth: int
    copy: "WorkspaceCopy | None" = None

    @property
    def relative_path(self) -> str:
        """The path as seen from the session of the parent, in which the parent is `main`."""
        return f"{MAIN}/{self.path.rpartition('/')[2]}"

    @property
    def hook_agent(self) -> HookAgent:
        return HookAgent(id=self.path, type=self.profile.name, session=self.tree.root)

    # ── the parts of the sub-agent ───────────────────────────────────────────────────────────────────────

    def make_options(self, options: Options) -> Options:
        """Return the options of the sub-agent: a new session with the prompt of its profile."""
        profile = self.profile
        return replace(
            options,
            resume="",
            continue_last=False,
            fork=False,
            previous="",
            name="",
            session_id="",
            system_prompt=profile.prompt if profile.prompt is not None else options.system_prompt,
            system_prompt_origin=profile.origin if profile.prompt is not None else options.system_prompt_origin,
            append_system_prompt=profile.addition or options.append_system_prompt,
        )

    def limit_effects(self, effects: frozenset[Effect]) -> frozenset[Effect]:
        """Return the effects of the parent that the sub-agent may have."""
        allowed = effects if self.profile.effects is None else effects & self.profile.effects
        if self.copy is not None:
            allowed -= {"mcp", "memory"}  # servers work in the workspace, notes hold for later sessions
        return allowed - {"delegate"} if self.path.count("/") >= self.max_depth else allowed

    def limit_steps(self, limits: Limits) -> Limits:
        return replace(limits, max_steps=self.profile.max_steps or MAX_STEPS)

    def make_permissions(self) -> PermissionState:
        profile = self.profile
        return self.permissions.for_agent(profile.rules, planning=profile.planning, isolated=self.copy is not None)

    async def choose_model(self, models: "SessionModels") -> ChosenModel:
        chosen = await models.find(self.model) if self.model else self.parent_model
        return (
            replace(chosen, entry=replace(chosen.entry, effort=self.profile.effort)) if self.profile.effort else chosen
        )

    @property
    def choice(self) -> ToolChoice:
        return ToolChoice(profile=self.profile, parent=self.agent)


class Relay:
    """Relays the events of a sub-agent's session to the session of its parent, under its path there.

    In its own session a sub-agent is `main`. Its costs are relayed as charges, so that every session above counts the
    whole tree below it.
    """

    def __init__(self, session: Session, link: ParentLink) -> None:
        self._session = session
        self._link = link
        self._charge: Charge | None = None

    def receive(self, event: Event) -> None:
        link, charge = self._link, self._session.spend.last
        link.tree.see(link.path, event)
        if event.agent not in HIDDEN_AGENTS:
            agent = link.relative_path + event.agent.removeprefix(MAIN)
            link.session.relay(replace(event, agent=agent))
        if charge is not None and charge is not self._charge and not isinstance(event, AgentCharged):
            link.session.relay(charged(charge, agent=link.relative_path))
        self._charge = charge
