"""A changed file as rows: line numbers, what went, what came, and the words that differ inside of a line."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from overt.core.views import FileDiff
from overt.frontends.tui.markdown.highlight import lines as coloured
from overt.frontends.tui.terminal.rows import BLANK, Row, Span
from overt.frontends.tui.terminal.verbatim_text import chop, harmless
from overt.lib.diff import NO_NEWLINE, renamed_from
from overt.lib.text import exact, visible
from overt.lib.translations import say

HUNK = r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@"
WORDS = r"\w+|\s+|."
NARROW = 60
MAX_COLOURED = 20_000
MAX_PAIR = 400
MAX_PAIRS = 200
ALIKE = 0.4
"""How much of two lines must be the same before the words that differ are marked."""
SPARE = 4
"""So few rows more are not worth a line that says they were left out."""


class DiffLine(NamedTuple):
    """`sign` is one of ` +-`, `@` between hunks, or `\\` for a remark that is no line of the file."""

    sign: str
    text: str
    old: int = 0
    new: int = 0


def diff_rows(file: FileDiff, columns: int, *, whole: bool, most: int = 40, approval: bool = False) -> list[Row]:
    """The rows of one file's change without its name; all of them, or about `most` and how many lines are left out.

    For an approval every character is shown as what it is.
    """
    lines = _read(file.diff)
    drawing = _Drawing(file, lines, columns, exact if approval else visible)
    rows: list[Row] = []
    for number, line in enumerate(lines):
        if not whole and len(rows) >= most and len(lines) - number > SPARE:
            rows.append((Span(say("tui.diff.more", lines=len(lines) - number), "muted"),))
            break
        rows += drawing.row(number, line)
    return rows


def diff_head(file: FileDiff) -> Row:
    """The name of the file, the one it had before if it was renamed, and how many lines came and went."""
    source = renamed_from(file)
    before = f"{harmless(source, exact)} → " if source else ""
    spans = [Span(before + harmless(file.path, exact), "bold")]
    if file.change in ("created", "deleted"):
        spans.append(Span(" " + say(f"tui.diff.{file.change}"), "muted"))
    if file.added:
        spans.append(Span(f" +{file.added}", "add"))
    if file.removed:
        spans.append(Span(f" -{file.removed}", "remove"))
    return tuple(spans)


def _read(diff: str) -> list[DiffLine]:
    """The lines with their numbers; a hunk that is not the first is announced by a line of its own."""
    lines: list[DiffLine] = []
    old = new = 0
    for text in diff.removesuffix("\n").split("\n") if diff else ():
        if not lines and text.startswith("rename "):
            continue  # the head says it
        sign, rest = text[:1], text[1:]
        found = re.match(HUNK, text) if sign == "@" else None
        if found:
            old, new = int(found[1]), int(found[3])
            if lines:
                lines.append(DiffLine("@", ""))
        elif sign == "\\":
            lines.append(DiffLine("\\", text))
        else:
            lines.append(DiffLine(sign or " ", rest, old, new))
            old += sign != "+"
            new += sign != "-"
    return lines


class _Drawing:
    def __init__(self, file: FileDiff, lines: list[DiffLine], columns: int, show: Callable[[str], str]) -> None:
        self._lines, self._show = lines, show
        self._path, self._created, self._hidden = file.path, file.change == "created", file.hidden
        self._digits = len(str(max((max(line.old, line.new) for line in lines), default=0)))
        self._both = columns >= NARROW and file.change == "updated"
        self._gutter = self._digits * (2 if self._both else 1) + (4 if self._both else 3)
        self._room = columns - self._gutter
        self._marked = dict(_marked(lines, show))
        self._colours: dict[int, Row] | None = None

    def row(self, number: int, line: DiffLine) -> list[Row]:
        if line.sign == "@":
            return [(Span(" " * (self._gutter - 2) + "⋮", "hunk"),)]
        if line.sign == "\\":
            return [(Span(" " * self._gutter + _remark(line.text, self._hidden), "muted"),)]
        style = {"+": "add", "-": "remove"}.get(line.sign, "")
        spans = self._marked.get(number) or self._plain(number, line, style)
        first: Row = (Span(self._numbers(line), "lineno"), Span(line.sign + " ", style))
        rest: Row = (Span(" " * self._gutter),)
        return [_joined(first if not index else rest, made) for index, made in enumerate(chop(spans, self._room))]

    def _numbers(self, line: DiffLine) -> str:
        digits = self._digits
        if not self._both:
            return f"{line.old if line.sign == '-' else line.new:>{digits}} "
        old = line.old if line.sign != "+" else ""
        new = line.new if line.sign != "-" else ""
        return f"{old:>{digits}} {new:>{digits}} "

    def _plain(self, number: int, line: DiffLine, style: str) -> Sequence[Span]:
        if line.sign == " " or self._created:
            found = self._coloured().get(number)
            if found is not None:
                return found
        kept = line.text.rstrip(" \t") if style else line.text
        spans = [Span(harmless(kept, self._show), style)] if kept else []
        if len(kept) < len(line.text):
            spans.append(Span(_blanks(line.text[len(kept) :]), f"{style}.word"))
        return spans

    def _coloured(self) -> dict[int, Row]:
        """The lines of the new file, lexed hunk by hunk; in a large change there is no colour to look at anyway."""
        if self._colours is None:
            self._colours = {}
            if sum(len(line.text) for line in self._lines) <= MAX_COLOURED:
                for hunk in _hunks(self._lines):
                    code = "\n".join(self._show(self._lines[number].text) for number in hunk)
                    self._colours.update(zip(hunk, coloured(code, self._path), strict=False))
        return self._colours


def _joined(head: Row, made: Row) -> Row:
    if made:
        return (*head, *made)
    last = head[-1]
    stripped = last.text.rstrip(" ")
    return (*head[:-1], last._replace(text=stripped)) if stripped else BLANK if len(head) == 1 else _bare(head[:-1])


def _bare(head: Row) -> Row:
    return (*head[:-1], head[-1]._replace(text=head[-1].text.rstrip(" ")))


def _hunks(lines: list[DiffLine]) -> Iterator[list[int]]:
    """The numbers of the lines that stand in the new file, hunk by hunk."""
    held: list[int] = []
    for number, line in enumerate(lines):
        if line.sign == "@":
            yield held
            held = []
        elif line.sign in " +":
            held.append(number)
    yield held


def _marked(lines: list[DiffLine], show: Callable[[str], str]) -> Iterator[tuple[int, list[Span]]]:
    """Lines that were changed rather than replaced: their spans, with the words that differ marked."""
    left = MAX_PAIRS
    start = 0
    while start < len(lines) and left > 0:
        middle = _run(lines, start, "-")
        end = _run(lines, middle, "+")
        if middle == start or end - middle != middle - start:
            start = max(end, start + 1)
            continue
        for number in range(start, middle):
            other = number + middle - start
            pair = _pair(lines[number].text, lines[other].text, show)
            if pair:
                yield number, pair[0]
                yield other, pair[1]
            left -= 1
            if not left:
                return
        start = end


def _run(lines: list[DiffLine], start: int, sign: str) -> int:
    while start < len(lines) and lines[start].sign == sign:
        start += 1
    return start


def _pair(old: str, new: str, show: Callable[[str], str]) -> tuple[list[Span], list[Span]] | None:
    if len(old) > MAX_PAIR or len(new) > MAX_PAIR:
        return None
    before, after = re.findall(WORDS, old), re.findall(WORDS, new)
    import difflib  # late: 0.9 ms

    found = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    same = sum(len(word) for tag, a, b, _, _ in found if tag == "equal" for word in before[a:b] if not word.isspace())
    longest = max(len("".join(old.split())), len("".join(new.split())))
    if longest and same < ALIKE * longest:
        return None
    sides: tuple[list[Span], list[Span]] = [], []
    for tag, a, b, c, d in found:
        mark = "" if tag == "equal" else ".word"
        for side, words, style in ((sides[0], before[a:b], "remove"), (sides[1], after[c:d], "add")):
            text = "".join(words)
            if text:
                shown = _blanks(text) if mark and text.isspace() else harmless(text, show)
                side.append(Span(shown, style + mark))
    return sides


def _blanks(text: str) -> str:
    """Spaces that are what changed, as something to see."""
    return "".join({" ": "·", "\t": "→"}.get(char) or exact(char) for char in text)


def _remark(text: str, hidden: int) -> str:
    if text + "\n" == NO_NEWLINE:
        return say("tui.diff.no_newline")
    return say("tui.diff.more", lines=hidden) if hidden else visible(text)
