"""Text that looks like a secret and is allowed to be shown: `redact.allow`, for test data.

Each entry of the setting is a glob pattern. It is compared with every piece of text that has the form of a key, and
with the path of every file that is read or written. What a file on an allowed path holds is remembered, so that the
model can repeat it: in an `edit` of that file, in an answer, in a later command. Values of keys in use are redacted
before anything here is asked, so no entry can uncover them.
"""

import os
import re
from collections.abc import Sequence
from fnmatch import translate

from overt.lib.redaction.redact import BEGIN, find_forms

PEM_CHUNK = r"[A-Za-z0-9+/=]{16,}"
"""One line of a private key, without the line number or quotes around it."""
MAX_REMEMBERED = 20_000


class AllowedSecrets:
    """The entries of `redact.allow`. Relative paths are relative to the project folder."""

    def __init__(self, entries: Sequence[str], *, project: str, workspace: str, home: str) -> None:
        self._text_pattern = _any_of(entries)
        paths = [_absolute(entry, project, home) for entry in entries]
        self._path_pattern = _any_of([*paths, *(f"{path}/*" for path in paths)])
        self._name_pattern = _any_of([entry for entry in entries if "/" not in entry])
        self._workspace = workspace
        self._values: set[str] = set()
        self._pem_chunks: set[str] = set()

    def covers(self, text: str) -> bool:
        """True if a text that has the form of a secret may be shown."""
        if text in self._values or self._text_pattern.match(text):
            return True
        chunks = _pem_chunks(text)
        return bool(chunks) and chunks <= self._pem_chunks

    def covers_path(self, path: str) -> bool:
        """True if the content of a file may be shown. Links are resolved first."""
        if not path or "\0" in path or "\n" in path:
            return False
        real = os.path.realpath(os.path.join(self._workspace, path))
        return bool(self._path_pattern.match(real) or self._name_pattern.match(os.path.basename(real)))

    def observe(self, path: str, text: str) -> None:
        """Remember what a file holds that is read or written, if its path is allowed."""
        if self.covers_path(path):
            self.remember(text)

    def remember(self, text: str) -> None:
        for form in find_forms(text):
            if len(self._values) + len(self._pem_chunks) < MAX_REMEMBERED:
                chunks = _pem_chunks(form)
                self._pem_chunks |= chunks
                self._values |= set() if chunks else {form}


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """A pattern that matches what one of the globs matches; without any, nothing."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


def _absolute(entry: str, project: str, home: str) -> str:
    entry = home + entry[1:] if entry.startswith("~/") else entry
    return os.path.join(project, entry.removeprefix("./")).rstrip("/")


def _pem_chunks(text: str) -> frozenset[str]:
    """The lines of a private key; empty for every other kind of secret."""
    if not text.startswith(BEGIN):
        return frozenset()
    return frozenset(re.findall(PEM_CHUNK, re.sub(r"\\[nrt]", " ", text)))
