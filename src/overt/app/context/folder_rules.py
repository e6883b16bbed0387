"""Rules of folders further down: they join the conversation once, when a file below them has been read or changed.

What has joined is asked of the history, so a resumed session adds nothing twice, and what a compaction took away
comes back. A step looks only at what the steps before it have not seen.
"""

import os
from collections.abc import Callable, Mapping

from overt.context.prefix_sources import file
from overt.core.history import History
from overt.core.messages import Message, said
from overt.core.text_fragments import Origin
from overt.extensions.instructions import read_source

HEAD = "[overt] Rules for the files below {folder}/, from {where}; there they hold over the rules before:"
MOST = 8
"""Files that join at once; the others follow with the next request."""


class FolderRules:
    """`names` are what such files are called, `instead` the name that is read where one of them is missing.

    `may_read` keeps out what a rule would ask about.
    """

    def __init__(
        self,
        root: str,
        names: tuple[str, ...],
        *,
        may_read: Callable[[str], bool],
        cap: int,
        instead: Mapping[str, str] | None = None,
    ) -> None:
        self._root = root
        self._names = names
        self._instead = instead or {}
        self._may_read = may_read
        self._cap = cap
        self._eras = -1
        self._followed = 0
        self._looked: set[str] = set()
        self._there: set[str] = set()
        self._wanted: dict[str, None] = {}

    def __call__(self, history: History) -> tuple[Message, ...]:
        self._follow(history)
        messages: list[Message] = []
        for path in [path for path in self._wanted if path not in self._there]:
            if len(messages) == MOST:
                break
            if message := self._message(path):
                messages.append(message)
            else:
                del self._wanted[path]
        return tuple(messages)

    def _follow(self, history: History) -> None:
        if self._eras != len(history.eras) or self._followed > len(history.messages):
            self._eras, self._followed = len(history.eras), 0
            self._looked, self._there, self._wanted = set(), set(), {}
        for message in history.messages[self._followed :]:
            if message.origin.kind == "file":
                self._there.add(message.origin.where)
        self._followed = len(history.messages)
        fresh = history.seen.keys() - self._looked
        for path in sorted(fresh):
            self._look(path)
        self._looked |= fresh

    def _look(self, path: str) -> None:
        """The outermost folder first; the workspace itself has its rules in the prefix."""
        if path.startswith("/"):
            return
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            for name in self._names:
                if place := self._find(folder, name) or self._find(folder, self._instead.get(name, "")):
                    self._wanted[place] = None

    def _find(self, folder: str, name: str) -> str:
        """The path of a regular file, or an empty string: links are not followed."""
        path = os.path.join(self._root, folder, name)
        return f"{folder}/{name}" if name and os.path.isfile(path) and not os.path.islink(path) else ""

    def _message(self, path: str) -> Message | None:
        whole = os.path.join(self._root, path)
        folder = os.path.dirname(whole)
        if os.path.realpath(folder) != folder or not self._may_read(path):
            return None
        rules = read_source(whole, path)
        if rules is None or not rules.content.strip():
            return None
        head = HEAD.format(folder=os.path.dirname(path), where=path)
        fragment = file("nested", head, rules, self._cap)
        # With a hash the file counts as seen, which only a whole one was.
        hash = "" if fragment.cap else fragment.origin.hash
        origin = Origin(kind="file", where=path, lines=fragment.origin.lines, hash=hash, detail="rules")
        return said(fragment.text, origin=origin)
