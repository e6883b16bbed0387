"""The slash commands of one session: built-in ones, Markdown files, prompts of MCP servers, and those of a package."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from overt.agent.agent import UnlistedTools
from overt.app.services import Services
from overt.app.setting import Setting
from overt.core.errors import UsageError
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.command_registry import CommandRegistry
    from overt.app.slash_command import Command


class SessionCommands:
    """Nothing is loaded or read before a command is looked up."""

    def __init__(self, setting: Setting, services: Services) -> None:
        self._setting = setting
        self._shared = services.workspace.shared
        self._skills = services.skills
        self._extra = services.commands
        self._registry: tuple[int, CommandRegistry] | None = None

    @property
    def registry(self) -> "CommandRegistry":
        """The commands that there are now. Those of MCP servers follow what is known of the servers."""
        known = self._shared.known_servers
        version = known.version if known else 0
        if self._registry is None or self._registry[0] != version:
            from overt.app.command_registry import CommandRegistry  # late: 1.4 ms

            extra = self._extra
            if known:
                from overt.app.mcp.prompts import prompt_commands  # late: 1 ms

                extra = (*prompt_commands(known), *extra)
            if self._skills:
                from overt.app.skills.commands import skill_commands  # late: 1 ms

                extra = (*skill_commands(self._skills), *extra)
            self._registry = version, CommandRegistry(extra, self._read_files)
        return self._registry[1]

    def _read_files(self) -> "Iterable[Command]":
        from overt.app.custom.command_files import file_commands  # late: 4 ms

        return file_commands(self._setting)

    async def find_prompt(self, name: str, unlisted: UnlistedTools | None) -> None:
        """Raise a UsageError if no such command exists, or if it has no prompt. An MCP server may have to be asked."""
        problem = ""
        if self.registry.get(name) is None and unlisted:
            problem = await unlisted.load(name)
        command = self.registry.get(name)
        if command is None:
            raise UsageError(problem or say("chat.unknown", name=f"/{name}") + self.registry.suggest(name))
        if not command.is_prompt:
            raise UsageError(say("chat.only_chat", name=f"/{name}"))
