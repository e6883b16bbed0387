"""The moments before the first prompt: is this folder trusted, and what to do when no model was found.

A panel tells what it is about once (`opening`, into the scrollback), draws its choices below, and makes an answer of
a key. What a person pressed before a panel was drawn must not reach `press`.
"""

from typing import Literal, NamedTuple

from overt.app.chat.trust_question import TrustQuestion
from overt.frontends.describe import trust_lines
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, row, wrap
from overt.lib.catalogue import say
from overt.lib.text import visible

Choice = Literal["yes", "no", "setup", "fetch", "leave", ""]
"""Empty: the key meant nothing here."""

LEAVING = ("esc", "ctrl-c", "ctrl-d")
"""To leave keeps no answer, so it is what a key means that people press to be rid of a question."""
INDENT = row("  ")


class Option(NamedTuple):
    key: str
    choice: Choice
    text: str


class TrustPanel:
    """Until it is answered, nothing of the folder is obeyed; every word of it is shown, none is drawn as it asks."""

    def __init__(self, question: TrustQuestion) -> None:
        self._question = question
        self._options = (
            *(() if question.problem else (Option("y", "yes", say("tui.first.yes")),)),
            Option("n", "no", say("tui.first.no_files" if question.problem else "tui.first.no")),
            Option("q", "leave", say("tui.first.leave")),
        )

    def opening(self, columns: int) -> list[Row]:
        lines = trust_lines(self._question)
        return [each for line in lines for each in _told(line.text, line.style, columns, indent=line.indent)]

    def draw(self, columns: int, most: int) -> tuple[list[Row], tuple[int, int] | None]:
        return _choices(self._options, columns, most), None

    def press(self, key: Key) -> Choice:
        return _chosen(self._options, key)


class NoModelPanel:
    """`told` says in words what was looked for; `embedded` what would be fetched, empty when that cannot be.

    `size` is what a person has to wait and make room for, as in `1.27 GB`.
    """

    def __init__(self, told: str, *, embedded: str = "", size: str = "") -> None:
        self._told = told
        self._embedded = embedded
        self._options = (
            Option("s", "setup", say("tui.first.setup")),
            *((Option("f", "fetch", say("tui.first.fetch", size=size)),) if embedded else ()),
            Option("q", "leave", say("tui.first.leave")),
        )

    def opening(self, columns: int) -> list[Row]:
        made = _told(say("tui.first.no_model"), "bold", columns)
        made += _told(visible(self._told), "dim", columns, indent=2)
        if self._embedded:
            made += _told(say("tui.first.embedded"), "", columns)
            made += _told(visible(self._embedded), "dim", columns, indent=2)
        return made

    def draw(self, columns: int, most: int) -> tuple[list[Row], tuple[int, int] | None]:
        return _choices(self._options, columns, most), None

    def press(self, key: Key) -> Choice:
        return _chosen(self._options, key)


def _told(text: str, style: str, columns: int, *, indent: int = 0) -> list[Row]:
    """Lines of a text, each wrapped; in a list, what follows the first row of a line stands further in."""
    made: list[Row] = []
    for line in text.split("\n"):
        body = line.expandtabs(4)
        before = indent + len(body) - len(body.lstrip(" "))
        rest = before + 2 if before else 0
        spans = [Span(body.strip(), style)]
        made += wrap(spans, columns, first=row(" " * before), rest=row(" " * rest)) if body.strip() else [BLANK]
    return made


def _choices(options: tuple[Option, ...], columns: int, most: int) -> list[Row]:
    """One choice a row; on a screen with too few rows only the keys, which the scrollback has explained."""
    made: list[Row] = []
    for option in options:
        made += wrap([Span(option.text)], columns, first=row("  ", Span(option.key, "key"), "  "), rest=row("     "))
    if len(made) <= most:
        return made
    if len(options) <= most:
        return [cut(row("  ", Span(option.key, "key"), "  ", option.text), columns) for option in options]
    keys = [part for option in options for part in (Span(option.key, "key"), Span("  "))]
    return [cut((*INDENT, *keys[:-1]), columns)]


def _chosen(options: tuple[Option, ...], key: Key) -> Choice:
    """One key, one answer: a text that came all at once was typed for something else."""
    if key.name in LEAVING:
        return "leave"
    typed = key.text.lower() if key.name == "text" else ""
    return next((option.choice for option in options if option.key == typed), "")
