"""The `[cache]` settings as a person may write them, and what they do to a run."""

import os
from pathlib import Path

import pytest
from tests.config.test_config_load import failure, loaded
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, place

from overt.core.settings import CacheSettings

__all__ = ["place"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('max_age = "2 weeks"', CacheSettings(max_age=14.0)),
        ("max_age = 0", CacheSettings(max_age=0.0)),
        ('models_max_age = "90 days"', CacheSettings(models_max_age=90.0)),
    ],
)
def test_ages_are_days_or_texts_with_a_unit(tmp_path: Path, text: str, expected: CacheSettings) -> None:
    config = loaded(tmp_path, f"[cache]\n{text}")
    assert (config.cache, config.warnings) == (expected, ())


@pytest.mark.parametrize("text", ["-1", "false", '"soon"'])
def test_what_is_no_age_is_named(tmp_path: Path, text: str) -> None:
    assert failure(tmp_path, f"[cache]\nmax_age = {text}").startswith("overt.toml:2: `max_age` must be ")


def test_a_folder_that_is_not_trusted_does_not_decide_what_is_deleted(place: Place) -> None:
    (place.work / "overt.toml").write_text("[cache]\nmax_age = 1\nmodels_max_age = 1\n")
    done = place.run("config", "cache")
    assert done.out.count("(default)") == 2
    assert "`cache.max_age`, `cache.models_max_age` ignored, because this folder is not trusted" in done.err


def test_a_run_deletes_what_expired(place: Place) -> None:
    partial = place.home / ".cache" / "overt" / "models" / ".fetch-big"
    partial.mkdir(parents=True)
    (partial / "official").write_bytes(b"half")
    for path in (partial / "official", partial):
        os.utime(path, (0, 0))
    with ModelServer([Turn(text="ok")]) as server:
        assert place.run("-p", "hello", server=server).code == 0
    assert not partial.exists()
