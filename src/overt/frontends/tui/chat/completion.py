"""Completion between the composer and the session: ask after a key, and show the answer if it is still wanted."""

from typing import TYPE_CHECKING

from overt.app.completion.choices import Completion
from overt.frontends.tui.composer.complete import CompletionMenu, CompletionQuery, MenuResult
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row

if TYPE_CHECKING:
    from overt.app.completion.completer import Completer
    from overt.app.conversation import Conversation
    from overt.frontends.tui.chat.chat import Chat


class CompletionRequests:
    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self._menu = CompletionMenu()
        self._completer: Completer | None = None

    def begin(self) -> None:
        """Use the completer of the conversation that was just opened."""
        background, old = self._chat.background, self._completer
        if old is not None:
            self._completer = None
            background.start(old.close(), self._chat.tell_error)
        background.read(_completer, self._loaded, self._chat.tell_error)

    def _loaded(self, completer: "Completer") -> None:
        self._completer = completer
        self.changed()

    def changed(self) -> None:
        """Ask again, because the text or the cursor has changed."""
        text, cursor = self._chat.composer.now
        self._ask(self._menu.changed(text, cursor))

    def press(self, key: Key) -> bool:
        """Return whether a key was meant for the menu."""
        text, cursor = self._chat.composer.now
        return self._did(self._menu.press(key.name, text, cursor))

    def close(self) -> None:
        self._menu.close()

    def sent(self, text: str) -> None:
        if (completer := self._completer) is not None:
            self._chat.background.call_soon(lambda _conversation: completer.sent(text))

    def draw(self, columns: int, most: int) -> list[Row]:
        return self._menu.draw(columns, most)

    def _ask(self, query: CompletionQuery | None) -> None:
        if query is not None and (completer := self._completer) is not None:
            self._chat.background.call_soon(
                lambda _conversation: completer.ask(
                    query.serial, query.text, query.cursor, query.tab, self._answered_there
                )
            )

    def _answered_there(self, serial: int, completion: Completion) -> None:
        """Pass an answer from the session's thread to the terminal thread."""
        self._chat.background.post(lambda answer: self._answered(*answer), (serial, completion))

    def _answered(self, serial: int, completion: Completion) -> None:
        result = self._menu.answered(serial, completion)
        if result is not None:
            self._did(result)

    def _did(self, result: MenuResult) -> bool:
        if result.kind == "took":
            self._chat.composer.put(result.text, result.cursor)
        self._ask(result.query)
        if result.send:
            self._chat.send()
        return result.kind != "ignored"


def _completer(conversation: "Conversation") -> "Completer":
    from overt.app.completion.completer import Completer  # late: 112 ms

    return Completer(conversation)
