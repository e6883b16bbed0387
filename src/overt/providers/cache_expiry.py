"""Delete what has not been used for a long time from Overt's cache folder, in the background, once a day.

Only names that Overt itself creates are considered, so that an `OVERT_CACHE` that points to a shared folder is safe:

    models/.fetch-NAME/       an interrupted download               cache.max_age
    models/*.context          what the embedded model has read      cache.max_age
    overt-doctor-*/           left by a self-test that was killed   cache.max_age
    models/WEIGHTS.gguf       downloaded weights                    cache.models_max_age
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

from overt.core.settings import CacheSettings
from overt.providers.embedded.weights import WEIGHTS, models_folder

DAY_S = 24 * 60 * 60
TEMPORARY_FOLDERS = ("overt-doctor-*", "overt-self-test-*")
MODEL_FILES = (".fetch-*", "*.context", "*.context.[0-9]*")


def expire_and_stamp(cache_dir: str, settings: CacheSettings, *, stamp: str) -> None:
    """Delete expired entries, then note the time: what the end of the program interrupts is done by the next run."""
    deleted = expire(cache_dir, settings)
    if not deleted and not os.path.isdir(models_folder(cache_dir)):
        return  # perhaps not a folder of ours
    with suppress(OSError):
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(stamp)


def expire(cache_dir: str, settings: CacheSettings) -> tuple[str, ...]:
    """Delete the entries that are older than the settings allow and return their paths."""
    now = time.time()
    expired = [path for path, max_age in _entries(cache_dir, settings) if now - _last_use(path) > max_age * DAY_S]
    return tuple(path for path in expired if _delete(path))


def _entries(cache_dir: str, settings: CacheSettings) -> Iterator[tuple[str, float]]:
    """Each entry of the cache that may expire, with its greatest age in days."""
    weights = {each.file for each in WEIGHTS}
    models = models_folder(cache_dir)
    for folder, patterns in ((cache_dir, TEMPORARY_FOLDERS), (models, MODEL_FILES)):
        for name in _names(folder):
            if settings.max_age and any(fnmatchcase(name, pattern) for pattern in patterns):
                yield os.path.join(folder, name), settings.max_age
            elif settings.models_max_age and folder == models and name in weights:
                yield os.path.join(folder, name), settings.models_max_age


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _last_use(path: str) -> float:
    """When an entry, or anything in it, was last written or read."""
    times = [0.0]
    inner = [os.path.join(where, name) for where, folders, files in os.walk(path) for name in (*folders, *files)]
    for each in (path, *inner):
        with suppress(OSError):
            status = os.lstat(each)
            times.append(status.st_mtime)
            if not os.path.isdir(each):  # looking into a folder counts as reading it
                times.append(status.st_atime)
    return max(times)


def _delete(path: str) -> bool:
    """Delete a file or a folder. Return False if it cannot be deleted or another process has it locked."""
    try:
        if not os.path.isdir(path) or os.path.islink(path):
            os.unlink(path)
            return True
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a download holds this lock
            shutil.rmtree(path)
        finally:
            os.close(lock)
        return True
    except OSError:
        return False
