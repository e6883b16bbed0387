"""Turn an HTML page into Markdown: headings, lists, code, tables and links, without scripts and hidden parts.

The reader is our own, because pages may be hostile: it takes time proportional to the length of any text, where
`html.parser` of Python 3.11 needs minutes for 600 KB of `<!--`. Of the libraries, html2text is GPL and markdownify is
built on that parser.
"""

import html
import re
from collections.abc import Iterator
from urllib.parse import urljoin

from msgspec import Struct

MAX_HTML_CHARS = 4 * 1024 * 1024
MAX_DEPTH = 500

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
DROPPED = frozenset("script style noscript template svg iframe object canvas audio video select button dialog".split())
RAW = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "title", "textarea", "noscript")}
"""Elements without elements inside: what looks like a tag there is text."""
BLOCKS = frozenset(
    """address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header main nav
    ol p pre section summary table tbody thead tfoot tr ul""".split()
)
CLOSED_BY_NEXT = frozenset("p li dt dd tr td th option a".split())
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"display\s*+:\s*+none|visibility\s*+:\s*+hidden", re.IGNORECASE)
_TAG_NAME = re.compile(r"/?[a-zA-Z][^\s/>]*+")
_BETWEEN = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(r"(=?[^\s/>=]*+)(\s*+=\s*+)?")
_UNQUOTED = re.compile(r"[^\s>]*+")

Token = tuple[str, dict[str, str] | None]
"""A text with None, or the name of a tag with its attributes; the name of a closing tag begins with a slash."""


class PageText(Struct, frozen=True, kw_only=True):
    """`truncated`: the page has more text than was asked for, or took too long to read."""

    title: str
    text: str
    truncated: bool = False


def page_text(page: str, *, base: str, limit: int) -> PageText:
    """Return the readable text of a page, at most `limit` characters. Links are counted from `base`."""
    writer, truncated = _MarkdownWriter(base), len(page) > MAX_HTML_CHARS
    for content, attributes in _tokens(page[:MAX_HTML_CHARS]):
        if attributes is None:
            writer.add_text(content)
        elif content.startswith("/"):
            writer.end_tag(content[1:])
        else:
            writer.start_tag(content, attributes)
        if writer.size > 2 * limit:
            truncated = True
            break
    text = writer.text()
    return PageText(title=writer.title(), text=text[:limit], truncated=truncated or len(text) > limit)


def _tokens(page: str) -> Iterator[Token]:
    """Yield texts and tags in order. What is never closed, be it a comment or a tag, goes on to the end of the page."""
    at = 0
    while (start := page.find("<", at)) >= 0:
        if start > at:
            yield html.unescape(page[at:start]), None
        if page.startswith("<!--", start):
            at = _after(page, "-->", start + 4)
        elif page.startswith(("<!", "<?"), start):
            at = _after(page, ">", start)
        elif name := _TAG_NAME.match(page, start + 1):
            attributes, at = _attributes(page, name.end())
            tag = name[0].lower()
            yield tag, attributes
            if raw := RAW.get(tag):
                end = found.start() if (found := raw.search(page, at)) else len(page)
                yield (html.unescape(page[at:end]), None)
                at = end
        else:
            yield "<", None
            at = start + 1
    if at < len(page):
        yield html.unescape(page[at:]), None


def _after(page: str, closing: str, at: int) -> int:
    end = page.find(closing, at)
    return len(page) if end < 0 else end + len(closing)


def _attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag and where it ends."""
    attributes: dict[str, str] = {}
    while True:
        at = _match_end(_BETWEEN, page, at)
        if page[at : at + 1] in ("", ">"):
            return attributes, at + 1
        name = _ATTRIBUTE.match(page, at)
        assert name is not None  # it matches everything
        at, value = name.end(), ""
        if name[2]:
            quote = page[at : at + 1]
            if quote in ("'", '"') and quote:
                end = page.find(quote, at + 1)
                if end < 0:
                    return attributes, len(page)
                value, at = page[at + 1 : end], end + 1
            else:
                end = _match_end(_UNQUOTED, page, at)
                value, at = page[at:end], end
        attributes.setdefault(name[1].lower(), html.unescape(value))


def _match_end(pattern: re.Pattern[str], page: str, at: int) -> int:
    match = pattern.match(page, at)
    return match.end() if match else at


class _MarkdownWriter:
    """Collects pieces of Markdown. `_open` are the open elements; from `_hidden_from` on, they are left out."""

    def __init__(self, base: str) -> None:
        self.size = 0
        self._base = base
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._open: list[str] = []
        self._link: tuple[int, str] | None = None
        self._hidden_from: int | None = None

    def text(self) -> str:
        lines = "".join(self._pieces).split("\n")
        fenced, tidy = False, list[str]()
        for line in lines:
            fenced ^= line.strip() == "```"
            tidy.append(line.rstrip() if fenced else line.strip(" ") if not line.lstrip().startswith("- ") else line)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(tidy)).strip()

    def title(self) -> str:
        return " ".join("".join(self._title).split())[:300]

    def start_tag(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in CLOSED_BY_NEXT and self._open and self._open[-1] == tag:
            self.end_tag(tag)
        if tag not in VOID and len(self._open) < MAX_DEPTH:
            self._open.append(tag)
            if self._hidden_from is None and (tag in DROPPED or _is_hidden(attributes)):
                self._hidden_from = len(self._open) - 1
        if self._hidden_from is not None:
            return
        if tag in HEADINGS:
            self._write(f"\n\n{HEADINGS[tag]} ")
        elif tag == "li":
            depth = sum(each in ("ul", "ol") for each in self._open)
            self._write("\n" + "  " * max(depth - 1, 0) + "- ")
        elif tag in ("td", "th"):
            self._write("| ")
        elif tag == "br":
            self._write("\n")
        elif tag == "hr":
            self._write("\n\n---\n\n")
        elif tag == "pre":
            self._write("\n\n```\n")
        elif tag == "code" and "pre" not in self._open:
            self._write("`")
        elif tag == "a":
            self._link = (len(self._pieces), attributes.get("href", ""))
        elif tag == "img" and (alt := _one_line(attributes.get("alt", ""))):
            self._write(f"![{alt}]")
        elif tag in BLOCKS:
            self._write("\n" if tag in ("tr", "tbody", "thead", "tfoot") or "li" in self._open[-2:] else "\n\n")

    def end_tag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while self._open:
            closed = self._open.pop()
            if self._hidden_from is None:
                self._close(closed)
            elif len(self._open) <= self._hidden_from:
                self._hidden_from = None
            if closed == tag:
                return

    def add_text(self, data: str) -> None:
        if self._open and self._open[-1] == "title" and "svg" not in self._open:
            self._title.append(data)
        elif self._hidden_from is None and "head" not in self._open:
            if "pre" in self._open:
                self._write(data)
            elif text := re.sub(r"\s+", " ", data):
                self._write(text.lstrip() if not self._pieces or self._pieces[-1].endswith("\n") else text)

    def _close(self, tag: str) -> None:
        if tag == "a" and self._link:
            self._wrap_link(*self._link)
            self._link = None
        elif tag == "pre":
            self._write("\n```\n\n")
        elif tag == "code" and "pre" not in self._open:
            self._write("`")
        elif tag in ("td", "th"):
            self._write(" ")
        elif tag in HEADINGS or tag in ("p", "table", "ul", "ol", "blockquote"):
            self._write("\n\n" if "li" not in self._open else "\n")

    def _wrap_link(self, start: int, href: str) -> None:
        text = _one_line("".join(self._pieces[start:]))
        try:
            url = urljoin(self._base, href.strip())
        except ValueError:
            url = ""
        if text and href.strip()[:1] not in ("", "#") and url.startswith(("http://", "https://")):
            space = " " if self._pieces[start].startswith(" ") else ""
            self._pieces[start:] = [f"{space}[{text}]({url})"]

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self.size += len(text)


def _is_hidden(attributes: dict[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or bool(_HIDDEN_STYLE.search(attributes.get("style", "")))
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
