"""The profile of a session's main agent: what `--agent` names, or what the session was recorded with."""

from collections.abc import Callable
from typing import NamedTuple

from overt.agent.permission_settings import PermissionState
from overt.app.options import Options
from overt.app.setting import Setting
from overt.app.subagents.profiles import BUILT_IN, AgentLibrary
from overt.app.subagents.tool_choice import ToolChoice
from overt.core.agents.profile import AgentProfile
from overt.core.capabilities import Effect
from overt.core.settings import Mode
from overt.lib.translations import say
from overt.sessions.resume import ResumedSession

USUAL = "build"


class AgentIdentity(NamedTuple):
    """The profile and the permissions of a session's agent, and the tools that the profile leaves. Profile and choice
    are None for the default main agent."""

    profile: AgentProfile | None
    choice: ToolChoice | None
    permissions: PermissionState

    def limit_effects(self, effects: frozenset[Effect]) -> frozenset[Effect]:
        own = self.profile.effects if self.profile else None
        return effects if own is None else effects & own


def open_library(options: Options, setting: Setting) -> AgentLibrary:
    """Return the agents of a session. Raise a UsageError if `--agent` names none, before a session is made for it."""
    library = AgentLibrary(setting)
    if options.agent:
        library.find_main(options.agent)
    return library


def choose_main(
    options: Options, resumed: ResumedSession | None, library: AgentLibrary, notify: Callable[[str], None]
) -> AgentProfile | None:
    """Return the profile of the main agent, None for the default one. Notify if a recorded profile no longer exists."""
    recorded = resumed.prefix.profile if resumed and resumed.prefix else ""
    profile = library.find_main(options.agent) if options.agent else library.find(recorded or USUAL)
    if profile is None and recorded:
        notify(say("agents.gone", name=recorded))
    return None if profile == BUILT_IN[0] else profile


def initial_mode(
    profile: AgentProfile | None, options: Options, setting: Setting, resumed: ResumedSession | None
) -> Mode | None:
    """Return the mode in which a session with this profile begins; None: as the settings say."""
    begins = bool(options.agent) or resumed is None
    is_named = setting.config.origin("permissions.mode") == "--permission-mode"
    return "plan" if profile and profile.planning and begins and not is_named else None
