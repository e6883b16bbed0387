"""`overt config KEY`, `--json` and `--schema`."""

import json
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, place

from overt.app.registries import Registries
from overt.cli.subcommands.config import run
from overt.config.key_table import KEYS

__all__ = ["place"]

PROVIDER = """
[[providers]]
name = "mine"
base_url = "http://localhost:1/v1"
headers = {x-team = "hush-4711"}
proxy = "http://me:hush-4712@localhost:3128"
models = ["a", {name = "b", window = 1000}]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in ("XDG_CONFIG_HOME", "OVERT_CONFIG", "OVERT_MODEL", "OVERT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", KEYS)
def test_each_setting_is_explained(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run([name], Registries()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == name
    assert lines[1].startswith("  value    ") and lines[1].endswith("(default)")
    assert lines[4] == f"  {KEYS[name].description}"
    assert lines[2] == f"  type     {KEYS[name].type}"
    assert lines[3].startswith("  default  ")


def test_a_setting_is_shown_with_its_value_and_origin(place: Place) -> None:
    (place.work / "overt.toml").write_text('[agent]\nmax_steps = 7\n[permissions]\nask = ["edit",\n "bash(ls *)"]\n')
    assert place.run("config", "agent.max_steps").out == (
        "agent.max_steps\n  value    7  (overt.toml:2)\n  type     a whole number above 0, or 0 for no limit\n"
        "  default  0\n  The number of requests after which a turn must end; 0 is no limit.\n"
    )
    assert '  value    "edit"  (overt.toml:4)\n           "bash(ls *)"  (overt.toml:5)\n' in (
        place.run("config", "permissions.ask").out
    )
    assert 'value    "m"  (OVERT_MODEL)' in place.run("config", "default_model", env={"OVERT_MODEL": "m"}).out


def test_a_table_shows_all_its_settings(place: Place) -> None:
    out = place.run("config", "compaction").out
    assert [line for line in out.splitlines() if line.startswith("compaction.")] == [
        "compaction.auto",
        "compaction.threshold",
        "compaction.prune",
    ]


def test_settings_of_providers_are_explained_whether_set_or_not(place: Place) -> None:
    assert "providers.NAME.base_url\n" in place.run("config", "providers").out
    (place.work / "own.toml").write_text(PROVIDER)
    env = {"OVERT_CONFIG": "own.toml"}
    out = place.run("config", "providers.mine", env=env).out
    assert 'providers.mine.base_url\n  value    "http://localhost:1/v1"  (own.toml:4)\n' in out
    assert "providers.mine.attempts\n  value    4  (default)\n" in out
    for words in (("config",), ("config", "providers"), ("config", "--json"), ("config", "providers", "--json")):
        shown = place.run(*words, env=env).out
        assert "[hidden]" in shown and "hush" not in shown


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("undo.max_sizes", "Did you mean `undo.max_size`?"),
        ("providers.mien", "Did you mean `providers.mine`?"),
        ("providers.mine.knd", "Did you mean `providers.mine.kind`?"),
        ("xyzzy", "List all settings with `overt config`."),
    ],
)
def test_an_unknown_setting_is_an_error_with_the_nearest_name(place: Place, name: str, hint: str) -> None:
    (place.work / "own.toml").write_text(PROVIDER)
    done = place.run("config", name, env={"OVERT_CONFIG": "own.toml"})
    assert (done.code, done.out, done.err) == (2, "", f"overt: Unknown setting `{name}`. {hint}\n")


def test_json_has_value_origin_default_and_description_of_each_setting(place: Place) -> None:
    (place.work / "overt.toml").write_text("[undo]\nenabled = true\n[limits]\nresult_bytes = 1000\n")
    rows = json.loads(place.run("config", "--json").out)
    assert {row["key"] for row in rows} == {
        name for name in KEYS if not name.startswith(("providers.", "mcp.", "agent.NAME."))
    }
    assert all(row["description"] and row["type"] and "default" in row for row in rows)
    (row,) = json.loads(place.run("config", "limits.result_bytes", "--json").out)
    assert (row["value"], row["origin"], row["default"]) == (1000, "overt.toml:4", 0)


def test_the_schema_is_printed_without_reading_any_file(place: Place) -> None:
    (place.work / "overt.toml").write_text("this is no configuration")
    done = place.run("config", "--schema")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["properties"]["undo"]["properties"]["max_size"]["default"] == "2 GB"
    assert place.run("config", "--schema", "undo").code == 2


def test_a_request_is_sent_without_loading_the_descriptions(place: Place) -> None:
    (place.work / "overt.toml").write_text("[agent]\nmax_steps = 7\n")
    with ModelServer([Turn(text="ok")]) as server:
        done = place.run("-p", "hello", server=server, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert "overt.config.reading.keys" in done.err, "import times are on standard error"
    for module in ("key_table", "json_schema"):
        assert f"overt.config.{module}" not in done.err
    assert "overt.lib.redaction.allow" not in done.err
