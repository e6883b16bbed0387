"""Replacing an exact piece of text, or saying what is nearly there and where."""

import re

from msgspec import Struct

from overt.core.errors import ToolError
from overt.tools._nearest_text import NUMBERED, describe_difference, nearest_place, normalized

MAX_PLACES = 8


class Wording(Struct, frozen=True):
    """What a tool calls its arguments, and how its caller can make a piece of text unique."""

    old: str = "old_string"
    new: str = "new_string"
    make_unique: str = "Add neighbouring lines until it is unique, or set replace_all."


USUAL_WORDING = Wording()


def replace_text(text: str, old: str, new: str, *, every: bool, wording: Wording = USUAL_WORDING) -> tuple[str, int]:
    """Return the new text and how many places changed."""
    if old == new:
        raise ToolError(f"{wording.old} and {wording.new} are the same; there is nothing to change.", code="invalid")
    if not old:
        raise ToolError(f"{wording.old} is empty, but the file has content. Give the text to replace.", code="invalid")
    count = text.count(old)
    if not count and "\r\n" in text and "\n" in old:
        # The file mixes line ends; what the model was shown had none of the carriage returns.
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        count = text.count(old)
    if not count:
        raise ToolError(_not_found(text, old.replace("\r\n", "\n"), new, wording), code="no_match")
    if count > 1 and not every:
        raise ToolError(_several(text, old, count, wording), code="ambiguous")
    return text.replace(old, new), count


def _several(text: str, old: str, count: int, wording: Wording) -> str:
    numbers: list[str] = []
    at = text.find(old)
    while at >= 0 and len(numbers) < MAX_PLACES:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    more = " …" if count > len(numbers) else ""
    return f"{wording.old} stands {count} times, at lines {', '.join(numbers)}{more}. {wording.make_unique}"


def _not_found(text: str, old: str, new: str, wording: Wording) -> str:
    wanted = old.split("\n")
    filled = [line for line in wanted if line.strip()]
    if filled and all(re.match(NUMBERED, line) for line in filled):
        return f"{wording.old} holds the line numbers that read shows. Leave out each number and the tab after it."
    while wanted and not wanted[-1].strip():
        wanted.pop()
    while wanted and not wanted[0].strip():
        wanted.pop(0)
    lines = text.replace("\r\n", "\n").split("\n")
    start = _inside_a_line(lines, wanted) if len(wanted) == 1 else None
    if start is None:
        start = nearest_place(lines, wanted)
    already = ""
    if len(new.strip()) > 8 and new in text:
        line = text.count("\n", 0, text.find(new)) + 1
        already = f" {wording.new} is already there at line {line}: perhaps this edit was made before."
    if start is None:
        return f"{wording.old} was not found, nor anything like it. Read the file again.{already}"
    nearly = f"The nearest place is line {start + 1}. {describe_difference(lines, wanted, start)}"
    return f"{wording.old} was not found.{already} {nearly}"


def _inside_a_line(lines: list[str], wanted: list[str]) -> int | None:
    key = normalized(wanted[0])
    return next((index for index, line in enumerate(lines) if key and key in normalized(line)), None)
