"""The recipe of the context: sources, instructions, caps and strictness, each value with its origin."""

from pathlib import Path

import pytest
from tests.fakes.configuration import load

from overt.config.origin import explain
from overt.config.paths import Environment
from overt.config.schema import Config
from overt.core.errors import ConfigError
from overt.core.settings import CAPS, Recipe


@pytest.fixture
def where(tmp_path: Path) -> Environment:
    for name in ("home/.config/overt", "pro[j]ect"):
        (tmp_path / name).mkdir(parents=True)
    return Environment(
        home=str(tmp_path / "home"),
        config_dir=str(tmp_path / "home/.config/overt"),
        data_dir=str(tmp_path / "data"),
        cache_dir=str(tmp_path / "cache"),
        cwd=str(tmp_path / "pro[j]ect"),
        variables={},
    )


def loaded(where: Environment, text: str, name: str = "overt.toml", *, trusted: bool = True) -> Config:
    Path(where.cwd, name).write_text(text)
    return load(where, project=where.cwd, trusted=trusted)


def rows(config: Config) -> list[tuple[str, object, str]]:
    return [(each.key, each.value, each.origin) for each in explain(config) if each.key.startswith("context.")]


def test_the_built_in_recipe_is_shown_as_the_default(where: Environment) -> None:
    assert rows(load(where, project=where.cwd, trusted=False)) == [
        ("context.context_window", None, "default"),
        ("context.sources", None, "default"),
        ("context.instructions", (), "default"),
        ("context.strict", False, "default"),
        ("context.foreign", True, "default"),
        *((f"context.caps.{name}", cap, "default") for name, cap in CAPS.items()),
    ]


def test_a_recipe_is_read_in_its_order_and_every_part_knows_its_line(where: Environment) -> None:
    config = loaded(
        where,
        "[context]\n"
        "sources = ['project', 'system', 'CLAUDE.md', 'docs/*.md', './RULES', 'append']\n"
        "strict = true\n"
        "[context.caps]\n"
        "project = 100\n"
        "notes = 7\n",
    )
    assert config.recipe == Recipe(
        sources=("project", "system", "CLAUDE.md", "docs/*.md", "./RULES", "append"),
        strict=True,
        caps={"project": 100, "notes": 7},
    )
    assert (config.recipe.cap("project"), config.recipe.cap("memory")) == (100, 8000)
    told = [(key, origin) for key, _, origin in rows(config) if origin != "default"]
    assert told == [
        *[("context.sources", "overt.toml:2")] * 6,
        ("context.strict", "overt.toml:3"),
        ("context.caps.project", "overt.toml:5"),
        ("context.caps.notes", "overt.toml:6"),
    ]


def test_instructions_of_all_layers_join_and_are_relative_to_the_file_that_names_them(where: Environment) -> None:
    Path(where.config_dir, "config.toml").write_text("instructions = ['mine.md', '~/own/*.md']\n")
    config = loaded(where, '{"instructions": ["docs/*.md", "../x.md"]}', "overt.json")
    root = str(Path(where.cwd).parent)
    assert config.recipe.instructions == (
        f"{where.config_dir}/mine.md",
        f"{where.home}/own/*.md",
        f"{root}/pro[[]j]ect/docs/*.md",
        f"{root}/x.md",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[context]\nsources = ['system', 'a.md', 'system']",
            "overt.toml:2: `sources` names 'system' twice; remove one of them",
        ),
        ("[context]\nsources = 'system'", "overt.toml:2: `sources` must be a list of sources and files, got 'system'"),
        ("[context]\nstrict = 'yes'", "overt.toml:2: `strict` must be true or false, got 'yes'"),
        ("[context.caps]\nproject = 0", "overt.toml:2: `project` must be a whole number above 0, got 0"),
        ("[context]\ncaps = 3", "overt.toml:2: `caps` must be a table, got 3"),
        ("instructions = 'a.md'", "overt.toml:1: `instructions` must be a list of files and patterns, got 'a.md'"),
        (
            "instructions = ['https://example.com/rules.md']",
            "overt.toml:1: `instructions` takes files and patterns, not addresses such as "
            "'https://example.com/rules.md'; save it as a file",
        ),
        (
            "instructions = ['a.md']\n[context]\ninstructions = ['b.md']",
            "overt.toml:3: `context.instructions` is already set at overt.toml:1; remove one of the two",
        ),
    ],
)
def test_what_is_no_recipe_is_named_with_its_line_and_a_way_out(where: Environment, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(where, text)
    assert caught.value.message == message


def test_an_unknown_cap_is_a_warning_with_a_suggestion(where: Environment) -> None:
    config = loaded(where, "[context.caps]\nprojct = 5\n")
    assert config.warnings == ("overt.toml:2: unknown key `projct` in [context.caps]; did you mean `project`?",)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[context]\nsources = ['/etc/passwd.md']", "context.sources"),
        ("instructions = ['~/.ssh/id_rsa']", "context.instructions"),
        ("[context.caps]\nproject = 99999999", "context.caps.project"),
    ],
)
def test_a_folder_nobody_vouched_for_names_no_files_to_send(where: Environment, text: str, key: str) -> None:
    config = loaded(where, text, trusted=False)
    assert config.recipe == Recipe()
    assert f"`{key}` ignored, because this folder is not trusted" in config.warnings[0]


def test_a_folder_nobody_vouched_for_may_be_strict_and_never_less_so(where: Environment) -> None:
    assert loaded(where, "[context]\nstrict = true", trusted=False).recipe.strict
    Path(where.config_dir, "config.toml").write_text("[context]\nstrict = true\n")
    assert loaded(where, "[context]\nstrict = false", trusted=False).recipe.strict
    assert not loaded(where, "[context]\nstrict = false", trusted=True).recipe.strict


def test_a_folder_nobody_vouched_for_may_only_switch_files_for_other_agents_off(where: Environment) -> None:
    assert not loaded(where, "[context]\nforeign = false", trusted=False).recipe.foreign
    Path(where.config_dir, "config.toml").write_text("[context]\nforeign = false\n")
    assert not loaded(where, "[context]\nforeign = true", trusted=False).recipe.foreign
    assert loaded(where, "[context]\nforeign = true", trusted=True).recipe.foreign
