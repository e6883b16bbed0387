"""Layers, origins and messages of the configuration."""

from pathlib import Path

import pytest
from tests.fakes.configuration import load

from overt.config.load import FlagValue
from overt.config.origin import explain
from overt.config.paths import Environment
from overt.config.reading.keys import SETTINGS
from overt.config.schema import Config, Permissions, SettingValue, ToolSettings
from overt.core.errors import ConfigError
from overt.core.settings import Limits, ProviderEntry, Rule, Timeouts


def environment(root: Path, **variables: str) -> Environment:
    home = root / "home"
    (home / ".config/overt").mkdir(parents=True, exist_ok=True)
    (root / "project").mkdir(exist_ok=True)
    return Environment(
        home=str(home),
        config_dir=str(home / ".config/overt"),
        data_dir=str(root / "data"),
        cache_dir=str(root / "cache"),
        cwd=str(root / "project"),
        variables=variables,
    )


def loaded(root: Path, text: str, name: str = "overt.toml", *, trusted: bool = True) -> Config:
    where = environment(root)
    path = root / "project" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return load(where, project=where.cwd, trusted=trusted)


def failure(root: Path, text: str, name: str = "overt.toml") -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(root, text, name)
    return caught.value.message


def test_without_files_variables_or_flags_everything_is_default(tmp_path: Path) -> None:
    where = environment(tmp_path)
    assert load(where, project=where.cwd, trusted=False) == Config()


STEPS = "[agent]\nmax_steps = {}\n"


@pytest.mark.parametrize(
    ("user", "project", "flag", "expected"),
    [
        (None, None, None, (0, "default")),
        (10, None, None, (10, "~/.config/overt/config.toml:2")),
        (10, 20, None, (20, "overt.toml:2")),
        (None, 20, 40, (40, "--max-turns")),
        (10, None, 40, (40, "--max-turns")),
        (10, 20, 40, (40, "--max-turns")),
    ],
)
def test_the_stronger_layer_sets_the_step_limit(
    tmp_path: Path, user: int | None, project: int | None, flag: int | None, expected: tuple[int, str]
) -> None:
    where = environment(tmp_path)
    if user:
        (tmp_path / "home/.config/overt/config.toml").write_text(STEPS.format(user))
    if project:
        (tmp_path / "project/overt.toml").write_text(STEPS.format(project))
    flags = [FlagValue(flag="--max-turns", key="agent.max_steps", value=str(flag))] if flag else []
    config = load(where, project=where.cwd, trusted=True, flags=flags)
    assert (config.limits.max_steps, config.origin("agent.max_steps")) == expected


@pytest.mark.parametrize(
    ("variable", "flag", "expected"),
    [
        ("", "", ("project", "overt.toml:1")),
        ("variable", "", ("variable", "OVERT_MODEL")),
        ("variable", "flag", ("flag", "--model")),
        ("", "flag", ("flag", "--model")),
    ],
)
def test_a_flag_beats_a_variable_and_a_variable_beats_the_project(
    tmp_path: Path, variable: str, flag: str, expected: tuple[str, str]
) -> None:
    where = environment(tmp_path, OVERT_MODEL=variable)
    (tmp_path / "project/overt.toml").write_text('default_model = "project"\n')
    flags = [FlagValue(flag="--model", key="default_model", value=flag)] if flag else []
    config = load(where, project=where.cwd, trusted=True, flags=flags)
    assert (config.default_model, config.origin("default_model")) == expected


def test_the_file_named_by_overt_config_stands_above_the_project_and_below_variables(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonc").write_text('{"default_model": "mine", "language": "zh"} // mine')
    where = environment(tmp_path, OVERT_CONFIG="../mine.jsonc", OVERT_LANGUAGE="en")
    (tmp_path / "project/overt.toml").write_text('default_model = "project"\n')
    config = load(where, project=where.cwd, trusted=False)
    assert (config.default_model, config.language) == ("mine", "en")


@pytest.mark.parametrize("name", ["nowhere.toml", "overt.yaml"])
def test_a_wrong_overt_config_is_named(tmp_path: Path, name: str) -> None:
    where = environment(tmp_path, OVERT_CONFIG=name)
    (tmp_path / "project/overt.yaml").write_text("a: 1")
    with pytest.raises(ConfigError, match=rf"^OVERT_CONFIG: {name} "):
        load(where, project=where.cwd, trusted=True)


def test_rules_of_all_layers_hold_together_and_know_their_lines(tmp_path: Path) -> None:
    where = environment(tmp_path)
    (tmp_path / "home/.config/overt/config.json").write_text('{"permission":\n {"bash": {"git *": "allow"}}}')
    (tmp_path / "project/overt.toml").write_text('[permissions]\ndeny = [\n  "Bash(rm:*)",\n  "read(.env)",\n]\n')
    flags = [FlagValue(flag="--allowedTools", key="permissions.allow", value="Bash(npm run *),Edit")]
    config = load(where, project=where.cwd, trusted=True, flags=flags)
    assert config.permissions.rules == (
        Rule(action="deny", tool="bash", pattern="rm:*", origin="overt.toml:3"),
        Rule(action="deny", tool="read", pattern=".env", origin="overt.toml:4"),
        Rule(action="allow", tool="bash", pattern="git *", origin="~/.config/overt/config.json:2"),
        Rule(action="allow", tool="bash", pattern="npm run *", origin="--allowedTools"),
        Rule(action="allow", tool="edit", origin="--allowedTools"),
    )


FULL_TOML = """\
default_model = "one/m"
offline = true
language = 'zh'

[agent]
system_prompt = '''
[not.a.table]
x = 1
'''
append_system_prompt = "more"

[permissions]
mode = "plan"
fallback = "deny"
ask = ["edit"]

[[providers]]
name = "one"
base_url = "http://127.0.0.1:1/v1"
models = [
  "m",   # first
  "n",
]
timeouts.connect = 3
headers = { "X-Team" = "blue" }

[[providers]]
name = "two"
kind = "anthropic"
api_key_env = "TWO_KEY"

[tools]
disabled = ["Bash"]

[limits]
max_steps = 9
result_bytes = 1000

[timeouts]
headers = 7.5

[context]
context_window = 32000

[env]
pass = ["CI"]

[workspace]
allow_read = ["../shared", "~/notes"]
allow_write = ["/opt/out/"]
"""


def test_every_key_of_a_full_file_arrives(tmp_path: Path) -> None:
    config = loaded(tmp_path, FULL_TOML)
    assert config.warnings == ()
    assert config.agent.system_prompt == "[not.a.table]\nx = 1\n"
    assert config.agent.append_system_prompt == "more"
    assert config.permissions == Permissions(
        rules=(Rule(action="ask", tool="edit", origin="overt.toml:15"),), fallback="deny", mode="plan"
    )
    general = Timeouts(headers=7.5)
    assert config.timeouts == general
    assert config.providers == (
        ProviderEntry(
            name="one",
            base_url="http://127.0.0.1:1/v1",
            models=("m", "n"),
            headers={"X-Team": "blue"},
            timeouts=Timeouts(connect=3.0, headers=7.5),
        ),
        ProviderEntry(name="two", kind="anthropic", api_key_env="TWO_KEY", timeouts=general),
    )
    assert config.tools == ToolSettings(disabled=("bash",))
    assert config.limits == Limits(max_steps=9, result_bytes=1000)
    assert (config.default_model, config.offline, config.language) == ("one/m", True, "zh")
    assert (config.context_window, config.env_pass) == (32000, ("CI",))
    assert config.allow_read == (str(tmp_path / "shared"), str(tmp_path / "home/notes"))
    assert config.allow_write == ("/opt/out",)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("default_model", 1),
        ("offline", 2),
        ("agent.system_prompt", 6),
        ("agent.append_system_prompt", 10),
        ("permissions.mode", 13),
        ("permissions.ask", 15),
        ("providers.one.name", 17),
        ("providers.one.models", 20),
        ("providers.one.timeouts.connect", 24),
        ("providers.two.kind", 29),
        ("tools.disabled", 33),
        ("agent.max_steps", 36),
        ("workspace.allow_write", 50),
    ],
)
def test_a_toml_value_knows_its_line(tmp_path: Path, key: str, line: int) -> None:
    assert loaded(tmp_path, FULL_TOML).origin(key) == f"overt.toml:{line}"


FULL_JSONC = """\
{
  // which model
  "default_model": "one/m",
  /* rules
     of this house */ "permission": {
    "bash": {"git *": "allow",
             "rm *": "deny"},
    "edit": "ask",
  },
  "provider": {
    "one": {
      "options": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "{env:ONE_KEY}"},
      "models": {"m": {}}
    }
  }
}
"""


def test_jsonc_in_the_protocol_of_other_agents_loads_with_exact_lines(tmp_path: Path) -> None:
    config = loaded(tmp_path, FULL_JSONC, ".overt/config.jsonc")
    place = ".overt/config.jsonc"
    assert config.permissions.rules == (
        Rule(action="deny", tool="bash", pattern="rm *", origin=f"{place}:7"),
        Rule(action="ask", tool="edit", origin=f"{place}:8"),
        Rule(action="allow", tool="bash", pattern="git *", origin=f"{place}:6", of_project=True),
    )
    entry = ProviderEntry(name="one", base_url="http://127.0.0.1:1/v1", models=("m",), api_key_env="ONE_KEY")
    assert config.providers == (entry,)
    assert config.origin("default_model") == f"{place}:3"
    assert config.origin("providers.one.base_url") == f"{place}:12"


def test_explain_lists_every_key_with_its_origin_and_hides_what_headers_carry(tmp_path: Path) -> None:
    rows = explain(loaded(tmp_path, FULL_TOML))
    assert {row.key for row in rows} >= set(SETTINGS)
    assert SettingValue(key="permissions.ask", value="edit", origin="overt.toml:15") in rows
    assert SettingValue(key="limits.max_parallel", value=10, origin="default") in rows
    assert SettingValue(key="providers.one.headers.X-Team", value="[hidden]", origin="overt.toml:25") in rows
    assert "blue" not in repr(rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[agent]\nmax_steps = "many"', "2: `max_steps` must be a whole number above 0, or 0 for no limit, got 'many'"),
        ("[agent]\nmax_steps = -1", "2: `max_steps` must be a whole number above 0, or 0 for no limit, got -1"),
        ("[agent]\nmax_steps = true", "2: `max_steps` must be a whole number above 0, or 0 for no limit, got true"),
        ("[timeouts]\nconnect = nan", "2: `connect` must be a number of seconds above 0, got nan"),
        ("\nagent = 3", "2: `agent` must be a table, got 3"),
        ("language = 'fr'", "1: `language` must be one of 'auto', 'en', 'zh', got 'fr'"),
        ("default_model = [1]", "1: `default_model` must be a text, got a list"),
        ("default_model = 2020-01-01", "1: `default_model` must be a text, got a date or time"),
        ("a = 1\na = 2", "2: not valid TOML: cannot overwrite a value"),
        ("[permissions]\ndenny = ['bash']", "2: unknown key `denny` in [permissions]; did you mean `deny`?"),
        ("[permissions]\nmoed = 'deny'", "2: unknown key `moed` in [permissions]; did you mean `mode`?"),
        ("[permisions]\ndeny = ['bash']", "1: unknown key `permisions`; did you mean `permissions`?"),
        ("[agent]\ndeny = ['bash']", "2: unknown key `deny` in [agent]; permission rules belong under [permissions]"),
        ("[tools]\ndisable = ['bash']", "2: unknown key `disable` in [tools]; did you mean `disabled`?"),
        ("[permissions]\ndeny = 'bash'", "2: `deny` must be a list of rules, got 'bash'"),
        (
            "[permissions]\ndeny = ['read',\n 'bash(rm']",
            "3: 'bash(rm' is not a rule; write `tool` or `tool(pattern)`",
        ),
        ("[permissions]\ndeny = ['bsah']", "2: the rule 'bsah' names no known tool; did you mean `bash`?"),
        ("[permissions]\nbash = 'alow'", "2: `bash` must be 'allow', 'ask' or 'deny', got 'alow'"),
        (
            "[[providers]]\nkind = 'openai'",
            "1: a provider needs a `name` of letters, digits, `-` and `_`",
        ),
        (
            "[[providers]]\nname = 'a'\n[[providers]]\nname = 'a'",
            "3: `providers.a.name` is already set at overt.toml:1; remove one of the two",
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_and_what_was_expected(tmp_path: Path, text: str, message: str) -> None:
    assert failure(tmp_path, text) == f"overt.toml:{message}"


@pytest.mark.parametrize(
    "text",
    [
        "[[providers]]\nname = 'a'\napi_key = 'hunter2-hunter2'",
        "[[providers]]\nname = 'a'\napi_key_env = 'hunter2-hunter2'",
        "[[providers]]\nname = 'a'\nbase_url = 'http://me:hunter2@host'",
    ],
)
def test_a_secret_in_a_file_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    message = failure(tmp_path, text)
    assert message.startswith("overt.toml:3: ") and "hunter2" not in message


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("[agent]\n\nmax_step = 3", "3: unknown key `max_step` in [agent]; did you mean `max_steps`?"),
        ("[permissions]\nallow = ['frobnicate']", "2: no tool of this version is called `frobnicate`"),
    ],
)
def test_what_this_version_does_not_know_is_a_warning(tmp_path: Path, text: str, warning: str) -> None:
    assert loaded(tmp_path, text).warnings == (f"overt.toml:{warning}",)


def test_later_files_of_one_folder_stand_over_earlier_ones(tmp_path: Path) -> None:
    loaded(tmp_path, '{"default_model": "json"}', "overt.json")
    assert loaded(tmp_path, 'default_model = "toml"').default_model == "toml"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("acceptEdits", Permissions(mode="auto")),
        ("bypassPermissions", Permissions(mode="yolo")),
        ("manual", Permissions(mode="review")),
        ("dontAsk", Permissions(mode="review", dont_ask=True)),
    ],
)
def test_claude_codes_names_of_modes_are_understood(tmp_path: Path, name: str, expected: Permissions) -> None:
    assert loaded(tmp_path, f'{{"permissions": {{"defaultMode": "{name}"}}}}', "overt.json").permissions == expected


def test_a_wrong_flag_or_variable_is_named_by_its_own_name(tmp_path: Path) -> None:
    where = environment(tmp_path, OVERT_BASE_URL="ftp://x")
    with pytest.raises(ConfigError, match=r"^OVERT_BASE_URL: `base_url` must be an address"):
        load(where, project=where.cwd, trusted=True)
    where = environment(tmp_path)
    flag = FlagValue(flag="--max-turns", key="agent.max_steps", value="many")
    with pytest.raises(
        ConfigError, match=r"^--max-turns: `max_steps` must be a whole number above 0, or 0 for no limit, got 'many'$"
    ):
        load(where, project=where.cwd, trusted=True, flags=[flag])
