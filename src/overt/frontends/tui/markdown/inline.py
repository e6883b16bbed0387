"""What stands inside of a paragraph as spans: emphasis, code, links, places."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from overt.frontends.tui.markdown.citations import HOSTS, CitationChecker, marked, place
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.verbatim_text import harmless
from overt.lib.display_width import width

if TYPE_CHECKING:
    from markdown_it.token import Token

OPENING = {"em_open": "italic", "strong_open": "bold", "s_open": "strike"}
CLOSING = {"em_close", "strong_close", "s_close"}
FOLLOWED = ("http://", "https://", "mailto:")


class InlineOptions(NamedTuple):
    """`links`: the terminal follows them, so addresses need not be shown. Without `checked` places are only text."""

    links: bool
    checked: CitationChecker | None


def spans(children: "Sequence[Token] | None", base: str, look: InlineOptions) -> list[list[Span]]:
    """The lines of a paragraph: one, and one more for each break that was asked for."""
    lines: list[list[Span]] = [[]]
    styles = [base] if base else []
    links: list[_Link] = []
    for child in children or ():
        style = " ".join(styles)
        kind = child.type
        if kind == "text":
            _text(lines[-1], child.content, style, look, links)
        elif kind == "code_inline":
            _text(lines[-1], child.content, f"{style} code" if style else "code", look, links)
        elif kind in OPENING:
            styles.append(OPENING[kind])
        elif kind in CLOSING:
            styles.pop()
        elif kind == "softbreak":
            lines[-1].append(Span("\n", style))
        elif kind == "hardbreak":
            lines.append([])
        elif kind == "link_open":
            links.append(_Link(str(child.attrs.get("href", "")), look, len(lines), len(lines[-1])))
        elif kind == "link_close":
            links.pop().close(lines, style)
        elif kind == "image":
            inner = _Link(str(child.attrs.get("src", "")), look, len(lines), len(lines[-1]))
            _text(lines[-1], child.content or inner.target, f"{style} italic".strip(), look, [*links, inner])
            inner.close(lines, style)
        else:
            lines[-1].append(Span(harmless(child.content.replace("\n", " ")), f"{style} muted".strip()))
    return [_soft(line) for line in lines]


class _Link:
    def __init__(self, href: str, look: InlineOptions, line: int, at: int) -> None:
        self.target = href
        self._look, self._line, self._at = look, line, at
        self.link, self.style = "", ""
        if href.lower().startswith(FOLLOWED) and href.isascii() and href.isprintable():
            self.link, self.style = href, "link"
        else:
            self.style, self.link = place(_unquoted(href), look.checked) or ("", "")

    def close(self, lines: list[list[Span]], style: str) -> None:
        """The address behind the words, when it can not be followed or the words claim another one."""
        words = "".join(span.text for span in lines[self._line - 1][self._at :] if self._line == len(lines))
        address = harmless(_unquoted(self.target))
        if not address or words in (address, self.target, self.target.removeprefix("mailto:")):
            return
        if self.link and self._look.links and self._line == len(lines) and not _claims(words, self.target):
            return
        if not self.link and self.style:
            return
        lines[-1].append(Span(f" ({address})", f"{style} muted".strip()))


def _claims(words: str, target: str) -> bool:
    """Whether the words name an address themselves: then it is told which one is meant."""
    host = words.strip().partition("/")[0].lower()
    named = "." in host.strip(".") and host.rpartition(".")[2] in HOSTS and f"//{host}" not in target.lower()
    return "://" in words or words.startswith("www.") or named


def _unquoted(href: str) -> str:
    """The address to read: what was written as bytes, as letters where it is text."""
    data = re.sub(rb"%([0-9a-fA-F]{2})", lambda code: bytes.fromhex(code[1].decode()), href.encode())
    try:
        return data.decode()
    except UnicodeDecodeError:
        return href


def _text(line: list[Span], text: str, style: str, look: InlineOptions, links: Sequence[_Link]) -> None:
    shown = harmless(text.replace("\n", " "))
    if not shown:
        return
    if not links:
        line += marked(shown, style, look.checked)
        return
    link = links[-1]
    line.append(Span(shown, f"{style} {link.style}".strip(), link.link))


def _soft(line: list[Span]) -> list[Span]:
    """A line end in the source is a space, but not between two Chinese characters."""
    made: list[Span] = []
    for index, span in enumerate(line):
        if span.text != "\n":
            made.append(span)
            continue
        before = made[-1].text[-1:] if made else ""
        after = line[index + 1].text[:1] if index + 1 < len(line) else ""
        if not (width(before) == 2 and width(after) == 2):
            made.append(span._replace(text=" "))
    return made
