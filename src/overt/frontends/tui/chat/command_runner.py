"""Run what the user asks of the program itself: slash commands, panels, the external editor, the clipboard."""

import re
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from overt.app.command_registry import CommandRegistry
from overt.app.custom.typed_lines import names_command
from overt.core.errors import OvertError
from overt.core.messages import Image
from overt.frontends.tui.chat.prompt_queue import IMAGE, Prompt
from overt.frontends.tui.chat.view_rows import words_rows
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation
    from overt.app.slash_command import CommandOutcome
    from overt.frontends.tui.chat.chat import Chat
    from overt.frontends.tui.panels.inspector import Inspector, Panel
    from overt.frontends.tui.panels.pager import PanelRequest


class CommandResult(NamedTuple):
    """Result of a slash command: the prompt to restore after a rewind, and the model it selected."""

    done: "CommandOutcome"
    restored: Prompt | None
    model: str


class CommandRunner:
    """Runs slash commands and panels. `inspector` is the panel on the alternate screen, if one is open."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self.inspector: Inspector | None = None
        self._commands_running = 0
        self._model = ""

    @property
    def busy(self) -> bool:
        """True while a slash command runs. What is sent after it waits for it."""
        return self._commands_running > 0

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────

    def is_command(self, text: str) -> bool:
        return names_command(text)

    def anytime(self, text: str) -> bool:
        """Whether a command may run beside a turn."""
        conversation = self._chat.background.conversation
        commands = conversation.commands if conversation else CommandRegistry(self._chat.options.registries.commands)
        command = commands.get(commands.parse(text)[0])
        return command is not None and command.anytime

    def slash(self, text: str) -> None:
        chat = self._chat
        self._commands_running += 1
        chat.terminal.commit(
            chat.transcript.insert_block(words_rows(text.strip(), chat.terminal.columns, "dim", mark="› "))
        )
        chat.background.ask(lambda conversation: _run_command(conversation, text), self._done, self._failed)

    def _failed(self, error: OvertError) -> None:
        self._commands_running -= 1
        self._chat.tell_error(error)
        self._chat.prompt_queue.send_next()

    def _done(self, result: CommandResult) -> None:
        chat, done = self._chat, result.done
        self._commands_running -= 1
        self._model = result.model or self._model
        if done.paged:
            self._page(done.lines)
        elif done.lines and done.action.value != "copy":
            chat.tell(done.lines)
        chat.gauge()
        match done.action.value:
            case "leave":
                chat.over = True
            case "new":
                self._open_other(done.resume)
            case "theme":
                chat.startup.choose_theme(done.value)
            case "editor":
                self.edit_outside()
            case "copy":
                copied = chat.terminal.copy(done.value)
                chat.tell(done.lines if copied else (say("tui.chat.copy_long"),), "" if copied else "error")
            case _:
                pass
        if result.restored:
            chat.prompt_queue.draft([result.restored])
        if done.panel:
            self.panel(done.panel)
        if play := done.play:
            chat.prompt_queue.play(lambda _conversation: play())
        chat.prompt_queue.send_next()

    def _open_other(self, resume: str) -> None:
        chat = self._chat
        chat.prompt_queue.set_open(is_open=False)
        previous = chat.background.conversation
        options = replace(
            chat.options,
            resume=resume,
            continue_last=False,
            fork=False,
            name="",
            session_id="",
            previous=previous.id if previous else "",
        )
        if self._model and not resume:  # one that is resumed has its own
            options = replace(options, model=self._model)
        words = "tui.chat.resumed" if resume else "session.new"
        chat.background.open(options, lambda conversation: self._begun(conversation, words), self._unopened)

    def _begun(self, conversation: "Conversation", words: str) -> None:
        chat = self._chat
        chat.begin_anew()
        chat.tell((say(words, id=conversation.id),), "dim")
        chat.startup.show_conversation(conversation)

    def _unopened(self, error: OvertError) -> None:
        """Report why no other conversation could be opened, and go on with this one."""
        self._chat.tell_error(error)
        self._chat.prompt_queue.set_open()

    # ── inspectors ───────────────────────────────────────────────────────────────────────────────────────

    def panel(self, name: str) -> None:
        chat = self._chat
        if chat.background.conversation is None or self.inspector is not None:
            return
        from overt.frontends.tui.panels.inspector import open_panel  # late: 1.3 ms
        from overt.frontends.tui.panels.pager import PanelInputs  # late: 1.1 ms

        commands = chat.background.conversation.commands.listed()
        inputs = PanelInputs(chat.transcript.details, commands, chat.markdown)
        self._inspect(open_panel(name, inputs, chat.options.registries.panels))

    def _page(self, lines: Sequence[str]) -> None:
        """Show the lines of a command in an inspector of their own."""
        from overt.frontends.tui.panels.pager import Pager  # late: 1.1 ms

        self._inspect(Pager("", lambda columns: [row for line in lines for row in words_rows(line, columns, "")]))

    def _inspect(self, panel: "Panel") -> None:
        from overt.frontends.tui.panels.inspector import Inspector  # late: 1.3 ms

        chat = self._chat
        mouse = chat.startup.preferences.mouse if chat.startup.preferences else False
        self.inspector = Inspector(panel, chat.terminal, self._carry, mouse=mouse)
        self.inspector.open(monotonic())

    def _carry(self, request: "PanelRequest") -> None:
        chat, inspector = self._chat, self.inspector
        assert inspector is not None
        if inspector.closed:
            self.inspector = None
        kind = request.kind
        if kind == "close":
            return
        if kind == "slash":
            chat.prompt_queue.send(Prompt(request.text))
            return
        chat.background.ask(
            lambda conversation: conversation.commands.query(kind)(conversation, request.text, request.number),
            lambda value: inspector.receive(request, value),
            lambda error: inspector.failed(request, error.message),
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
        if chat.startup.preferences is None:
            return
        chat.terminal.leave()
        try:
            from overt.app.chat.external_editor import edit  # late: 8 ms

            text = edit(chat.composer.text, chat.startup.preferences.editor)
        except OvertError as error:
            chat.terminal.enter()
            chat.tell_error(error)
            return
        chat.terminal.enter()
        chat.composer.set(text)
        chat.completion.close()

    def paste_image(self) -> None:
        chat = self._chat
        from overt.app.chat.clipboard import attachment  # late: 9 ms

        chat.background.run_in_thread(attachment, chat.composer.attach, lambda error: chat.hint(error.message))


async def _run_command(conversation: "Conversation", text: str) -> CommandResult:
    name, argument = conversation.commands.parse(text)
    restored = _prompt_of_turn(conversation, argument) if name == "rewind" else None
    done = await conversation.commands.run(conversation, text, panels=True)
    return CommandResult(done, restored, argument if name in ("model", "models") else "")


def _prompt_of_turn(conversation: "Conversation", argument: str) -> Prompt | None:
    """Return the prompt of the turn that a rewind goes back to. It must be read before the rewind."""
    turn, _, part = argument.partition(" ")
    if not turn.isdecimal() or part.startswith("files"):
        return None
    text = next((mark.text for mark in conversation.session.marks if mark.turn >= int(turn) and mark.text), "")
    messages = [message for message in conversation.history.messages if message.text() == text]
    images = [part for part in messages[-1].parts if isinstance(part, Image)] if messages else []
    from overt.app.chat.attachments import Attachment  # late: 1.4 ms

    attached = map(Attachment, re.findall(IMAGE, text), images)
    return Prompt(text, tuple(attached)) if text else None
