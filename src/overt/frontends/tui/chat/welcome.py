"""The moments before the first prompt: is this folder trusted, and what to do when no model was found.

A panel tells what it is about once (`opening`, into the scrollback), draws its choices below, and makes an answer of
a key. What a person pressed before a panel was drawn must not reach `press`.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from overt.app.chat.trust_question import TrustQuestion
from overt.frontends.describe_events import QuestionLine, trust_lines
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, row, wrap
from overt.lib.text import visible
from overt.lib.translations import say

Choice = Literal["yes", "no", "setup", "fetch", "leave", ""]
"""Empty: the key meant nothing here."""

LEAVING = ("esc", "ctrl-c", "ctrl-d")
"""To leave keeps no answer, so it is what a key means that people press to be rid of a question."""
INDENT = row("  ")


class Option(NamedTuple):
    key: str
    choice: Choice
    text: str


class StartupPanel:
    """A question before the first prompt: `lines` tell what it is about, each of the `options` has a key."""

    def __init__(self, lines: Iterable[QuestionLine], options: Sequence[Option]) -> None:
        self._lines = tuple(lines)
        self._options = options

    def opening(self, columns: int) -> list[Row]:
        return [each for line in self._lines for each in _told(line, columns)]

    def draw(self, columns: int, most: int) -> tuple[list[Row], tuple[int, int] | None]:
        return _choices(self._options, columns, most), None

    def press(self, key: Key) -> Choice:
        """One key, one answer: a text that came all at once was typed for something else."""
        if key.name in LEAVING:
            return "leave"
        typed = key.text.lower() if key.name == "text" else ""
        return next((option.choice for option in self._options if option.key == typed), "")


def trust_panel(question: TrustQuestion) -> StartupPanel:
    """Until it is answered, nothing of the folder is obeyed; every word of it is shown, none is drawn as it asks."""
    options = (
        Option("y", "yes", say("tui.first.yes")),
        Option("n", "no", say("tui.first.no_files" if question.problem else "tui.first.no")),
        Option("q", "leave", say("tui.first.leave")),
    )
    return StartupPanel(trust_lines(question), options[1:] if question.problem else options)


def no_model_panel(told: str, *, embedded: str = "", size: str = "") -> StartupPanel:
    """`told` says in words what was looked for; `embedded` what would be fetched, empty when that cannot be.

    `size` is what a person has to wait and make room for, as in `1.27 GB`.
    """
    lines = [QuestionLine(say("tui.first.no_model"), "bold"), QuestionLine(visible(told), "dim", 2)]
    options = [Option("s", "setup", say("tui.first.setup"))]
    if embedded:
        lines += [QuestionLine(say("tui.first.embedded")), QuestionLine(visible(embedded), "dim", 2)]
        options.append(Option("f", "fetch", say("tui.first.fetch", size=size)))
    return StartupPanel(lines, [*options, Option("q", "leave", say("tui.first.leave"))])


def _told(told: QuestionLine, columns: int) -> list[Row]:
    """Lines of a text, each wrapped; in a list, what follows the first row of a line stands further in."""
    made: list[Row] = []
    for line in told.text.split("\n"):
        body = line.expandtabs(4)
        before = told.indent + len(body) - len(body.lstrip(" "))
        rest = before + 2 if before else 0
        spans = [Span(body.strip(), told.style)]
        made += wrap(spans, columns, first=row(" " * before), rest=row(" " * rest)) if body.strip() else [BLANK]
    return made


def _choices(options: Sequence[Option], columns: int, most: int) -> list[Row]:
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
