"""Views as lines of text for any terminal."""

from collections.abc import Callable
from typing import assert_never

from overt.core.views import Checklist, Diffs, Excerpt, Failure, FileDiff, Listing, Output, Plain, View
from overt.lib.catalogue import say
from overt.lib.text import visible

MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
SHOWN = 12


class Ink:
    """Colour, or none."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and text else text

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def red(self, text: str) -> str:
        return self._paint("31", text)

    def green(self, text: str) -> str:
        return self._paint("32", text)

    def cyan(self, text: str) -> str:
        return self._paint("36", text)


def draw(view: View, ink: Ink, *, whole: bool = False) -> str:
    """`whole` leaves nothing out: an approval shows exactly what it approves."""
    match view:
        case Plain(text=text):
            return _some(text, whole=whole)
        case Diffs(files=files):
            return "\n".join(_diff(file, ink, whole=whole) for file in files)
        case Excerpt(path=path, first=first, last=last, total=total):
            return ink.dim(say("view.excerpt", path=visible(path), first=first, last=last, total=total or "…"))
        case Listing(count=count, more=more):
            return ink.dim(say("view.found", count=f"{count}{'+' if more else ''}"))
        case Output(text=text, code=code, note=note):
            tail = f"[{visible(note)}]" if note else (f"[exit code {code}]" if code else "")
            return "\n".join(part for part in (_some(text.rstrip("\n"), whole=whole), ink.red(tail)) if part)
        case Checklist(items=items):
            return "\n".join(f"{MARKS[item.status]} {visible(item.content)}" for item in items)
        case Failure(text=text):
            return ink.red(_some(text, whole=whole))
        case _:
            assert_never(view)


def _diff(file: FileDiff, ink: Ink, *, whole: bool) -> str:
    head = ink.bold(f"{visible(file.path)} ({file.change}, +{file.added} -{file.removed})")
    lines = [_diff_line(visible(line), ink) for line in file.diff.splitlines()]
    return "\n".join([head, *_clipped(lines, 40, whole=whole)])


def _diff_line(line: str, ink: Ink) -> str:
    paint: dict[str, Callable[[str], str]] = {"+": ink.green, "-": ink.red, "@": ink.cyan}
    return paint.get(line[:1], ink.dim)(line)


def _some(text: str, *, whole: bool) -> str:
    return "\n".join(_clipped([visible(line) for line in text.splitlines()], SHOWN, whole=whole))


def _clipped(lines: list[str], most: int, *, whole: bool) -> list[str]:
    if whole or len(lines) <= most:
        return lines
    head, tail = most * 2 // 3, most // 3
    return [*lines[:head], say("view.more", lines=len(lines) - head - tail), *lines[-tail:]]
