"""All tools of a conversation: one file of this folder each, and those that are given from outside."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from overt import tools

if TYPE_CHECKING:
    from overt.core.capabilities import Effect
    from overt.core.tool import Tool


class ToolRegistry:
    """The built-in tools and `extra` ones, in the order the model is told of them. None is added later.

    The modules of the built-in tools are loaded when the first tool is looked up.
    """

    def __init__(self, extra: Iterable["Tool"] = ()) -> None:
        self._extra = tuple(extra)

    @cached_property
    def by_name(self) -> dict[str, "Tool"]:
        from overt.core.tool import Tool  # late: 22 ms
        from overt.lib.module_discovery import values_in  # late: 0.9 ms

        named = {tool.name: tool for tool in (*values_in(tools, Tool), *self._extra)}
        return dict(sorted(named.items(), key=lambda item: (item[1].order, item[0])))

    @cached_property
    def _names(self) -> dict[str, str]:
        """Return the tools by all their names."""
        aliases = {alias: tool.name for tool in self for alias in tool.aliases}
        return aliases | {name: name for name in self.by_name}

    def __iter__(self) -> Iterator["Tool"]:
        return iter(self.by_name.values())

    def find(self, name: str) -> "Tool | None":
        """Return the tool of that name or alias."""
        return self.by_name.get(self._names.get(name, ""))

    def for_effects(self, effects: frozenset["Effect"]) -> dict[str, "Tool"]:
        """Return the tools of an agent with these effects. A tool that needs more does not exist for it."""
        return {tool.name: tool for tool in self if tool.effects <= effects}

    @cached_property
    def rule_names(self) -> dict[str, str]:
        """Return the names that rules and settings may use, in lower case, each with our name for the tool."""
        return {name.lower(): ours for name, ours in self._names.items()}

    @cached_property
    def edit_rules(self) -> frozenset[str]:
        """Return the names of the rules that speak of writing files."""
        return frozenset({"edit"} | {tool.name for tool in self if tool.family == "edit"})


BUILT_IN = ToolRegistry()
