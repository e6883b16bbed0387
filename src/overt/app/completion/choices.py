"""What can be completed where the cursor stands, and what there is to choose: light enough to be asked at every key."""

import re
from typing import Literal, NamedTuple

Kind = Literal["command", "argument", "file", "path"]

LONGEST = 1024
LONGEST_ARGUMENT = 200
TRIES = 8
ENDS = "\"'`<>|,;()[]{}，。；：！？、（）【】《》“”‘’「」…"
"""Characters that no `@` reference holds unless it is quoted, besides blanks and the sign itself."""
BEFORE = "_.+-@/"
"""With letters and digits of ASCII: what an `@` stands behind when it is an address and no reference."""
PATH = "_./-"
SHELL_ENDS = " \t\n;|&<>()"
SHELL_ODD = "\"'`$*?[{~"
"""What would have to be understood before a name could be found behind it."""


class CompletionRequest(NamedTuple):
    """What may be completed. A choice replaces the text from `start` to `end`; `word` is what was typed, unescaped.

    `name` is the command that an argument belongs to. `quoted` is true for a reference in quotes.
    """

    kind: Kind
    start: int
    end: int
    word: str
    name: str = ""
    quoted: bool = False


class Choice(NamedTuple):
    """One row of the menu. With `again` there is more to choose behind it, as below a folder.

    The cursor goes `back` so many characters from the end of `insert`.
    """

    insert: str
    label: str
    detail: str = ""
    folder: bool = False
    again: bool = False
    back: int = 0


class Completion(NamedTuple):
    """The menu. `selected` is the row where its cursor begins, -1 for none. `more` matches are not listed.

    If it is `partial`, a better answer to the same request may follow.
    """

    kind: Kind
    start: int
    end: int
    choices: tuple[Choice, ...] = ()
    selected: int = 0
    more: int = 0
    partial: bool = False


def request_at(text: str, cursor: int, *, tab: bool = False) -> CompletionRequest | None:
    """Return what may be completed before the cursor. Names in a shell line are completed on Tab only."""
    if not 0 < cursor <= len(text):
        return None
    if text[0] == "!":
        return _shell_word(text, cursor) if tab else None
    return _reference(text, cursor) or (_slash(text, cursor) if text[0] == "/" else None)


def _reference(text: str, cursor: int) -> CompletionRequest | None:
    low = max(cursor - LONGEST, 0)
    low = max(text.rfind("\n", low, cursor) + 1, low)
    at = cursor
    for _ in range(TRIES):
        at = text.rfind("@", low, at)
        if at < 0:
            return None
        if at and (text[at - 1] in BEFORE or (text[at - 1].isascii() and text[at - 1].isalnum())):
            continue
        word = text[at + 1 : cursor]
        if word.startswith('"'):
            if '"' not in word[1:]:
                return CompletionRequest("file", at, cursor + text.startswith('"', cursor), word[1:], quoted=True)
        elif not any(char in ENDS or char == "@" or char.isspace() for char in word):
            return CompletionRequest("file", at, _path_end(text, cursor) if word else cursor, word)
    return None


def _path_end(text: str, at: int) -> int:
    """Return where a name ends that goes on behind the cursor. Chinese text after it, without a blank, is no part."""
    while at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] in PATH):
        at += 1
    return at


def _slash(text: str, cursor: int) -> CompletionRequest | None:
    end = 1
    while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] in "-_?:."):
        end += 1
    if text[end : end + 1] not in ("", " ", "\n"):
        return None  # a path
    if cursor <= end:
        return CompletionRequest("command", 0, end, text[1:cursor])
    start = end
    while start < cursor and text[start] == " ":
        start += 1
    word = text[start:cursor]
    if len(word) > LONGEST_ARGUMENT or "\n" in text[end:cursor]:
        return None
    last = cursor
    while last < len(text) and not text[last].isspace():
        last += 1
    return CompletionRequest("argument", start, last, word, name=text[1:end])


def _shell_word(text: str, cursor: int) -> CompletionRequest | None:
    start = cursor
    while start > 1 and cursor - start < LONGEST and not (text[start - 1] in SHELL_ENDS and text[start - 2] != "\\"):
        start -= 1
    raw = text[start:cursor]
    if any(char in SHELL_ODD for char in raw.replace("\\", "")) or any(
        text.count(mark, 0, start) % 2 for mark in "\"'"
    ):
        return None
    return CompletionRequest("path", start, cursor, re.sub(r"\\(.?)", r"\1", raw))
