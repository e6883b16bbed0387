"""Blocks as rows: tokens of markdown-it, from a heading to a table in a list in a quote."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from overt.frontends.tui.markdown.highlight import lines as coloured
from overt.frontends.tui.markdown.inline import InlineOptions, spans
from overt.frontends.tui.markdown.tables import Table, table_rows, widths_for
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, columns, wrap
from overt.frontends.tui.terminal.verbatim_text import chop, harmless, strip_trailing_spaces
from overt.lib.display_width import width

if TYPE_CHECKING:
    from markdown_it.token import Token

HEADS = {"h1": "bold underline head", "h2": "bold head", "h3": "bold"}
OTHER_HEADS = "underline"
BULLETS = "•◦▪"
TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
BAR = "▎"
RULE = "───"
INDENT = "  "
NARROWEST = 8


class Counted(NamedTuple):
    """The last item of a list that was drawn: its number as written, and as shown."""

    written: str = ""
    number: int = 0

    def after(self, written: str) -> "Counted":
        """Numbers stay as they were written, unless all are the same: then they count on."""
        return Counted(written, self.number + 1 if written == self.written else int(written))


UNCOUNTED = Counted()


def block_rows(
    tokens: "Sequence[Token]", lines: Sequence[str], room: int, look: InlineOptions, counted: Counted = UNCOUNTED
) -> list[Row]:
    """Blocks, or items of a list; `lines` are those of the source, `counted` is for a list that goes on."""
    drawing = _Drawing(lines, look, counted)
    draw = drawing.items if tokens and tokens[0].type == "list_item_open" else drawing.blocks
    rows = draw(tokens, room, "", 0)
    if all(columns(made) <= room for made in rows):
        return rows
    return [tuple(strip_trailing_spaces(part)) for made in rows for part in chop(made, room)]


def code_rows(rows: Sequence[Row], room: int) -> list[Row]:
    """Set in by two columns and with nothing else beside it: what is copied from the screen is the code."""
    return [(Span(INDENT), *made) if made else BLANK for line in rows for made in chop(line, room - len(INDENT))]


def label_rows(info: str, room: int) -> list[Row]:
    name = harmless(info.strip().split(" ")[0])
    return [(Span(INDENT), *made) for made in chop((Span(name, "muted"),), room - len(INDENT))[:1]] if name else []


def read_table(tokens: "Sequence[Token]", look: InlineOptions, base: str = "") -> Table:
    head: list[list[Span]] = []
    body: list[list[list[Span]]] = []
    aligns: list[str] = []
    for number, token in enumerate(tokens):
        if token.type == "th_open":
            aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            head.append(_one_line(spans(tokens[number + 1].children, f"{base} bold".strip(), look)))
        elif token.type == "tr_open":
            body.append([])
        elif token.type == "td_open":
            body[-1].append(_one_line(spans(tokens[number + 1].children, base, look)))
    return Table(head, body[1:], aligns)


def _one_line(lines: list[list[Span]]) -> list[Span]:
    made = lines[0]
    for line in lines[1:]:
        made = [*made, Span(" "), *line]
    return made


class _Drawing:
    def __init__(self, lines: Sequence[str], look: InlineOptions, counted: Counted) -> None:
        self._lines, self._look, self._counted = lines, look, counted

    def blocks(self, tokens: "Sequence[Token]", room: int, base: str, depth: int) -> list[Row]:
        rows: list[Row] = []
        for first, last in _siblings(tokens):
            made = self._block(tokens[first : last + 1], max(room, NARROWEST), base, depth)
            if rows and made and self._apart(tokens[first]):
                rows.append(BLANK)
            rows += made
        return rows

    def _apart(self, token: "Token") -> bool:
        """A blank row where the source has a blank line."""
        start = token.map[0] if token.map else 0
        return bool(start) and not self._lines[start - 1].strip(" \t>")

    def _block(self, tokens: "Sequence[Token]", room: int, base: str, depth: int) -> list[Row]:
        token = tokens[0]
        match token.type:
            case "paragraph_open":
                return self._prose(tokens[1], room, base)
            case "heading_open":
                style = HEADS.get(token.tag, OTHER_HEADS)
                return self._prose(tokens[1], room, f"{base} {style}".strip())
            case "bullet_list_open" | "ordered_list_open":
                return self.items(tokens[1:-1], room, base, depth)
            case "blockquote_open":
                inner = self.blocks(tokens[1:-1], room - 2, f"{base} quote".strip(), depth)
                return [(Span(f"{BAR} ", "border"), *made) if made else (Span(BAR, "border"),) for made in inner]
            case "fence":
                code = coloured(token.content.removesuffix("\n"), token.info)
                return [*label_rows(token.info, room), *code_rows(code, room)] if token.content else []
            case "code_block":
                return code_rows(coloured(token.content.removesuffix("\n"), ""), room)
            case "hr":
                return [(Span(RULE, "border"),)]
            case "table_open":
                table = read_table(tokens, self._look, base)
                return table_rows(table, room, widths=widths_for(table, room))
            case _:
                text = token.content.removesuffix("\n").split("\n")
                return [made for line in text for made in chop((Span(harmless(line), f"{base} muted".strip()),), room)]

    def _prose(self, token: "Token", room: int, base: str) -> list[Row]:
        if not token.content:
            return []
        if not token.children:
            return [made for line in token.content.split("\n") for made in wrap([Span(harmless(line), base)], room)]
        return [made for line in spans(token.children, base, self._look) for made in wrap(line, room)]

    def items(self, tokens: "Sequence[Token]", room: int, base: str, depth: int) -> list[Row]:
        rows: list[Row] = []
        counted, self._counted = self._counted, UNCOUNTED
        for first, last in _siblings(tokens):
            item = tokens[first]
            if item.info:
                counted = counted.after(item.info)
            mark = f"{counted.number}{item.markup} " if item.info else f"{BULLETS[min(depth, len(BULLETS) - 1)]} "
            if rows and self._apart(item):
                rows.append(BLANK)
            rows += self._item(tokens[first : last + 1], mark, room, base, depth)
        return rows

    def _item(self, tokens: "Sequence[Token]", mark: str, room: int, base: str, depth: int) -> list[Row]:
        inner = tokens[1:-1]
        task = _task(inner)
        if task:
            mark = mark[:-2] + task if mark[0] in BULLETS else mark + task
        size = width(mark)
        rows = self.blocks(inner, room - size, base, depth + 1) or [BLANK]
        first: Row = (Span(mark if rows[0] else mark.rstrip(" "), "accent"), *rows[0])
        return [first, *((Span(" " * size), *made) if made else BLANK for made in rows[1:])]


def _task(inner: "Sequence[Token]") -> str:
    """The box of a task, taken out of the text behind it."""
    if len(inner) < 2 or inner[1].type != "inline" or not inner[1].children:
        return ""
    text = inner[1].children[0]
    box = TASKS.get(text.content[:4], "") if text.type == "text" else ""
    if box:
        text.content = text.content[4:]
    return box


def _siblings(tokens: "Sequence[Token]") -> Iterator[tuple[int, int]]:
    """First and last token of each block at the outermost level."""
    level = 0
    start = 0
    for number, token in enumerate(tokens):
        if not level:
            start = number
        level += token.nesting
        if not level:
            yield start, number
