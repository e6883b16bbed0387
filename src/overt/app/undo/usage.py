"""`overt undo --usage`, `--prune` and `--retry`, and what goes with a deleted session."""

import os
import time

from msgspec.structs import replace

from overt.app.context.folders import sandbox_place
from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.app.undo.limits import PruneResult, UndoLimits, UndoPlace
from overt.core.errors import OvertError
from overt.lib.sizes import show_size
from overt.lib.translations import say
from overt.sandbox.profile import writable
from overt.sessions.index import summary
from overt.sessions.snapshot_uses import read_uses
from overt.workspace.trusted_programs import find_git
from overt.workspace.undo.first_snapshot import clear_marker, read_marker


def describe_usage(setting: Setting) -> tuple[str, ...]:
    """Return what the project keeps for undo, in lines for people."""
    place = undo_place(setting)
    usage = UndoLimits(place).usage()
    project, size, limit = place.project, show_size(usage.bytes), show_size(place.settings.max_size)
    if usage.turns:
        oldest = time.strftime("%Y-%m-%d %H:%M", time.localtime(usage.oldest))
        first = say("undo.usage_line", project=project, size=size, limit=limit, turns=usage.turns, oldest=oldest)
    else:
        first = say("undo.usage_none", project=project, size=size, limit=limit)
    lines = [first]
    days = f"{place.settings.max_age:g}"
    lines.append(say("undo.usage_age_one" if days == "1" else "undo.usage_age", days=days))
    if marker := read_marker(place.store(place.workspace)):
        lines.append(say("undo.usage_refused", why=marker.reason()))
    if not place.settings.enabled:
        lines.append(say("undo.disabled"))
    return tuple(lines)


def prune(setting: Setting, *, everything: bool) -> tuple[str, ...]:
    """Remove what no session needs and what exceeds the limits, or everything, and return how much was freed."""
    limits = limits_of(setting)
    result = limits.drop_all() if everything else limits.enforce(thorough=True)
    size = show_size(result.bytes)
    if result.turns:
        return (say("undo.pruned", size=size, turns=result.turns),)
    return (say("undo.pruned_free", size=size),)


def retry(setting: Setting) -> tuple[str, ...]:
    """Let the next run try a first snapshot again that was given up."""
    place = undo_place(setting)
    was_marked = clear_marker(place.store(place.workspace))
    return (say("undo.retry" if was_marked else "undo.retry_idle", workspace=place.workspace),)


def undo_place(setting: Setting) -> UndoPlace:
    """Where the snapshots of a project are, for their limits."""
    place = sandbox_place(setting)
    return UndoPlace(
        data_dir=place.data_dir,
        project=os.path.abspath(place.project),
        workspace=place.workspace,
        git=lambda: find_git(setting.environment.get("PATH"), writable=writable(place)),
        settings=setting.config.undo,
    )


def limits_of(setting: Setting) -> UndoLimits:
    return UndoLimits(undo_place(setting))


class DeletedSession:
    """What a session needs for undo. Make it before the session is deleted, and call `release` afterwards."""

    def __init__(self, path: str, setting: Setting) -> None:
        self._data_dir = setting.environment.data_dir
        self._registries = setting.registries
        self._names: set[str] = set()
        self._project = self._workspace = ""
        try:
            uses = read_uses((path,))
            head = summary(path)
        except (OvertError, OSError):
            return  # it cannot be read, so it says nothing about snapshots
        self._names = {name for use in uses for name in (*use.trees, *use.contents)}
        self._project, self._workspace = head.project, head.workspace

    def release(self) -> PruneResult:
        """Remove what only this session needed."""
        if not self._names or not self._project:
            return PruneResult()
        directory = self._workspace if os.path.isdir(self._workspace) else ""
        setting = read_setting(Options(directory=directory, registries=self._registries))
        own = {"data_dir": self._data_dir, "project": self._project, "workspace": self._workspace}
        return UndoLimits(replace(undo_place(setting), **own)).enforce(forget=self._names)
