"""The agents of a session: built-in ones, and those of Markdown files, the configuration, plugins and `--agents`."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct, json
from msgspec.structs import replace

from overt.app.custom.extension_places import extension_places
from overt.app.setting import Setting
from overt.config.schema import AgentTable
from overt.core.agents.profile import AgentProfile
from overt.core.capabilities import Effect
from overt.core.errors import ToolError, UsageError
from overt.core.settings import Rule
from overt.extensions.discovery import ExtensionFolder, extension_folders
from overt.lib.text import first_line, shorten
from overt.safety.rules import Subject, matching

READING: frozenset[Effect] = frozenset({"read", "run", "notes", "skills", "discover", "network", "mcp"})
"""Effects of an agent that only reads. Its commands run in a read-only sandbox, and it has only the tools of MCP
servers that the user has marked as read-only."""

BUILT_IN = (
    AgentProfile(name="build", description="the usual main agent, with all tools", mode="primary", origin="built-in"),
    AgentProfile(
        name="plan",
        description="plans with you and changes nothing: the mode plan",
        mode="all",
        planning=True,
        origin="built-in",
    ),
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
    AgentProfile(
        name="worker",
        description="works on any task in a copy of the workspace; its changes come back as a diff to approve",
        addition="You work on one task for another agent, in a copy of the workspace that is yours alone. The files "
        "that you change come back as a difference once you are done, commits and branches do not. Your last message "
        "is all that the other agent reads: make it complete.",
        isolated=True,
        origin="built-in",
    ),
)
INTERNAL = (
    AgentProfile(name="title", description="names a new session, with the small model"),
    AgentProfile(name="summary", description="sums up the older messages that a compaction replaces"),
    AgentProfile(name="compaction", description="shortens the history when the context window is full"),
)
"""Internal requests of Overt. They have no tools and cannot be started or changed."""
FOREIGN_NAMES = {"general-purpose": "general", "Explore": "explore", "Plan": "plan"}
LONGEST_ABOUT = 100
MOST_OFFERED = 1200
"""Characters that the agents may take in the description of `task`."""


class ShadowedAgent(Struct, frozen=True):
    """An agent that is not used because an agent from the origin `by` has the same name."""

    profile: AgentProfile
    by: str


class AgentLibrary:
    """All agents of a session. They are read from disk once, at the first use."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @cached_property
    def _all(self) -> tuple[dict[str, AgentProfile], tuple[ShadowedAgent, ...]]:
        profiles: dict[str, AgentProfile] = {}
        shadowed: list[ShadowedAgent] = []
        for profile in (*self._own(), *BUILT_IN):
            first = profiles.setdefault(profile.name, profile)
            if first is not profile:
                shadowed.append(ShadowedAgent(profile, first.origin))
        return profiles, tuple(shadowed)

    @property
    def profiles(self) -> dict[str, AgentProfile]:
        return self._all[0]

    @property
    def shadowed(self) -> tuple[ShadowedAgent, ...]:
        return self._all[1]

    def _own(self) -> Iterator[AgentProfile]:
        """Yield the agents that are not built in, in the order of precedence."""
        setting, tables = self._setting, self._setting.config.agents
        folders = agent_folders(setting)
        if not (tables or folders or setting.agents_json):
            return
        from overt.app.subagents.definitions import read_profile  # late: 3 ms
        from overt.extensions.agent_files import read_agent_files  # late: 2 ms

        def read(table: AgentTable) -> AgentProfile:
            start = next((each for each in BUILT_IN if each.name == table.name), None)
            start = start or AgentProfile(name=table.name, mode="all")
            rules = (*start.rules, *(replace(rule, of_project=True) for rule in table.rules))
            return read_profile(replace(start, origin=table.origin, rules=rules), table.fields, setting)

        def read_files(*, of_project: bool) -> Iterator[AgentProfile]:
            for file in read_agent_files([each for each in folders if (each.scope == "project") == of_project]):
                about = first_line(file.body.lstrip("# "), LONGEST_ABOUT)
                problems = file.problems if "description" in file.fields else (*file.problems, "it has no description")
                start = AgentProfile(
                    name=file.name,
                    description=about,
                    mode="all",
                    prompt=file.body or None,
                    origin=file.where,
                    warnings=problems,
                )
                yield read_profile(start, file.fields, setting)

        for name, fields in read_agents_json(setting.agents_json).items():
            yield read_profile(AgentProfile(name=name, mode="all", origin="--agents"), fields, setting)
        yield from map(read, (table for table in tables if table.of_project))
        yield from read_files(of_project=True)
        yield from map(read, (table for table in tables if not table.of_project))
        yield from read_files(of_project=False)

    # ── choosing one ─────────────────────────────────────────────────────────────────────────────────────

    def find(self, name: str) -> AgentProfile | None:
        """Return an agent by its name, or by the name that other programs have for it."""
        profile = self.profiles.get(name) or self.profiles.get(FOREIGN_NAMES.get(name, ""))
        return None if profile is None or profile.disabled else profile

    def find_for_task(self, name: str, rules: Iterable[Rule], starter: AgentProfile | None) -> AgentProfile:
        """Return an agent that `starter` may start, or raise a ToolError that lists the others."""
        rules, profile = tuple(rules), self.find(name)
        names = ", ".join(each.name for each in self.startable(rules, starter)) or "none that this agent may start"
        if profile is None or profile.mode == "primary":
            raise ToolError(f"there is no agent `{name}` to delegate to; there are {names}", code="missing")
        if rule := denial(profile, rules):
            where = f"the rule {rule.text()} ({rule.origin})"
            raise ToolError(f"{where} denies the agent `{profile.name}`; there are {names}", code="denied")
        if not _may_start(starter, profile):
            raise ToolError(f"this agent may not start the agent `{profile.name}`; it may start {names}", code="denied")
        return profile

    def find_startable(self, name: str, rules: Iterable[Rule], starter: AgentProfile | None) -> AgentProfile | None:
        """Return an agent that `starter` may start, or None."""
        try:
            return self.find_for_task(name, rules, starter)
        except ToolError:
            return None

    def startable(self, rules: Iterable[Rule], starter: AgentProfile | None = None) -> tuple[AgentProfile, ...]:
        """Return the agents that are offered to an agent for delegation."""
        rules = tuple(rules)
        return tuple(
            profile
            for profile in self.profiles.values()
            if profile.mode != "primary" and not (profile.hidden or profile.disabled)
            if denial(profile, rules) is None and _may_start(starter, profile)
        )

    def find_main(self, name: str) -> AgentProfile:
        """Return the agent that `--agent` names, or raise a UsageError."""
        profile = self.find(name)
        mains = [each.name for each in self.profiles.values() if each.mode != "subagent" and not each.disabled]
        if profile is None:
            raise UsageError(f"--agent: there is no agent `{name}`; expected one of {', '.join(mains)}")
        if profile.mode == "subagent":
            raise UsageError(
                f"--agent: `{name}` only works for other agents (mode `subagent`); expected one of {', '.join(mains)}"
            )
        return profile

    def describe(self, rules: Iterable[Rule], starter: AgentProfile | None = None) -> str:
        """Return the agents that are not built in, for the description of `task`; empty if there are none."""
        own = [each for each in self.startable(rules, starter) if each not in BUILT_IN]
        if not own:
            return ""
        entries: list[str] = []
        left = MOST_OFFERED
        for number, profile in enumerate(own):
            about = f" ({shorten(profile.description, LONGEST_ABOUT)})" if profile.description else ""
            if left < len(profile.name) + len(about):
                about = ""
            if left < len(profile.name):
                entries.append(f"{len(own) - number} more, named when you ask for one that does not exist")
                break
            entries.append(profile.name + about)
            left -= len(entries[-1]) + 2
        return f"Agents besides general and explore: {', '.join(entries)}."


def agent_folders(setting: Setting) -> tuple[ExtensionFolder, ...]:
    """Return the folders with agents. Trust in the project is checked only if it has one."""
    folders = extension_folders(extension_places(setting, trusted=setting.trust.has(setting.roots.project)), "agents")
    if any(folder.scope == "project" for folder in folders):
        return extension_folders(extension_places(setting), "agents")
    return folders


def denial(profile: AgentProfile, rules: Iterable[Rule]) -> Rule | None:
    """Return the rule `task(NAME)` that denies an agent."""
    return matching(rules, Subject(tool="task", values=(profile.name,)), "deny")


def _may_start(starter: AgentProfile | None, profile: AgentProfile) -> bool:
    return starter is None or starter.agents is None or profile.name in starter.agents


def read_agents_json(text: str) -> dict[str, dict[str, object]]:
    """Read the value of `--agents`: an object with an object for each name."""
    try:
        agents = json.decode(text) if text else {}
    except ValueError as error:
        raise UsageError(f"--agents must be JSON: {error}") from None
    if not isinstance(agents, dict) or not all(isinstance(fields, dict) for fields in agents.values()):
        raise UsageError('--agents must be an object such as {"reviewer": {"description": "…", "prompt": "…"}}')
    return agents
