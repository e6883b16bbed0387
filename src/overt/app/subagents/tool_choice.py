"""Decide which tools an agent has: those of its profile, and never one that its parent does not have."""

from collections.abc import Container, Iterable
from fnmatch import fnmatchcase

from msgspec import Struct

from overt.agent.agent import Agent
from overt.app.mcp.tool_catalog import ToolCatalog
from overt.core.agents.profile import AgentProfile
from overt.core.settings import ServerEntry
from overt.core.tool import Tool
from overt.lib.text import plain_name
from overt.safety.rules import Subject, matching


class ToolChoice(Struct, frozen=True, kw_only=True):
    """The tools of one agent. `parent` is the agent that starts it, None for the main agent of a session."""

    profile: AgentProfile
    parent: Agent | None = None

    @property
    def is_exact(self) -> bool:
        """True if the profile lists the tools: all are sent to the model, and it cannot look up others."""
        return self.profile.tools is not None

    def allows(self, tool: Tool) -> bool:
        """True if the agent may have a tool at all."""
        profile = self.profile
        if self.parent and not _can_run(self.parent, tool):
            return False
        if profile.planning and tool.server and tool.harmless != ("*",):
            return False  # only the user may declare a server read-only, not the server itself
        if _names(profile.disallowed_tools, tool, family=True) or self._is_denied(tool):
            return False
        return profile.tools is None or _names(profile.tools, tool)

    def allows_server(self, entry: ServerEntry) -> bool:
        """True if the agent may use an MCP server. Other servers are not started for it."""
        if self.profile.planning and not entry.read_only:
            return False
        return self.profile.tools is None or any(name.startswith("mcp__") for name in self.profile.tools)

    def _is_denied(self, tool: Tool) -> bool:
        """True if a rule of the profile without a pattern denies the tool."""
        rules = [rule for rule in self.profile.rules if not rule.pattern]
        return matching(rules, Subject(tool=tool.name, family=tool.family, server=tool.server), "deny") is not None

    def choose(self, tools: dict[str, Tool], usual: Container[str]) -> dict[str, Tool]:
        """Return the tools that the model is sent: the usual ones, or exactly those that the profile lists."""
        return {name: tool for name, tool in tools.items() if self.allows(tool) and (self.is_exact or name in usual)}

    async def load_servers(self, catalog: ToolCatalog) -> list[str]:
        """Load the MCP servers whose tools the profile lists. Return the problems."""

        def is_known(entry: str) -> bool:
            return any(_names((entry,), tool) for tool in catalog.server_tools().values())

        problems: list[str] = []
        for entry in self.profile.tools or ():
            if entry.startswith("mcp__") and not is_known(entry):
                problem = await catalog.load(f"{entry.removesuffix('*').rstrip('_')}__")
                if not is_known(entry):
                    problems.append(problem or f"no MCP server has the tool `{entry}`")
        return [f"agent {self.profile.name}: {problem}" for problem in problems]


def _can_run(agent: Agent, tool: Tool) -> bool:
    listed, unlisted = agent.spec.tools, agent.runtime.unlisted
    return tool.name in listed or (unlisted is not None and unlisted.find(tool.name) is not None)


def _names(entries: Iterable[str], tool: Tool, *, family: bool = False) -> bool:
    """True if an entry matches the tool: its name, its server or a pattern. With `family`,
    `edit` means every tool that changes files."""
    return any(
        entry == tool.name
        or (family and entry == tool.family)
        or (tool.server is not None and entry.removesuffix("__*") == f"mcp__{plain_name(tool.server.server)}")
        or ("*" in entry and (entry == "mcp__*" or not entry.endswith("__*")) and fnmatchcase(tool.name, entry))
        for entry in entries
    )
