"""The completion menu of the composer: when to ask, which answers come too late, and how a choice changes the text."""

from typing import Literal, NamedTuple

from overt.app.completion.choices import Choice, Completion, CompletionRequest, request_at
from overt.frontends.tui.composer.menu import Menu
from overt.frontends.tui.terminal.rows import Row

CLOSE = " \t\n,.;:!?)]}，。；：！？、）】》”’」"
"""No space is inserted after a name that is followed by one of these."""


class CompletionQuery(NamedTuple):
    """A question for the session; its answer must come back with the same `serial`."""

    serial: int
    text: str
    cursor: int
    tab: bool = False


class MenuResult(NamedTuple):
    """`ignored`: the key is for the composer. `took`: `text` and `cursor` are what the composer holds from now on,
    and with `send` it is sent as if Enter had been pressed. `query` is a question that follows."""

    kind: Literal["ignored", "handled", "took"]
    text: str = ""
    cursor: int = 0
    send: bool = False
    query: CompletionQuery | None = None


def apply_choice(text: str, completion: Completion, choice: Choice, *, enter: bool) -> MenuResult:
    """Return the text with a choice inserted.

    Enter sends a command that is complete. Behind a file, and behind a command that something may follow, stands a
    blank.
    """
    before, behind = text[: completion.start], text[completion.end :]
    insert, back = choice.insert, choice.back
    slash = completion.kind in ("command", "argument")
    if slash and enter and not choice.again:
        return MenuResult("took", before + insert + behind, len(before + insert), send=True)
    blank = choice.again or completion.kind == "command" if slash else not choice.again
    if blank and not behind.startswith(tuple(CLOSE)):
        insert += " "
    elif blank and behind.startswith(" "):
        back -= 1
    return MenuResult("took", before + insert + behind, len(before + insert) - back)


def _is_typed_already(text: str, completion: Completion, choice: Choice) -> bool:
    return completion.kind == "file" and text[completion.start : completion.end] == choice.insert


def _goes_on(closed: CompletionRequest, question: CompletionRequest) -> bool:
    """Return whether this is the word whose menu was closed, perhaps with more typed after it."""
    same = (closed.kind, closed.start, closed.name) == (question.kind, question.start, question.name)
    return same and question.word.startswith(closed.word)


class CompletionMenu:
    """The open menu, if there is one, and the question that waits for its answer."""

    def __init__(self) -> None:
        self.menu: Menu | None = None
        self._serial = 0
        self._open: CompletionQuery | None = None
        self._answered: tuple[str, int] | None = None
        self._hasty: Literal["", "first", "only"] = ""
        self._closed: CompletionRequest | None = None

    def changed(self, text: str, cursor: int) -> CompletionQuery | None:
        """Return what to ask after a key that changed the text or moved the cursor, or None.

        A menu stays on the screen until the next answer, so that it does not flicker; but nothing is chosen from it.
        """
        question = request_at(text, cursor)
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

    def answered(self, serial: int, completion: Completion) -> MenuResult | None:
        """Show an answer. Return None if it comes too late, and `took` if Tab was waiting for it."""
        question = self._open
        if question is None or question.serial != serial:
            return None
        hasty, self._hasty = self._hasty, ""
        if not completion.choices:
            self.menu = None
            return MenuResult("handled")
        first = self._answered != (question.text, question.cursor) or self.menu is None
        self._answered = (question.text, question.cursor)
        if self.menu is None or first:
            self.menu = Menu(completion)
        else:
            self.menu.renew(completion)
        if hasty == "first" or (hasty == "only" and len(completion.choices) == 1 and not completion.partial):
            return self._take(question.text, self.menu.selected or completion.choices[0], enter=False)
        return MenuResult("handled")

    def press(self, key: str, text: str, cursor: int) -> MenuResult:
        """Handle a key by its name, before the composer gets it."""
        menu = self.menu
        if key == "tab" and (menu is None or self._answered != (text, cursor)):
            return self._tab(text, cursor)
        if menu is None:
            return MenuResult("ignored")
        if key == "esc":
            self._forget()
            self._closed = request_at(text, cursor)
            return MenuResult("handled")
        if key == "enter" and self._answered != (text, cursor):
            return MenuResult("ignored")
        if key == "tab":
            return self._take(text, menu.selected or menu.completion.choices[0], enter=False)
        if key == "enter" and menu.selected:
            if _is_typed_already(text, menu.completion, menu.selected):
                self._forget()
                return MenuResult("ignored")
            return self._take(text, menu.selected, enter=True)
        return MenuResult("handled" if menu.move(key) else "ignored")

    def close(self) -> None:
        """Close the menu and drop the question, because the text is gone."""
        self._closed = None
        self._forget()

    def draw(self, columns: int, most: int) -> list[Row]:
        return self.menu.draw(columns, most) if self.menu else []

    def _tab(self, text: str, cursor: int) -> MenuResult:
        if request_at(text, cursor, tab=True) is None:
            return MenuResult("ignored")
        hasty: Literal["first", "only"] = "only" if text.startswith("!") or self._closed else "first"
        self._closed = None
        question = self._ask(text, cursor, tab=True)
        self._hasty = hasty
        return MenuResult("handled", query=question)

    def _take(self, text: str, choice: Choice, *, enter: bool) -> MenuResult:
        assert self.menu is not None
        completion = self.menu.completion
        result = apply_choice(text, completion, choice, enter=enter)
        self._forget()
        if result.send:
            return result
        if completion.kind == "path" and choice.again:
            return result._replace(query=self._ask(result.text, result.cursor, tab=True))
        if completion.kind == "argument" and not choice.again:
            self._closed = request_at(result.text, result.cursor)
        return result._replace(query=self.changed(result.text, result.cursor))

    def _ask(self, text: str, cursor: int, *, tab: bool = False) -> CompletionQuery:
        self._serial += 1
        self._hasty = ""
        self._open = CompletionQuery(self._serial, text, cursor, tab)
        return self._open

    def _forget(self) -> None:
        self.menu = None
        self._open = None
        self._answered = None
        self._hasty = ""
