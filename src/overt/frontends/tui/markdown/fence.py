"""Fenced code as it streams in: batches of lines, drawn once each; the lexer goes on from one to the next."""

from collections.abc import Iterable

from overt.frontends.tui.markdown.blocks import code_rows, label_rows
from overt.frontends.tui.markdown.highlight import Highlighter
from overt.frontends.tui.terminal.rows import BLANK, Row

BATCH = 16
MAX_TAIL = 1500


class Fence:
    """`apart`: there is something before it on the screen."""

    def __init__(self, opening: str, markup: str, info: str, *, apart: bool) -> None:
        self._indent = len(opening) - len(opening.lstrip(" "))
        self._markup, self._info, self._apart = markup, info, apart
        self._held: list[str] = []
        self._colours = Highlighter(info)
        self._begun = False
        self.closed = False

    @property
    def drew(self) -> bool:
        return self._begun

    def feed(self, lines: Iterable[str], columns: int, *, ended: bool) -> tuple[list[Row], int]:
        """The rows of whole batches, and how many of the lines were code."""
        rows: list[Row] = []
        used = 0
        for line in lines:
            used += 1
            if self._closes(line):
                self.closed = True
                break
            self._held.append(self._content(line))
            if len(self._held) == BATCH:
                rows += self._flush(columns)
        if self.closed or ended:
            rows += self._flush(columns)
        return rows, used

    def tail(self, waiting: Iterable[str], part: str, columns: int, most: int) -> list[Row]:
        """The lines that wait for their batch and the one that is being written."""
        lines = list(self._held)
        for line in waiting:
            if self._closes(line):
                part = ""
                break
            lines.append(self._content(line))
        lines = lines[-most:]
        if part and part[:MAX_TAIL].strip(f" {self._markup[0]}"):
            lines.append(part[-MAX_TAIL:] if len(part) > MAX_TAIL else self._content(part))
        rows = self._head(columns)
        if lines:
            rows += code_rows(self._colours.peek("\n".join(lines) + "\n"), columns)
        return rows[-most:]

    def _flush(self, columns: int) -> list[Row]:
        rows = self._head(columns)
        if self._held:
            rows += code_rows(self._colours.feed("\n".join(self._held) + "\n"), columns)
        self._begun = self._begun or bool(rows)
        self._held = []
        return rows

    def _head(self, columns: int) -> list[Row]:
        if self._begun:
            return []
        label = label_rows(self._info, columns)
        return [BLANK, *label] if self._apart and (label or self._held) else label

    def _closes(self, line: str) -> bool:
        text = line.strip(" \t")
        return (
            len(text) >= len(self._markup)
            and not text.strip(self._markup[0])
            and len(line) - len(line.lstrip(" ")) < 4
            and not line.lstrip(" ").startswith("\t")
        )

    def _content(self, line: str) -> str:
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(spaces, self._indent) :]
