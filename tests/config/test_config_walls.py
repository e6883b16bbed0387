"""Sandbox, dangerous programs and the agent's own rules: what the configuration may say of the walls."""

from pathlib import Path

import pytest
from tests.fakes.configuration import load

from overt.app.options import SANDBOX_FLAG, Options
from overt.app.setting import read_setting
from overt.config.load import FlagValue
from overt.config.paths import Environment
from overt.config.schema import Config, Permissions
from overt.core.errors import ConfigError
from overt.core.settings import Rule, Sandbox


@pytest.fixture
def where(tmp_path: Path) -> Environment:
    for name in ("user", "project"):
        (tmp_path / name).mkdir()
    return Environment(
        home=str(tmp_path / "home"),
        config_dir=str(tmp_path / "user"),
        data_dir=str(tmp_path / "data"),
        cache_dir=str(tmp_path / "cache"),
        cwd=str(tmp_path / "project"),
        variables={},
    )


def loaded(where: Environment, project: str = "", user: str = "", *, name: str = "overt.toml") -> Config:
    if user:
        Path(where.config_dir, "config.toml").write_text(user)
    Path(where.cwd, name).write_text(project)
    return load(where, project=where.cwd, trusted=True)


def test_the_walls_are_up_and_the_network_is_off_unless_something_else_is_said(where: Environment) -> None:
    assert loaded(where).sandbox == Sandbox(mode="auto", network=False, write=True)
    text = "[sandbox]\nmode = 'landlock'\nnetwork = true\nwrite = false\n"
    config = loaded(where, text)
    assert config.sandbox == Sandbox(mode="landlock", network=True, write=False)
    assert config.origin("sandbox.network") == "overt.toml:3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sandbox]\nmode = 'off'", "2: `mode` must be one of 'auto', 'bubblewrap', 'landlock', 'none', got 'off'"),
        ("[sandbox]\nnetwork = 'no'", "2: `network` must be true or false, got 'no'"),
        ("sandbox = 'none'", "1: `sandbox` must be a table, got 'none'"),
        ("[sandbox]\nwirte = false", "2: unknown key `wirte` in [sandbox]; did you mean `write`?"),
        ("[sanbox]\nwrite = false", "1: unknown key `sanbox`; did you mean `sandbox`?"),
        ("[permissions]\ndangerous = 'rm'", "2: `dangerous` must be a list of names of programs, got 'rm'"),
        ("[permissions]\ndangerous = ['a b']", "2: `dangerous` must be a list of names of programs, got a list"),
        ("[permissions]\ndangerous = ['/bin/x']", "2: `dangerous` must be a list of names of programs, got a list"),
        ("[agent.permissions]\nmode = 'yolo'", "2: `mode` belongs under [permissions]"),
        (
            "[agent]\npermisions = {bash = 'deny'}",
            "2: unknown key `permisions` in [agent]; did you mean `permissions`?",
        ),
    ],
)
def test_a_slip_that_would_take_a_wall_down_is_an_error(where: Environment, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(where, text)
    assert caught.value.message == f"overt.toml:{message}"


def test_dangerous_programs_of_all_layers_add_up(where: Environment) -> None:
    config = loaded(
        where,
        "[permissions]\ndangerous = ['terraform', 'kubectl']",
        user="[permissions]\ndangerous = ['kubectl', 'flyctl']",
    )
    assert config.permissions == Permissions(dangerous=("kubectl", "flyctl", "terraform"))


JSON = """{
 "permission": {"bash": {"git *": "ask", "rm *": "deny", "ls *": "allow"}, "edit": "deny", "webfetch": "deny",
  "external_directory": "deny", "skill": {"x-*": "deny"}, "task": "ask", "mcp": "ask"},
 "agent": {"permission": {
  "bash": {"git *": "allow", "npm test": "allow"},
  "edit": "ask"}}
}"""


def test_the_agents_own_rule_stands_over_the_same_one_of_the_baseline_and_else_is_added(where: Environment) -> None:
    config = loaded(where, JSON, name="overt.json")
    assert config.warnings == ()
    assert config.permissions.rules == (
        Rule(action="deny", tool="bash", pattern="rm *", origin="overt.json:2"),
        Rule(action="deny", tool="webfetch", origin="overt.json:2"),
        Rule(action="deny", tool="external_directory", origin="overt.json:3"),
        Rule(action="deny", tool="skill", pattern="x-*", origin="overt.json:3"),
        Rule(action="ask", tool="task", origin="overt.json:3"),
        Rule(action="ask", tool="mcp", origin="overt.json:3"),
        Rule(action="ask", tool="edit", origin="overt.json:6"),
        Rule(action="allow", tool="bash", pattern="ls *", origin="overt.json:2", of_project=True),
        Rule(action="allow", tool="bash", pattern="git *", origin="overt.json:5", of_project=True),
        Rule(action="allow", tool="bash", pattern="npm test", origin="overt.json:5", of_project=True),
    )


def test_both_forms_of_rules_say_the_same(where: Environment) -> None:
    text = (
        "[permissions]\nallow = ['bash(ls *)', 'read']\ndeny = ['Bash(rm -rf*)']\n[agent.permissions]\nask = ['read']"
    )
    listed = loaded(where, text).permissions.rules
    Path(where.cwd, "overt.toml").unlink()
    mapped = loaded(
        where,
        '{"permission": {"bash": {"ls *": "allow", "rm -rf*": "deny"}, "read": "allow"},'
        ' "agent": {"permissions": {"read": "ask"}}}',
        name="overt.jsonc",
    ).permissions.rules
    assert [(rule.action, rule.text()) for rule in listed] == [(rule.action, rule.text()) for rule in mapped]


def test_an_untrusted_folder_cannot_weaken_a_denial_through_the_agents_rules(where: Environment) -> None:
    Path(where.config_dir, "config.toml").write_text("[permissions]\ndeny = ['bash']")
    for text in ("[agent.permissions]\nask = ['bash']", "[agent.permission]\nbash = 'allow'"):
        Path(where.cwd, "overt.toml").write_text(text)
        rules = load(where, project=where.cwd, trusted=False).permissions.rules
        assert [(rule.action, rule.text()) for rule in rules] == [("deny", "bash")]


@pytest.mark.parametrize("user", ["none", "landlock", "bubblewrap", "auto"])
def test_an_untrusted_folder_may_only_put_walls_up(where: Environment, user: str) -> None:
    Path(where.config_dir, "config.toml").write_text(f"[sandbox]\nmode = '{user}'\nnetwork = true")
    Path(where.cwd, "overt.toml").write_text("[sandbox]\nmode = 'auto'\nnetwork = false\nwrite = false")
    assert load(where, project=where.cwd, trusted=False).sandbox == Sandbox(mode=user, write=False)  # type: ignore[arg-type]
    Path(where.cwd, "overt.toml").write_text("[sandbox]\nmode = 'none'")
    assert load(where, project=where.cwd, trusted=False).sandbox == Sandbox(mode=user, network=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("read-only", Sandbox(write=False)),
        ("workspace-write", Sandbox(write=True)),
        ("danger-full-access", Sandbox(mode="none", write=True)),
    ],
)
def test_the_flag_of_codex_stands_over_every_file(where: Environment, flag: str, expected: Sandbox) -> None:
    Path(where.cwd, "overt.toml").write_text("[sandbox]\nmode = 'landlock'\nwrite = false")
    flags = [FlagValue(flag="--sandbox", key=key, value=value) for key, value in SANDBOX_FLAG[flag].items()]
    config = load(where, project=where.cwd, trusted=True, flags=flags)
    assert (config.sandbox, config.origin("sandbox.mode")) == (expected, "--sandbox")


def test_the_flag_reaches_the_setting(where: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", where.home)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    setting = read_setting(Options(directory=where.cwd, sandbox="read-only"))
    assert setting.config.sandbox == Sandbox(write=False)


@pytest.mark.parametrize("name", ["overt.toml", "overt.json", ".overt/config.toml", ".overt"])
def test_an_empty_folder_in_the_place_of_a_file_counts_as_nothing(where: Environment, name: str) -> None:
    Path(where.cwd, name).mkdir(parents=True)
    assert load(where, project=where.cwd, trusted=True) == Config()
    if name != ".overt":
        Path(where.cwd, name, "x").write_text("")
        with pytest.raises(ConfigError, match="is not a regular file"):
            load(where, project=where.cwd, trusted=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("overt.toml", '[permissions]\nallow = ["edit", { rule = "bash(npm *)", network = true }]'),
        ("overt.json", '{"permissions": {"allow": ["edit", {"rule": "bash(npm *)", "network": true}]}}'),
        (
            "overt.toml",
            '[[permissions.allow]]\nrule = "edit"\n[[permissions.allow]]\nrule = "bash(npm *)"\nnetwork = true',
        ),
    ],
)
def test_a_rule_may_open_the_network_to_what_it_allows(where: Environment, name: str, text: str) -> None:
    rules = loaded(where, text, name=name).permissions.rules
    assert [(rule.action, rule.shown()) for rule in rules] == [
        ("allow", "edit"),
        ("allow", "bash(npm *) with the network"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('deny = [{ rule = "bash(npm *)", network = true }]', "a rule must be a text like"),
        ('allow = [{ rule = "bash(npm *)", netwrok = true }]', "a rule must be a text like"),
        ("allow = [{ network = true }]", "a rule must be a text like"),
        ("allow = [{ rule = 7, network = true }]", "a rule must be a text like"),
        ('allow = [{ rule = "bash(npm *)", network = "yes" }]', "`network` must be true or false"),
        ('allow = [{ rule = "edit", network = true }]', "`network` is for rules about bash, not 'edit'"),
    ],
)
def test_a_slip_in_a_rule_about_the_network_is_an_error(where: Environment, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loaded(where, f"[permissions]\n{text}")


def test_an_untrusted_folder_cannot_open_the_network_by_a_rule(where: Environment) -> None:
    Path(where.cwd, "overt.toml").write_text('[permissions]\nallow = [{ rule = "bash(npm *)", network = true }]')
    untrusted = load(where, project=where.cwd, trusted=False)
    assert untrusted.permissions.rules == () and "`permissions.allow` ignored" in untrusted.warnings[0]
    assert load(where, project=where.cwd, trusted=True).permissions.rules[0].network


def test_the_flag_for_the_network_stands_over_every_file(where: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", where.home)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    Path(where.config_dir, "config.toml").write_text("[sandbox]\nnetwork = false")
    config = read_setting(Options(directory=where.cwd, network=True)).config
    assert config.sandbox.network and config.origin("sandbox.network") == "--network"
