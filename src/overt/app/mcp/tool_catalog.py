"""Tools and skills that the model is not sent in the first request: rare ones of ours, and those of MCP servers.

The tool list of a session never changes, so that what a vendor has cached stays valid. At the start of a session, MCP
servers whose tools are known and fit into `tools.mcp_tokens` are listed whole. All others are looked up with
`toolsearch` and called with `toolcall`, also those that become known later.
"""

import asyncio
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from msgspec import json
from msgspec.structs import replace

from overt.app.setting import Setting
from overt.app.skills.library import SkillLibrary
from overt.app.workspace_services import WorkspaceServices
from overt.core.capabilities import Effect, ToolMatches
from overt.core.errors import ToolError
from overt.core.requests import ServerTarget, ToolSpec
from overt.core.settings import ServerEntry
from overt.core.tool import Tool
from overt.lib.text import plain_name
from overt.repair.flatten_schema import flatten_schema
from overt.safety.rules import Subject, matching

SEARCH_WITHIN_S, ENOUGH_AFTER_S = 10.0, 2.0
"""A search waits this long for servers that have to be asked first, and less long if others have what it seeks."""
ANY_TOOL = "\N{REPLACEMENT CHARACTER}"
MOST_NAMED = 30
"""Servers that the description of `toolsearch` names."""


class ToolFilter(Protocol):
    """Decides which tools and MCP servers an agent may use."""

    def allows(self, tool: Tool) -> bool: ...
    def allows_server(self, entry: ServerEntry) -> bool: ...


class ToolCatalog:
    """The unlisted tools of one agent, and which MCP servers are listed whole.

    `recorded_tools` are the names of the tools that a resumed session was sent: the same servers are listed again. With
    `flatten`, the model is shown arguments with dotted names. While it is `offline`, there are no tools for the web.
    `choice` limits the tools of an agent with a profile. If `can_search` is False, the model cannot look up tools, and
    the catalog finds none.
    """

    def __init__(
        self,
        setting: Setting,
        shared: WorkspaceServices,
        *,
        effects: frozenset[Effect],
        recorded_tools: Iterable[str] | None = None,
        skills: SkillLibrary | None = None,
        choice: ToolFilter | None = None,
    ) -> None:
        self._choice = choice
        self.flatten = self.offline = False
        self.can_search = True
        self._setting = setting
        self._known = shared.known_servers if "mcp" in effects else None
        self._connect = shared.servers
        self._effects = effects
        self._skills = skills if "skills" in effects else None
        self._recorded_tools = None if recorded_tools is None else tuple(recorded_tools)
        self._version = -1
        self._server_tools: dict[str, Tool] = {}
        self._loading: set[asyncio.Future[tuple[str, ...]]] = set()

    @cached_property
    def entries(self) -> tuple[ServerEntry, ...]:
        """The servers of this agent, without those of which a rule denies every tool: they are not even started."""
        enabled = self._known.enabled if self._known else ()
        choice = self._choice
        allowed = (entry for entry in enabled if choice is None or choice.allows_server(entry))
        return tuple(entry for entry in allowed if not self._denies(_any_tool_of(entry)))

    @cached_property
    def listed(self) -> dict[str, Tool]:
        """Tools of MCP servers that are sent with the first request, and the tool that loads skills if there are some.
        It is decided once."""
        if self._recorded_tools is not None:
            chosen = {self._server_of(name) for name in self._recorded_tools}
        else:
            chosen = self._choose_listed_servers()
        tools = (self._tools_of(entry) for entry in self.entries if entry.name in chosen)
        listed = {name: tool for each in tools for name, tool in each.items()}
        skill = self._setting.tools.find("skill")
        return {**listed, skill.name: skill} if skill and self._skills and self._skills.is_listed else listed

    def _choose_listed_servers(self) -> set[str]:
        """Return the servers whose tools fit into `tools.mcp_tokens` together, in the order of the configuration."""
        chosen, left = set[str](), self._setting.config.tools.mcp_tokens
        for entry in self.entries:
            tokens = self._known.tokens(entry) if self._known else None
            if tokens is not None and tokens <= left:
                chosen.add(entry.name)
                left -= tokens
        return chosen

    @property
    def _rare_tools(self) -> dict[str, Tool]:
        config, effects = self._setting.config, self._effects - {"network"} if self.offline else self._effects
        return {
            name: tool
            for name, tool in self._setting.tools.for_effects(effects).items()
            if tool.rare and name not in config.tools.disabled and not self._is_denied(tool)
            if name != "skill" or self._skills
        }

    def _server_of(self, name: str) -> str:
        """Return the server that the name of a tool begins with, or an empty string."""
        matches = [entry.name for entry in self.entries if name.startswith(f"mcp__{plain_name(entry.name)}__")]
        return max(matches, key=len, default="")

    def describe(self) -> str:
        """Return what can be looked up, for the description of `toolsearch`; empty if there is nothing.

        It names the servers that are configured, whether or not they are running, so that it stays the same.
        """
        listed = {self._server_of(name) for name in self.listed}
        servers = [entry.name for entry in self.entries if entry.name not in listed]
        more = f" and {len(servers) - MOST_NAMED} more" if len(servers) > MOST_NAMED else ""
        rare = [name for name in self._rare_tools if name != "skill"]
        skills = self._skills.searchable_names() if self._skills else ()
        parts = [", ".join(rare)] if rare else []
        parts += [f"the skills {', '.join(skills)}"] if skills else []
        if servers:
            parts.append(f"the MCP servers {', '.join(servers[:MOST_NAMED])}{more}")
        elif self.entries:
            parts.append("what MCP servers add later")
        return "; ".join(parts)

    def find(self, name: str) -> Tool | None:
        """Return an unlisted tool that is known, by its name or an alias."""
        if not self.can_search:
            return None
        found = self.server_tools().get(name) or self._rare_tools.get(name)
        if found is None and (tool := self._setting.tools.find(name)) and tool.name in self._rare_tools:
            return tool
        return found

    async def load(self, name: str) -> str:
        """Ask the server of a tool what it offers. Return why that failed, or an empty string."""
        server = self._server_of(name) if self.can_search else ""
        if not server:
            return ""
        try:
            async with asyncio.timeout(SEARCH_WITHIN_S):
                await self._connect().load_manifest(server)
        except ToolError as error:
            return f"MCP server {server} cannot be used: {error.message}"
        except TimeoutError:
            return f"MCP server {server} is still starting. Try again in a moment, or take another way."
        return ""

    async def search(self, query: str, limit: int) -> ToolMatches:
        from overt.lib.text_search import rank  # late: 0.5 ms

        problems = await self._load_missing(ENOUGH_AFTER_S)
        tools = {**self._rare_tools, **self.server_tools()}
        if problems and query not in tools and not rank(query, _texts(tools), 1, min_shared_words=2):
            problems = await self._load_missing(SEARCH_WITHIN_S - ENOUGH_AFTER_S)
            tools |= self.server_tools()
        skills = self._skills.summaries() if self._skills else {}
        texts = {**{name: f"{name} {name} {skill.description}" for name, skill in skills.items()}, **_texts(tools)}
        names = [query] if query in texts else rank(query, texts, limit)
        specs = [skills[name] if name not in tools else self._shown(tools[name]) for name in names]
        return ToolMatches(specs=tuple(specs), total=len(texts), problems=problems)

    def _shown(self, tool: Tool) -> ToolSpec:
        return flatten_schema(tool.spec) if self.flatten else tool.spec

    def suggest(self, task: str, limit: int) -> tuple[ToolSpec, ...]:
        """Return tools of servers that a task seems to need, for a model that does not look for tools itself.

        Servers of which nothing is known are asked in the background, for the next task.
        """
        if not self.entries:
            return ()
        from overt.lib.text_search import rank  # late: 0.5 ms

        loading = asyncio.ensure_future(self._load_missing(SEARCH_WITHIN_S))
        self._loading.add(loading)
        loading.add_done_callback(self._loading.discard)
        tools = self.server_tools()
        return tuple(tools[name].spec for name in rank(task, _texts(tools), limit, min_shared_words=2))

    async def _load_missing(self, within_s: float) -> tuple[str, ...]:
        """Ask all servers of which nothing is known. Return what is wrong with those that did not answer."""
        known = self._known
        missing = [entry.name for entry in self.entries if known and known.manifest(entry.name) is None]
        if not missing:
            return ()
        servers = self._connect()
        loading = {asyncio.ensure_future(servers.load_manifest(name)): name for name in missing}
        done, waiting = await asyncio.wait(loading, timeout=within_s)
        for task in waiting:
            task.cancel()  # the question itself goes on: it is shared
        problems = [f"MCP server {loading[task]} is still starting." for task in waiting]
        for task in done:
            if error := task.exception():
                if not isinstance(error, ToolError):
                    raise error
                problems.append(f"MCP server {loading[task]} cannot be used: {error.message}")
        return tuple(sorted(problems))

    def server_tools(self) -> dict[str, Tool]:
        """Return the MCP tools that are known so far."""
        if self._known is not None and self._version != self._known.version:
            tools = (self._tools_of(entry) for entry in self.entries)
            self._server_tools = {name: tool for each in tools for name, tool in each.items()}
            self._version = self._known.version
        return self._server_tools

    def _tools_of(self, entry: ServerEntry) -> dict[str, Tool]:
        manifest = self._known.manifest(entry.name) if self._known else None
        if manifest is None:
            return {}
        from overt.mcp.server_tools import server_tools  # late: 3 ms

        tools = server_tools(entry, manifest)
        return {name: tool for name, tool in tools.items() if not self._is_denied(tool)}

    def _is_denied(self, tool: Tool) -> bool:
        """True if a rule without a pattern denies the tool, or a sub-agent may not have it. The model never sees it."""
        if self._choice and not self._choice.allows(tool):
            return True
        return self._denies(Subject(tool=tool.name, family=tool.family, server=tool.server))

    def _denies(self, subject: Subject) -> bool:
        rules = [rule for rule in self._setting.config.permissions.rules if not rule.pattern]
        return matching(rules, subject, "deny") is not None


def _any_tool_of(entry: ServerEntry) -> Subject:
    """Return the subject of a tool with a name that no rule lists: what denies it denies every tool of the server."""
    target = ServerTarget(server=entry.name, tool=ANY_TOOL)
    return Subject(tool=f"mcp__{plain_name(entry.name)}__{ANY_TOOL}", family="mcp", server=target)


def _texts(tools: dict[str, Tool]) -> dict[str, str]:
    """Return what each tool is searched by. Its name counts twice."""
    return {name: f"{name} {name} {tool.spec.description} {_argument_names(tool.spec)}" for name, tool in tools.items()}


def _argument_names(spec: ToolSpec) -> str:
    return " ".join(json.decode(spec.schema).get("properties", {}))


def add_catalog_description(tool: Tool, catalog: ToolCatalog) -> Tool:
    """Return `toolsearch` with what can be looked up in its description."""
    return add_description(tool, f"Among them: {catalog.describe()}.")


def add_description(tool: Tool, text: str) -> Tool:
    """Return the tool with more in its description."""
    return replace(tool, spec=replace(tool.spec, description=f"{tool.spec.description} {text}"))
