"""The completion menu of the composer: when to ask, which answers come too late, and how a choice changes the text."""

from typing import Literal, NamedTuple

from overt.app.completion.choices import Asked, Choice, Completion, asked
from overt.frontends.tui.composer.menu import Menu
from overt.frontends.tui.terminal.rows import Row

__all__ = ["Ask", "Asked", "CompletionMenu", "Pressed", "asked", "taken"]

CLOSE = " \t\n,.;:!?)]}，。；：！？、）】》”’」"
"""No space is inserted after a name that is followed by one of these."""


class Ask(NamedTuple):
    """A question for the engine; its answer must come back with the same `serial`."""

    serial: int
    text: str
    cursor: int
    tab: bool = False


class Pressed(NamedTuple):
    """`ignored`: the key is for the composer. `took`: `text` and `cursor` are what the composer holds from now on,
    and with `send` it is sent as if Enter had been pressed. `ask` is a question that follows."""

    kind: Literal["ignored", "handled", "took"]
    text: str = ""
    cursor: int = 0
    send: bool = False
    ask: Ask | None = None


class Taken(NamedTuple):
    text: str
    cursor: int
    send: bool = False


def taken(text: str, completion: Completion, choice: Choice, *, enter: bool) -> Taken:
    """Return the text with a choice inserted.

    Enter sends a command that is complete. Behind a file, and behind a command that something may follow, stands a
    blank.
    """
    before, behind = text[: completion.start], text[completion.end :]
    insert, back = choice.insert, choice.back
    slash = completion.kind in ("command", "argument")
    if slash and enter and not choice.again:
        return Taken(before + insert + behind, len(before + insert), send=True)
    blank = choice.again or completion.kind == "command" if slash else not choice.again
    if blank and not behind.startswith(tuple(CLOSE)):
        insert += " "
    elif blank and behind.startswith(" "):
        back -= 1
    return Taken(before + insert + behind, len(before + insert) - back)


def _goes_on(closed: Asked, question: Asked) -> bool:
    """Return whether this is the word whose menu was closed, perhaps with more typed after it."""
    same = (closed.kind, closed.start, closed.name) == (question.kind, question.start, question.name)
    return same and question.word.startswith(closed.word)


class CompletionMenu:
    """The open menu, if there is one, and the question that waits for its answer."""

    def __init__(self) -> None:
        self.menu: Menu | None = None
        self._serial = 0
        self._open: Ask | None = None
        self._answered: tuple[str, int] | None = None
        self._hasty: Literal["", "first", "only"] = ""
        self._closed: Asked | None = None

    def changed(self, text: str, cursor: int) -> Ask | None:
        """Return what to ask after a key that changed the text or moved the cursor, or None.

        A menu stays on the screen until the next answer, so that it does not flicker; but nothing is chosen from it.
        """
        question = asked(text, cursor)
        if question is None:
            self.close()
            return None
        if self._closed and _goes_on(self._closed, question):
            self._forget()
            return None
        self._closed = None
        if self.menu and self.menu.completion[:2] != (question.kind, question.start):
            self.menu = None
        return self._ask(text, cursor)

    def answered(self, serial: int, completion: Completion) -> Pressed | None:
        """Show an answer. Return None if it comes too late, and `took` if Tab was waiting for it."""
        question = self._open
        if question is None or question.serial != serial:
            return None
        hasty, self._hasty = self._hasty, ""
        if not completion.choices:
            self.menu = None
            return Pressed("handled")
        first = self._answered != (question.text, question.cursor) or self.menu is None
        self._answered = (question.text, question.cursor)
        if self.menu is None or first:
            self.menu = Menu(completion)
        else:
            self.menu.renew(completion)
        if hasty == "first" or (hasty == "only" and len(completion.choices) == 1 and not completion.partial):
            return self._take(question.text, self.menu.selected or completion.choices[0], enter=False)
        return Pressed("handled")

    def press(self, key: str, text: str, cursor: int) -> Pressed:
        """Handle a key by its name, before the composer gets it."""
        menu = self.menu
        if key == "tab" and (menu is None or self._answered != (text, cursor)):
            return self._tab(text, cursor)
        if menu is None:
            return Pressed("ignored")
        if key == "esc":
            self._forget()
            self._closed = asked(text, cursor)
            return Pressed("handled")
        if key == "enter" and self._answered != (text, cursor):
            return Pressed("ignored")
        did = menu.press(key)
        if did.kind == "take" and did.choice:
            if key == "enter" and self._is_typed_already(text, did.choice):
                self._forget()
                return Pressed("ignored")
            return self._take(text, did.choice, enter=key == "enter")
        return Pressed("handled" if did.kind == "move" else "ignored")

    def close(self) -> None:
        """Close the menu and drop the question, because the text is gone."""
        self._closed = None
        self._forget()

    def draw(self, columns: int, most: int) -> list[Row]:
        return self.menu.draw(columns, most) if self.menu else []

    def _tab(self, text: str, cursor: int) -> Pressed:
        if asked(text, cursor, tab=True) is None:
            return Pressed("ignored")
        hasty: Literal["first", "only"] = "only" if text.startswith("!") or self._closed else "first"
        self._closed = None
        question = self._ask(text, cursor, tab=True)
        self._hasty = hasty
        return Pressed("handled", ask=question)

    def _is_typed_already(self, text: str, choice: Choice) -> bool:
        assert self.menu is not None
        completion = self.menu.completion
        return completion.kind == "file" and text[completion.start : completion.end] == choice.insert

    def _take(self, text: str, choice: Choice, *, enter: bool) -> Pressed:
        assert self.menu is not None
        completion = self.menu.completion
        made = taken(text, completion, choice, enter=enter)
        self._forget()
        if made.send:
            return Pressed("took", made.text, made.cursor, send=True)
        if completion.kind == "path" and choice.again:
            return Pressed("took", made.text, made.cursor, ask=self._ask(made.text, made.cursor, tab=True))
        if completion.kind == "argument" and not choice.again:
            self._closed = asked(made.text, made.cursor)
        return Pressed("took", made.text, made.cursor, ask=self.changed(made.text, made.cursor))

    def _ask(self, text: str, cursor: int, *, tab: bool = False) -> Ask:
        self._serial += 1
        self._hasty = ""
        self._open = Ask(self._serial, text, cursor, tab)
        return self._open

    def _forget(self) -> None:
        self.menu = None
        self._open = None
        self._answered = None
        self._hasty = ""
