"""The panel that replaces the composer while the user must answer: a start-up or a permission question, or a form.

Keys go to the draft until the question has been painted and the user had time to look up from typing: what they were
typing must never become an answer.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from overt.core.events import Event, PermissionAsked
from overt.core.protocols import Answer
from overt.core.questions import FormAnswer, FormAsked
from overt.frontends.tui.chat.approval import CALM, PAUSE, Approvals
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row
from overt.frontends.tui.terminal.screen import Frame
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.frontends.tui.chat.chat import Chat

NEVER = float("inf")


class Modal(Protocol):
    """A question that takes the keys and the place of the composer until it is answered."""

    def draw(self, columns: int, most: int) -> tuple[list[Row], tuple[int, int] | None]: ...


class ModalPanel:
    """Decides when a question is shown and when keys answer it.

    `typed` is the time of the last key that went into the draft, or 0 if there is no draft.
    """

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self._approvals = Approvals()
        self._since = NEVER
        self.typed = 0.0

    def feed(self, event: Event) -> bool:
        """Return whether the event asks the user."""
        self._approvals.feed(event)
        self._print()
        return isinstance(event, PermissionAsked | FormAsked)

    def _print(self) -> None:
        """Print what a call would do, once, when its question is the next one."""
        chat = self._chat
        if opening := self._approvals.opening(chat.terminal.columns):
            chat.terminal.commit(chat.transcript.insert_block(opening))

    def modal(self, now: float) -> Modal | None:
        """Return the question to show now. It waits while the user is typing."""
        waiting: Modal | None = self._chat.startup.panel
        if waiting is None and self._approvals.current is not None:
            waiting = self._approvals
        return waiting if now - self.typed >= CALM else None

    @property
    def is_form(self) -> bool:
        """True if the question that waits is a form."""
        asked = self._approvals.current
        return self._chat.startup.panel is None and asked is not None and isinstance(asked.question, FormAsked)

    def max_rows(self, modal: Modal | None, room: int) -> int:
        """Return how many of the rows of the screen the composer or a question may take. A form needs more of them."""
        return max(room * 2 // 3 if modal and self.is_form else min(room // 2, 10), 1)

    def frame(self, modal: Modal | None, draw: Callable[[], Frame]) -> Frame:
        """Draw the live region. A permission question is named again in it if its printed rows do not fit above it."""
        asked = self._approvals.current
        if asked is None or modal is not self._approvals:
            return draw()
        terminal = self._chat.terminal
        asked.in_sight = True
        frame = draw()
        asked.in_sight = asked.fits(terminal.columns, len(frame.rows), terminal.lines)
        return frame if asked.in_sight else draw()

    def painted(self, modal: Modal | None, now: float) -> None:
        if modal is None:
            self._since = NEVER
            return
        self._since = min(self._since, now)
        if modal is self._approvals:
            self._approvals.painted(now)

    def press(self, key: Key, now: float) -> bool:
        """Return whether a key was meant for a question."""
        chat = self._chat
        if now - self._since < (0 if chat.composer.empty else PAUSE):
            return False
        if chat.startup.panel is not None:
            chat.startup.press(key)
            return True
        if not self._approvals.armed(now, self.typed):
            return key.name == "esc" and self._approvals.current is not None  # it was meant for the one before
        self._answer(key, now)
        return True

    def _answer(self, key: Key, now: float) -> None:
        chat = self._chat
        asked = self._approvals.current
        decision = self._approvals.press(key, now)
        match decision:
            case "interrupt":
                chat.prompt_queue.interrupt()
            case "open" | "copy" if asked and isinstance(asked.question, FormAsked):
                self._use_page(asked.question, decision)
            case (id, FormAnswer() as answer):
                self._send_form(id, answer)
            case (id, Answer() as answer):
                chat.background.call_soon(lambda conversation: conversation.answer(id, answer))
            case _:
                return
        self._print()

    def _send_form(self, id: str, answer: FormAnswer) -> None:
        self._chat.background.call_soon(lambda conversation: conversation.answer_form(id, answer))

    def _use_page(self, asked: FormAsked, use: str) -> None:
        """Open the page of a form, which accepts the form if it succeeds, or copy its address."""
        chat, url = self._chat, asked.form.url
        if use == "copy":
            chat.hint(say("tui.form.copied" if chat.terminal.copy(url) else "tui.chat.copy_long"))
            return
        from overt.app.chat.browser import open_page  # late: 5 ms

        workspace = chat.background.current.workspace
        chat.background.run_in_thread(
            lambda: open_page(url, workspace),
            lambda _opened: self._send_form(asked.id, FormAnswer(action="accept")),
            lambda error: self._approvals.tell(asked.id, error.message),
        )

    def hidden(self, now: float) -> bool:
        """Return whether a question waits to be shown or to accept keys. Only time changes that."""
        if self._approvals.current is None and self._chat.startup.panel is None:
            return False
        return self._since == NEVER or (self._chat.startup.panel is None and not self._approvals.armed(now, self.typed))
