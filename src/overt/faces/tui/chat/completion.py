"""Completion between the composer and the engine: asked after a key, shown when the answer is still wanted."""

from typing import TYPE_CHECKING

from overt.app.choices import Completion
from overt.faces.tui.composer.complete import Ask, Completing, Pressed
from overt.faces.tui.terminal.keyboard import Key
from overt.faces.tui.terminal.rows import Row

if TYPE_CHECKING:
    from overt.app.completing import Completer
    from overt.app.conversation import Conversation
    from overt.faces.tui.chat.chat import Chat


class Suggesting:
    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self._completing = Completing()
        self._completer: Completer | None = None

    def begin(self) -> None:
        """Another conversation: what it offers is asked of it from now on."""
        backstage, old = self._chat.backstage, self._completer
        if old is not None:
            self._completer = None
            backstage.start(old.close(), self._chat.tell_error)
        backstage.look(_completer, self._found, self._chat.tell_error)

    def _found(self, completer: "Completer") -> None:
        self._completer = completer
        self.changed()

    def changed(self) -> None:
        """The text is another, or the cursor stands elsewhere."""
        text, cursor = self._chat.composer.now
        self._ask(self._completing.changed(text, cursor))

    def press(self, key: Key) -> bool:
        """Whether a key was meant for the menu."""
        text, cursor = self._chat.composer.now
        return self._did(self._completing.press(key.name, text, cursor))

    def close(self) -> None:
        self._completing.close()

    def sent(self, text: str) -> None:
        if (completer := self._completer) is not None:
            self._chat.backstage.soon(lambda _conversation: completer.sent(text))

    def draw(self, columns: int, most: int) -> list[Row]:
        return self._completing.draw(columns, most)

    def _ask(self, ask: Ask | None) -> None:
        if ask is not None and (completer := self._completer) is not None:
            self._chat.backstage.soon(
                lambda _conversation: completer.ask(ask.serial, ask.text, ask.cursor, ask.tab, self._answered_there)
            )

    def _answered_there(self, serial: int, completion: Completion) -> None:
        """In the engine's thread: the answer goes to the one that asked."""
        self._chat.backstage.later(lambda found: self._answered(*found), (serial, completion))

    def _answered(self, serial: int, completion: Completion) -> None:
        pressed = self._completing.answered(serial, completion)
        if pressed is not None:
            self._did(pressed)

    def _did(self, pressed: Pressed) -> bool:
        if pressed.kind == "took":
            self._chat.composer.put(pressed.text, pressed.cursor)
        self._ask(pressed.ask)
        if pressed.send:
            self._chat.send()
        return pressed.kind != "ignored"


def _completer(conversation: "Conversation") -> "Completer":
    from overt.app.completing import Completer  # late: 153 ms

    return Completer(conversation)
