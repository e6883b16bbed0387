"""What can be completed where the cursor stands, and what there is to choose: light enough to be asked at every key."""

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


class Asked(NamedTuple):
    """From `start` to `end` is what a choice takes the place of; `word` is what was typed of it, as it is meant.

    `name` is the command that an argument belongs to. `quoted`: a reference in quotes.
    """

    kind: Kind
    start: int
    end: int
    word: str
    name: str = ""
    quoted: bool = False


class Choice(NamedTuple):
    """`again`: there is more to choose behind it, as below a folder. The cursor goes `back` so far from its end."""

    insert: str
    label: str
    detail: str = ""
    folder: bool = False
    again: bool = False
    back: int = 0


class Completion(NamedTuple):
    """`selected` is where the cursor of the menu begins, -1 for nowhere. `more` were found and are not listed.

    `partial`: a better answer to the same question may follow.
    """

    kind: Kind
    start: int
    end: int
    choices: tuple[Choice, ...] = ()
    selected: int = 0
    more: int = 0
    partial: bool = False


def asked(text: str, cursor: int, *, tab: bool = False) -> Asked | None:
    """What may be completed before the cursor; names in a shell line only when somebody asks for them with Tab."""
    if not 0 < cursor <= len(text):
        return None
    if text[0] == "!":
        return _shell_word(text, cursor) if tab else None
    return _reference(text, cursor) or (_slash(text, cursor) if text[0] == "/" else None)


def _reference(text: str, cursor: int) -> Asked | None:
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
                return Asked("file", at, cursor + text.startswith('"', cursor), word[1:], quoted=True)
        elif not any(char in ENDS or char == "@" or char.isspace() for char in word):
            return Asked("file", at, _path_end(text, cursor) if word else cursor, word)
    return None


def _path_end(text: str, at: int) -> int:
    """Where a name goes on behind the cursor; Chinese text goes on without a blank, and is none of it."""
    while at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] in PATH):
        at += 1
    return at


def _slash(text: str, cursor: int) -> Asked | None:
    end = 1
    while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] in "-_?"):
        end += 1
    if text[end : end + 1] not in ("", " ", "\n"):
        return None  # a path
    if cursor <= end:
        return Asked("command", 0, end, text[1:cursor])
    start = end
    while start < cursor and text[start] == " ":
        start += 1
    word = text[start:cursor]
    if len(word) > LONGEST_ARGUMENT or "\n" in text[end:cursor]:
        return None
    last = cursor
    while last < len(text) and not text[last].isspace():
        last += 1
    return Asked("argument", start, last, word, name=text[1:end])


def _shell_word(text: str, cursor: int) -> Asked | None:
    start = cursor
    while start > 1 and cursor - start < LONGEST and not (text[start - 1] in SHELL_ENDS and text[start - 2] != "\\"):
        start -= 1
    raw = text[start:cursor]
    if any(char in SHELL_ODD for char in raw.replace("\\", "")) or any(
        text.count(mark, 0, start) % 2 for mark in "\"'"
    ):
        return None
    return Asked("path", start, cursor, _unescaped(raw))


def _unescaped(raw: str) -> str:
    kept: list[str] = []
    escaped = False
    for char in raw:
        escaped = char == "\\" and not escaped
        if not escaped:
            kept.append(char)
    return "".join(kept)
