"""Where the blocks of a text begin: markdown-it reads it, and its outermost blocks are told apart."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAY_START = "#>-*+_=~`<|:0123456789"
"""A line of prose that begins otherwise goes on with the paragraph before it."""

MAX_INLINE = 20_000
"""A longer paragraph is no prose: it is drawn as it stands."""

DEEPEST = 60
"""Blocks within blocks that are read. Below, markdown-it drops text: then what is written is drawn as it stands."""

NESTED = r"(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){30}"
"""The beginning of a line that nobody has written to be read; each mark in it would cost a look at all that follow."""

_readers: "dict[str, MarkdownIt]" = {}


class LinkReference(TypedDict):
    """A link reference, as markdown-it keeps it; `map` are its first line and the line after its last."""

    title: str
    href: str
    map: list[int]


References = dict[str, LinkReference]


class Unit(NamedTuple):
    """A block, or an item of a list: its kind, its first line, the line after its last, and its tokens.

    `goes_on`: an item of the same list stands right before it.
    """

    kind: str
    start: int
    end: int
    tokens: "Sequence[Token]"
    goes_on: bool = False


def blocks(lines: Sequence[str]) -> "tuple[list[Token], References]":
    """The tokens of the blocks, what stands inside of them not yet read, and the references that were defined."""
    env: dict[str, References] = {}
    text = "\n".join(lines) + "\n"
    if not any(re.match(NESTED, line) for line in lines):
        tokens = _reader("blocks").parse(text, env)
        if not any(token.level >= DEEPEST - 2 for token in tokens):
            return tokens, env.get("references", {})
    return _reader("flat").parse(text, {}), {}


def read_inside(tokens: "Sequence[Token]", references: References) -> None:
    """Reads the text of those blocks: emphasis, links, code."""
    prose = [token for token in tokens if token.type == "inline" and len(token.content) <= MAX_INLINE]
    reader = _reader("inside")
    from markdown_it.rules_core import StateCore  # late: 29 ms

    reader.core.process(StateCore("", reader, {"references": references}, prose))


def units(tokens: "Sequence[Token]") -> list[Unit]:
    found: list[Unit] = []
    start = 0
    item_before = False
    for number, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0:
            start, item_before = number, False
        elif token.level == 1 and token.type == "list_item_open":
            start = number
        if token.type == "list_item_close" and token.level == 1:
            found.append(_unit("item", tokens[start : number + 1], item_before))
            item_before = True
        elif token.level == 0 and token.nesting <= 0 and not token.type.endswith("_list_close"):
            found.append(_unit(tokens[start].type.removesuffix("_open"), tokens[start : number + 1], False))
    return found


def _unit(kind: str, tokens: "Sequence[Token]", goes_on: bool) -> Unit:
    assert tokens[0].map is not None  # every token that opens a block has one
    first, end = tokens[0].map
    return Unit(kind, first, end, tokens, goes_on)


def may_end(kind: str, line: str) -> bool:
    """Whether a line can end a block of this kind; a wrong yes costs time, a wrong no only delays."""
    if not line or line.isspace():
        return kind not in ("item", "code_block", "")
    if kind == "paragraph":
        return line.lstrip()[0] in MAY_START
    if kind == "item":
        return line[0] not in " \t"
    if kind == "table":
        return line[0] != "|"
    if kind == "blockquote":
        return line[0] != ">"
    if kind == "code_block":
        return not line.startswith(("    ", "\t"))
    return kind != "html_block" or "<" in line or ">" in line


def _reader(kind: str) -> "MarkdownIt":
    if not _readers:
        for name, rules in (
            ("blocks", ["normalize", "block"]),
            ("flat", ["normalize", "block"]),
            ("inside", ["inline", "text_join"]),
        ):
            from markdown_it import MarkdownIt  # late: 29 ms

            _readers[name] = MarkdownIt("commonmark").enable(["table", "strikethrough"])
            _readers[name].core.ruler.enableOnly(rules)
        _readers["blocks"].options["maxNesting"] = DEEPEST
        _readers["flat"].block.ruler.enableOnly(["paragraph"])
    return _readers[kind]
