"""The slash commands of a session, and how a line that begins with a slash becomes the run of one."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt.app import commands
from overt.app.slash_command import Command, CommandOutcome, Query
from overt.core.errors import OvertError
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation


class CommandRegistry:
    """The built-in commands, those of Markdown files, and `extra` ones, such as skills and prompts of MCP servers.

    The built-in modules are loaded, and `read_files` is called, when the first command is looked up.
    """

    def __init__(self, extra: Iterable[Command] = (), read_files: Callable[[], Iterable[Command]] = tuple) -> None:
        self._extra = tuple(extra)
        self._read_files = read_files

    @cached_property
    def _built_in(self) -> dict[str, Command]:
        from overt.lib.module_discovery import values_in  # late: 0.2 ms

        return {command.name: command for command in values_in(commands, Command)}

    @cached_property
    def _by_name(self) -> dict[str, Command]:
        files = {command.name: command for command in self._read_files() if not self.is_reserved(command.name)}
        extra = [command for command in self._extra if not (command.is_prompt and self.is_reserved(command.name))]
        named = {**self._built_in, **files, **{command.name: command for command in extra}}
        return dict(sorted(named.items(), key=lambda item: (item[1].order, item[0])))

    def is_reserved(self, name: str) -> bool:
        """True if a file cannot replace the command of this name: only prompts of ours, as `/review`, give way."""
        built_in = self._built_in.get(name)
        aliases = {alias for command in self._built_in.values() for alias in command.aliases}
        return name in aliases or (built_in is not None and not built_in.is_prompt)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Return the other names of commands, each with the name it stands for."""
        return {alias: command.name for command in self.listed() for alias in command.aliases}

    def listed(self) -> tuple[Command, ...]:
        """Return all commands in the order of `/help`."""
        return tuple(self._by_name.values())

    def get(self, name: str) -> Command | None:
        """Return the command of that name or alias."""
        return self._by_name.get(self.aliases.get(name, name))

    def parse(self, line: str) -> tuple[str, str]:
        """Split a line that begins with a slash into the name of a command, without aliases, and its argument."""
        name, _, argument = line[1:].strip().partition(" ")
        return self.aliases.get(name, name) or "help", argument.strip()

    def query(self, kind: str) -> Query:
        """Return the query of that kind, from whichever command has it."""
        return next(command.queries[kind] for command in self.listed() if kind in command.queries)

    async def run(self, conversation: "Conversation", line: str, *, panels: bool = False) -> CommandOutcome:
        """Run the command of a line. With `panels`, the frontend has inspectors, themes, an editor and a clipboard."""
        name, argument = self.parse(line)
        command = self.get(name)
        if command is None:
            raise OvertError(say("chat.unknown", name=f"/{name}") + self.suggest(name))
        if argument and not command.usage:
            raise command.usage_error()
        if not panels and command.only_terminal:
            raise OvertError(say("chat.only_terminal", name=f"/{name}"))
        if panels and not argument and command.panel not in ("", "lines"):
            return CommandOutcome(panel=command.panel)
        done = await command.run(conversation, argument)
        return replace(done, paged=True) if command.panel == "lines" else done

    def suggest(self, name: str) -> str:
        """Return a similar name in brackets, or an empty string."""
        import difflib  # late: 0.9 ms

        near = difflib.get_close_matches(name, (*self._by_name, *self.aliases), n=1)
        return f" (/{near[0]}?)" if near else ""
