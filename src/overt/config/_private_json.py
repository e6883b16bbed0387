"""Small JSON files that the program keeps for itself: private, replaced whole, one writer at a time."""

import fcntl
import os
from collections.abc import Callable
from typing import TypeVar

from overt.core.codec import decode, encode
from overt.core.errors import ConfigError
from overt.lib.atomic import replace
from overt.lib.read_file import read_regular

LARGEST = 4 * 1024 * 1024

T = TypeVar("T")


def read(path: str) -> tuple[object, str]:
    """The content, or None and the reason why the file counts as empty. A missing file has no reason."""
    try:
        data, found = read_regular(path, LARGEST, os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        return None, "could have been written by others"
    if len(data) > LARGEST:
        return None, "is too large"
    try:
        return decode(data), ""
    except (ValueError, RecursionError):
        return None, "is damaged"


def update(path: str, read_content: Callable[[object], T | None], change: Callable[[T | None], object]) -> None:
    """Replace the content by what `change` makes of it; a file that cannot be used is kept as `.damaged`."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            content, reason = read(path)
            known = read_content(content)
            if reason or (content is not None and known is None):
                os.replace(path, f"{path}.damaged")
            replace(path, encode(change(known)))
        finally:
            os.close(lock)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; make the folder writable") from None


def plain(path: str) -> str:
    """A path as JSON can hold it, odd bytes spelled out, no two paths alike."""
    return path.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()
