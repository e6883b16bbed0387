"""The servers of a session: none without configuration, and none of a file that changed after it was trusted."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from overt.app.mcp.servers import load_servers, server_secrets
from overt.app.options import Options
from overt.app.setting import read_setting
from overt.config import mcp_servers
from overt.config.paths import read_environment
from overt.config.server_sources import Servers
from overt.config.trust import trust


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_a_file_that_changes_during_a_session_is_not_used(project: Path) -> None:
    file = project / ".mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "good"}}}')
    trust(read_environment(), str(project))
    setting = read_setting(Options())
    assert [entry.command for entry in load_servers(setting).entries] == [("good",)]
    file.write_text('{"mcpServers": {"a": {"command": "evil"}}}')
    assert load_servers(setting).entries == ()


@pytest.mark.parametrize("was_there", [True, False])
def test_a_file_that_changes_between_the_check_and_its_use_is_not_used(
    project: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    file = project / ".mcp.json"
    (project / "overt.toml").write_text("[mcp.own]\ncommand = 'good'\n")
    if was_there:
        file.write_text('{"mcpServers": {"a": {"command": "good"}}}')
    trust(read_environment(), str(project))
    setting = read_setting(Options())
    read = mcp_servers.load_servers

    def change_and_read(*args: Any, **named: Any) -> Servers:
        file.write_text('{"mcpServers": {"a": {"command": "evil"}}}')
        return read(*args, **named)

    monkeypatch.setattr(mcp_servers, "load_servers", change_and_read)
    servers = load_servers(setting)
    assert [entry.name for entry in servers.entries] == ["own"]
    assert servers.warnings == (
        ".mcp.json: changed after it was checked, so none of its MCP servers is used; start again",
    )


def test_flags_reach_the_list_and_can_replace_it(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    trust(read_environment(), str(project))
    configs = ('{"mcpServers": {"b": {"command": "y"}}}',)
    both = load_servers(read_setting(Options(mcp_configs=configs)))
    only = load_servers(read_setting(Options(mcp_configs=configs, strict_mcp_config=True)))
    none = load_servers(read_setting(Options(strict_mcp_config=True)))
    assert [[entry.name for entry in each.entries] for each in (both, only, none)] == [["a", "b"], ["b"], []]


def test_a_session_without_servers_does_not_load_their_reader(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "overt.config.mcp_servers", raising=False)
    (project / "overt.toml").write_text("[agent]\nmax_steps = 7\n")
    assert load_servers(read_setting(Options())).entries == ()
    assert "overt.config.mcp_servers" not in sys.modules


def test_values_of_variables_in_entries_are_secrets_but_folders_and_words_are_not(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN", "abcd-1234")
    monkeypatch.setenv("WHERE", str(project))
    monkeypatch.setenv("WORD", "postgres")
    command = ["x", "${PLAIN}", "${WHERE}", "${WORD}", "${NONE:-default-1}"]
    configs = (json.dumps({"mcpServers": {"a": {"command": command}}}),)
    assert server_secrets(load_servers(read_setting(Options(mcp_configs=configs)))) == ("abcd-1234",)
