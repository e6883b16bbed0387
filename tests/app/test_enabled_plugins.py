"""What a session takes from its plugins: folders, hook files and servers, as long as their files are as agreed."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overt.app.hooks.sources import find_hook_tables
from overt.app.mcp.servers import load_servers
from overt.app.options import Options
from overt.app.plugins import check_copies
from overt.app.plugins.enabled import enabled_plugins, ensure_unchanged, plugin_folders
from overt.app.plugins.install import install, stage_plugin
from overt.app.plugins.sources import parse_source
from overt.app.setting import Setting, read_setting
from overt.core.errors import OvertError
from overt.core.settings import ServerEntry
from overt.extensions.discovery import ExtensionPlaces, extension_folders
from overt.lib import read_file

SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
SKILL = "---\nname: one\ndescription: Does it.\n---\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("TOKEN", "a-token")
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def add(project: Path, name: str, parts: dict[str, Any], *, network: bool = False) -> Setting:
    """Install a plugin with these files for the user. Return the setting of a session that begins after that."""
    source = project.parent / "sources" / name
    for path, content in parts.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(content if isinstance(content, str) else json.dumps(content))
    setting = read_setting(Options())
    with stage_plugin(setting, parse_source(str(source), str(project))) as staged:
        assert staged.problems == ()
        install(setting, "user", staged, network=network)
    return read_setting(Options())


def entries(setting: Setting) -> dict[str, ServerEntry]:
    servers = load_servers(setting)
    assert servers.warnings == ()
    return {entry.name: entry for entry in servers.entries}


def test_skills_and_commands_of_a_plugin_are_found_under_its_name(project: Path) -> None:
    setting = add(project, "tidy", {"skills/one/SKILL.md": SKILL, "commands/go.md": "Go."})
    places = ExtensionPlaces(
        project=str(project), trusted=False, config_dir="/none", home="/none", plugins=plugin_folders(setting)
    )
    for kind in ("skills", "commands"):
        (folder,) = extension_folders(places, kind)
        assert (folder.namespace, folder.scope, folder.where) == ("tidy", "plugin", f"plugin tidy/{kind}")
    assert extension_folders(places, "agents") == ()


def test_hooks_come_with_the_root_and_the_data_folder_of_their_plugin(project: Path) -> None:
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    setting = add(project, "tidy", {"hooks/hooks.json": hooks})
    (plugin,) = enabled_plugins(setting).plugins
    (table,) = find_hook_tables(setting).tables
    assert (table.event, json.loads(table.text)) == ("Stop", hooks["hooks"]["Stop"][0])
    assert (table.root, table.data) == (plugin.root, plugin.data)
    assert Path(table.data).is_dir() and not table.data.startswith(table.root)


def test_variables_of_a_claude_server_are_those_of_the_plugin_and_of_the_environment(project: Path) -> None:
    table = {
        "command": "${CLAUDE_PLUGIN_ROOT}/bin/server",
        "args": ["--data", "${CLAUDE_PLUGIN_DATA}", "${MISSING:-none}"],
        "env": {"KEY": "${TOKEN}"},
        "cwd": "${CLAUDE_PLUGIN_ROOT}",
    }
    setting = add(project, "tidy", {".mcp.json": {"db": table}, "bin/server": "#!/bin/sh\n"}, network=True)
    (plugin,) = enabled_plugins(setting).plugins
    entry = entries(setting)["plugin_tidy_db"]
    assert entry.command == (f"{plugin.root}/bin/server", "--data", plugin.data, "none")
    assert (entry.folder, entry.network, entry.of_project) == (plugin.root, True, False)
    assert entry.environment == {
        "KEY": "a-token",
        "CLAUDE_PLUGIN_ROOT": plugin.root,
        "CLAUDE_PLUGIN_DATA": plugin.data,
        "PLUGIN_ROOT": plugin.root,
        "PLUGIN_DATA": plugin.data,
    }


def test_a_portable_server_gets_its_two_variables_filled_in_and_no_others(project: Path) -> None:
    servers = {
        "local": {
            "type": "stdio",
            "command": "./bin/a server",
            "args": ["${PLUGIN_ROOT}/x", "${PLUGIN_DATA}", "${TOKEN}", "${CLAUDE_PLUGIN_ROOT}"],
            "env": {"A": "${PLUGIN_DATA}/a"},
        },
        "inside": {"type": "stdio", "command": "node", "cwd": "${PLUGIN_DATA}/sub"},
        "remote": {"type": "streamable-http", "url": "https://x.example/${TOKEN}", "headers": {"A": "${TOKEN}"}},
    }
    parts = {
        "plugin.json": {"$schema": f"{SCHEMAS}/plugin.schema.json", "name": "portable.one"},
        "mcp.json": {"$schema": f"{SCHEMAS}/mcp.schema.json", "mcpServers": servers},
    }
    setting = add(project, "folder", parts)
    (plugin,) = enabled_plugins(setting).plugins
    found = entries(setting)
    local, inside = found["plugin_portable.one_local"], found["plugin_portable.one_inside"]
    assert local.command == (
        f"{plugin.root}/bin/a server",
        f"{plugin.root}/x",
        plugin.data,
        "${TOKEN}",
        "${CLAUDE_PLUGIN_ROOT}",
    )
    assert (local.folder, local.environment["A"]) == (plugin.root, f"{plugin.data}/a")
    assert (inside.command, inside.folder) == (("node",), f"{plugin.data}/sub")
    remote = found["plugin_portable.one_remote"]
    assert (remote.kind, remote.url, remote.headers) == ("http", "https://x.example/${TOKEN}", {"A": "${TOKEN}"})


def test_the_configuration_can_switch_a_server_of_a_plugin_off(project: Path) -> None:
    add(project, "tidy", {".mcp.json": {"db": {"command": "x"}}})
    config = Path(read_setting(Options()).environment.config_dir) / "config.toml"
    config.write_text("[mcp.plugin_tidy_db]\nenabled = false\n")
    assert entries(read_setting(Options()))["plugin_tidy_db"].enabled is False


def test_a_file_that_changes_during_a_session_keeps_its_programs_from_starting(project: Path) -> None:
    setting = add(project, "tidy", {".mcp.json": {"db": {"command": "x"}}, "server.py": "pass"})
    (plugin,) = enabled_plugins(setting).plugins
    ensure_unchanged(setting, plugin.root)
    ensure_unchanged(setting, "/elsewhere")
    file = Path(plugin.root) / "server.py"
    file.chmod(0o600)
    file.write_text("evil")
    with pytest.raises(OvertError, match=r"the plugin tidy is off: server\.py was changed"):
        ensure_unchanged(setting, plugin.root)
    assert enabled_plugins(setting).plugins == (plugin,), "what a session sends does not change"
    later = load_servers(read_setting(Options()))
    assert later.entries == () and "tidy is off: server.py was changed" in later.warnings[0]


@pytest.fixture
def remembered(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin that was checked, and the file with the result. Its files count as old enough at once."""
    monkeypatch.setattr(read_file, "SETTLED_NS", -1)
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    server = {"command": "${CLAUDE_PLUGIN_ROOT}/run.sh", "args": ["${WHO:-nobody}"]}
    own = {"command": "${CLAUDE_PLUGIN_ROOT}/run.sh", "args": ["${CLAUDE_PLUGIN_DATA}"]}
    parts = {"hooks/hooks.json": hooks, ".mcp.json": {"db": server, "own": own}, "run.sh": "echo old"}
    setting = add(project, "tidy", parts)
    assert len(enabled_plugins(setting).plugins) == 1
    (file,) = Path(setting.environment.data_dir).glob("plugins/checked-*.json")
    return file


def refuse_checking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_copies, "check_plugins", lambda *_: pytest.fail("the plugins were checked again"))


def test_plugins_that_have_not_changed_are_used_as_they_were_found(
    remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = check_copies.check_plugins(read_setting(Options()), ("user",))
    refuse_checking(monkeypatch)
    setting = read_setting(Options())
    assert enabled_plugins(setting) == before
    (plugin,) = before.plugins
    assert [table.event for table in find_hook_tables(setting).tables] == ["Stop"]
    run = f"{plugin.root}/run.sh"
    assert {name: entry.command for name, entry in entries(setting).items()} == {
        "plugin_tidy_db": (run, "nobody"),
        "plugin_tidy_own": (run, plugin.data),
    }
    monkeypatch.setenv("WHO", "me")
    assert entries(read_setting(Options()))["plugin_tidy_db"].command == (run, "me"), "it is that of the session"


def change_byte(root: Path) -> None:
    """Change one byte and put the size and the time of modification back, as someone would who wants to hide it."""
    file = root / "run.sh"
    before = file.stat()
    file.write_text("echo new")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (change_byte, "run.sh was changed"),
        (lambda root: (root / "hooks/hooks.json").write_text('{"hooks": {}}'), "hooks/hooks.json was changed"),
        (lambda root: (root / "run.sh").chmod(0o755), "run.sh was changed"),
        (lambda root: (root / "skills").mkdir(), ""),
        (lambda root: (root / "hooks/more.json").write_text("{}"), "hooks/more.json was added"),
        (lambda root: (root / "run.sh").unlink(), "run.sh is missing"),
        (lambda root: root.rename(root.parent / "elsewhere"), "it is not installed here"),
    ],
)
def test_a_change_is_noticed_whatever_is_remembered(
    remembered: Path, change: Callable[[Path], object], problem: str
) -> None:
    (plugin,) = enabled_plugins(read_setting(Options())).plugins
    change(Path(plugin.root))
    setting = read_setting(Options())
    assert enabled_plugins(setting).problems == ({"tidy": problem} if problem else {})
    assert len(load_servers(setting).entries) == len(find_hook_tables(setting).tables) * 2 == (0 if problem else 2)


def test_what_is_remembered_counts_for_its_locks_only_and_if_no_one_else_could_write_it(
    remembered: Path, project: Path
) -> None:
    content = remembered.read_text().replace("run.sh", "bad.sh")
    for damaged in ("{", content.replace("Stop", "Stop\\u00"), "[]"):
        remembered.write_text(damaged)
        assert "bad.sh" not in str(enabled_plugins(read_setting(Options())).plugins)
    remembered.write_text(content)
    remembered.chmod(0o622)
    assert "bad.sh" not in str(enabled_plugins(read_setting(Options())).plugins)
    setting = add(project, "other", {"commands/go.md": "Go."})
    assert [plugin.name for plugin in enabled_plugins(setting).plugins] == ["other", "tidy"]
    lock = Path(setting.environment.config_dir) / "plugins.lock"
    lock.write_text('{"v": 1, "plugins": {}}')
    assert enabled_plugins(read_setting(Options())).plugins == ()


def test_a_session_without_plugins_does_not_load_their_reader(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("overt.app.plugins.check_copies", "overt.extensions.plugins.lock"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert enabled_plugins(read_setting(Options())).plugins == ()
    assert "overt.extensions.plugins.lock" not in sys.modules
