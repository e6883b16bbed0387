"""The log of this process: levels, redaction, rotation, several processes at once.

Any package may write to `LOG`. Nothing is imported or opened before the first line that is really written, so a run
in which nothing goes wrong pays for one comparison per call.
"""

import os
from collections.abc import Callable, Iterable
from fcntl import LOCK_EX, LOCK_NB, flock
from time import gmtime, strftime, time_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overt.lib.redaction.redact import Redactor

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "off": 100}
DEFAULT_LEVEL, DEFAULT_SIZE, DEFAULT_KEEP = "warning", 5 * 1024 * 1024, 5
NAME = "overt.log"
MAX_ENTRY_CHARACTERS = 64_000
MAX_SOURCES = 4
"""Sources of secrets that wait to be asked."""
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Log:
    """`folder` is the state folder; while it is empty nothing is written."""

    def __init__(self) -> None:
        self.folder = ""
        self._level = LEVELS[DEFAULT_LEVEL]
        self._forced = ""
        self._max_size = DEFAULT_SIZE
        self._keep = DEFAULT_KEEP
        self._secrets: set[str] = set()
        self._sources: list[Callable[[], Iterable[str]]] = []
        self._redactor: Redactor | None = None

    def configure(self, folder: str, *, level: str, max_size: int, keep: int) -> None:
        """Set where and what to write. A level set with `force_level` stays."""
        self.folder = folder
        self._level = LEVELS[self._forced or level]
        self._max_size, self._keep = max_size, keep

    def force_level(self, level: str) -> None:
        """Set the level whatever the configuration says, as `--debug` does."""
        self._forced = level
        self._level = LEVELS[level]

    def learn(self, *secrets: str) -> None:
        """Hide these values from everything that is written from now on."""
        self._secrets.update(secrets)
        self._redactor = None

    def learn_from(self, source: Callable[[], Iterable[str]]) -> None:
        """Hide the values that `source` returns; it is called when the first entry is written."""
        if len(self._sources) >= MAX_SOURCES:
            self._ask_sources()
        self._sources.append(source)
        self._redactor = None

    def clean(self, text: str) -> str:
        """Return the text without the secrets of this run and without well-known forms of keys."""
        return self.redactor().clean(text)

    def redactor(self) -> "Redactor":
        """The Redactor that knows the secrets of this run."""
        if self._redactor is None:
            self._ask_sources()
            from overt.lib.redaction.redact import Redactor  # late: 0.5 ms

            self._redactor = Redactor(self._secrets)
        return self._redactor

    def _ask_sources(self) -> None:
        sources, self._sources = self._sources, []
        for source in sources:
            self._secrets.update(source())

    def enabled(self, level: str) -> bool:
        return LEVELS[level] >= self._level and bool(self.folder)

    def debug(self, area: str, text: str) -> None:
        if self._level <= 10:
            self.write("debug", area, text)

    def info(self, area: str, text: str) -> None:
        if self._level <= 20:
            self.write("info", area, text)

    def warning(self, area: str, text: str, error: BaseException | None = None) -> None:
        if self._level <= 30:
            self.write("warning", area, text, error)

    def error(self, area: str, text: str, error: BaseException | None = None) -> None:
        """With `error` its traceback follows, and those of its causes and sub-exceptions."""
        if self._level <= 40:
            self.write("error", area, text, error)

    def write(self, level: str, area: str, text: str, error: BaseException | None = None) -> None:
        """Append one entry. A log that cannot be written is given up silently: it must never end the program."""
        if not self.enabled(level):
            return
        lines = [text]
        if error is not None:
            from overt.lib.logs import tracebacks  # late: 2 ms

            lines += tracebacks.describe_error(error, self.clean)
        from overt.lib.text import visible  # late: 0.8 ms

        body = visible(self.clean("\n".join(lines))[:MAX_ENTRY_CHARACTERS]).replace("\n", "\n    ")
        entry = f"{timestamp()} {level} {os.getpid()} {area}: {body}\n"
        try:
            self._append(entry.encode("utf-8", "replace"))
        except OSError:
            return

    def _append(self, entry: bytes) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        path = os.path.join(self.folder, NAME)
        fd = os.open(path, APPEND, 0o600)
        try:
            size = os.fstat(fd).st_size
            if size and size + len(entry) > self._max_size:
                os.close(fd)
                fd = -1
                self._rotate(path, len(entry))
                fd = os.open(path, APPEND, 0o600)
            os.write(fd, entry)  # one write: entries of several processes do not mix
        finally:
            if fd >= 0:
                os.close(fd)

    def _rotate(self, path: str, wanted: int) -> None:
        """Rename `overt.log` to `overt.log.1` and so on. If another process is doing it, leave it to that one."""
        lock = os.open(path + ".lock", APPEND, 0o600)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            if os.stat(path).st_size + wanted <= self._max_size:
                return  # another process was faster
            if self._keep == 1:
                os.unlink(path)
                return
            for number in range(self._keep - 1, 0, -1):
                source = path if number == 1 else f"{path}.{number - 1}"
                if os.path.exists(source):
                    os.rename(source, f"{path}.{number}")
        except (BlockingIOError, FileNotFoundError):
            return
        finally:
            os.close(lock)


def timestamp() -> str:
    now = time_ns()
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(now // 10**9))}.{now // 10**6 % 1000:03d}Z"


LOG = Log()
