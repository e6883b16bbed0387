"""What a model writes, taken apart for drawing: fenced code and the prose between, and text made harmless."""

import re
from collections.abc import Iterator

from overt.lib.text import visible

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$")
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")


def show_controls(text: str) -> str:
    """Without colours, and with whatever could mislead an eye spelled out."""
    return visible(COLOUR.sub("", text.replace("\r\n", "\n")))


def split_fences(text: str) -> Iterator[tuple[str | None, str]]:
    """Prose as (None, text), fenced code as (its language, text), in order; an unclosed fence ends with it."""
    prose: list[str] = []
    code: list[str] = []
    fence = language = ""
    for line in text.split("\n"):
        match = FENCE.match(line)
        if not fence and match:
            yield from _prose(prose)
            prose, code = [], []
            fence, language = match[1], match[2].strip().partition(" ")[0]
        elif fence and match and match[1].startswith(fence) and not match[2].strip():
            yield language, "\n".join(code)
            fence = ""
        else:
            (code if fence else prose).append(line)
    if fence:
        yield language, "\n".join(code)
    yield from _prose(prose)


def fence(text: str, language: str = "") -> str:
    """Text between fences that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{re.sub(r'[^A-Za-z0-9_+#.-]', '', language)}\n{text.rstrip(chr(10))}\n{fence}"


def code_spans(line: str) -> list[tuple[bool, str]] | None:
    """Code and other text of a line, in order; None when its marks do not pair.

    One pass, however many marks there are: a line may be a megabyte long.
    """
    runs = [(run.start(), run.end()) for run in re.finditer(r"`+", line)]
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[number][1] - runs[number][0], []).append(number)
    parts: list[tuple[bool, str]] = []
    at = number = 0
    while number < len(runs):
        start, end = runs[number]
        same = later[end - start]
        while same and same[-1] <= number:
            same.pop()
        if not same or line[start - 1 : start] == "\\":
            return None
        close = runs[same[-1]][1]
        parts += [(False, line[at:start]), (True, line[start:close])]
        at, number = close, same[-1] + 1
    return [*parts, (False, line[at:])]


def _prose(lines: list[str]) -> Iterator[tuple[None, str]]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield None, text
