"""The agents that can be started: built-in ones, and those of files, configuration and flags."""

from overt.app.setting import Setting
from overt.core.agents.profile import AgentProfile
from overt.core.capabilities import Effect
from overt.core.errors import ToolError

READING: frozenset[Effect] = frozenset({"read", "run", "notes", "skills", "discover", "network"})
"""Effects of an agent that only looks. Its commands run in a sandbox that cannot write."""

BUILT_IN = (
    AgentProfile(
        name="general",
        description="works on any task, with all tools",
        addition="You work on one task for another agent. Your last message is all that it gets: make it complete.",
        origin="built-in",
    ),
    AgentProfile(
        name="explore",
        description="searches and reads, changes nothing",
        addition="You explore for another agent and change nothing. Your last message is all that it gets: answer with "
        "facts and `path:line`.",
        effects=READING,
        planning=True,
        origin="built-in",
    ),
)
FOREIGN_NAMES = {"general-purpose": "general", "Explore": "explore"}


def list_profiles(setting: Setting) -> tuple[AgentProfile, ...]:
    return BUILT_IN


def find_profile(setting: Setting, name: str) -> AgentProfile:
    """Return the profile with this name, or raise a ToolError that names those that there are."""
    profiles = {profile.name: profile for profile in list_profiles(setting)}
    profile = profiles.get(name) or profiles.get(FOREIGN_NAMES.get(name, ""))
    if profile is None:
        raise ToolError(f"there is no agent `{name}`; there are {', '.join(profiles)}", code="missing")
    return profile
