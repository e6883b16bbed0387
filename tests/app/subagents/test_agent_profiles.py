"""Profiles: agents of Markdown files, the configuration and flags, as they are read and which of them count."""

import json
from pathlib import Path

import pytest

from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.app.subagents.profiles import BUILT_IN, AgentLibrary
from overt.config.paths import read_environment
from overt.config.trust import trust
from overt.core.agents.profile import AgentProfile
from overt.core.errors import ConfigError, ToolError, UsageError
from overt.core.settings import Rule

BUILT_IN_NAMES = {profile.name for profile in BUILT_IN}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "work" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(path: Path, front: str, body: str = "Do it well.") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\n\n{body}\n")


def setting_of(home: Path, *, trusted: bool = True, **options: object) -> Setting:
    work = home.parent / "work"
    if trusted:
        trust(read_environment(), str(work))
    return read_setting(Options(directory=str(work), **options))  # type: ignore[arg-type]


def library_of(home: Path, *, trusted: bool = True, **options: object) -> AgentLibrary:
    return AgentLibrary(setting_of(home, trusted=trusted, **options))


def test_fields_of_claude_code_opencode_and_overt_mean_the_same(home: Path) -> None:
    agents = home.parent / "work" / ".overt" / "agents"
    write(
        agents / "one.md",
        "description: Reviews changes\ntools: Read, Grep, LS\ndisallowedTools: [Bash]\nmodel: inherit\n"
        "permissionMode: plan\nmaxTurns: 7\nisolation: worktree\neffort: low",
    )
    write(
        agents / "two.md",
        "description: Reviews changes\nmode: subagent\nsteps: 7\ntemperature: 0.2\ntop_p: 0.9\nhidden: true\n"
        "tools:\n  write: false\npermission:\n  edit: deny\n  bash:\n    'git *': allow",
    )
    profiles = library_of(home).profiles
    one = profiles["one"]
    assert one == AgentProfile(
        name="one",
        description="Reviews changes",
        mode="all",
        prompt="Do it well.",
        tools=("read", "grep", "list"),
        disallowed_tools=("bash",),
        planning=True,
        max_steps=7,
        isolated=True,
        effort="low",
        origin=".overt/agents/one.md",
    )
    two = profiles["two"]
    assert (two.mode, two.max_steps, two.temperature, two.top_p, two.hidden) == ("subagent", 7, 0.2, 0.9, True)
    assert (two.tools, two.disallowed_tools) == (None, ("write",))
    origin = ".overt/agents/two.md"
    assert two.rules == (
        Rule(action="deny", tool="edit", origin=origin, of_project=True),
        Rule(action="allow", tool="bash", pattern="git *", origin=origin, of_project=True),
    )
    assert (one.warnings, two.warnings) == ((), ())


def test_everything_that_is_not_used_is_named(home: Path) -> None:
    agents = home.parent / "work" / ".overt" / "agents"
    write(
        agents / "odd.md",
        "name: odd\ntools: [Read, LSP, 'Bash(git:*)', 'Agent(explore)']\nmodel: opus\nmaxTurns: many\n"
        "color: red\nmemory: user\ntemprature: 1\npermissionMode: acceptEdits\ntop_p: 3\nmode: some\n"
        "permission:\n  bash: perhaps",
    )
    (agents / "plain.md").write_text("Just a text.\n")
    profiles = library_of(home).profiles
    odd = profiles["odd"]
    assert (odd.tools, odd.agents, odd.model, odd.max_steps, odd.mode) == (
        ("read", "bash", "task"),
        ("explore",),
        "",
        None,
        "all",
    )
    for word in (
        *("no description", "LSP", "Bash(git:*)", "`opus`", "`max_steps` must be", "`color`", "`memory`"),
        *("did you mean `temperature`", "acceptEdits", "`top_p` must be", "`mode` must be one of", "'perhaps'"),
    ):
        assert [warning for warning in odd.warnings if word in warning] != [], word
    assert len(odd.warnings) == 12
    assert profiles["plain"].prompt == "Just a text." and profiles["plain"].warnings == ("it has no description",)


def test_the_agent_of_the_project_counts_before_those_of_the_user_and_the_others_are_named(home: Path) -> None:
    work = home.parent / "work"
    for folder in (".overt", ".agents", ".claude"):
        write(work / folder / "agents" / "deep" / "same.md", f"description: of {folder}")
    write(home / ".config/overt/agents/same.md", "description: of the user")
    write(home / ".config/overt/agents/mine.md", "description: mine")
    write(home / ".claude/agents/explore.md", "description: another explorer")
    (home / ".config/overt/config.toml").write_text('[agent.mine]\ndescription = "mine in the configuration"\n')
    library = library_of(home, agents=json.dumps({"flagged": {"description": "of the flag", "prompt": "Hi"}}))
    origins = {name: profile.origin for name, profile in library.profiles.items()}
    assert origins == {
        "flagged": "--agents",
        "same": ".overt/agents/deep/same.md",
        "mine": "~/.config/overt/config.toml:2",
        "explore": "~/.claude/agents/explore.md",
        "build": "built-in",
        "plan": "built-in",
        "general": "built-in",
        "worker": "built-in",
    }
    assert [(each.profile.origin, each.by) for each in library.shadowed] == [
        (".agents/agents/deep/same.md", ".overt/agents/deep/same.md"),
        (".claude/agents/deep/same.md", ".overt/agents/deep/same.md"),
        ("~/.config/overt/agents/mine.md", "~/.config/overt/config.toml:2"),
        ("~/.config/overt/agents/same.md", ".overt/agents/deep/same.md"),
        ("built-in", "~/.claude/agents/explore.md"),
    ]


def test_agents_of_a_folder_that_is_not_trusted_do_not_exist(home: Path) -> None:
    work = home.parent / "work"
    write(work / ".overt/agents/one.md", "description: one")
    write(work / ".claude/agents/two.md", "description: two")
    (work / "overt.toml").write_text('[agent.three]\ndescription = "three"\n[agent]\ntemperature = 0.1\n')
    setting = setting_of(home, trusted=False)
    assert set(AgentLibrary(setting).profiles) == BUILT_IN_NAMES
    assert setting.config.agent.temperature is None
    assert any("`agent.three`" in warning and "not trusted" in warning for warning in setting.config.warnings)
    assert {"one", "two", "three"} < set(library_of(home).profiles)
    write(work / ".claude/agents/two.md", "description: changed since")
    assert set(library_of(home, trusted=False).profiles) == BUILT_IN_NAMES


@pytest.mark.parametrize(("key", "names"), [("foreign", {"mine", "ours"}), ("strict", {"ours", "theirs"})])
def test_strict_and_foreign_leave_agents_out(home: Path, key: str, names: set[str]) -> None:
    work = home.parent / "work"
    write(work / ".overt/agents/ours.md", "description: x")
    write(work / ".claude/agents/theirs.md", "description: x")
    write(home / ".config/overt/agents/mine.md", "description: x")
    (work / "overt.toml").write_text(f"[context]\n{key} = {'true' if key == 'strict' else 'false'}\n")
    assert set(library_of(home).profiles) - BUILT_IN_NAMES == names


def test_a_table_changes_a_built_in_agent_and_cannot_widen_it(home: Path) -> None:
    (home.parent / "work" / "overt.toml").write_text(
        '[agent.explore]\nmodel = "small"\neffects = "read, write"\nsteps = 5\n'
        '[agent.reviewer]\ndescription = "Reviews"\ntools = "Read"\npermission = { bash = "deny" }\n'
    )
    profiles = library_of(home).profiles
    explore = profiles["explore"]
    assert (explore.model, explore.max_steps, explore.planning, explore.effects) == (
        "small",
        5,
        True,
        frozenset({"read"}),
    )
    assert "facts" in explore.addition
    reviewer = profiles["reviewer"]
    assert (reviewer.tools, reviewer.mode, reviewer.origin) == (("read",), "all", "overt.toml:6")
    assert [(rule.action, rule.tool, rule.origin) for rule in reviewer.rules] == [("deny", "bash", "overt.toml:8")]


def test_a_table_of_the_project_keeps_the_limits_of_the_users_own_table(home: Path) -> None:
    (home / ".config/overt").mkdir(parents=True)
    (home / ".config/overt/config.toml").write_text(
        '[agent.careful]\nmodel = "large"\neffects = "read, run"\ndisallowed_tools = "grep"\ntools = "Read, Bash"\n'
        'max_steps = 5\nisolation = true\npermission = { "read(private/**)" = "deny", "bash(make *)" = "ask" }\n'
    )
    loose = (
        '[agent.careful]\nmodel = "small"\neffects = "read, write"\ndisallowed_tools = "glob"\ntools = "*"\n'
        'max_steps = 9\nisolation = false\npermission = { "read(x)" = "deny", "bash(make test)" = "ask" }\n'
    )
    (home.parent / "work" / ".overt").mkdir()
    (home.parent / "work" / ".overt" / "config.toml").write_text(loose.replace('"read, write"', '"write"'))
    (home.parent / "work" / "overt.toml").write_text(loose)
    careful = library_of(home).profiles["careful"]
    assert (careful.model, careful.effects, careful.max_steps, careful.isolated) == (
        "small",
        frozenset({"read"}),
        5,
        True,
    )
    assert (careful.disallowed_tools, careful.tools) == (("grep", "glob"), ("read", "bash"))
    assert sorted(rule.text() for rule in careful.rules) == [
        "bash(make *)",
        "bash(make test)",
        "read(private/**)",
        "read(x)",
    ]


def test_claude_codes_short_names_of_models_mean_a_configured_model_or_that_of_the_parent(home: Path) -> None:
    write(home / ".claude/agents/fast.md", "description: x\nmodel: haiku")
    profile = library_of(home).profiles["fast"]
    assert profile.model == "" and "no configured provider has the model `haiku`" in profile.warnings[0]
    (home / ".config/overt").mkdir(parents=True)
    (home / ".config/overt/config.toml").write_text(
        '[providers.work]\nmodels = ["claude-haiku-4-5"]\nkind = "anthropic"\n'
    )
    profile = library_of(home).profiles["fast"]
    assert (profile.model, profile.warnings) == ("work/claude-haiku-4-5", ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[agent.r]\nmode = "main"', "overt.toml:2: `mode` must be one of 'primary', 'subagent', 'all', got 'main'"),
        ("[agent.r]\ntemperature = 3", "overt.toml:2: `temperature` must be a number from 0 to 2, got 3"),
        (
            '[agent.r]\neffects = ["writ"]',
            "overt.toml:2: `effects` holds 'writ', which is no effect; did you mean `write`?",
        ),
        ('[agent."a b"]\nmode = "all"', "overt.toml:1: an agent needs a name of letters"),
        (
            '[agent.permision]\ndeny = ["bash"]',
            "overt.toml:1: unknown key `permision` in [agent]; did you mean `permissions`?",
        ),
        ('[agent.r.permission]\nbash = "never"', "overt.toml:2: `bash` must be 'allow', 'ask' or 'deny', got 'never'"),
        ('[agent]\nsystem_prompt_file = "none.md"', "overt.toml:2: `system_prompt_file` cannot be read"),
        (
            "[agent.subagent_models]\nexplore = 3",
            "overt.toml:1: `subagent_models` must be a table of agents and the names of their models",
        ),
    ],
)
def test_a_mistake_in_the_configuration_has_its_line_and_a_suggestion(home: Path, text: str, message: str) -> None:
    (home.parent / "work" / "overt.toml").write_text(f"{text}\n")
    with pytest.raises(ConfigError) as error:
        setting_of(home)
    assert error.value.message.startswith(message)


def test_an_unknown_key_of_an_agent_is_a_warning_with_a_suggestion(home: Path) -> None:
    (home.parent / "work" / "overt.toml").write_text("[agent.reviewer]\ntemprature = 1\n")
    assert setting_of(home).config.warnings == (
        "overt.toml:2: unknown key `temprature` in [agent.reviewer]; did you mean `temperature`?",
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_agents_that_are_no_json_object_are_a_usage_error(home: Path, text: str) -> None:
    with pytest.raises(UsageError, match="--agents must be"):
        library_of(home, agents=text).profiles  # noqa: B018


def test_a_denied_agent_is_not_offered_and_is_refused_by_name(home: Path) -> None:
    (home.parent / "work" / "overt.toml").write_text('[permissions]\ndeny = ["Agent(explore)", "task(team-*)"]\n')
    write(home / ".claude/agents/team-a.md", "description: x")
    write(home / ".claude/agents/other.md", "description: x")
    setting = setting_of(home)
    library, rules = AgentLibrary(setting), setting.config.permissions.rules
    assert [profile.name for profile in library.startable(rules)] == ["other", "plan", "general", "worker"]
    for name in ("explore", "Explore", "team-a"):
        with pytest.raises(ToolError, match=r"overt\.toml:2.* denies the agent"):
            library.find_for_task(name, rules, None)
    with pytest.raises(ToolError, match="no agent `nobody` to delegate to; there are other, plan, general, worker"):
        library.find_for_task("nobody", rules, None)
    with pytest.raises(ToolError, match="there is no agent `build`"):
        library.find_for_task("build", rules, None)


def test_an_agent_that_names_its_helpers_starts_no_others(home: Path) -> None:
    write(home / ".claude/agents/lead.md", "description: x\ntools: Read, Agent(explore)")
    library = library_of(home)
    lead = library.profiles["lead"]
    assert library.find_for_task("explore", (), lead).name == "explore"
    with pytest.raises(ToolError, match="may not start the agent `general`; it may start explore"):
        library.find_for_task("general", (), lead)


def test_the_description_of_task_names_own_agents_within_a_budget(home: Path) -> None:
    assert library_of(home).describe(()) == ""
    for number in range(60):
        write(home / f".claude/agents/agent-{number:02}.md", f"description: {'Does much. ' * 30}")
    text = library_of(home).describe(())
    assert text.startswith("Agents besides general and explore: agent-00 (Does much.")
    assert len(text) < 1400 and "agent-59" not in text and "more, named when you ask" in text
