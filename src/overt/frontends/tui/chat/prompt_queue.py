"""What the user sends goes to the running turn, into the queue behind it, or starts a turn, always in order.

Nothing that was typed is lost: what comes too late for a turn becomes the next prompt, and what was queued behind a
turn that failed or was interrupted returns to the composer.
"""

import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from overt.app.custom.typed_lines import expand_note
from overt.core.events import Event, TurnEnded, UserSpoke
from overt.core.text_fragments import STEERED
from overt.frontends.tui.terminal.rows import Row, Span, cut, row
from overt.lib.text import visible
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.chat.attachments import Attachment
    from overt.app.conversation import Conversation
    from overt.frontends.tui.chat.chat import Chat

GOES_ON = ("done", "denied")
"""Ends of a turn after which queued prompts still make sense."""
SHOWN = 3
"""The number of queued prompts on the screen."""
IMAGE = r"\[image #\d+: (.*?)\]"
"""How the composer writes an image in the text."""


class Prompt(NamedTuple):
    text: str
    attached: "tuple[Attachment, ...]" = ()


class PromptQueue:
    """The queue of prompts. `running` is true from the start of a turn until it is known what follows it."""

    def __init__(self, chat: "Chat", first: str) -> None:
        self._chat = chat
        self.running = False
        self._turn_ended = False
        self._open = False
        self._resting = False
        self._waiting: deque[Prompt] = deque([Prompt(first)] if first.strip() else [])
        self._steering: deque[str] = deque()

    # ── what comes ───────────────────────────────────────────────────────────────────────────────────────

    def send(self, prompt: Prompt, *, queue: bool = False) -> None:
        """Send a prompt, a slash command, a shell command or a note."""
        prompt = prompt._replace(text=expand_note(prompt.text))
        chat, text = self._chat, prompt.text
        slash = chat.command_runner.is_command(text)
        if self.running and not queue and slash and chat.command_runner.anytime(text):
            chat.command_runner.slash(text)
        elif self.running and not self._resting and not (queue or slash or text.startswith("!") or prompt.attached):
            self._steering.append(text)
            chat.background.call_soon(lambda conversation: conversation.inbox.steer(text))
            chat.hint(say("tui.chat.steering"))
        else:
            self._waiting.append(prompt)
            if self.running:
                chat.hint(say("tui.chat.queued"))
            self.send_next()

    def set_open(self, *, is_open: bool = True) -> None:
        """Tell the queue whether a conversation is open to send to."""
        self._open = is_open
        self.send_next()

    def send_next(self) -> None:
        """Send what is queued, as far as nothing runs."""
        chat = self._chat
        while self._waiting and self._open and not self.running and not chat.command_runner.busy and not chat.over:
            self._submit(self._waiting.popleft())

    def _submit(self, prompt: Prompt) -> None:
        chat, text, images = self._chat, prompt.text, tuple(each.image for each in prompt.attached)
        if chat.command_runner.is_command(text):
            chat.command_runner.slash(text)
        elif text.startswith("!") and text[1:].strip():
            self.play(lambda conversation: conversation.command(text[1:].strip()))
        else:
            self.play(lambda conversation: conversation.prompt(text, images))

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def can_be_interrupted(self) -> bool:
        """True while a turn runs. Once its end was shown, a key no longer means it."""
        return self.running and not self._turn_ended

    def play(self, turn: "Callable[[Conversation], Awaitable[TurnEnded]]") -> None:
        self.running, self._turn_ended = True, False
        self._chat.note_turn_start()
        self._chat.background.play(turn)
        self._chat.startup.load_ahead()

    def interrupt(self) -> None:
        self._chat.background.call_soon(lambda conversation: conversation.interrupt())

    def feed(self, event: Event) -> None:
        """Drop steering that the model has received, and return the queue to the composer if the turn failed."""
        self._turn_ended |= isinstance(event, TurnEnded) and event.agent == "main"
        match event:
            case UserSpoke(agent="main", steered=True, message=message) if message.origin == STEERED:
                if self._steering:
                    self._steering.popleft()
            case TurnEnded(agent="main", reason=reason) if reason not in GOES_ON:
                self._take_back()
            case _:
                pass

    def turn_over(self) -> None:
        """Empty the inbox of the finished turn: what came too late for it starts the next one."""
        self._resting = True
        self._chat.background.read(lambda conversation: conversation.inbox.steering(), self._settled)

    def _settled(self, _too_late: list[str]) -> None:
        self.running = self._resting = False
        self._waiting.extendleft(map(Prompt, reversed(self._steering)))
        self._steering.clear()
        self.send_next()

    # ── back into the composer ───────────────────────────────────────────────────────────────────────────

    def _take_back(self) -> None:
        """Return everything to the composer: it was meant for the result of a turn that did not come."""
        kept = [*map(Prompt, self._steering), *self._waiting]
        self._steering.clear()
        self._waiting.clear()
        self.draft(kept)

    def take_last(self) -> bool:
        """Return the last queued prompt to the composer. Return False if none is queued."""
        if not self._waiting:
            return False
        self.draft([self._waiting.pop()])
        return True

    def draft(self, prompts: list[Prompt]) -> None:
        """Insert prompts with their images before the text in the composer."""
        if not prompts:
            return
        composer = self._chat.composer
        before = composer.now.text
        composer.put(before, 0)
        for number, prompt in enumerate(prompts):
            if number:
                composer.insert("\n")
            self._put(prompt)
        if before:
            composer.insert("\n")
        composer.put(composer.now.text, len(composer.now.text))
        self._chat.completion.close()

    def _put(self, prompt: Prompt) -> None:
        composer, rest = self._chat.composer, prompt.text
        for attachment in prompt.attached:
            image = re.search(IMAGE, rest)
            composer.insert(rest[: image.start()] if image else "")
            composer.attach(attachment)
            rest = rest[image.end() :] if image else rest
        composer.insert(rest)

    # ── seen ─────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, columns: int) -> list[Row]:
        """Draw what waits: first for the next step of the turn, then for turns of its own."""
        lines = [f"→ {text}" for text in self._steering] + [f"⧗ {prompt.text}" for prompt in self._waiting]
        rows = [cut(row(Span(_first_line(line), "dim")), columns) for line in lines[:SHOWN]]
        more = len(lines) - SHOWN
        return [*rows, cut(row(Span(f"  {say('tui.menu.more', count=more)}", "dim")), columns)] if more > 0 else rows


def _first_line(text: str) -> str:
    line, _, more = text.strip().partition("\n")
    return visible(line[:1000]).replace("\t", " ") + (" …" if more else "")
