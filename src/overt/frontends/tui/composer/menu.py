"""The menu below the composer: its choices and the selected one."""

from overt.app.completion.choices import Choice, Completion
from overt.frontends.tui.terminal.rows import ELLIPSIS, Row, Span, cut
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.display_width import before, width
from overt.lib.translations import say

MARK, SPACE = "▸ ", "  "
GAP = 2
PAGE = 8
LONGEST = 400
LEAST_DETAIL = 8
"""Below this many columns, the description of a choice is left out."""
STEPS = {"up": -1, "ctrl-p": -1, "down": 1, "ctrl-n": 1, "pageup": -PAGE, "pagedown": PAGE}


class Menu:
    """`at` is the choice under the cursor; -1 is none, and Enter then belongs to the composer."""

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self.at = min(completion.selected, len(completion.choices) - 1)
        self._first = 0

    @property
    def selected(self) -> Choice | None:
        return self.completion.choices[self.at] if self.at >= 0 else None

    def renew(self, completion: Completion) -> None:
        """A better answer to the same question: the cursor stays with its choice."""
        held = self.selected
        self.completion = completion
        inserts = [choice.insert for choice in completion.choices]
        if held and held.insert in inserts:
            self.at = inserts.index(held.insert)
        else:
            self.at = min(completion.selected, len(inserts) - 1)

    def move(self, key: str) -> bool:
        """Move the cursor by a key with this name, if it is one that does. Up and Down go round; a page stops at the
        ends."""
        step = STEPS.get(key, 0)
        if not step or (self.at < 0 and step < 0):
            return False
        count = len(self.completion.choices)
        moved = self.at + step
        self.at = moved % count if abs(step) == 1 else max(0, min(moved, count - 1))
        return True

    def draw(self, columns: int, most: int) -> list[Row]:
        choices = self.completion.choices
        if most < 1 or not choices:
            return []
        beyond = len(choices) > most or self.completion.more > 0
        room = most - 1 if beyond and most > 1 else most
        self._scroll(min(room, len(choices)))
        end = min(self._first + room, len(choices))
        rows = self._rows(self._first, end, columns)
        if beyond and most > 1:
            left = len(choices) - end + self.completion.more
            words = say("tui.menu.more", count=left) if left else say("tui.menu.above", count=self._first)
            rows.append(cut((Span(SPACE + words, "dim"),), columns))
        return rows

    def _scroll(self, room: int) -> None:
        at = max(self.at, 0)
        self._first = max(min(self._first, at), at - room + 1)
        self._first = max(min(self._first, len(self.completion.choices) - room), 0)

    def _rows(self, first: int, end: int, columns: int) -> list[Row]:
        shown = self.completion.choices[first:end]
        labels = [one_line(choice.label).rstrip() or "?" for choice in shown]
        room = max(columns - len(MARK), 1)
        widest = max(width(label) for label in labels)
        if any(choice.detail for choice in shown):
            widest = min(widest, max(room // 2, room - GAP - 24))
        else:
            widest = min(widest, room)
        return [
            _row(_shortened(label, widest), choice, at=first + number == self.at, pad=widest, columns=columns)
            for number, (label, choice) in enumerate(zip(labels, shown, strict=True))
        ]


def _row(label: str, choice: Choice, *, at: bool, pad: int, columns: int) -> Row:
    head = f"{MARK if at else SPACE}{label}"
    left = columns - len(MARK) - pad - GAP
    detail = one_line(" ".join(choice.detail[:LONGEST].split()))
    if not detail or left < LEAST_DETAIL:
        return (Span(head, "selected" if at else ""),)
    blank = " " * (pad - width(label) + GAP)
    if at:
        return cut((Span(head + blank + detail, "selected"),), columns)
    return cut((Span(head + blank), Span(detail, "dim")), columns)


def _shortened(label: str, room: int) -> str:
    """Of a long path the end says more than the beginning."""
    if width(label) <= room:
        return label
    start = len(label)
    while start and width(label[(earlier := before(label, start)) :]) < room:
        start = earlier
    return ELLIPSIS + label[start:]
