"""What read-only subcommands and frontends ask: configuration, models, tools, sessions, history."""

import os

from msgspec import Struct

from overt.app.context.prefix import sources_of
from overt.app.setting import Setting
from overt.config.origin import explain
from overt.config.paths import read_environment
from overt.config.schema import SettingValue
from overt.core.agents.agent_paths import path_order
from overt.core.errors import OvertError
from overt.core.events import Event, PrefixReset
from overt.core.tool import Tool
from overt.lib.translations import say
from overt.sessions.entries import Entry
from overt.sessions.index import Summary as Summary
from overt.sessions.index import agent_paths, delete, find_path, list_sessions, summary_or_name
from overt.sessions.load import load
from overt.tools.registry import ToolRegistry


class ToolRow(Struct, frozen=True, kw_only=True):
    name: str
    effects: tuple[str, ...]
    description: str
    bytes: int


def list_settings(setting: Setting) -> tuple[tuple[SettingValue, ...], tuple[str, ...]]:
    """Return every setting with its origin, and the warnings about the files."""
    usual = SettingValue(key="context.sources", value=tuple(each.key for each in sources_of(setting)), origin="default")
    rows = (usual if (row.key, row.origin) == (usual.key, "default") else row for row in explain(setting.config))
    return tuple(rows), setting.config.warnings


def tool_rows(extra: tuple[Tool, ...] = ()) -> tuple[ToolRow, ...]:
    return tuple(
        ToolRow(
            name=tool.name,
            effects=tuple(sorted(tool.effects)),
            description=tool.spec.description,
            bytes=len(tool.spec.name) + len(tool.spec.description) + len(bytes(tool.spec.schema)),
        )
        for tool in ToolRegistry(extra)
    )


def list_project_sessions(setting: Setting, *, everywhere: bool) -> tuple[Summary, ...]:
    return list_sessions(setting.environment.data_dir, None if everywhere else setting.roots.project)


def list_agent_sessions(session: Summary) -> tuple[Summary, ...]:
    """Return the sub-agents of a session, parents first."""
    return tuple(
        sorted(map(summary_or_name, agent_paths(session.path)), key=lambda agent: path_order(agent.agent_path))
    )


def session_entries(reference: str, setting: Setting) -> tuple[str, tuple[Entry[Event], ...], tuple[str, ...]]:
    """The path, the entries and the damage of one session."""
    path = find_session(reference, setting)
    loaded = load(path)
    return path, loaded.entries, loaded.damage


def is_stored(path: str) -> bool:
    """Whether there is something to go on with: a full disk may have kept nothing."""
    try:
        return bool(path) and os.path.getsize(path) > 0
    except OSError:
        return False


def entries_after_rewinds(path: str) -> tuple[Entry[Event], ...]:
    """The entries of a session without those of turns that were gone back over."""
    standing: list[Entry[Event]] = []
    for entry in load(path).entries:
        if isinstance(entry.data, PrefixReset) and entry.data.turn:
            standing = [each for each in standing if each.turn < entry.data.turn]
        standing.append(entry)
    return tuple(standing)


def delete_session(reference: str, setting: Setting) -> tuple[str, str]:
    """Delete a session and what only it needed for undo. Return its path, and a note if that was not possible."""
    path = find_session(reference, setting, by_name=False)  # a name may be half remembered; this cannot be undone
    from overt.app.undo.usage import DeletedSession  # late: 10 ms

    snapshots = DeletedSession(path, setting)
    delete(path)
    try:
        snapshots.release()
    except (OvertError, OSError) as error:
        return path, say("undo.not_released", why=error.message if isinstance(error, OvertError) else error.strerror)
    return path, ""


def find_session(reference: str, setting: Setting, *, by_name: bool = True) -> str:
    """Return the path of a session by its id or name: of this project first, then of any other."""
    return find_path(setting.environment.data_dir, reference, setting.roots.project, by_name=by_name)


def colour_wanted() -> bool:
    environment = read_environment()
    return not any((environment.get("NO_COLOR"), environment.get("AGENT_NO_COLOR"), environment.get("TERM") == "dumb"))
