"""How the terminal chat looks and behaves, as a person may set it."""

from pathlib import Path

import pytest
from tests.config.test_config_load import environment, failure, loaded
from tests.fakes.configuration import load

from overt.config.origin import explain
from overt.config.schema import SettingValue
from overt.core.settings import Interface, Limits
from overt.core.status_values import PLACEHOLDERS, template_parts

EVERYTHING = """[ui]
theme = "light"
keys = "vi"
face = "plain"
notify = "bell"
notify_after = 5
status = "{model} · {percent}"
mouse = false
links = "on"
editor = "code --wait"
history = false
"""


def test_every_setting_is_read_and_shown_with_its_line(tmp_path: Path) -> None:
    config = loaded(tmp_path, EVERYTHING)
    assert (config.ui, config.warnings) == (
        Interface(
            theme="light",
            keys="vi",
            face="plain",
            notify="bell",
            notify_after=5.0,
            status="{model} · {percent}",
            mouse=False,
            links="on",
            editor="code --wait",
            history=False,
        ),
        (),
    )
    shown = [setting for setting in explain(config) if setting.key.startswith("ui.")]
    assert [setting.key for setting in shown] == [f"ui.{name}" for name in Interface.__struct_fields__]
    assert shown[0] == SettingValue(key="ui.theme", value="light", origin="overt.toml:2")


def test_nothing_set_is_the_default_and_shown_as_such(tmp_path: Path) -> None:
    where = environment(tmp_path)
    config = load(where, project=where.cwd, trusted=False)
    assert config.ui == Interface()
    assert SettingValue(key="ui.notify_after", value=20.0, origin="default") in explain(config)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('theme = "blue"', "`theme` must be one of 'auto', 'dark', 'light', got 'blue'"),
        ('keys = "nano"', "`keys` must be one of 'emacs', 'vi', got 'nano'"),
        ("notify_after = -1", "`notify_after` must be a number of seconds, 0 or more, got -1"),
        ('mouse = "yes"', "`mouse` must be true or false, got 'yes'"),
        ('editor = "vi\\u001b[31m"', "`editor` must be a command in one line, got 'vi?[31m'"),
        ('status = "{model"', "`status` must close each brace it opens, as in '{model}', got '{model'"),
        ('status = "a } b"', "`status` must close each brace it opens, as in '{model}', got 'a } b'"),
        ('status = "a\\nb"', "`status` must be one line that can be printed"),
        (
            'status = "{modell} {mode}"',
            "`status` holds {modell}, which is no placeholder; did you mean `model`?; they are "
            + ", ".join(PLACEHOLDERS),
        ),
        ('status = "{}"', "`status` holds {}, which is no placeholder; they are " + ", ".join(PLACEHOLDERS)),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, line: str, words: str) -> None:
    assert failure(tmp_path, f"[ui]\n{line}") == f"overt.toml:2: {words}"


def test_a_misspelled_key_is_a_warning_with_a_suggestion(tmp_path: Path) -> None:
    config = loaded(tmp_path, "[ui]\nthem = 'dark'")
    assert config.warnings == ("overt.toml:2: unknown key `them` in [ui]; did you mean `theme`?",)


def test_a_folder_that_nobody_trusts_may_choose_colours_but_no_program(tmp_path: Path) -> None:
    where = environment(tmp_path)
    Path(where.cwd, "overt.toml").write_text('[ui]\ntheme = "dark"\neditor = "./evil"\n')
    config = load(where, project=where.cwd, trusted=False)
    assert config.ui == Interface(theme="dark")
    assert config.warnings == (
        "overt.toml:3: `ui.editor` ignored, because this folder is not trusted; "
        "read the file, then run `overt trust` in this folder",
    )
    assert load(where, project=where.cwd, trusted=True).ui.editor == "./evil"


@pytest.mark.parametrize(
    ("own", "projects", "expected"),
    [(None, "5", 5.0), ("2", "5", 2.0), ("5", "2", 2.0), ("5", "0", 5.0), (None, "0", 0.0)],
)
def test_a_folder_that_nobody_trusts_may_only_lower_the_budget(
    tmp_path: Path, own: str | None, projects: str, expected: float
) -> None:
    where = environment(tmp_path)
    if own is not None:
        Path(where.config_dir).mkdir(parents=True, exist_ok=True)
        Path(where.config_dir, "config.toml").write_text(f"[limits]\nbudget_usd = {own}\n")
    Path(where.cwd, "overt.toml").write_text(f"[limits]\nbudget_usd = {projects}\n")
    assert load(where, project=where.cwd, trusted=False).limits == Limits(budget_usd=expected)


def test_a_template_is_texts_and_the_names_between_them() -> None:
    assert template_parts("a {x} b {y}") == (("a ", "x"), (" b ", "y"), ("", ""))
    assert template_parts("plain") == (("plain", ""),)
