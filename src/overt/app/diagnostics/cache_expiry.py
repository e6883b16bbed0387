"""Start the expiry of the cache folder in the background: at the end of a turn, at most once a day."""

import os
import threading
import time

from overt.core.settings import CacheSettings

STAMP = ".last-expiry"
THREAD_NAME = "cache-expiry"
DAY_S = 24 * 60 * 60
EXIT_WAIT_S = 2.0
"""How long the end of a run waits for it, once a day."""


def start_expiry(cache_dir: str, settings: CacheSettings) -> threading.Thread | None:
    """Start a thread that deletes expired entries. Return None if there is no cache, or it ran today."""
    if not (settings.max_age or settings.models_max_age) or not os.path.isdir(cache_dir):
        return None
    try:
        if time.time() - os.stat(os.path.join(cache_dir, STAMP)).st_mtime < DAY_S:
            return None
    except OSError:
        pass  # it never ran here
    if any(thread.name == THREAD_NAME for thread in threading.enumerate()):
        return None  # the end of an earlier turn started it
    worker = threading.Thread(target=_expire, args=(cache_dir, settings), name=THREAD_NAME, daemon=True)
    worker.start()
    return worker


def finish_expiry() -> None:
    """Wait for the thread before the process ends, which would stop it: a short run would never get it done."""
    for thread in threading.enumerate():
        if thread.name == THREAD_NAME:
            thread.join(EXIT_WAIT_S)


def _expire(cache_dir: str, settings: CacheSettings) -> None:
    """Load in the thread what deletes files: most runs never need it."""
    from overt.providers.cache_expiry import expire_and_stamp  # late: 3 ms

    expire_and_stamp(cache_dir, settings, stamp=os.path.join(cache_dir, STAMP))
