"""Hooks of plugins: the files of a public marketplace are read and run as they are."""

import asyncio
from pathlib import Path

import pytest

from overt.app.hooks.inspect import find_hooks, try_event
from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.config.hook_sources import PluginHooks

MARKETPLACE = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "claude-plugins" / "plugins"
FILES = sorted(MARKETPLACE.glob("*/hooks/hooks.json"))


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("home", "work", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return read_setting(Options(directory=str(tmp_path / "work")))


def plugin(path: Path, data: Path) -> tuple[PluginHooks, ...]:
    root = path.parent.parent
    return (PluginHooks(str(path), str(root), str(data), f"plugin {root.name}"),)


def test_a_hook_of_a_plugin_knows_its_folders(setting: Setting, tmp_path: Path) -> None:
    path = tmp_path / "work" / "plugin" / "hooks" / "hooks.json"
    path.parent.mkdir(parents=True)
    program = '{"command": "sh", "args": ["-c", "echo ${CLAUDE_PLUGIN_ROOT}"]}'
    line = '{"type": "command", "command": "echo $CLAUDE_PLUGIN_DATA"}'
    path.write_text(f'{{"hooks": {{"SessionStart": [{{"hooks": [{program}, {line}]}}]}}}}')
    firing = asyncio.run(try_event(setting, "SessionStart", "", None, plugin(path, tmp_path / "data")))
    assert firing.context == f"{path.parent.parent}\n{tmp_path / 'data'}"
    assert firing.runs[0][0].origin == "plugin plugin:1"


@pytest.mark.skipif(not FILES, reason="the marketplace snapshot is not here")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.parent.name)
def test_the_hooks_of_the_marketplace_run_unchanged(setting: Setting, tmp_path: Path, path: Path) -> None:
    plugins = plugin(path, tmp_path / "data")
    hooks, mistakes = find_hooks(setting, plugins)
    assert hooks and mistakes == () and {hook.problem for hook in hooks} == {""}
    for event in sorted({hook.event for hook in hooks if hook.is_fired}):
        given: dict[str, object] | None = {"command": "git commit -m x"} if "Tool" in event else None
        firing = asyncio.run(try_event(setting, event, "Bash", given, plugins))
        assert firing.runs and firing.failures == () and firing.verdict == "", (event, firing)
