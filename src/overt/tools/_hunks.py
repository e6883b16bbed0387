"""Hunks and how they fit: their context must be there exactly, the place may have moved."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from overt.core.errors import ToolError
from overt.tools._nearest_text import describe_difference, nearest_place


class Hunk(Struct, frozen=True, kw_only=True):
    """`body` lines start with a space, `+`, `-` or a backslash. `start` counts from 1 in the old file.

    `ordered` hunks carry no numbers: the first place after the one before is meant.
    """

    header: str
    start: int | None
    body: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    ordered: bool = False

    def old(self) -> list[str]:
        return [line[1:] for line in self.body if line[0] in " -"]

    def unended(self, signs: str) -> bool:
        """True if the last line with one of these signs is marked as having no newline."""
        marked = False
        for line, following in zip(self.body, (*self.body[1:], ""), strict=True):
            if line[0] in signs:
                marked = following.startswith("\\")
        return marked


class FilePatch(Struct, frozen=True, kw_only=True):
    kind: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    move_to: str = ""


def invalid(message: str) -> ToolError:
    return ToolError(message, code="invalid")


def checked_path(path: str) -> str:
    """Return a path that goes down only. Whether an absolute one lies in the workspace is seen when it is opened."""
    if not path:
        raise invalid("A file in the patch has no name.")
    if path.startswith("~/") or ".." in path.split("/"):
        raise ToolError(f"{path}: a patch takes paths relative to the workspace root, without `..`.", code="outside")
    return path


class SourceLines:
    """The lines of a file without their line ends, and the line ends beside them.

    A file comes with `\\n` only, unless it mixes line ends; then every line keeps its own and new lines get the most
    frequent one. A carriage return alone ends a line if `lone_returns` is set.
    """

    def __init__(self, text: str, *, lone_returns: bool = False) -> None:
        self.lines: list[str] = []
        self.ends: list[str] = []
        pieces = re.split(r"(\r\n|\n|\r)" if lone_returns else r"(\r?\n)", text)
        for at in range(0, len(pieces) - 1, 2):
            self.lines.append(pieces[at])
            self.ends.append(pieces[at + 1])
        self.usual_end = Counter(self.ends).most_common(1)[0][0] if self.ends else "\n"
        self.ended = not pieces[-1]
        if pieces[-1]:
            self.lines.append(pieces[-1])
            self.ends.append(self.usual_end)

    def change(self, at: int, hunk: Hunk) -> int:
        """Make the change of a hunk that fits at a place. Return the index of the line after it."""
        lines: list[str] = []
        ends: list[str] = []
        old = at
        for line in hunk.body:
            if line[0] == " ":
                lines.append(self.lines[old])
                ends.append(self.ends[old])
            elif line[0] == "+":
                lines.append(line[1:])
                ends.append(self.usual_end)
            old += line[0] in " -"
        self.lines[at:old], self.ends[at:old] = lines, ends
        return at + len(lines)

    def text(self) -> str:
        if not self.lines:
            return ""
        whole = "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))
        return whole if self.ended else whole.removesuffix(self.ends[-1])


def apply_hunks(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """Return the text after every hunk. Raise a ToolError that names a hunk that does not fit and the nearest place."""
    try:
        return _applied(path, SourceLines(text), hunks)
    except ToolError:
        if "\r" in text.replace("\r\n", ""):
            try:
                return _applied(path, SourceLines(text, lone_returns=True), hunks)
            except ToolError:
                pass  # the first refusal counts lines as read shows them
        raise


def _applied(path: str, source: SourceLines, hunks: Sequence[Hunk]) -> str:
    shift = cursor = 0
    for number, hunk in enumerate(hunks, 1):
        old = hunk.old()
        label = f"Hunk {number} of {path}" + (f" ({hunk.header.strip()})" if hunk.header else "")
        at = _place(source.lines, hunk, old=old, cursor=cursor, shift=shift, label=label)
        cursor = source.change(at, hunk)
        if cursor == len(source.lines):
            source.ended = _ending(hunk, source.ended)
        if hunk.start is not None and not hunk.ordered:
            shift = at - _expected(hunk, old) + cursor - at - len(old)
    return source.text()


def _ending(hunk: Hunk, ended: bool) -> bool:
    if hunk.unended(" +"):
        return False
    return True if hunk.unended(" -") else ended


def _expected(hunk: Hunk, old: list[str]) -> int:
    """The index a numbered hunk asks for; without old lines its number is the line before."""
    start = hunk.start or 0
    return start if not old else max(start - 1, 0)


def _place(lines: list[str], hunk: Hunk, *, old: list[str], cursor: int, shift: int, label: str) -> int:
    for anchor in hunk.anchors:
        cursor = _after(lines, anchor, cursor, label)
    if not old:
        if hunk.start is not None:
            return min(max(_expected(hunk, old) + shift, cursor), len(lines))
        return cursor if hunk.anchors else len(lines)
    last = len(lines) - len(old)
    wanted = _expected(hunk, old) + shift
    anywhere = not (hunk.at_end or hunk.unended(" -"))
    if anywhere and hunk.start is not None and cursor <= wanted <= last and lines[wanted : wanted + len(old)] == old:
        return wanted
    places = [at for at in range(cursor, last + 1) if lines[at] == old[0] and lines[at : at + len(old)] == old]
    if hunk.at_end or hunk.unended(" -"):
        places = [at for at in places if at + len(old) == len(lines)] or (places if hunk.at_end else [])
    if not places:
        raise ToolError(f"{label} does not fit, no file was changed. {_near(lines, old)}", code="no_match")
    if hunk.start is None:
        if len(places) > 1 and not hunk.ordered:
            numbers = ", ".join(str(at + 1) for at in places[:8])
            raise ToolError(f"{label} fits at lines {numbers}. Add context lines or line numbers.", code="ambiguous")
        return places[0]
    return min(places, key=lambda at: abs(at - wanted))


def _after(lines: list[str], anchor: str, cursor: int, label: str) -> int:
    for at in range(cursor, len(lines)):
        if lines[at].strip() == anchor:
            return at + 1
    start = nearest_place(lines, [anchor])
    hint = f" The nearest is line {start + 1}: {lines[start].strip()[:120]!r}." if start is not None else ""
    raise ToolError(f"{label}: no line {anchor!r} was found after line {cursor}.{hint}", code="no_match")


def _near(lines: list[str], old: list[str]) -> str:
    start = nearest_place(lines, old)
    if start is None:
        return "Nothing like its context is in the file; read it again."
    return f"The nearest place is line {start + 1}. {describe_difference(lines, old, start)}"
