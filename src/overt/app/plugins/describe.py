"""Lines for people about plugins: what one can do, what an update changes, and which ones there are."""

import os
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from overt.app.plugins.check_copies import check_plugins, locked_plugins
from overt.app.plugins.enabled_plugin import Scope
from overt.app.plugins.install import SCOPES, SCRIPTS, StagedPlugin
from overt.app.setting import Setting
from overt.config.describe_files import server_target
from overt.extensions.plugins.lock import RUNS, LockedPlugin, PluginSource
from overt.extensions.plugins.marketplace import Marketplace
from overt.lib.diff import file_diff
from overt.lib.translations import say

INERT = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".pdf", ".woff", ".woff2")
PAPERS = ("README", "LICENSE", "LICENCE", "NOTICE", "CHANGELOG", "CONTRIBUTING", "SECURITY", ".gitignore")
TEXTS = (".md", ".mdx", ".txt", ".rst")
Role = Literal["runs", "instructs", "other"]


class PluginRow(Struct, frozen=True, kw_only=True):
    """A plugin of a lock as `overt plugin list` shows it. `problem` says why it is off; empty if it is used."""

    name: str
    version: str
    scope: Scope
    source: str
    commit: str
    problem: str
    skills: int
    commands: int
    agents: int
    hooks: int
    servers: tuple[str, ...]


def role_of(path: str, digest: str) -> Role:
    """Say what a file of a plugin can do. What is not plainly inert counts as something that may run."""
    name = os.path.basename(path)
    if digest.endswith(RUNS) or path.endswith(SCRIPTS):
        return "runs"
    if ("/" not in path and name.startswith(PAPERS)) or path.lower().endswith(INERT):
        return "other"
    return "instructs" if path.endswith(TEXTS) else "runs"


def source_text(source: PluginSource, commit: str = "") -> str:
    place = f"{source.plugin}@{source.location}" if source.plugin else source.location
    place += f" ({source.path})" if source.path else ""
    return f"{place}, commit {commit[:12]}" if commit else place


def consent_lines(staged: StagedPlugin) -> Iterator[str]:
    """Say what a plugin brings: every command that it can run, and what the lock cannot hold still."""
    package, locked = staged.package, staged.locked
    yield say(
        "plugin.head", name=f"{staged.name} {locked.version}".strip(), source=source_text(locked.source, locked.commit)
    )
    if locked.description:
        yield f"  {locked.description}"
    runs = [
        f"{say('plugin.hook', event=_event(each.event, each.matcher))}: {each.command or each.kind}"
        for each in package.hook_commands
    ]
    runs += [f"{say('plugin.server', name=entry.name)}: {server_target(entry)}" for entry in staged.servers]
    runs += [f"{path}" for path in _scripts(locked)]
    yield from _section("plugin.runs", runs)
    parts = [f"{plural}: {', '.join(map(_part_name, paths))}" for plural, paths in _instructing(staged) if paths]
    yield from _section("plugin.instructs", parts)
    yield from _section("plugin.unpinned", staged.unpinned)
    yield from _section("plugin.not_used", package.not_used)
    yield from _section("plugin.left_out", staged.problems)


def _section(key: str, lines: "list[str] | tuple[str, ...]") -> Iterator[str]:
    if lines:
        yield say(key)
        yield from (f"  {line}".replace("\n", "\\n") for line in lines)


def _event(event: str, matcher: str) -> str:
    return f"{event}({matcher})" if matcher and matcher != "*" else event


def _instructing(staged: StagedPlugin) -> tuple[tuple[str, tuple[str, ...]], ...]:
    package = staged.package
    return (
        (say("plugin.skills"), package.skills),
        (say("plugin.commands"), package.commands),
        (say("plugin.agents"), package.agents),
    )


def _part_name(path: str) -> str:
    return os.path.basename(path).removesuffix(".md")


def _scripts(locked: LockedPlugin) -> Iterator[str]:
    yield from (path for path, digest in locked.files.items() if path.endswith(SCRIPTS) or digest.endswith(RUNS))


# ── updates ──────────────────────────────────────────────────────────────────────────────────────────────


def update_lines(old: LockedPlugin, old_root: str, staged: StagedPlugin) -> Iterator[str]:
    """Show what an update changes: the diff of every file that can run or instructs the model, names of the rest."""
    new = staged.locked
    yield say(
        "plugin.update_head",
        name=staged.name,
        old=_version(old),
        new=_version(new),
        source=source_text(new.source),
    )
    changed = [path for path in sorted({*old.files, *new.files}) if old.files.get(path) != new.files.get(path)]
    others = []
    for path in changed:
        if role_of(path, new.files.get(path) or old.files[path]) == "other":
            others.append(path)
            continue
        before, after = _content(old_root, path, old), _content(staged.folder, path, new)
        yield f"── {path}"
        if before == after or "\0" in f"{before}{after}":
            yield f"  {say('plugin.binary_changed')}"
        else:
            yield from file_diff(path, before, after).diff.splitlines()
    yield from _section("plugin.also_changed", others)
    yield from _section("plugin.unpinned", staged.unpinned)
    yield from _section("plugin.left_out", staged.problems)


def _version(plugin: LockedPlugin) -> str:
    return " ".join(filter(None, (plugin.version, plugin.commit[:12]))) or plugin.digest[:12]


def _content(root: str, path: str, plugin: LockedPlugin) -> str | None:
    if path not in plugin.files:
        return None
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────


def plugin_rows(setting: Setting) -> tuple[PluginRow, ...]:
    """Describe every plugin of the locks, those of a project that is not trusted included."""
    locked, _ = locked_plugins(setting, SCOPES)
    problems = dict(check_plugins(setting, SCOPES).problems)
    trusted = setting.trust.has(setting.roots.project)
    rows: list[PluginRow] = []
    for name, (scope, plugin) in sorted(locked.items()):
        problem = problems.get(name, "")
        if scope == "project" and not trusted:
            problem = say("plugin.not_trusted")
        rows.append(_row(name, scope, plugin, problem))
    return tuple(rows)


def _row(name: str, scope: Scope, plugin: LockedPlugin, problem: str) -> PluginRow:
    def count(kind: str, ending: str) -> int:
        return sum(path.startswith(f"{kind}/") and path.endswith(ending) for path in plugin.files)

    return PluginRow(
        name=name,
        version=plugin.version,
        scope=scope,
        source=source_text(plugin.source),
        commit=plugin.commit,
        problem=problem,
        skills=sum(
            path.startswith("skills/") and path.count("/") == 2 and path.endswith("/SKILL.md") for path in plugin.files
        ),
        commands=count("commands", ".md"),
        agents=count("agents", ".md"),
        hooks=len(plugin.hooks),
        servers=tuple(f"plugin_{name}_{server}" for server in plugin.servers),
    )


def list_lines(setting: Setting) -> Iterator[str]:
    rows = plugin_rows(setting)
    mistakes = locked_plugins(setting, SCOPES)[1]
    if not rows and not mistakes:
        yield say("plugin.none")
    for row in rows:
        state = say("plugin.off", reason=row.problem) if row.problem else say("plugin.on")
        yield f"{row.name} {row.version}".rstrip() + f"  ({row.scope}, {state})"
        commit = f", commit {row.commit[:12]}" if row.commit else ""
        yield f"  {row.source}{commit}"
        counts = {"skills": row.skills, "commands": row.commands, "agents": row.agents, "hooks": row.hooks}
        parts = [f"{say(f'plugin.{kind}')} {number}" for kind, number in counts.items() if number]
        parts += [say("plugin.server", name=name) for name in row.servers]
        if parts:
            yield f"  {', '.join(parts)}"
    yield from mistakes


def marketplace_lines(marketplace: Marketplace) -> Iterator[str]:
    yield from (f"{entry.name}  {entry.problem or entry.description}" for entry in marketplace.entries.values())
    yield from marketplace.problems
