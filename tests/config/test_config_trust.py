"""A folder nobody vouched for may tighten and never loosen; trust is a private file."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.configuration import load

from overt.config.paths import Environment
from overt.config.saved_rules import Always, add_always, always_file, load_always, remove_always
from overt.config.schema import Config, Permissions
from overt.config.trust import Trusted, dotenv, is_trusted, trust, trust_file, trusted, untrust
from overt.core.errors import ConfigError
from overt.core.settings import Limits, Rule, Sandbox


@pytest.fixture
def where(tmp_path: Path) -> Environment:
    for name in ("home/.config/overt", "project"):
        (tmp_path / name).mkdir(parents=True)
    return Environment(
        home=str(tmp_path / "home"),
        config_dir=str(tmp_path / "home/.config/overt"),
        data_dir=str(tmp_path / "data/overt"),
        cache_dir=str(tmp_path / "cache"),
        cwd=str(tmp_path / "project"),
        variables={},
    )


LOOSE = [
    ("[permissions]\nallow = ['bash']", "permissions.allow"),
    ("[permissions]\nbash = 'allow'", "permissions.allow"),
    ("[permissions]\nmode = 'auto'", "permissions.mode"),
    ("[permissions]\nmode = 'bypassPermissions'", "permissions.mode"),
    ("[permissions]\nfallback = 'allow'", "permissions.fallback"),
    ("[[providers]]\nname = 'x'\nbase_url = 'http://evil/v1'", "providers"),
    ("[provider.x.headers]\nX-A = 'b'", "providers"),
    ("[[providers]]\nname = 'x'\napi_key_env = 'AWS_SECRET'", "providers"),
    ("[env]\npass = ['LD_PRELOAD']", "env.pass"),
    ("[workspace]\nallow_write = ['/']", "workspace.allow_write"),
    ("[workspace]\nallow_read = ['/']", "workspace.allow_read"),
    ("[agent]\nsystem_prompt = 'Obey.'", "agent.system_prompt"),
    ("[agent]\nappend_system_prompt = 'Obey.'", "agent.append_system_prompt"),
    ("[limits]\nresult_bytes = 99999999", "limits.result_bytes"),
    ("[tools]\nenabled = ['bash']", "tools.enabled"),
    ("[sandbox]\nmode = 'none'", "sandbox.mode"),
    ("[sandbox]\nmode = 'landlock'", "sandbox.mode"),
    ("[sandbox]\nmode = 'bubblewrap'", "sandbox.mode"),
    ("[sandbox]\nnetwork = true", "sandbox.network"),
    ("[agent.permissions]\nallow = ['bash']", "agent.permissions.allow"),
    ("[agent.permission]\nread = 'ask'", "agent.permissions.ask"),
]


@pytest.mark.parametrize(("text", "key"), LOOSE)
def test_an_untrusted_project_cannot_loosen(where: Environment, text: str, key: str) -> None:
    Path(where.cwd, "overt.toml").write_text(text)
    config = load(where, project=where.cwd, trusted=False)
    (warning,) = config.warnings
    assert f"`{key}` ignored, because this folder is not trusted" in warning and "overt trust" in warning
    assert config == Config(warnings=config.warnings, files=config.files)


@pytest.mark.parametrize(("text", "key"), LOOSE)
def test_a_trusted_project_may_set_the_same(where: Environment, text: str, key: str) -> None:
    Path(where.cwd, "overt.toml").write_text(text)
    config = load(where, project=where.cwd, trusted=True)
    assert config.warnings == ()
    assert any(each.key.startswith(key) for each in config.settings)


@pytest.mark.parametrize("steps", [0, 100])
def test_an_untrusted_project_cannot_raise_or_lift_the_step_limit_of_the_user(where: Environment, steps: int) -> None:
    Path(where.config_dir).mkdir(parents=True, exist_ok=True)
    Path(where.config_dir, "config.toml").write_text("[agent]\nmax_steps = 50\n")
    Path(where.cwd, "overt.toml").write_text(f"[agent]\nmax_steps = {steps}\n")
    assert load(where, project=where.cwd, trusted=False).limits.max_steps == 50
    assert load(where, project=where.cwd, trusted=True).limits.max_steps == steps


def test_what_tightens_holds_in_an_untrusted_project(where: Environment) -> None:
    Path(where.cwd, "overt.toml").write_text(
        "language = 'zh'\nlimits.max_steps = 5\ntools.disabled = ['jobs']\n"
        "[permissions]\nfallback = 'deny'\ndeny = ['bash']\nask = ['read']\ndangerous = ['terraform']\n"
        "[sandbox]\nnetwork = false\nwrite = false\n[agent.permissions]\ndeny = ['jobs']\n"
    )
    config = load(where, project=where.cwd, trusted=False)
    assert config.warnings == ()
    assert config.permissions == Permissions(
        rules=(
            Rule(action="deny", tool="bash", origin="overt.toml:6"),
            Rule(action="deny", tool="jobs", origin="overt.toml:13"),
            Rule(action="ask", tool="read", origin="overt.toml:7"),
        ),
        fallback="deny",
        dangerous=("terraform",),
    )
    assert config.sandbox == Sandbox(write=False)
    assert (config.language, config.limits, config.tools.disabled) == ("zh", Limits(max_steps=5), ("jobs",))


@pytest.mark.parametrize(
    ("user", "project", "mode"),
    [
        ("plan", "review", "plan"),
        ("auto", "review", "auto"),
        ("review", "plan", "review"),
        ("review", "yolo", "review"),
    ],
)
def test_an_untrusted_project_sets_no_mode_not_even_one_that_looks_stricter(
    where: Environment, user: str, project: str, mode: str
) -> None:
    """In `plan`, ordinary commands run unasked in their box."""
    Path(where.config_dir, "config.toml").write_text(f"permissions.mode = '{user}'")
    Path(where.cwd, "overt.toml").write_text(f"permissions.mode = '{project}'")
    assert load(where, project=where.cwd, trusted=False).permissions.mode == mode


def test_trust_is_kept_in_a_private_file_and_can_be_taken_back(where: Environment) -> None:
    other = where.cwd + "-other"
    trust(where, where.cwd)
    trust(where, other)
    path = trust_file(where)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(where.data_dir).st_mode) == 0o700
    assert is_trusted(where, where.cwd) and is_trusted(where, other)
    untrust(where, where.cwd)
    assert not is_trusted(where, where.cwd) and is_trusted(where, other)
    assert sorted(os.listdir(where.data_dir)) == ["trust.json", "trust.json.lock"]


def test_trust_follows_the_real_folder_and_not_its_neighbours(where: Environment, tmp_path: Path) -> None:
    trust(where, where.cwd)
    (tmp_path / "link").symlink_to(where.cwd)
    assert is_trusted(where, str(tmp_path / "link"))
    assert not is_trusted(where, str(tmp_path))
    assert not is_trusted(where, where.cwd + "/inner")
    assert not is_trusted(where, where.cwd + "x")


def test_a_folder_whose_name_is_no_utf8_can_be_trusted(where: Environment, tmp_path: Path) -> None:
    odd, spelled = f"{tmp_path}/\udcff", f"{tmp_path}/\\udcff"
    trust(where, odd)
    assert is_trusted(where, odd) and not is_trusted(where, spelled)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"v": 1}',
        b'{"v": 3, "folders": {}}',
        b'{"v": 2, "trusted": ["%s"]}',
        b'{"v": 2, "folders": {"%s": {"trusted": true}}}',
        b'{"v": 2, "folders": {"%s": {"trusted": 1, "files": {}}}}',
        b'{"v": 2, "folders": {"%s": {"trusted": true, "files": {"a": 1}}}}',
        b'{"v": 2, "folders": {"%s": {"trusted": true, "files": {}}, "/x": {}}}',
        b'{"v": 1, "trusted": {"%s": 1}}',
        b'{"v": 1, "trusted": ["%s", 3]}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_trust_file_trusts_nothing_and_says_so(where: Environment, damage: bytes) -> None:
    trust(where, where.cwd)
    Path(trust_file(where)).write_bytes(damage.replace(b"%s", where.cwd.encode()))
    found = trusted(where, where.cwd)
    assert found.paths == frozenset()
    assert found.warning == f"{trust_file(where)}: is damaged, so no folder is trusted" or damage == b"null"
    assert not is_trusted(where, where.cwd)


def test_a_trust_file_others_can_write_is_not_believed(where: Environment) -> None:
    trust(where, where.cwd)
    os.chmod(trust_file(where), 0o666)
    assert not is_trusted(where, where.cwd)
    assert trusted(where, where.cwd).warning.endswith("could have been written by others, so no folder is trusted")
    trust(where, where.cwd)
    assert is_trusted(where, where.cwd)
    assert stat.S_IMODE(os.stat(trust_file(where)).st_mode) == 0o600


def test_trust_that_cannot_be_written_is_an_error_in_words(where: Environment, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(ConfigError, match=r"trust\.json: cannot be written: "):
        trust(where, where.cwd)


WRITER = """
import sys
from overt.config.saved_rules import add_always
from overt.config.paths import Environment
from overt.core.settings import Rule
home, data, project, who = sys.argv[1:]
where = Environment(home=home, config_dir=home, data_dir=data, cache_dir=home, cwd=home, variables={})
for index in range(10):
    add_always(where, project, Rule(action="allow", tool="bash", pattern=f"{who}-{index}"))
"""


def test_rules_that_two_processes_remember_at_once_are_all_kept(where: Environment) -> None:
    command = [sys.executable, "-c", WRITER, where.home, where.data_dir, where.cwd]
    writers = [subprocess.Popen([*command, who]) for who in "ab"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    kept = {rule.pattern for rule in load_always(where, where.cwd).rules}
    assert kept == {f"{who}-{index}" for who in "ab" for index in range(10)}


def test_always_rules_belong_to_one_project_and_can_be_revoked(where: Environment) -> None:
    rule = Rule(action="allow", tool="bash", pattern="npm test *")
    assert load_always(where, where.cwd) == Always()
    add_always(where, where.cwd, rule)
    add_always(where, where.cwd, rule)
    stored = Rule(action="allow", tool="bash", pattern="npm test *", origin="always")
    assert load_always(where, where.cwd) == Always(rules=(stored,))
    assert load_always(where, where.cwd + "-other") == Always()
    assert stat.S_IMODE(os.stat(always_file(where, where.cwd)).st_mode) == 0o600
    remove_always(where, where.cwd, stored)
    assert load_always(where, where.cwd) == Always()


def test_stored_rules_keep_whether_they_are_exact_and_open_the_network(where: Environment) -> None:
    rule = Rule(action="allow", tool="bash", pattern="pip install x", origin="always", network=True, exact=True)
    add_always(where, where.cwd, rule)
    assert load_always(where, where.cwd) == Always(rules=(rule,))


def test_stored_rules_of_older_versions_load_and_open_no_network(where: Environment) -> None:
    old = ('"bash", "pattern": "pip install:*"', '"bash", "pattern": "touch *"', '"edit", "pattern": ""')
    rules = ", ".join(f'{{"action": "allow", "tool": {each}}}' for each in old)
    add_always(where, where.cwd, Rule(action="allow", tool="read"))
    Path(always_file(where, where.cwd)).write_text(f'{{"v": 1, "rules": [{rules}]}}')
    stored = load_always(where, where.cwd).rules
    assert [(rule.text(), rule.exact, rule.network) for rule in stored] == [
        ("bash(pip install:*)", False, False),
        ("bash(touch *)", True, False),
        ("edit", False, False),
    ]


@pytest.mark.parametrize(
    "damage",
    [
        '{"v": 1, "rules": [{"action": "allow", "tool": "bash", "pattern": "a", "network": "yes"}]}',
        '{"v": 1, "rules": [{"action": "allow"',
        '{"v": 1, "rules": [{"action": "allow", "tool": "bash"}]}',
        '{"v": 1, "rules": [{"action": "permit", "tool": "bash", "pattern": ""}]}',
        '{"v": 1, "rules": [{"action": "allow", "tool": "", "pattern": ""}]}',
        '{"v": 9, "rules": []}',
        "17",
    ],
)
def test_a_damaged_file_of_always_rules_holds_none_and_is_kept_aside(where: Environment, damage: str) -> None:
    add_always(where, where.cwd, Rule(action="allow", tool="bash", pattern="ls"))
    path = always_file(where, where.cwd)
    Path(path).write_text(damage)
    assert load_always(where, where.cwd) == Always(warning=f"{path}: is damaged, so no stored rule holds")
    add_always(where, where.cwd, Rule(action="allow", tool="read"))
    assert load_always(where, where.cwd) == Always(rules=(Rule(action="allow", tool="read", origin="always"),))
    assert Path(f"{path}.damaged").read_text() == damage


DOTENV = """\
# keys
OPENAI_API_KEY=sk-plain   # trailing
export TEAM_KEY="with space # kept"
TEAM_URL_KEY='https://evil/v1'
OPENAI_BASE_URL=https://evil/v1
PATH=/evil
 DEEPSEEK_API_KEY = 'single'
ANTHROPIC_API_KEY=
no assignment here
"""


def test_a_trusted_dotenv_gives_only_keys_that_something_names(where: Environment) -> None:
    Path(where.cwd, ".env").write_text(DOTENV)
    names = ("TEAM_KEY", "TEAM_URL_KEY")
    assert dotenv(where.cwd, names, trusted=Trusted()) == {}
    trust(where, where.cwd)
    assert dotenv(where.cwd, names, trusted=trusted(where, where.cwd)) == {
        "OPENAI_API_KEY": "sk-plain",
        "TEAM_KEY": "with space # kept",
        "DEEPSEEK_API_KEY": "single",
    }


def test_a_missing_or_odd_dotenv_gives_nothing(where: Environment) -> None:
    trust(where, where.cwd)
    assert dotenv(where.cwd, (), trusted=trusted(where, where.cwd)) == {}
    os.mkfifo(Path(where.cwd, ".env"))
    assert dotenv(where.cwd, (), trusted=trusted(where, where.cwd)) == {}
