"""Marketplaces: every entry has a source or a named reason; the public one is read whole."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from overt.core.errors import OvertError
from overt.extensions.plugins.launchers import unpinned_words
from overt.extensions.plugins.lock import PluginSource
from overt.extensions.plugins.marketplace import Marketplace, read_marketplace
from overt.extensions.plugins.package import PluginPackage, read_package

PUBLIC = Path(__file__).parents[3] / "shared/data/claude-plugins"
SHA = "0123456789abcdef0123456789abcdef01234567"

needs_snapshot = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the snapshot of the public marketplace is not here")


def read(folder: Path, plugins: list[Any], **more: Any) -> Marketplace:
    file = folder / ".claude-plugin/marketplace.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"name": "shop", "plugins": plugins, **more}))
    return read_marketplace(str(folder))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("./plugins/a", PluginSource(location="", path="plugins/a")),
        ("./", PluginSource(location="")),
        ({"source": "local", "path": "./a"}, PluginSource(location="", path="a")),
        ({"source": "github", "repo": "o/r"}, PluginSource(location="https://github.com/o/r.git")),
        ({"source": "url", "url": "https://x/r.git", "sha": SHA}, PluginSource(location="https://x/r.git", commit=SHA)),
        (
            {"source": "git-subdir", "url": "o/r", "path": "a/b", "ref": "v1", "sha": SHA},
            PluginSource(location="https://github.com/o/r.git", path="a/b", ref="v1", commit=SHA),
        ),
    ],
)
def test_sources_are_read(tmp_path: Path, source: object, expected: PluginSource) -> None:
    assert read(tmp_path, [{"name": "a", "source": source}]).find("a").source == expected


@pytest.mark.parametrize(
    "source",
    [
        *(None, 1, {}, "../elsewhere", "/etc"),
        {"source": "npm", "package": "x"},
        {"source": "url"},
        {"source": "url", "url": "https://x", "sha": "main"},
        {"source": "git-subdir", "url": "https://x", "path": "../y"},
    ],
)
def test_a_source_that_cannot_be_used_has_a_reason(tmp_path: Path, source: object) -> None:
    entry = read(tmp_path, [{"name": "a", "source": source}]).find("a")
    assert entry.source is None and entry.problem


def test_entries_without_a_usable_name_are_named_and_renamed_plugins_are_found(tmp_path: Path) -> None:
    plugins = [{"name": "new", "source": "./a"}, {"name": "../x", "source": "./b"}, 7, {"name": "new", "source": "./c"}]
    marketplace = read(tmp_path, plugins, renames={"old": "new"})
    assert (list(marketplace.entries), len(marketplace.problems)) == (["new"], 3)
    assert marketplace.find("old").name == "new"
    with pytest.raises(OvertError, match="did you mean new"):
        marketplace.find("newt")


def test_a_marketplace_of_codex_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".agents/plugins/marketplace.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"plugins": [{"name": "a", "source": {"source": "local", "path": "./plugins/a"}}]}))
    assert read_marketplace(str(tmp_path)).find("a").is_local


@needs_snapshot
def test_every_entry_of_the_public_marketplace_has_a_source() -> None:
    marketplace = read_marketplace(str(PUBLIC))
    assert (len(marketplace.entries), marketplace.problems) == (286, ())
    assert [entry.name for entry in marketplace.entries.values() if entry.source is None] == []
    sources = [entry.source for entry in marketplace.entries.values() if entry.source]
    assert Counter(bool(source.location) for source in sources) == {True: 233, False: 53}
    assert sum(bool(source.commit) for source in sources) == 233
    assert sum("lspServers" in entry.fields for entry in marketplace.entries.values()) == 12


def public_packages() -> list[PluginPackage]:
    """Read every plugin folder of the snapshot, with what the list says of it; one folder is not listed."""
    entries = read_marketplace(str(PUBLIC)).entries.values()
    fields = {entry.source.path: entry.fields for entry in entries if entry.source and entry.is_local}
    folders = [
        path.relative_to(PUBLIC) for kind in ("plugins", "external_plugins") for path in (PUBLIC / kind).iterdir()
    ]
    return [read_package(str(PUBLIC / path), entry=fields.get(str(path))) for path in sorted(folders)]


@needs_snapshot
def test_every_part_of_the_public_marketplace_loads_or_has_a_named_reason() -> None:
    packages = public_packages()
    assert len(packages) == 54
    assert len(list(PUBLIC.rglob("plugin.json"))) == 40
    counts = Counter({"skills": 0})
    for package in packages:
        counts.update(
            skills=len(package.skills),
            commands=len(package.commands),
            agents=len(package.agents),
            hooks=len(package.hooks),
            servers=len(package.servers),
            language_servers="lspServers" in package.not_used,
        )
    assert counts == {"skills": 31, "commands": 30, "agents": 31, "hooks": 6, "servers": 15, "language_servers": 12}
    assert [(package.name, problem) for package in packages for problem in package.problems] == [
        ("hookify", "skills/writing-rules/SKILL.md: its name 'writing-hookify-rules' is not that of its folder"),
        ("pr-review-toolkit", "agents/silent-failure-hunter.md: line 3: mapping values are not allowed here"),
    ]


@needs_snapshot
def test_the_unpinned_servers_of_the_public_marketplace_are_found() -> None:
    servers = {name: each.table for package in public_packages() for name, each in package.servers.items()}
    unpinned = {}
    for name, table in servers.items():
        args = table.get("args", [])
        if isinstance(args, list) and (package := unpinned_words([str(table.get("command", "")), *map(str, args)])):
            unpinned[name] = package
    assert unpinned == {
        "firebase": "firebase-tools@latest",
        "playwright": "@playwright/mcp@latest",
        "serena": "git+https://github.com/oraios/serena",
    }
