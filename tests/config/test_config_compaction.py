"""The share of the window at which room is made, as a person may set it."""

from pathlib import Path

import pytest
from tests.config.test_config_load import environment, failure, loaded
from tests.fakes.configuration import load

from overt.config.origin import explain
from overt.config.schema import SettingValue
from overt.core.settings import Compaction


@pytest.mark.parametrize(("text", "expected"), [("0.5", 0.5), ("0", 0.0), ("0.95", 0.95)])
def test_the_threshold_is_a_share_or_never(tmp_path: Path, text: str, expected: float) -> None:
    config = loaded(tmp_path, f"[compaction]\nthreshold = {text}")
    assert (config.compaction, config.warnings) == (Compaction(threshold=expected), ())
    assert SettingValue(key="compaction.threshold", value=expected, origin="overt.toml:2") in explain(config)


def test_it_is_four_fifths_by_default_and_shown(tmp_path: Path) -> None:
    where = environment(tmp_path)
    config = load(where, project=where.cwd, trusted=False)
    assert SettingValue(key="compaction.threshold", value=0.8, origin="default") in explain(config)


@pytest.mark.parametrize("text", ["80", "1", "-0.5", "'half'", "true", "0.99"])
def test_what_is_no_share_is_named(tmp_path: Path, text: str) -> None:
    assert failure(tmp_path, f"[compaction]\nthreshold = {text}").startswith(
        "overt.toml:2: `threshold` must be a share of the window from 0.1 to 0.95, or 0 for never, got "
    )


def test_a_misspelled_key_is_a_warning(tmp_path: Path) -> None:
    config = loaded(tmp_path, "[compaction]\ntreshold = 0.5")
    assert config.warnings == ("overt.toml:2: unknown key `treshold` in [compaction]; did you mean `threshold`?",)


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("32000", 32000)])
def test_a_window_of_nothing_leaves_the_length_to_the_server(tmp_path: Path, text: str, expected: int) -> None:
    config = loaded(tmp_path, f"[context]\ncontext_window = {text}")
    assert (config.context_window, config.origin("context.context_window")) == (expected, "overt.toml:2")


@pytest.mark.parametrize("text", ["-1", "false", "0.5", "'much'"])
def test_what_is_no_window_is_named(tmp_path: Path, text: str) -> None:
    assert "`context_window` must be a whole number of tokens, or 0 to leave it to the server" in failure(
        tmp_path, f"[context]\ncontext_window = {text}"
    )
