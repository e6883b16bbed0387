"""The settings of undo: sizes and ages with their units, bounds, and what an untrusted folder may not set."""

from pathlib import Path

import pytest
from tests.config.test_config_load import environment, failure, loaded
from tests.fakes.configuration import load

from overt.config.origin import explain
from overt.config.schema import SettingValue
from overt.core.settings import UndoSettings

MB, GB = 1024**2, 1024**3


def test_undo_is_on_with_two_gigabytes_and_thirty_days_by_default(tmp_path: Path) -> None:
    where = environment(tmp_path)
    config = load(where, project=where.cwd, trusted=False)
    assert config.undo == UndoSettings(enabled=True, max_size=2 * GB, max_age=30.0, max_file=10 * MB)
    assert SettingValue(key="undo.max_size", value=2 * GB, origin="default") in explain(config)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("'2 GB'", 2 * GB), ("'500MB'", 500 * MB), ("'1.5 gb'", 3 * GB // 2), ("'64 MiB'", 64 * MB), ("5000000", 5000000)],
)
def test_max_size_takes_a_unit_or_bytes(tmp_path: Path, text: str, expected: int) -> None:
    assert loaded(tmp_path, f"[undo]\nmax_size = {text}").undo.max_size == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("'30 days'", 30.0), ("7", 7.0), ("0.5", 0.5), ("'12 hours'", 0.5), ("'2 weeks'", 14.0)]
)
def test_max_age_takes_a_unit_or_days(tmp_path: Path, text: str, expected: float) -> None:
    assert loaded(tmp_path, f"[undo]\nmax_age = {text}").undo.max_age == expected


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("max_size = '2 parsecs'", "`max_size` must be a size like '2 GB' or a whole number of bytes, got '2 parsecs'"),
        ("max_size = true", "`max_size` must be a size like '2 GB' or a whole number of bytes, got true"),
        ("max_size = '10 KB'", "`max_size` must be between 1 MB and 1024 TB, got '10 KB'"),
        ("max_size = -1", "`max_size` must be between 1 MB and 1024 TB, got -1"),
        ("max_file = '2 GB'", "`max_file` must be between 1 KB and 1 GB, got '2 GB'"),
        ("max_age = 'soon'", "`max_age` must be an age like '30 days' or a number of days, got 'soon'"),
        ("max_age = 0", "`max_age` must be between 1 hour and 36500 days, got 0"),
        ("enabled = 'no'", "`enabled` must be true or false, got 'no'"),
    ],
)
def test_a_value_that_does_not_fit_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    assert failure(tmp_path, f"[undo]\n{line}") == f"overt.toml:2: {complaint}"


def test_an_untrusted_project_cannot_switch_undo_off(tmp_path: Path) -> None:
    where = environment(tmp_path)
    Path(where.cwd, "overt.toml").write_text("[undo]\nenabled = false\nmax_size = '1 MB'\n")
    assert load(where, project=where.cwd, trusted=False).undo == UndoSettings()
    assert load(where, project=where.cwd, trusted=True).undo.enabled is False
