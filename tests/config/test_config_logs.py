"""The settings of the log: `[logs]`, OVERT_LOG and its older alias OVERT_DEBUG."""

from pathlib import Path

import pytest
from tests.fakes.configuration import load

from overt.config.paths import Environment, read_environment
from overt.config.schema import Config
from overt.core.errors import ConfigError
from overt.core.settings import Logs


def loaded(
    folder: Path, text: str = "", variables: dict[str, str] | None = None, *, trusted: bool = True, project: str = ""
) -> Config:
    settings = folder / "config"
    settings.mkdir(exist_ok=True)
    (settings / "config.toml").write_text(text)
    if project:
        (folder / "overt.toml").write_text(project)
    environment = Environment(
        home=str(folder),
        config_dir=str(settings),
        data_dir=str(folder / "data"),
        cache_dir=str(folder / "cache"),
        cwd=str(folder),
        variables=variables or {},
    )
    return load(environment, project=str(folder), trusted=trusted)


def test_the_defaults_log_warnings_in_five_files_of_5_mb(tmp_path: Path) -> None:
    assert loaded(tmp_path).logs == Logs(level="warning", max_size=5 * 1024 * 1024, keep=5)


@pytest.mark.parametrize(
    ("written", "size"),
    [("20000", 20_000), ("'20000'", 20_000), ("'20 KB'", 20 * 1024), ("'2MB'", 2 * 1024**2), ("'1 gb'", 1024**3)],
)
def test_sizes_are_bytes_or_text_with_a_unit(tmp_path: Path, written: str, size: int) -> None:
    text = f"[logs]\nlevel = 'debug'\nmax_size = {written}\nkeep = 2\n"
    assert loaded(tmp_path, text).logs == Logs(level="debug", max_size=size, keep=2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("level = 'loud'", "`level` must be one of 'debug', 'info', 'warning', 'error', 'off', got 'loud'"),
        ("max_size = '5 XB'", "`max_size` must be a size like '2 GB' or a whole number of bytes"),
        ("max_size = 100", "`max_size` must be between 10 KB and 1 GB"),
        ("max_size = true", "`max_size` must be a size like '2 GB' or a whole number of bytes"),
        ("keep = 0", "`keep` must be a whole number of files from 1 to 100"),
        ("keep = 101", "`keep` must be a whole number of files from 1 to 100"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, f"[logs]\n{line}\n")
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("variables", "level", "origin"),
    [
        ({"OVERT_LOG": "info"}, "info", "OVERT_LOG"),
        ({"OVERT_DEBUG": "1"}, "debug", "OVERT_DEBUG"),
        ({"OVERT_DEBUG": "0"}, "error", "config.toml:2"),
        ({"OVERT_DEBUG": "1", "OVERT_LOG": "off"}, "off", "OVERT_LOG"),
    ],
)
def test_variables_are_stronger_than_files(tmp_path: Path, variables: dict[str, str], level: str, origin: str) -> None:
    config = loaded(tmp_path, "[logs]\nlevel = 'error'\n", variables)
    assert config.logs.level == level
    assert config.origin("logs.level").endswith(origin)


def test_an_unknown_level_in_the_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"OVERT_LOG: `level` must be one of"):
        loaded(tmp_path, variables={"OVERT_LOG": "everything"})


def test_a_project_that_is_not_trusted_cannot_change_the_log(tmp_path: Path) -> None:
    config = loaded(tmp_path, trusted=False, project="[logs]\nlevel = 'off'\nmax_size = '1 GB'\n")
    assert config.logs == Logs()
    assert "`logs.level`, `logs.max_size` ignored" in config.warnings[0]


def test_the_state_folder_follows_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_environment().state_dir == f"{tmp_path}/.local/state/overt"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert read_environment().state_dir == f"{tmp_path}/elsewhere/overt"
