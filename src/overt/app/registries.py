"""What a package outside of Overt adds to it (decision 0018)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from overt.app.context.prefix import ContextSource
    from overt.app.options import Options
    from overt.app.slash_command import Command
    from overt.core.tool import Tool
    from overt.providers.wires import WireKind

Subcommand = Callable[[list[str], "Registries"], int]
"""Runs `overt NAME` with the words after the name, and returns the exit code."""
Frontend = Callable[["Options", str], int]
"""Runs a session with a first prompt, which may be empty, and returns the exit code."""
USE_PLAIN_CHAT = -1
"""Returned by a frontend instead of an exit code when the configuration asks for the plain chat."""


class Registries(Struct, frozen=True, kw_only=True):
    """Extra things of each kind. One with the name of a built-in thing takes its place.

    `overt.cli.main.main` takes this value and hands it down through `Options` and `Setting`.
    """

    tools: tuple["Tool", ...] = ()
    commands: tuple["Command", ...] = ()
    wires: tuple["WireKind", ...] = ()
    context_sources: tuple["ContextSource", ...] = ()
    panels: Mapping[str, Callable[[Any], Any]] = {}
    """By the name that a command gives in `panel`. The types are in `frontends/tui/panels`, which is above this one."""
    subcommands: Mapping[str, Subcommand] = {}
    frontends: Mapping[str, Frontend] = {}
