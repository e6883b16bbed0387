"""A form in the place of the composer: who asks and what is printed once, the fields are filled in below.

The words of whoever asks stand behind an edge, so that they cannot pass for our own.
"""

import re
from collections.abc import Iterator
from typing import Literal

from overt.core.questions import FieldProblem, FormAnswer, FormAsked
from overt.frontends.describe_events import who_asks
from overt.frontends.describe_forms import on_one_line, problem_words
from overt.frontends.tui.chat.form_fields import FieldEditor, make_editor
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, columns, cut, pad, row, wrap
from overt.frontends.tui.terminal.verbatim_text import chop, harmless
from overt.lib.display_width import has_certain_width
from overt.lib.text import exact, visible
from overt.lib.translations import say

EDGE, INDENT = Span("  │ ", "border"), Span("    ")
NARROWEST = 8
Reply = FormAnswer | Literal["interrupt", "open", "copy"]
"""`open` and `copy` are about the page of the form: the form waits."""
DECLINED, ACCEPTED = FormAnswer(action="decline"), FormAnswer(action="accept")
NEXT, PREVIOUS = ("tab", "down", "ctrl-n"), ("shift-tab", "up", "ctrl-p")


class FormPanel:
    """One form. `press` returns the answer once it is known."""

    explaining = True
    """Keys are text, also right after a paste."""

    def __init__(self, question: FormAsked) -> None:
        self.question = question
        self.covered = False
        """Something else was printed below it."""
        self.in_sight: bool | None = None
        """Whether all of its printed rows are on the screen; None before that was measured."""
        self.hint = ""
        self._editors: list[FieldEditor] = [make_editor(field) for field in question.form.fields]
        self._at = 0
        self._widths: list[int] = []

    # ── what is printed once ─────────────────────────────────────────────────────────────────────────────

    def opening(self, room: int) -> list[Row]:
        asked = self.question
        head = who_asks(asked, say("form.asks", who=on_one_line(asked.form.who)), on_one_line)
        rows = wrap((Span("? ", "bold accent"), Span(head, "bold")), room, rest=(INDENT,))
        rows += _words(asked.form.message, room)
        rows += _address(asked.form.url, room)
        self._widths = [columns(each) for each in rows]
        return rows

    def fits(self, room: int, rows_below: int, lines: int) -> bool:
        """True if the printed question, wrapped again by a narrower screen, and what is below it fit on the screen."""
        return sum(max(-(-width // max(room, 1)), 1) for width in self._widths) + rows_below <= lines

    # ── the panel ────────────────────────────────────────────────────────────────────────────────────────

    def draw(self, room: int, most: int, *, place: str = "") -> tuple[list[Row], tuple[int, int] | None]:
        """The fields, of which those around the edited one are shown if there are too many, and the keys."""
        above, keys = self._again(room), self._keys(room, place)
        rows, cursor, focus = self._fields(room)
        space = max(most - len(above) - len(keys), 1)
        start = min(max(focus - space + 1, self._start(rows, focus, space), 0), max(len(rows) - space, 0))
        shown = [*above, *(each for _, each in rows[start : start + space]), *keys]
        if cursor is not None and start <= cursor[0] < start + space:
            return shown[:most], (len(above) + cursor[0] - start, min(cursor[1], room - 1))
        return shown[:most], None

    def _start(self, rows: list[tuple[int, Row]], focus: int, space: int) -> int:
        """Return the first row to show: the field before the edited one, unless the edited one needs the rows."""
        first = next((at for at, (number, _) in enumerate(rows) if number == max(self._at - 1, 0)), 0)
        return first if focus - first < space else focus - space + 1

    def _again(self, room: int) -> list[Row]:
        """What is asked once more in a row, where it may have left the screen."""
        if self.in_sight is not False and not self.covered:
            return []
        first = on_one_line(self.question.form.message)
        rows = [cut(row(EDGE, Span(first)), room)]
        if columns((EDGE, Span(first))) <= room and not self.question.form.url:
            return rows
        return [*rows, *wrap((Span(say("tui.ask.above", rows=len(self._widths)), "warn"),), room)]

    def _fields(self, room: int) -> tuple[list[tuple[int, Row]], tuple[int, int] | None, int]:
        """Return the rows of all fields with the number of their field, the cursor, and the row to keep in sight."""
        if self.question.form.url:
            return [(0, each) for each in wrap((Span(say("form.page"), "bold accent"),), room)], None, 0
        labels = [on_one_line(each.field.shown) + (" *" if each.field.required else "") for each in self._editors]
        widest = max((columns((Span(each),)) for each in labels), default=0)
        labelled = min(widest + 2, max(room * 2 // 5, NARROWEST))
        rows: list[tuple[int, Row]] = []
        cursor, focus = None, 0
        for number, (editor, words) in enumerate(zip(self._editors, labels, strict=True)):
            here = number == self._at
            head = row(Span("› " if here else "  ", "accent"), Span(words, "bold" if here else "muted"))
            head = pad(cut(head, labelled + 1), labelled + 2)
            if not here:
                rows.append((number, cut(row(*head, editor.shown()), room)))
                continue
            start, drawn = len(rows), editor.draw(room, max(room - labelled - 2, NARROWEST))
            rows.append((number, cut(row(*head, drawn.value), room)))
            about = self._about(editor, words, room, cut_label=columns((Span(words),)) > labelled - 1)
            rows += [(number, each) for each in (*about, *drawn.below)]
            focus = start + (drawn.focus + len(about) if drawn.focus else len(about))
            if drawn.cursor is not None:
                line, column = drawn.cursor
                cursor = (start + line + len(about), column) if line else (start, labelled + 2 + column)
        return rows, cursor, focus

    def _about(self, editor: FieldEditor, words: str, room: int, *, cut_label: bool) -> list[Row]:
        """The rows below the label of the edited field: what is wrong with it, and what it is about."""
        about = on_one_line(editor.field.description)
        rows = wrap((Span(self.hint, "warn"),), room, first=(INDENT,)) if self.hint else []
        rows += wrap((Span(words, "dim"),), room, first=(INDENT,)) if cut_label else []
        return [*rows, *(wrap((Span(about, "dim"),), room, first=(INDENT,)) if about else [])]

    def _keys(self, room: int, place: str) -> list[Row]:
        spans: list[Span] = []
        for key, words in self._offers():
            spans += [Span(" · ", "dim")] if spans else []
            spans += [Span(key, "key"), Span(f" {words}")]
        hint = wrap((Span(self.hint, "warn"),), room) if self.hint and not self._editors else []
        if place:
            spans.append(Span(f"  {place}", "dim"))
        number = Span(f"  {self._at + 1}/{len(self._editors)}", "dim")
        if len(self._editors) > 1 and columns((*spans, number)) <= room:
            spans.append(number)
        return [*wrap(spans, room), *hint]

    def _offers(self) -> Iterator[tuple[str, str]]:
        """Give the keys of this moment, each with what it does."""
        if self.question.form.url:
            yield "o", say("tui.form.open")
            yield "c", say("tui.form.copy")
            yield "y", say("tui.form.opened")
        elif not self._editors:
            yield "Enter", say("form.yes")
        else:
            kind, is_last = self._editors[self._at].field.kind, self._at == len(self._editors) - 1
            if kind in ("boolean", "choices"):
                yield "Space", say("tui.form.toggle")
            if kind == "choice":
                yield "Enter", say("tui.form.choose_send" if is_last else "tui.form.choose")
            else:
                yield "Enter", say("tui.form.send" if is_last else "tui.form.next")
        yield "Esc", say("tui.form.decline")

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

    def press(self, key: Key) -> Reply | None:
        self.hint = ""
        if key.name == "ctrl-c":
            return "interrupt"
        if key.name == "esc":
            return DECLINED
        if self.question.form.url:
            return self._press_page(key)
        if not self._editors:
            return ACCEPTED if key.name == "enter" else None
        editor = self._editors[self._at]
        if key.name == "ctrl-enter":
            return self._accept()
        if key.name == "enter":
            editor.enter()
            if self._at == len(self._editors) - 1:
                return self._accept()
            self._leave(editor)
        elif key.name in ("tab", "shift-tab") or not editor.press(key):
            self._move(1 if key.name in NEXT else -1 if key.name in PREVIOUS else 0)
        return None

    def _press_page(self, key: Key) -> Reply | None:
        match key.text.lower() if key.name == "text" else "":
            case "o":
                self.hint = say("tui.form.opening")
                return "open"
            case "c":
                return "copy"
            case "y":
                return ACCEPTED
            case _:
                self.hint = say("tui.ask.hint")
                return None

    def _move(self, by: int) -> None:
        self._at = min(max(self._at + by, 0), len(self._editors) - 1)

    def _leave(self, editor: FieldEditor) -> None:
        """Go on to the next field if the value of this one fits."""
        value = editor.value()
        if isinstance(value, FieldProblem):
            self.hint = problem_words(value)
        else:
            self._move(1)

    def _accept(self) -> FormAnswer | None:
        """Return the answer, or go to the first field whose value does not fit."""
        values = {}
        for number, editor in enumerate(self._editors):
            value = editor.value()
            if isinstance(value, FieldProblem):
                self._at, self.hint = number, problem_words(value)
                return None
            if value is not None:
                values[editor.field.name] = value
        return FormAnswer(action="accept", values=values)


def _words(text: str, room: int) -> Iterator[Row]:
    """Words of others, each row behind an edge."""
    for line in visible(text).strip().split("\n"):
        shown = harmless(line)
        # Where terminals differ on its width, it must not reach the margin in any of them.
        yield from wrap((Span(shown),), room if has_certain_width(shown) else room // 2, first=(EDGE,))


def _address(url: str, room: int) -> Iterator[Row]:
    """An address whole, with its host set off."""
    if not url:
        return
    shown = harmless(url, exact)
    scheme, slashes, rest = shown.partition("://")
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    user, at, host = authority.rpartition("@")
    parts = (
        Span(scheme + slashes + user + at, "muted"),
        Span(host, "bold"),
        Span(rest[len(authority) :], "muted"),
    )
    link = url if url.isascii() and url.isprintable() else ""
    for each in chop([part._replace(link=link) for part in parts], room - columns((EDGE,))):
        yield (EDGE, *each)
