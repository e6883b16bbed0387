"""Places in the text: `path:line` as a link when it is there, struck through when it is not; web addresses as links."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from overt.frontends.tui.terminal.rows import Span

# Each part is taken whole or not at all, so that a text of any length is read once.
PATH = r"(?:[\w.@+~-]|/(?:\[[\w.-]+\]|\([\w.-]+\))?)++"
LINES = r":(\d{1,7})(?:-(\d{1,7})|:\d{1,5})?|#L(\d{1,7})(?:-L?(\d{1,7}))?"
PLACE = rf"(?<![\w.@+~/:-])({PATH})(?:{LINES})(?![A-Za-z0-9_])"
ADDRESS = r"(?<![A-Za-z0-9])https?://[!-;=?-~]++"
CODE = frozenset(
    "astro bash c cc cfg clj conf cpp cs css csv cu cxx dart ex exs fish go gradle graphql h hpp hs htm html "
    "ini ipynb java js json json5 jsonc jsx jl kt kts less lock lua m md mdx mjs ml mm nix php pl proto ps1 py "
    "pyi pyx r rb rs rst sass scala scss sh sql svelte svg swift tcl tex tf toml ts tsx txt vim vue xml yaml "
    "yml zig zsh".split()
)
"""Ends of names that are taken for a file even without a folder before them."""
HOSTS = frozenset("ai app cloud cn co com de dev edu eu gov info internal io jp lan local net org uk us".split())


class CitationChecker(Protocol):
    """What `app/chat/citations.py` knows."""

    def standing(self, path: str, line: int) -> str: ...
    def folder(self, path: str) -> bool: ...
    def link(self, path: str, line: int) -> str: ...


class Citation(NamedTuple):
    start: int
    end: int
    style: str
    link: str


def marked(text: str, style: str, checked: CitationChecker | None) -> list[Span]:
    """The text in spans: addresses and places set apart, everything else as it was."""
    spans: list[Span] = []
    at = 0
    for found in _all(text, checked):
        if found.start > at:
            spans.append(Span(text[at : found.start], style))
        named = f"{style} {found.style}" if style else found.style
        spans.append(Span(text[found.start : found.end], named, found.link))
        at = found.end
    if at < len(text):
        spans.append(Span(text[at:], style))
    return spans


def place(target: str, checked: CitationChecker | None) -> tuple[str, str] | None:
    """Style and link of a whole text that names a place, as in `[words](src/a.py#L10)`; a line is not needed."""
    if checked is None:
        return None
    found = re.fullmatch(PLACE, target)
    if found:
        path, first, last = found[1], int(found[2] or found[4]), int(found[3] or found[5] or 0)
    else:
        path, first, last = target, 1, 0
    standing = checked.standing(path, max(first, last)) if re.fullmatch(PATH, path) else "elsewhere"
    if standing == "good":
        return "cite", checked.link(path, first)
    return ("cite.broken", "") if standing == "broken" and (found or _a_file(path, checked)) else None


def _all(text: str, checked: CitationChecker | None) -> Iterator[Citation]:
    addresses = _addresses(text) if "://" in text else []
    places = _places(text, checked) if checked and (":" in text or "#L" in text) else []
    taken = 0
    for found in sorted([*addresses, *places]):
        if found.start >= taken:
            yield found
            taken = found.end


def _addresses(text: str) -> list[Citation]:
    kept = []
    for found in re.finditer(ADDRESS, text):
        address = found[0].rstrip(".,;:!?'\"*_|")
        while address.endswith((")", "]")) and _unbalanced(address):
            address = address[:-1].rstrip(".,;:!?'\"")
        kept.append(Citation(found.start(), found.start() + len(address), "link", address))
    return kept


def _unbalanced(address: str) -> bool:
    opening = {")": "(", "]": "["}[address[-1]]
    return address.count(opening) < address.count(address[-1])


def _places(text: str, checked: CitationChecker) -> list[Citation]:
    kept: list[Citation] = []
    for found in re.finditer(PLACE, text):
        first, last = int(found[2] or found[4]), int(found[3] or found[5] or 0)
        paths = _readings(found[1])
        for path in paths:
            if checked.standing(path, max(first, last)) == "good":
                kept.append(Citation(found.end(1) - len(path), found.end(), "cite", checked.link(path, first)))
                break
        else:
            path = paths[-1]
            if checked.standing(path, max(first, last)) == "broken" and _a_file(path, checked):
                kept.append(Citation(found.end(1) - len(path), found.end(), "cite.broken", ""))
    return kept


def _readings(path: str) -> Sequence[str]:
    """The path as it stands and without what a Chinese sentence puts right before it."""
    if path.isascii():
        return (path,)
    tail = re.search(r"[!-~]*\Z", path)
    return (path, tail[0]) if tail and tail[0] else (path,)


def _a_file(path: str, checked: CitationChecker) -> bool:
    """Whether a path that is not there was meant as a file, and not as a host, an image, a time or a name."""
    folders, _, name = path.rpartition("/")
    stem, dot, end = name.rpartition(".")
    first = path.partition("/")[0]
    if first.rpartition(".")[2].lower() in HOSTS and "." in first.strip("."):
        return False
    known = bool(stem and dot and end.lower() in CODE)
    if not folders:
        return known
    return known or bool(stem and dot and end[:1].isalpha() and end.isalnum()) or checked.folder(path)
