"""`overt setup`: the file it writes byte for byte, the questions it asks, and the ways back from what fails."""

import json
import os
import sys
import tomllib
from itertools import product
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import Fault, ModelServer, Turn

from overt.app.options import Options
from overt.app.setting import read_setting
from overt.app.setup.answers import export_line, full_address
from overt.app.setup.config_file import ConfigChange, apply_change, plan_edit, write
from overt.app.setup.provider_options import check_provider_name, variable_for
from overt.app.setup.run import Answers, SetupResult, explain_missing_model, set_up
from overt.config.paths import read_environment
from overt.core.errors import ConfigError, OvertError
from overt.core.settings import ProviderEntry

KEY = "sk-setup-77aa55cc33ee"
READY = Turn(text="I am ready.")


class Script:
    """Answers by the words of the question: the first one whose words stand in it is taken, once."""

    terminal = False

    def __init__(self, *answers: tuple[str, str]) -> None:
        self._answers = list(answers)
        self.told: list[str] = []

    def tell(self, text: str) -> None:
        self.told.append(text)

    def write(self, text: str) -> None:
        self.told.append(text)

    def line(self, prompt: str) -> str:
        self.told.append(prompt)
        words, answer = self._answers.pop(0) if self._answers else ("", "nobody left")
        if words not in prompt or answer == "nobody left":
            raise AssertionError(f"asked {prompt!r}, expected {words!r}; told: {self.told}")
        if answer == "^C":
            raise KeyboardInterrupt
        if answer == "^D":
            raise EOFError
        return answer + "\n"

    secret = line

    @property
    def text(self) -> str:
        return "\n".join(self.told)

    @property
    def unused(self) -> list[tuple[str, str]]:
        return self._answers


class Ring:
    """A keyring as the library looks to us; a locked one refuses, with the key in its words."""

    class errors:
        KeyringError = LookupError

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.locked = False

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get(f"{service}/{name}")

    def set_password(self, service: str, name: str, value: str) -> None:
        if self.locked:
            raise LookupError(f"locked, cannot keep {value}")
        self.kept[f"{service}/{name}"] = value


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    made = Ring()
    monkeypatch.setitem(sys.modules, "keyring", made)
    return made


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ring: Ring) -> Path:
    """The current folder; no well-known server is here, and no keyring but a fake one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHELL", "/bin/zsh")
    monkeypatch.setattr("overt.providers.catalog.local_servers", lambda: ())
    return tmp_path


def config_file() -> Path:
    return Path(read_environment().config_dir) / "config.toml"


def own(url: str, *, key: str = "n") -> list[tuple[str, str]]:
    return [("Number or name", "own"), ("Address", url), ("speak", ""), ("called", "lab"), ("want a key", key)]


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────

MINE = ConfigChange(default_model="mine/x", provider={"name": "mine", "base_url": "http://a.test/v1"})
ENTRY = '[[providers]]\nname = "mine"\nbase_url = "http://a.test/v1"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f'default_model = "mine/x"\n\n{ENTRY}'),
        ("# notes only", f'default_model = "mine/x"\n\n# notes only\n\n{ENTRY}'),
        (
            "# my settings\n\n[ui]\ntheme = 'dark'   # odd   spacing\n",
            f"# my settings\n\ndefault_model = \"mine/x\"\n\n[ui]\ntheme = 'dark'   # odd   spacing\n\n{ENTRY}",
        ),
        (
            'language="zh"\n  default_model  =  "old"  # why\noffline = false\n',
            f'language="zh"\n  default_model  =  "mine/x"  # why\noffline = false\n\n{ENTRY}',
        ),
        (
            '[agent]\nappend_system_prompt = """\ndefault_model = "trap"\n"""\n',
            f'default_model = "mine/x"\n\n[agent]\nappend_system_prompt = """\ndefault_model = "trap"\n"""\n\n{ENTRY}',
        ),
        (
            "'default_model' = 'old'\r\n[providers.a]\r\nbase_url = 'http://b.test'\r\n",
            "'default_model' = \"mine/x\"\r\n[providers.a]\r\nbase_url = 'http://b.test'\r\n\r\n"
            '[providers.mine]\r\nbase_url = "http://a.test/v1"\r\n',
        ),
        ("\ufeffoffline = false", f'\ufeffdefault_model = "mine/x"\noffline = false\n\n{ENTRY}'),
    ],
)
def test_only_our_keys_change_and_every_other_byte_stays(before: str, after: str) -> None:
    assert apply_change(before, MINE) == after


def test_rules_of_others_join_those_that_stand_there() -> None:
    before = '[context] # mine\ninstructions = ["docs/*.md"] # keep\nstrict = false\n'
    change = ConfigChange(sources=("system", "project", "CLAUDE.md"), instructions=("~/.claude/CLAUDE.md",))
    assert apply_change(before, change) == (
        '[context] # mine\nsources = ["system", "project", "CLAUDE.md"]\n'
        'instructions = ["docs/*.md", "~/.claude/CLAUDE.md"] # keep\nstrict = false\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'providers = [{ name = "a", base_url = "http://b.test" }]\n',
            'default_model = "mine/x"\nproviders = [{ name = "a", base_url = "http://b.test" }, '
            '{name = "mine",base_url = "http://a.test/v1"}]\n\n[context]\ninstructions = ["~/a.md"]\n',
        ),
        (
            'default_model = """old"""\ninstructions = [\n  "a.md", # first\n]\n',
            f'default_model = "mine/x"\ninstructions = [\n  "a.md", # first\n  "~/a.md",\n]\n\n{ENTRY}',
        ),
        (
            "context.strict = false\n",
            f'default_model = "mine/x"\ncontext.strict = false\ncontext.instructions = ["~/a.md"]\n\n{ENTRY}',
        ),
    ],
)
def test_values_in_every_notation_are_changed_where_they_stand(before: str, after: str) -> None:
    assert apply_change(before, replace(MINE, instructions=("~/a.md",))) == after


LAYOUTS = (
    ("", "default_model = 'old' # why\n", '"default_model" = """old"""\n'),
    (
        "",
        "provider = {a = {base_url='u'}}\n",
        "provider.a.base_url = 'u'\n",
        "providers = [\n  {name = 'a'}, # one\n]\n",
    ),
    ("", "context = {strict = true}\n", "context.strict = true\n", "instructions = [\n  'a.md', # one\n]\n"),
    ("", "# about it\n[ui]\ntheme = 'dark'\n", '[agent]\nx = """\n[context]\ndefault_model = \'trap\'\n"""\n'),
    (
        "",
        "[context] # here\nstrict = true\n",
        "[context]\ninstructions = ['a.md']\n\n# apart\n",
        "[context.caps]\na = 1\n",
    ),
    ("", "[[providers]]\nname = 'a' # one\n[providers.quirks]\nb = 1", "[providers.a]\nbase_url = 'u'\n"),
)


def test_a_change_in_any_layout_says_what_is_meant_and_keeps_all_other_lines() -> None:
    change = replace(MINE, sources=("s",), instructions=("~/i.md",))
    valid = 0
    for parts in Random(1).sample(list(product(*LAYOUTS)), 300):
        before = "".join(parts).replace("\n", "\r\n" if valid % 3 == 0 else "\n")
        try:
            tree = tomllib.loads(before)
        except ValueError:
            continue
        valid += 1
        after = apply_change(before, change)
        said = tomllib.loads(after)
        context = {**tree.get("context", {}), "sources": ["s"]}
        at_top = "instructions" in tree
        instructions = [*(tree if at_top else context).get("instructions", ()), "~/i.md"]
        assert said["default_model"] == "mine/x"
        assert said["context"] == (context if at_top else {**context, "instructions": instructions})
        assert said["instructions" if at_top else "context"] == (instructions if at_top else said["context"])
        entries = said["provider" if "provider" in tree else "providers"]
        assert len(entries) == len(tree.get("provider", tree.get("providers", ()))) + 1
        assert {key: said[key] for key in ("ui", "agent") if key in said} == {
            key: tree[key] for key in ("ui", "agent") if key in tree
        }
        lost = set(before.splitlines()) - set(after.splitlines())
        assert all("default_model" in line or line.startswith(("provider = ", "context = ", "instr")) for line in lost)
    assert valid > 100


def test_a_text_that_says_something_else_is_not_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("default_model = 'old'\n")
    monkeypatch.setattr("tomlkit.dumps", lambda _: 'default_model = "old"\n')
    with pytest.raises(ConfigError, match='Put this into it:\ndefault_model = "mine/x"\n\n\\[\\[providers'):
        plan_edit(read_environment(), MINE)
    assert config_file().read_text() == "default_model = 'old'\n"


def test_a_file_that_is_broken_by_now_is_refused_with_the_line(project: Path) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("offline = false\nlanguage = \n")
    with pytest.raises(ConfigError, match=r"config\.toml:2: not valid TOML"):
        plan_edit(read_environment(), MINE)


def test_a_file_that_changed_meanwhile_is_not_written_over(project: Path) -> None:
    edit = plan_edit(read_environment(), MINE)
    config_file().parent.mkdir(parents=True)
    config_file().write_text("offline = true\n")
    with pytest.raises(ConfigError, match="has changed meanwhile"):
        write(edit)
    assert config_file().read_text() == "offline = true\n"


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(project: Path) -> None:
    kept = project / "dotfiles.toml"
    kept.write_text("offline = false\n")
    kept.chmod(0o640)
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(kept)
    write(plan_edit(read_environment(), ConfigChange(default_model="a/b")))
    assert config_file().is_symlink()
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == ('default_model = "a/b"\noffline = false\n', 0o640)


def test_a_new_file_is_private(project: Path) -> None:
    write(plan_edit(read_environment(), ConfigChange(default_model="a/b")))
    assert (config_file().read_text(), config_file().stat().st_mode & 0o777) == ('default_model = "a/b"\n', 0o600)


# ── the walk ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_server_of_ones_own_is_found_tried_and_written(project: Path) -> None:
    with ModelServer([READY], models=("big", "small")) as server:
        bare = server.url.removesuffix("/v1").removeprefix("http://")
        script = Script(*own(bare), ("Number or name [big]", "2"), ("Write this", ""))
        assert set_up(script, Options()) == SetupResult(model="lab/small", written=True, done=True)
        (post,) = server.posts
        assert post.json()["model"] == "small"
    assert script.unused == []
    assert config_file().read_text() == (
        f'default_model = "lab/small"\n\n[[providers]]\nname = "lab"\nbase_url = "{server.url}"\n'
    )
    assert f"Its API is at {server.url}" in script.told
    assert "  I am ready." in script.text


def test_a_wrong_key_is_asked_for_again_and_only_one_that_works_is_kept(project: Path, ring: Ring) -> None:
    refused = Turn(fault=Fault(status=401, body=json.dumps({"error": {"message": f"bad key {KEY}-wrong"}})))
    with ModelServer([refused, READY]) as server:
        script = Script(
            *own(server.url, key="y"),
            ("LAB_API_KEY", f"{KEY}-wrong"),
            ("Number or name", ""),
            ("What now? [k]", ""),
            ("LAB_API_KEY", KEY),
            ("Number or name", ""),
            ("keyring as LAB_API_KEY", ""),
            ("Write this", "y"),
        )
        assert set_up(script, Options()) == SetupResult(model="lab/fake-model", written=True, done=True)
        assert [post.headers["authorization"] for post in server.posts] == [f"Bearer {KEY}-wrong", f"Bearer {KEY}"]
    assert ring.kept == {"overt/LAB_API_KEY": KEY}
    assert 'api_key_env = "LAB_API_KEY"' in config_file().read_text()
    assert KEY not in script.text
    assert KEY not in config_file().read_text()


def test_without_a_keyring_the_line_for_the_shell_is_told_without_the_key(project: Path, ring: Ring) -> None:
    ring.locked = True
    with ModelServer([READY]) as server:
        script = Script(
            *own(server.url, key="y"),
            ("LAB_API_KEY", KEY),
            ("Number or name", ""),
            ("keyring as LAB_API_KEY", "y"),
            ("Write this", "y"),
        )
        assert set_up(script, Options()) == SetupResult(model="lab/fake-model", written=True, done=False)
    assert "add this to ~/.zshrc, with your key:\n  export LAB_API_KEY='your key'" in script.text
    assert KEY not in script.text
    assert ring.kept == {}


def test_no_such_model_leads_back_to_the_list(project: Path) -> None:
    body = json.dumps({"error": {"message": "The model `gone` does not exist", "code": "model_not_found"}})
    with ModelServer([Turn(fault=Fault(status=404, body=body)), READY], models=("here",)) as server:
        script = Script(
            *own(server.url),
            ("Number or name [here]", "gone"),
            ("does not list gone", "y"),
            ("What now? [m]", ""),
            ("Number or name [here]", ""),
            ("Write this", ""),
        )
        assert set_up(script, Options()) == SetupResult(model="lab/here", written=True, done=True)


def test_a_part_of_a_name_makes_a_long_list_short(project: Path) -> None:
    names = tuple(f"family-{number:02}" for number in range(40))
    with ModelServer([READY], models=names) as server:
        script = Script(*own(server.url), ("[family-00]", "-3"), ("[family-30]", "2"), ("Write this", ""))
        assert set_up(script, Options()) == SetupResult(model="lab/family-31", written=True, done=True)
    assert "and 28 more" in script.text


def test_a_vendor_that_is_known_needs_no_entry_and_its_key_is_taken_from_its_variable(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([READY], models=("qwen",)) as server:
        _known(monkeypatch, server.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        script = Script(("Number or name [1]", ""), ("Number or name [qwen]", ""), ("Write this", ""))
        assert set_up(script, Options()) == SetupResult(model="deepseek/qwen", written=True, done=True)
        assert server.posts[0].headers["authorization"] == f"Bearer {KEY}"
    assert config_file().read_text() == 'default_model = "deepseek/qwen"\n'
    assert "DEEPSEEK_API_KEY was found (environment) and is used." in script.told
    assert "export" not in script.text
    assert KEY not in script.text


def test_a_server_that_runs_on_this_machine_is_offered_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([READY], models=("qwen3", "llama")) as server:
        entry = ProviderEntry(name="ollama", base_url=server.url)
        monkeypatch.setattr("overt.providers.catalog.local_servers", lambda: (entry,))
        script = Script(("Number or name [1]", ""), ("Number or name [qwen3]", "llama"), ("Write this", ""))
        assert set_up(script, Options()) == SetupResult(model="ollama/llama", written=True, done=True)
    assert config_file().read_text() == 'default_model = "ollama/llama"\n'
    assert "   1  ollama          on this machine: qwen3, llama" in script.told


def test_beside_another_provider_a_known_vendor_gets_an_entry_so_that_it_is_the_one_that_is_meant(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text('[[providers]]\nname = "any"\nbase_url = "http://127.0.0.1:9/v1"\n')
    with ModelServer([READY], models=("qwen",)) as server:
        _known(monkeypatch, server.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        script = Script(("Number or name", "deepseek"), ("[qwen]", ""), ("Write this", ""))
        assert set_up(script, Options()).written
    assert config_file().read_text() == (
        'default_model = "deepseek/qwen"\n\n[[providers]]\nname = "any"\nbase_url = "http://127.0.0.1:9/v1"\n\n'
        '[[providers]]\nname = "deepseek"\n'
    )


def _known(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """The catalogue with one vendor, whose address is that of a server here."""
    entry = ProviderEntry(name="deepseek", base_url=url, api_key_env="DEEPSEEK_API_KEY")
    monkeypatch.setattr("overt.providers.catalog.vendors", lambda: (entry,))
    monkeypatch.setattr("overt.app.setup.provider_options.is_local", lambda entry: False)


@pytest.mark.parametrize("end", ["^C", "^D"])
@pytest.mark.parametrize("at", range(8))
def test_whoever_leaves_at_any_question_finds_everything_as_it_was(
    project: Path, ring: Ring, at: int, end: str
) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("# mine\n")
    with ModelServer([READY]) as server:
        answers = [*own(server.url, key="y"), ("LAB_API_KEY", KEY), ("Number or name", ""), ("keyring", "n")]
        script = Script(*answers[:at], ("", end))
        assert set_up(script, Options()) == SetupResult(interrupted=end == "^C")
    assert (config_file().read_text(), ring.kept) == ("# mine\n", {})
    assert [path.name for path in config_file().parent.iterdir()] == ["config.toml"]
    assert script.told[-1] == "\nNothing was written."


def test_a_no_at_the_end_writes_nothing(project: Path) -> None:
    with ModelServer([READY]) as server:
        assert set_up(Script(*own(server.url), ("Number", ""), ("Write this", "n")), Options()) == SetupResult()
    assert not config_file().exists()


def test_a_broken_file_is_an_error_that_changes_nothing(project: Path) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("default_model = \n")
    with pytest.raises(ConfigError, match=r"config\.toml:1: not valid TOML"):
        set_up(Script(), Options())
    assert config_file().read_text() == "default_model = \n"


def test_settings_in_json_are_not_touched_and_what_to_add_is_told(project: Path) -> None:
    config_file().parent.mkdir(parents=True)
    other = config_file().with_suffix(".json")
    other.write_text('{"language": "en"}')
    with ModelServer([READY]) as server:
        script = Script(*own(server.url), ("Number or name", ""))
        assert set_up(script, Options()) == SetupResult(model="lab/fake-model")
    wanted = {"default_model": "lab/fake-model", "providers": [{"name": "lab", "base_url": server.url}]}
    assert json.loads(script.told[-1]) == wanted
    assert [path.name for path in config_file().parent.iterdir()] == ["config.json"]
    assert other.read_text() == '{"language": "en"}'


def test_asked_again_it_tells_what_is_set_and_what_goes_before_it(project: Path) -> None:
    config_file().parent.mkdir(parents=True)
    (project / "overt.toml").write_text("# a project\n")
    with ModelServer([READY, READY], models=("a", "b")) as server:
        text = f'default_model = "lab/a"\n[[providers]]\nname = "lab"\nbase_url = "{server.url}"\n'
        config_file().write_text(text)
        script = Script(("Number or name [1]", ""), ("Number or name [a]", "a"))
        assert set_up(script, Options()) == SetupResult(model="lab/a", done=True)
        assert config_file().read_text() == text
        os.environ["OVERT_MODEL"] = "other/x"
        try:
            script = Script(("Number or name [1]", "lab"), ("Number or name [a]", "b"), ("Write this", ""))
            assert set_up(script, Options()) == SetupResult(model="lab/b", written=True, done=True)
        finally:
            del os.environ["OVERT_MODEL"]
    assert "In use now: other/x (OVERT_MODEL)" in script.told
    assert script.told[-1] == "But OVERT_MODEL says other/x, and goes before it."
    assert config_file().read_text() == text.replace("lab/a", "lab/b")


def test_rules_of_other_agents_are_offered_once(project: Path, a_home_of_its_own: Path) -> None:
    (project / "CLAUDE.md").write_text("Be brief.")
    (a_home_of_its_own / ".claude").mkdir()
    (a_home_of_its_own / ".claude/CLAUDE.md").write_text("Be kind.")
    with ModelServer([READY, READY]) as server:
        script = Script(*own(server.url), ("Number", ""), ("Read them too", "y"), ("Write this", ""))
        assert set_up(script, Options()).written
        again = Script(("Number or name", "lab"), ("Number or name", ""))
        assert set_up(again, Options()) == SetupResult(model="lab/fake-model", done=True)
    assert config_file().read_text().partition("[context]\n")[2] == (
        'instructions = ["~/.claude/CLAUDE.md"]\n'
        'sources = ["system", "global", "project", "CLAUDE.md", "instructions", "memory", "skills", "environment", '
        '"append"]\n'
    )
    assert "CLAUDE.md, ~/.claude/CLAUDE.md" in script.text


def test_answers_given_beforehand_need_nobody(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([READY], models=("qwen",)) as server:
        _known(monkeypatch, server.url)
        with pytest.raises(ConfigError, match="deepseek wants a key: set DEEPSEEK_API_KEY"):
            set_up(Script(), Options(), answers=Answers(vendor="deepseek", yes=True))
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        with pytest.raises(ConfigError, match=r"Nothing here is called deepsek\. There is: deepseek"):
            set_up(Script(), Options(), answers=Answers(vendor="deepsek", yes=True))
        assert set_up(Script(), Options(), answers=Answers(vendor="deepseek", yes=True)).written
    assert config_file().read_text() == 'default_model = "deepseek/qwen"\n'


def test_what_fails_without_anybody_to_ask_is_the_error_itself(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Turn(fault=Fault(status=401, body=json.dumps({"error": {"message": f"bad {KEY}"}})))
    with ModelServer([refused]) as server:
        _known(monkeypatch, server.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        with pytest.raises(OvertError, match="rejected the API key") as caught:
            set_up(Script(), Options(), answers=Answers(vendor="deepseek", model="fake-model", yes=True))
    assert KEY not in caught.value.message
    assert not config_file().exists()


# ── small talk ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("gpu-box:8000/v1/", "https://gpu-box:8000/v1"),
        ("gpubox:8000/v1", "http://gpubox:8000/v1"),
        ("api.models.test/v1", "https://api.models.test/v1"),
        ("http://a.test/v1/chat/completions", "http://a.test/v1"),
        ("https://a.test/v1/models", "https://a.test/v1"),
    ],
)
def test_an_address_may_be_pasted_as_people_have_it(typed: str, expected: str) -> None:
    assert full_address(typed) == expected


def test_the_line_for_a_key_fits_the_shell() -> None:
    lines = [export_line("A_KEY", shell).splitlines()[-1] for shell in ("/bin/bash", "/usr/bin/fish", "/bin/tcsh", "")]
    assert lines == [
        "  export A_KEY='your key'",
        "  set -Ux A_KEY 'your key'",
        "  setenv A_KEY 'your key'",
        "  export A_KEY='your key'",
    ]


def test_names_that_mean_something_else_are_refused() -> None:
    assert check_provider_name("lab-2", ["lab"]) == "lab-2"
    for name in ("lab", "openai", "ollama", "local", "environment", "my lab", "", "实验室"):
        with pytest.raises(ConfigError):
            check_provider_name(name, ["lab"])
    assert [variable_for(name) for name in ("lab", "my-lab", "7up")] == [
        "LAB_API_KEY",
        "MY_LAB_API_KEY",
        "OVERT_7UP_API_KEY",
    ]


def test_what_is_missing_is_told_without_the_ways_on_that_the_panel_has_itself(project: Path) -> None:
    looked = ("OVERT_BASE_URL: not set", "embedded model: not fetched")
    found = explain_missing_model(
        read_setting(Options()), ConfigError("No model found. Set one.", code="no_model", details=looked)
    )
    assert found.told == "- OVERT_BASE_URL: not set\n- embedded model: not fetched"
    assert (found.size in found.embedded, found.size.endswith(" GB")) == (True, True)
