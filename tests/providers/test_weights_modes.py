"""Weights are their owner's alone: what others may write is not what was checked."""

import os
import stat
from pathlib import Path

from tests.providers.provider_kit import run
from tests.providers.test_fetching import DATA, TINY, Told

from overt.providers.embedded.weight_sources import is_fetched


def test_folders_and_weights_are_private_whatever_the_umask(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(DATA)
    before = os.umask(0)
    try:
        made = Told(tmp_path / "new" / "home", given=str(own)).fetch()
    finally:
        os.umask(before)
    places = [made, *made.parents]
    modes = [stat.S_IMODE(place.stat().st_mode) for place in places[: places.index(tmp_path)]]
    assert modes == [0o600, 0o700, 0o700, 0o700, 0o700]


def test_weights_that_others_may_write_do_not_count_until_they_were_looked_at_again(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(DATA)
    told = Told(tmp_path, given=str(own))
    path = told.fetch()
    path.chmod(0o666)
    assert TINY.here(told.job.folder) is False
    assert run(is_fetched(told.job)) is True
    assert (TINY.here(told.job.folder), stat.S_IMODE(path.stat().st_mode)) == (True, 0o600)
