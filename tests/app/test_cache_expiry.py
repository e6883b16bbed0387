"""What expires in the cache folder, and what stays."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from overt.app.diagnostics.cache_expiry import STAMP, start_expiry
from overt.core.settings import CacheSettings
from overt.providers.cache_expiry import expire
from overt.providers.embedded.weights import WEIGHTS, mark_used

DAY_S = 24 * 60 * 60
WEIGHTS_FILE = WEIGHTS[0].file


def put(path: Path, *, days: float) -> Path:
    """A file that was last used so many days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"data")
    age(path, days)
    return path


def age(path: Path, days: float) -> None:
    when = time.time() - days * DAY_S
    os.utime(path, (when, when))


def filled(folder: Path) -> Path:
    put(folder / "models" / ".fetch-big" / "official", days=40)
    put(folder / "models" / ".fetch-new" / "wheels" / "part1", days=2)
    put(folder / "models" / "big-cc324af0.context", days=40)
    put(folder / "models" / "big-cc324af0.context.4321", days=40)
    put(folder / "models" / "new-cc324af0.context", days=2)
    put(folder / "models" / WEIGHTS_FILE, days=400)
    put(folder / "models" / "mine.gguf", days=400)
    put(folder / "overt-doctor-abc" / "home" / "x", days=40)
    put(folder / "photos" / "holiday.jpg", days=400)
    for inner in (*folder.rglob("*"), *folder.rglob(".*")):
        if inner.is_dir():
            age(inner, 2 if ".fetch-new" in str(inner) else 40)
    return folder


def left(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != STAMP}


STAYING = {
    *("models/.fetch-new/wheels/part1", "models/new-cc324af0.context", f"models/{WEIGHTS_FILE}"),
    *("models/mine.gguf", "photos/holiday.jpg"),
}


def test_unused_downloads_contexts_and_leftovers_expire_and_nothing_else(tmp_path: Path) -> None:
    deleted = expire(str(filled(tmp_path)), CacheSettings())
    assert {os.path.relpath(path, tmp_path) for path in deleted} == {
        *("models/.fetch-big", "models/big-cc324af0.context", "models/big-cc324af0.context.4321", "overt-doctor-abc"),
    }
    assert left(tmp_path) == STAYING


def test_weights_expire_only_when_that_is_set_and_never_while_in_use(tmp_path: Path) -> None:
    filled(tmp_path)
    mark_used(str(tmp_path / "models" / WEIGHTS_FILE))
    expire(str(tmp_path), CacheSettings(models_max_age=90))
    assert left(tmp_path) == STAYING
    age(tmp_path / "models" / WEIGHTS_FILE, 100)
    expire(str(tmp_path), CacheSettings(models_max_age=90))
    assert left(tmp_path) == STAYING - {f"models/{WEIGHTS_FILE}"}


def test_an_age_of_zero_keeps_everything(tmp_path: Path) -> None:
    before = left(filled(tmp_path))
    assert expire(str(tmp_path), CacheSettings(max_age=0)) == ()
    assert start_expiry(str(tmp_path), CacheSettings(max_age=0)) is None
    assert left(tmp_path) == before


def test_a_download_in_progress_is_not_deleted(tmp_path: Path) -> None:
    stage = filled(tmp_path) / "models" / ".fetch-big"
    lock = os.open(stage, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        expire(str(tmp_path), CacheSettings())
        assert stage.is_dir()
    finally:
        os.close(lock)
    expire(str(tmp_path), CacheSettings())
    assert not stage.exists()


def test_a_link_is_removed_and_what_it_points_to_stays(tmp_path: Path) -> None:
    target = put(tmp_path / "elsewhere" / "file", days=40)
    (tmp_path / "cache" / "models").mkdir(parents=True)
    link = tmp_path / "cache" / "models" / ".fetch-link"
    link.symlink_to(target.parent)
    os.utime(link, (0, 0), follow_symlinks=False)
    age(target.parent, 40)
    expire(str(tmp_path / "cache"), CacheSettings())
    assert target.exists() and not link.is_symlink()


def test_it_runs_in_the_background_at_most_once_a_day(tmp_path: Path) -> None:
    worker = start_expiry(str(filled(tmp_path)), CacheSettings())
    assert worker is not None
    worker.join(timeout=30)
    assert left(tmp_path) == STAYING
    assert start_expiry(str(tmp_path), CacheSettings()) is None
    age(tmp_path / STAMP, 1.1)
    again = start_expiry(str(tmp_path), CacheSettings())
    assert again is not None
    again.join(timeout=30)


@pytest.mark.parametrize("exists", [True, False])
def test_a_cache_without_entries_is_left_alone(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "cache"
    if exists:
        folder.mkdir()
    worker = start_expiry(str(folder), CacheSettings())
    assert (worker is not None) is exists
    if worker:
        worker.join(timeout=30)
    assert not list(tmp_path.rglob(STAMP))
