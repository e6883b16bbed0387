"""Markdown as it streams in: each block is drawn once, as soon as nothing that follows can change it.

markdown-it reads the lines that are not drawn yet. Every block but the last is complete, for what comes later is
appended to the last one; of a list, every item but the last. Headings and rules need not wait, a paragraph or a table
waits for the blank line. Fenced code is followed line by line and drawn in batches, for it can be long, and a table
in parts.

Two things differ from reading the whole text at once. A reference (`[a]: address`) holds for the block it stands in
and for those behind it. And whether there is a blank row between the items of a list follows the source, one by one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from overt.frontends.tui.markdown.block_boundaries import References, Unit, blocks, read_inside, units
from overt.frontends.tui.markdown.blocks import UNCOUNTED, block_rows, read_table
from overt.frontends.tui.markdown.citations import CitationChecker
from overt.frontends.tui.markdown.fence import Fence
from overt.frontends.tui.markdown.inline import InlineOptions
from overt.frontends.tui.markdown.source import TABLE_ROWS, WINDOW, PendingText
from overt.frontends.tui.markdown.tables import table_rows, widths_for
from overt.frontends.tui.terminal.rows import BLANK, Row

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_TAIL = 1500
AT_ONCE = ("heading", "hr")
AT_BLANK = ("paragraph", "table", "blockquote", "html_block")
"""Complete when any line follows that is not theirs."""
ALWAYS_APART = ("fence", "table")


class CompleteBlock(NamedTuple):
    """A block that can be drawn, and the line where the next begins; a part of one when it is long."""

    unit: Unit
    end: int
    part: bool = False


class Markdown:
    """Feed it any pieces; the rows of `take` and `end` are the same however the text was cut."""

    def __init__(self, *, cites: CitationChecker | None = None, links: bool = True) -> None:
        self._look = InlineOptions(links, cites)
        self._reset()

    def _reset(self) -> None:
        self._source = PendingText()
        self._references: References = {}
        self._fence: Fence | None = None
        self._before = ""
        self._blank = False
        self._goes_on = ""
        self._counted = UNCOUNTED
        self._widths: tuple[int, list[int] | None] | None = None
        self._tail_of: tuple[int, int, int] | None = None
        self._tail: list[Row] = []

    def feed(self, text: str) -> None:
        self._source.feed(text)

    def take(self, columns: int) -> list[Row]:
        """The rows of every block that is complete; each is given once."""
        return self._drawn(columns, ended=False)

    def end(self, columns: int) -> list[Row]:
        """The rows of the rest; what is fed afterwards is a new text."""
        self._source.close()
        rows = self._drawn(columns, ended=True)
        if self._fence:
            rows += self._fence.feed((), columns, ended=True)[0]
        self._reset()
        return rows

    def tail(self, columns: int, most: int) -> list[Row]:
        """The last rows of what is not complete, as well as they can be drawn by now; places are not checked."""
        state = self._source.version, columns, most
        if state != self._tail_of:
            self._tail_of, self._tail = state, self._unfinished(columns, most) if most > 0 else []
        return self._tail

    def _unfinished(self, columns: int, most: int) -> list[Row]:
        if self._fence:
            return self._fence.tail(self._source.lines(), self._source.part, columns, most)
        lines = self._source.last(MAX_TAIL)
        if not any(line.strip() for line in lines):
            return []
        if not any("```" in line or "~~~" in line for line in lines):
            lines[-1] = _closed(lines[-1])
        counted = self._counted if self._goes_on else UNCOUNTED
        tokens, references = blocks(lines)
        read_inside(tokens, references | self._references)
        rows = block_rows(tokens, lines, columns, self._look._replace(checked=None), counted)
        if rows and self._before and (self._blank or not lines[0].strip()):
            rows = [BLANK, *rows]
        return rows[-most:]

    def _drawn(self, columns: int, *, ended: bool) -> list[Row]:
        rows: list[Row] = []
        source = self._source
        while len(source):
            if self._fence:
                rows += self._code(self._fence, columns)
                continue
            self._blank = source.skip_blank() or self._blank
            if not len(source) or not (ended or source.worth_reading()):
                break
            made = self._blocks(columns, ended=ended)
            if made is None:
                break
            rows += made
        return rows

    def _code(self, fence: Fence, columns: int) -> list[Row]:
        made, used = fence.feed(self._source.lines(), columns, ended=False)
        self._source.drop(used)
        if fence.closed:
            self._before = "fence" if fence.drew else self._before
            self._fence, self._blank = None, False
        return made

    def _blocks(self, columns: int, *, ended: bool) -> list[Row] | None:
        """The rows of the complete blocks at the head of the source; None when there is no such block."""
        lead = [self._goes_on] if self._goes_on else []
        size, cuts = WINDOW, list[CompleteBlock]()
        while not cuts:
            lines, all_of_it = self._source.window(size)
            lines = [*lead, *lines]
            tokens, references = blocks(lines)
            found = units(tokens)[len(lead) :]
            cuts = _complete(found, lines, ended=ended and all_of_it)
            if not cuts and all_of_it:
                self._source.read_as(found[-1].kind if found else "")
                return None
            size *= 2
        rows: list[Row] = []
        drawn = len(lead)
        for number, cut in enumerate(cuts):
            for label, reference in references.items():
                if drawn <= reference["map"][0] < cut.end:
                    self._references.setdefault(label, reference)
            rows += self._cut(cut, lines, drawn, columns)
            drawn = cut.end
            self._goes_on = _lead(found[number + 1]) if number + 1 < len(found) else ""
        last = cuts[-1]
        head = lines[last.unit.start : last.unit.start + 2] if self._widths else []
        self._source.drop(drawn - len(lead))
        self._source.put_back(head)
        if all_of_it and not last.part and len(found) > len(cuts):
            self._source.read_as(found[-1].kind)
        return rows

    def _cut(self, cut: CompleteBlock, lines: Sequence[str], drawn: int, columns: int) -> list[Row]:
        unit = cut.unit
        blank = not lines[unit.start - 1].strip() if unit.start > drawn else self._blank
        apart = bool(self._before) and (
            blank or unit.kind in ALWAYS_APART or unit.kind == "heading" or self._before in ALWAYS_APART
        )
        self._blank = not lines[cut.end - 1].strip()
        if unit.kind == "fence":
            token = unit.tokens[0]
            self._fence = Fence(lines[unit.start], token.markup, token.info, apart=apart)
            return []
        tokens = _shortened(unit.tokens) if cut.part else unit.tokens
        read_inside(tokens, self._references)
        if unit.kind == "table":
            apart = apart and not self._widths
            made = self._table(tokens, columns, part=cut.part)
        else:
            before = self._counted if self._goes_on else UNCOUNTED
            made = block_rows(tokens, lines, columns, self._look, before)
            written = unit.tokens[0].info if unit.kind == "item" else ""
            self._counted = before.after(written) if written else UNCOUNTED
        if not made:
            return []
        self._before = unit.kind
        return [BLANK, *made] if apart else made

    def _table(self, tokens: "Sequence[Token]", columns: int, *, part: bool) -> list[Row]:
        """The columns of a long table stay as wide as its first part made them."""
        table = read_table(tokens, self._look)
        headed = self._widths is None
        if self._widths is None or self._widths[0] != columns:
            self._widths = columns, widths_for(table, columns)
        rows = table_rows(table, columns, widths=self._widths[1], headed=headed)
        if not part:
            self._widths = None
        return rows


def _complete(found: Sequence[Unit], lines: Sequence[str], *, ended: bool) -> list[CompleteBlock]:
    cuts: list[CompleteBlock] = []
    total = len(lines)
    for number, unit in enumerate(found):
        if not ended and unit.start + 1 == total and "|" in lines[unit.start]:
            break  # whatever it looks like, the next line can make it the head of a table
        if unit.kind == "fence":
            return [*cuts, CompleteBlock(unit, unit.start + 1, part=True)]
        if unit.kind == "table" and unit.end - unit.start - 2 > TABLE_ROWS:
            return [*cuts, CompleteBlock(unit, unit.start + 2 + TABLE_ROWS, part=True)]
        if unit.kind in AT_ONCE or (unit.kind in AT_BLANK and (unit.end < total or ended)):
            cuts.append(CompleteBlock(unit, unit.end))
        elif number + 1 < len(found):
            cuts.append(CompleteBlock(unit, found[number + 1].start))
        elif ended:
            cuts.append(CompleteBlock(unit, total))
    return cuts


def _lead(unit: Unit) -> str:
    """A line that stands for the items before this one: the head of a list is read otherwise than what follows it."""
    if not unit.goes_on:
        return ""
    item = unit.tokens[0]
    return f"1{item.markup}   x" if item.info else f"{item.markup}    x"


def _closed(line: str) -> str:
    """A line that is being written, with the code or the strong words in it ended, so that marks do not flicker."""
    text = line.rstrip()
    if line.startswith(("    ", "\t")):
        return line
    for mark in ("`", "**"):
        if text.count(mark) % 2:
            bare = text.rstrip(mark[0])
            return text + mark if bare == text else bare.rstrip()
    return line


def _shortened(tokens: "Sequence[Token]") -> "Sequence[Token]":
    """A table up to the row where it is cut."""
    rows = [number for number, token in enumerate(tokens) if token.type == "tr_open"]
    return tokens[: rows[1 + TABLE_ROWS]]
