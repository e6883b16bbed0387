"""The fields of a form as they are edited in the terminal: a line of text, a check box, a list of options."""

from typing import NamedTuple, Protocol

from overt.core.questions import FieldProblem, FieldValue, FormField, check_choices, read_value
from overt.frontends.describe_forms import on_one_line, value_words
from overt.frontends.tui.composer import emacs
from overt.frontends.tui.composer.buffer import Buffer
from overt.frontends.tui.composer.line_view import line_view
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, columns, cut, row, wrap
from overt.lib.translations import say


class DrawnField(NamedTuple):
    """What stands behind the label of a focused field, the rows below it, and where the cursor is, if it is shown.

    Row 0 is that of the label; columns count from its value there, and from the margin below. `focus` is the row to
    keep in sight.
    """

    value: str
    below: list[Row]
    cursor: tuple[int, int] | None = None
    focus: int = 0


class FieldEditor(Protocol):
    field: FormField

    def shown(self) -> str:
        """Return the value as it is shown while another field is edited."""
        ...

    def draw(self, room: int, value_room: int) -> DrawnField: ...

    def press(self, key: Key) -> bool:
        """Apply a key. Return False if it means nothing in this field."""
        ...

    def enter(self) -> None:
        """Enter was pressed."""
        ...

    def value(self) -> FieldValue | FieldProblem | None: ...


def make_editor(field: FormField) -> FieldEditor:
    if field.kind == "boolean":
        return CheckBox(field)
    return OptionList(field) if field.options else LineEditor(field)


class LineEditor:
    """A text or a number."""

    def __init__(self, field: FormField) -> None:
        self.field = field
        self._buffer = Buffer()
        if field.default is not None:
            self._buffer.type(value_words(field, field.default))

    def shown(self) -> str:
        return on_one_line(self._buffer.now.text)

    def draw(self, room: int, value_room: int) -> DrawnField:
        text, column = line_view(self._buffer.now, max(value_room - 1, 4))
        return DrawnField(text, [], (0, column))

    def press(self, key: Key) -> bool:
        return edit_line(self._buffer, key)

    def enter(self) -> None:
        pass

    def value(self) -> FieldValue | FieldProblem | None:
        return read_value(self.field, self._buffer.now.text)


class CheckBox:
    def __init__(self, field: FormField) -> None:
        self.field = field
        self._checked = field.default is True

    def shown(self) -> str:
        return f"[{'x' if self._checked else ' '}] {say('form.yes' if self._checked else 'form.no')}"

    def draw(self, room: int, value_room: int) -> DrawnField:
        return DrawnField(self.shown(), [], (0, 1))

    def press(self, key: Key) -> bool:
        letter = key.text.lower() if key.name == "text" else ""
        if letter == " ":
            self._checked = not self._checked
        elif letter in ("y", "n"):
            self._checked = letter == "y"
        else:
            return False
        return True

    def enter(self) -> None:
        pass

    def value(self) -> bool:
        return self._checked


class OptionList:
    """One or several of the options, and an answer of the user's own if the field takes one.

    Options have numbers from 0 on; the own answer is behind the last. Enter takes the option at the pointer if there
    can be only one.
    """

    def __init__(self, field: FormField) -> None:
        self.field = field
        self._own = Buffer()
        self._several = field.kind == "choices"
        values = [option.value for option in field.options]
        default = field.default if isinstance(field.default, tuple) else (field.default,)
        self._taken = {values.index(value) for value in default if isinstance(value, str) and value in values}
        self._at = min(self._taken, default=0)

    @property
    def _last(self) -> int:
        return len(self.field.options) - (0 if self.field.other else 1)

    @property
    def _on_own(self) -> bool:
        return self._at == len(self.field.options)

    def shown(self) -> str:
        value = self._values()
        return value_words(self.field, value if self._several else value[:1])

    def draw(self, room: int, value_room: int) -> DrawnField:
        below: list[Row] = []
        focus, cursor = 0, None
        for number in range(self._last + 1):
            here = number == self._at
            mark = ("[x]" if self._several else "(*)") if number in self._taken else "[ ]" if self._several else "( )"
            head = row(Span("  › " if here else "    ", "accent"), Span(f"{mark} ", "accent" if here else ""))
            if here:
                focus = len(below) + 1
            if number == len(self.field.options):
                head = row(*head, Span(f"{say('form.other')}: ", "bold" if here else ""))
                text, column = line_view(self._own.now, max(room - columns(head) - 1, 4))
                cursor = (len(below) + 1, columns(head) + column) if here else None
                below.append(row(*head, text))
                continue
            option = self.field.options[number]
            about = on_one_line(option.description)
            spans = (
                Span(on_one_line(option.shown), "bold" if here else ""),
                Span(f"  {about}" if about else "", "dim"),
            )
            indent = row(Span(" " * columns(head)))
            below += wrap(spans, room, first=head, rest=indent) if here else [cut((*head, *spans), room)]
        return DrawnField(self.shown(), below, cursor, focus)

    def press(self, key: Key) -> bool:
        if key.name in ("up", "down"):
            at = self._at + (1 if key.name == "down" else -1)
            self._at, moved = (at, True) if 0 <= at <= self._last else (self._at, False)
            return moved
        if self._on_own:
            pressed = edit_line(self._own, key)
            self._take_own()
            return pressed
        text = key.text if key.name == "text" else ""
        if text == " ":
            self._take(self._at)
        elif len(text) == 1 and text.isascii() and text.isdecimal() and 1 <= int(text) <= len(self.field.options):
            self._at = int(text) - 1
            self._take(self._at)
        elif text.strip() and self.field.other:
            self._at = len(self.field.options)
            return self.press(key)
        else:
            return False
        return True

    def enter(self) -> None:
        if not self._several and not self._on_own:
            self._taken = {self._at}

    def value(self) -> FieldValue | FieldProblem | None:
        values = self._values()
        if self._several:
            return check_choices(self.field, values)
        if not values:
            return FieldProblem(kind="required") if self.field.required else None
        return values[0]

    def _take(self, number: int) -> None:
        """Take an option, or give it back."""
        if self._several or (number in self._taken and not self.field.required):
            self._taken = self._taken ^ {number}
        else:
            self._taken = {number}

    def _take_own(self) -> None:
        """The own answer counts as long as there is one."""
        own = {len(self.field.options)} if self._own.now.text.strip() else set()
        rest = self._taken - {len(self.field.options)}
        self._taken = own | rest if self._several or not own else own

    def _values(self) -> tuple[str, ...]:
        values = [*(option.value for option in self.field.options), self._own.now.text.strip()]
        return tuple(values[number] for number in sorted(self._taken))


def edit_line(buffer: Buffer, key: Key) -> bool:
    """Apply a key to a text of one line. Return False if it means nothing there."""
    buffer.begin()
    if key.name in ("text", "paste"):
        buffer.type(" ".join(key.text.split("\n")))
        return True
    return emacs.press(buffer, key.name)
