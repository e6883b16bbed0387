"""The files and folders that a prompt points at, by name only: for counting them."""

import os
import re
from collections.abc import Iterator

from overt.app.context.references import FOUND, LINES, LONGEST, MOST, PUNCTUATION


def mentioned_paths(text: str, workspace: str) -> list[str]:
    """Relative to the workspace, each once; a way out of it is none of our business."""
    found: dict[str, None] = {}
    for number, match in enumerate(re.finditer(FOUND, text)):
        if number == MOST:
            break
        for name in _names(match[1] or match[4]):
            path = os.path.normpath(name)
            if "\0" in path or path.startswith(("/", "..")) or path == ".":
                continue
            if os.path.lexists(os.path.join(workspace, path)):
                found[path] = None
                break
    return list(found)


def _names(word: str) -> Iterator[str]:
    word = word[:LONGEST]
    yield word
    yield word.rstrip(PUNCTUATION)
    if lines := re.fullmatch(LINES, word.rstrip(PUNCTUATION)):
        yield lines[1]
