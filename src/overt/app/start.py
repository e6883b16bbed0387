"""Open a conversation: the only place that names the concrete parts and puts them together."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from overt.agent.permission_gate import Gate, warn_about_sandbox
from overt.agent.permission_settings import PermissionState, Terms
from overt.app.agent_capabilities import AgentServices, Capabilities
from overt.app.agents import Agents
from overt.app.context.context_updates import ContextUpdates
from overt.app.context.prefix import Fragments
from overt.app.context.session_memory import make_memory
from overt.app.conversation import Conversation
from overt.app.hooks.sources import find_hook_tables
from overt.app.limits.session_limits import SessionLimits
from overt.app.mcp.servers import server_secrets
from overt.app.mcp.tool_catalog import ToolCatalog
from overt.app.models.session_models import SessionModels
from overt.app.options import Options
from overt.app.permission_answers import Mailbox, UserForms
from overt.app.redaction.secrets import make_redactor
from overt.app.services import Services
from overt.app.session import Session
from overt.app.session_record import open_agent_record, open_record
from overt.app.session_subscribers import subscribe_records
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting, read_setting
from overt.app.skills.library import SkillLibrary
from overt.app.subagents.delegation import Delegation, ParentParts
from overt.app.subagents.main_agent import AgentIdentity, choose_main, initial_mode, open_library
from overt.app.subagents.parent_link import ParentLink
from overt.app.subagents.profiles import AgentLibrary
from overt.app.subagents.tool_choice import ToolChoice
from overt.app.web import WebAccess
from overt.app.workspace_services import WorkspaceServices, shared_services
from overt.config.saved_rules import add_always, load_always
from overt.core.capabilities import AVAILABLE, Effect
from overt.core.events import BudgetSet, Noticed
from overt.core.protocols import SandboxState
from overt.core.settings import Rule
from overt.lib.logs.log import LOG
from overt.lib.redaction.redact import Redactor
from overt.lib.translations import say
from overt.safety.policy import PathFacts
from overt.sandbox.choose_sandbox import choose as choose_sandbox
from overt.sessions.resume import ResumedSession

if TYPE_CHECKING:
    from overt.app.hooks.firing import HookRunner
    from overt.app.hooks.session_hooks import SessionHooks, SessionSource


async def open_conversation(
    options: Options,
    setting: Setting | None = None,
    *,
    effects: frozenset[Effect] = AVAILABLE,
    parent: ParentLink | None = None,
) -> Conversation:
    """Open a new or a recorded session. Without `setting`, the configuration is read first.

    `effects` are the most that the session's agent may have; with the settings they decide which tools it has. With a
    `parent`, open the session of a sub-agent.
    """
    setting = setting or read_setting(options)
    effects = effects if setting.config.agent.max_depth else effects - {"delegate"}
    library = parent.tree.library if parent else open_library(options, setting)
    redactor = parent.redactor if parent else make_redactor(setting)
    opened = _open_session(options, setting, redactor, parent)
    session, workspace, shared, resumed = opened.session, opened.workspace, opened.workspace.shared, opened.resumed
    notices = [*opened.notices, *(() if parent else await _recover_copies(setting, shared))]
    identity = _identify(options, setting, resumed, parent, library, notices.append)
    permissions, choice, effects = identity.permissions, identity.choice, identity.limit_effects(effects)
    workspace.rules = lambda: permissions.rules
    skills = SkillLibrary(setting, session=session.id, add_rules=permissions.add_turn_rules)
    mailbox = parent.mailbox if parent else Mailbox()
    forms = UserForms(mailbox if options.interactive else None, publish=session.publish, emit=session.emit)
    catalog = ToolCatalog(
        setting,
        shared,
        effects=effects,
        recorded_tools=[spec.name for spec in resumed.prefix.prefix.tools] if resumed and resumed.prefix else None,
        skills=skills,
        choice=choice,
    )
    models = SessionModels(options, setting, redactor, session.publish)
    limits = models.limits = _make_session_limits(options, session, forms, resumed, parent)
    delegation = Delegation(
        session,
        parent,
        lambda link: open_conversation(
            link.make_options(options), setting, effects=link.limit_effects(effects), parent=link
        ),
        library=library,
        profile=identity.profile,
        earlier=resumed.agents if resumed else (),
    )
    services = AgentServices(
        forms=forms,
        catalog=catalog,
        web=WebAccess(models, redactor, emit=session.emit),
        skills=skills,
        memory=lambda journal, preview: make_memory(session, journal, preview),
        delegation=delegation,
    )
    hands = Capabilities(workspace, history=lambda: session.history, effects=effects, services=services)
    fragments = Fragments(options, setting, opened.sandbox, redactor, skills, choice)
    fragments.read_only = parent is not None and parent.profile.planning
    is_new = not options.resume and not options.continue_last
    updates = ContextUpdates(
        fragments,
        hands,
        shared=shared,
        notify=session.publish,
        recorded=resumed.prefix.prefix if resumed and resumed.prefix else None,
        reads_git_later=is_new and not options.interactive,
    )
    updates.find_agent = lambda name: library.find_startable(name, permissions.rules, identity.profile)
    if is_new and options.interactive:
        updates.start_reading_git()

    hooks = _open_hooks(setting, session, workspace, permissions, notices.append, parent)
    gate = Gate(
        permissions,
        sight=_make_sight(setting, hands),
        hands=hands,
        asker=mailbox if options.interactive else None,
        hooks=hooks,
    )
    if parent:
        found = await parent.choose_model(models)
    else:
        found = await models.find_main(identity.profile, resumed, notices.append)
    agents = Agents(
        setting=setting,
        session=session,
        models=models,
        gate=gate,
        hands=hands,
        effects=effects,
        fragments=fragments,
        updates=updates,
        redactor=redactor,
        catalog=catalog,
        spend_limit=limits,
        hooks=hooks,
        parent=parent,
        choice=choice,
        offered=lambda: library.describe(permissions.rules, identity.profile),
    )
    agents.notices.extend(await choice.load_servers(catalog) if choice else ())
    agent, prefix = agents.make(found, models.protocol(found, resumed), resumed)
    notices += agents.notices
    if found.entry.kind == "local":
        notices.append(say("local.limits", model=found.model))
    if resumed and resumed.last:
        agent.runtime.assembler.recall(resumed.last.stable, resumed.last.stable_length)

    session.subscribe(models.look_for_window, name="context window")
    session.subscribe(updates.see, name="context updates")
    subscribe_records(session, setting, parent)
    conversation = Conversation(
        agent,
        prefix,
        session=session,
        services=Services(
            agents=agents,
            models=models,
            context=updates,
            workspace=workspace,
            mailbox=mailbox,
            limits=limits,
            skills=skills,
            commands=setting.registries.commands,
            hooks=hooks,
            delegation=delegation,
        ),
        resumed=resumed,
        notices=notices,
    )
    delegation.connect(
        ParentParts(
            conversation=conversation,
            models=models,
            permissions=permissions,
            redactor=redactor,
            limits=limits,
        )
    )
    if hooks and not parent:
        hooks.begin(_session_source(options, resumed))
    if options.interactive:
        agent.runtime.provider.warm(agent.runtime.assembler.opening(agent.spec.prefix, agent.spec.params))
    return conversation


class SessionParts(NamedTuple):
    """A session with its workspace and sandbox. `notices` are for the user."""

    session: Session
    workspace: SessionWorkspace
    sandbox: SandboxState
    resumed: ResumedSession | None
    notices: tuple[str, ...]


def _open_session(options: Options, setting: Setting, redactor: Redactor, parent: ParentLink | None) -> SessionParts:
    log_notices: deque[Noticed] = deque()
    if parent:
        recorded = open_agent_record(parent.session, setting, agent_path=parent.path, notify=log_notices.append)
    else:
        recorded = open_record(options, setting, log_notices.append)
    name = _session_name(options, redactor)
    session = Session(recorded, setting, redactor=redactor, log_notices=log_notices, name=name)
    shared = shared_services(setting)
    shared.interactive = shared.interactive or options.interactive
    sandbox = choose_sandbox(setting.config.sandbox.mode)
    notices = (
        *setting.config.warnings,
        *filter(None, (setting.trust.warning, warn_about_sandbox(sandbox))),
        *recorded.notices,
        *_look_at_servers(shared, redactor),
    )
    workspace = SessionWorkspace(
        setting,
        shared,
        record=session.emit,
        redactor=redactor,
        recorded=recorded,
        writer=parent.writer if parent else None,
    )
    workspace.copy = parent.copy if parent else None
    return SessionParts(session, workspace, sandbox, recorded.resumed, notices)


def _make_session_limits(
    options: Options, session: Session, forms: UserForms, resumed: ResumedSession | None, parent: ParentLink | None
) -> SessionLimits:
    if options.budget_usd and resumed and resumed.history.spend_limit is not None and not parent:
        session.emit(BudgetSet(dollars=options.budget_usd))  # the flag is newer than what was said in the chat
    return SessionLimits(
        session.setting.config.limits,
        session,
        parent=parent.limits if parent else None,
        ask=forms.ask if options.interactive else None,
    )


async def _recover_copies(setting: Setting, shared: WorkspaceServices) -> list[str]:
    """Commit what isolated agents left in their copies when Overt was killed. Return notices for the user."""
    if not os.path.isdir(f"{setting.environment.data_dir}/isolated"):
        return []
    from overt.app.subagents.workspace_copy import recover_copies  # late: 12 ms

    return await asyncio.to_thread(recover_copies, setting, shared.git)


def _look_at_servers(shared: WorkspaceServices, redactor: Redactor) -> tuple[str, ...]:
    """Hide the secrets in the entries of MCP servers. Return the warnings about the entries."""
    if secrets := server_secrets(shared.configured_servers):
        redactor.learn(*secrets)
        LOG.learn(*secrets)
    clashes = shared.known_servers.clashes if shared.known_servers else {}
    return (
        *shared.configured_servers.warnings,
        *(say("mcp.clash", name=name, other=other) for name, other in clashes.items()),
    )


def _session_name(options: Options, redactor: Redactor) -> str:
    """Return the name that `--name` gives the session, or an empty string."""
    if not options.name:
        return ""
    from overt.app.records.archive import clean_name  # late: 6 ms

    return clean_name(redactor.clean(options.name))


def _open_hooks(
    setting: Setting,
    session: Session,
    workspace: SessionWorkspace,
    permissions: PermissionState,
    notify: Callable[[str], None],
    parent: ParentLink | None,
) -> "SessionHooks | None":
    """Return the hooks of a session, or None if there are none. Files that cannot be read are named."""
    tables = find_hook_tables(setting)
    for mistake in tables.mistakes:
        notify(mistake)
    if not tables.tables:
        return None
    from overt.app.hooks.session_hooks import SessionHooks  # late: 1 ms

    agent = parent.hook_agent if parent else None

    def make_runner() -> "HookRunner":
        from overt.app.hooks.firing import HookRunner, HookSession  # late: 8 ms
        from overt.extensions.hooks import read_hooks  # late: 1 ms

        hooks = [hook for table in tables.tables for hook in read_hooks(table)]
        whose = HookSession(
            id=session.id,
            setting=setting,
            workspace=workspace,
            redact=session.redaction.clean,
            permissions=permissions,
            history=lambda: session.history,
            agent=agent,
        )
        return HookRunner(hooks, whose)

    events = frozenset(table.event for table in tables.tables)
    session_hooks = SessionHooks(events, make_runner, setting.roots.workspace, session.emit, agent=agent)
    session.subscribe(session_hooks.see, name="hooks")
    return session_hooks


def _session_source(options: Options, resumed: ResumedSession | None) -> "SessionSource":
    """Return how a session begins, in the words of Claude Code."""
    if resumed is None:
        return "clear" if options.previous else "startup"
    parent = resumed.opened.parent if resumed.opened else ""
    return "fork" if options.fork or (parent and parent == options.previous) else "resume"


def _identify(
    options: Options,
    setting: Setting,
    resumed: ResumedSession | None,
    parent: ParentLink | None,
    library: AgentLibrary,
    notify: Callable[[str], None],
) -> AgentIdentity:
    """Return the profile, the tools and the permissions of the session's agent."""
    if parent:
        return AgentIdentity(parent.profile, parent.choice, parent.make_permissions())
    profile = choose_main(options, resumed, library, notify)
    permissions = _make_permissions(setting, resumed, notify, profile.rules if profile else ())
    permissions.mode = initial_mode(profile, options, setting, resumed) or permissions.mode
    return AgentIdentity(profile, ToolChoice(profile=profile) if profile else None, permissions)


def _make_permissions(
    setting: Setting, resumed: ResumedSession | None, notify: Callable[[str], None], rules: tuple[Rule, ...]
) -> PermissionState:
    environment, project = setting.environment, setting.roots.project
    settings, sandbox = setting.config.permissions, setting.config.sandbox
    always = load_always(environment, project)
    if always.warning:
        notify(always.warning)
    mode = settings.mode
    if resumed and resumed.mode and setting.config.origin("permissions.mode") == "default":
        mode = resumed.mode  # type: ignore[assignment]
    terms = Terms(
        rules=(*settings.rules, *always.rules, *rules),
        fallback=settings.fallback,
        dont_ask=settings.dont_ask,
        dangerous_policy=settings.dangerous_policy,
        bare=sandbox.mode == "none",
        write=sandbox.write,
        network=sandbox.network,
    )
    return PermissionState(terms, mode=mode, remember=lambda rule: add_always(environment, project, rule))


def _make_sight(setting: Setting, hands: Capabilities) -> PathFacts:
    workspace = setting.roots.workspace
    return PathFacts(
        root=workspace,
        exists=lambda path: os.path.lexists(os.path.join(workspace, path)),
        look=hands.look,
        also=frozenset(setting.config.permissions.dangerous),
        edit_rules=setting.tools.edit_rules,
    )
