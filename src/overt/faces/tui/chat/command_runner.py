"""What a person asks of the program itself: commands, inspectors, the editor outside, the clipboard."""

import re
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from overt.core.errors import OvertError
from overt.core.messages import Image
from overt.faces.tui.chat.prompt_queue import IMAGE, Prompt
from overt.faces.tui.chat.views import words_rows
from overt.lib.catalogue import say

if TYPE_CHECKING:
    from overt.app.command_table import Done
    from overt.app.conversation import Conversation
    from overt.faces.tui.chat.chat import Chat
    from overt.faces.tui.panels.inspector import Inspector
    from overt.faces.tui.panels.pager import Wish

NAMED = {"todo": "todos"}
"""Inspectors that go by another name than the command that opens them."""


class Carried(NamedTuple):
    """What came of a command: `said` at the turn it went back to, and the `model` it chose."""

    done: "Done"
    said: Prompt | None
    model: str


class Doing:
    """`inspector` is the one on the alternate screen."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self.inspector: Inspector | None = None
        self._carried_out = 0
        self._model = ""

    @property
    def busy(self) -> bool:
        """Whether a command of ours is being carried out: what is sent after it waits for it."""
        return self._carried_out > 0

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────

    def is_command(self, text: str) -> bool:
        """`/usr/lib is full` is a prompt: no command has a slash in its name."""
        return text.startswith("/") and "/" not in text[1:].partition("\n")[0].split(" ", 1)[0]

    def anytime(self, text: str) -> bool:
        """Whether a command may run beside a turn."""
        from overt.app.command_table import ANYTIME, named  # late: 9 ms

        return named(text)[0] in ANYTIME

    def slash(self, text: str) -> None:
        chat = self._chat
        self._carried_out += 1
        chat.terminal.commit(chat.transcript.told(words_rows(text.strip(), chat.terminal.columns, "dim", mark="› ")))
        chat.backstage.ask(lambda conversation: _carried_out(conversation, text), self._done, self._failed)

    def _failed(self, error: OvertError) -> None:
        self._carried_out -= 1
        self._chat.tell_error(error)
        self._chat.sending.go_on()

    def _done(self, carried: Carried) -> None:
        chat, done = self._chat, carried.done
        self._carried_out -= 1
        self._model = carried.model or self._model
        if done.lines and done.action.value != "copy":
            chat.tell(done.lines)
        chat.gauge()
        match done.action.value:
            case "leave":
                chat.over = True
            case "new":
                self._anew(done.resume)
            case "theme":
                chat.opening.choose_theme(done.value)
            case "editor":
                self.edit_outside()
            case "copy":
                copied = chat.terminal.copy(done.value)
                chat.tell(done.lines if copied else (say("tui.chat.copy_long"),), "" if copied else "error")
            case _:
                pass
        if carried.said:
            chat.sending.draft([carried.said])
        if done.panel:
            self.panel(done.panel)
        if play := done.play:
            chat.sending.play(lambda _conversation: play())
        chat.sending.go_on()

    def _anew(self, resume: str) -> None:
        chat = self._chat
        chat.sending.stand(still=False)
        options = replace(chat.options, resume=resume, continue_last=False, fork=False, name="", session_id="")
        if self._model and not resume:  # one that is resumed has its own
            options = replace(options, model=self._model)
        words = "tui.chat.resumed" if resume else "session.new"
        chat.backstage.open(options, lambda conversation: self._begun(conversation, words), self._unopened)

    def _begun(self, conversation: "Conversation", words: str) -> None:
        chat = self._chat
        chat.begin_anew()
        chat.tell((say(words, id=conversation.id),), "dim")
        chat.opening.opened(conversation)

    def _unopened(self, error: OvertError) -> None:
        """The conversation that was goes on."""
        self._chat.tell_error(error)
        self._chat.sending.stand()

    # ── inspectors ───────────────────────────────────────────────────────────────────────────────────────

    def panel(self, name: str) -> None:
        chat = self._chat
        if chat.backstage.conversation is None or self.inspector is not None:
            return
        from overt.faces.tui.panels.inspector import open_panel  # late: 8 ms

        panel = open_panel(NAMED.get(name, name), details=chat.transcript.details)
        mouse = chat.opening.wishes.mouse if chat.opening.wishes else False
        from overt.faces.tui.panels.inspector import Inspector  # late: 8 ms

        self.inspector = Inspector(panel, chat.terminal, self._carry, mouse=mouse)
        self.inspector.open(monotonic())

    def _carry(self, wish: "Wish") -> None:
        chat, inspector = self._chat, self.inspector
        assert inspector is not None
        if inspector.closed:
            self.inspector = None
        kind = wish.kind
        if kind == "close":
            return
        if kind == "slash":
            chat.sending.send(Prompt(wish.text))
            return
        from overt.app.looking import look  # late: 123 ms

        chat.backstage.ask(
            lambda conversation: look(conversation, kind, wish.text, wish.number),
            lambda value: inspector.given(wish, value),
            lambda error: inspector.failed(wish, error.message),
        )

    def show(self) -> None:
        if self.inspector is not None:
            self.inspector.show()

    def due(self) -> float | None:
        return self.inspector.due() if self.inspector else None

    def tick(self, now: float) -> None:
        if self.inspector is not None:
            self.inspector.tick(now)

    # ── elsewhere ────────────────────────────────────────────────────────────────────────────────────────

    def edit_outside(self) -> None:
        chat = self._chat
        if chat.opening.wishes is None:
            return
        chat.terminal.leave()
        try:
            from overt.app.external_editor import edit  # late: 10 ms

            text = edit(chat.composer.text, chat.opening.wishes.editor)
        except OvertError as error:
            chat.terminal.enter()
            chat.tell_error(error)
            return
        chat.terminal.enter()
        chat.composer.set(text)
        chat.suggesting.close()

    def paste_image(self) -> None:
        chat = self._chat
        from overt.app.clipboard import attachment  # late: 10 ms

        chat.backstage.aside(attachment, chat.composer.attach, lambda error: chat.hint(error.message))


async def _carried_out(conversation: "Conversation", text: str) -> Carried:
    from overt.app.command_table import named  # late: 1.2 ms
    from overt.app.slash import slash  # late: 97 ms

    name, argument = named(text)
    said = _said(conversation, argument) if name == "rewind" else None
    done = await slash(conversation, text, panels=True)
    return Carried(done, said, argument if name in ("model", "models") else "")


def _said(conversation: "Conversation", argument: str) -> Prompt | None:
    """What was said at a turn that is gone back to, read before it is gone."""
    turn, _, part = argument.partition(" ")
    if not turn.isdecimal() or part.startswith("files"):
        return None
    found = next((mark.text for mark in conversation.marks if mark.turn >= int(turn) and mark.text), "")
    messages = [message for message in conversation.history.messages if message.text() == found]
    images = [part for part in messages[-1].parts if isinstance(part, Image)] if messages else []
    from overt.app.attachments import Attachment  # late: 1.4 ms

    attached = map(Attachment, re.findall(IMAGE, found), images)
    return Prompt(found, tuple(attached)) if found else None
