"""What a person sent: to the turn that runs, behind it, or as a turn of its own, each thing in its order.

Nothing that was typed is lost: what a turn can no longer hear becomes the next prompt, and what waited behind a turn
that came to nothing stands in the composer again.
"""

import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from overt.core.events import Event, TurnEnded, UserSpoke
from overt.core.fragments import STEERED
from overt.faces.tui.terminal.rows import Row, Span, cut, row
from overt.lib.catalogue import say
from overt.lib.text import visible

if TYPE_CHECKING:
    from overt.app.attachments import Attachment
    from overt.app.conversation import Conversation
    from overt.faces.tui.chat.chat import Chat

GOES_ON = ("done", "denied")
"""Ends of a turn after which what waits behind it still makes sense."""
SHOWN = 3
"""Of those that wait, so many are shown."""
IMAGE = r"\[image #\d+: (.*?)\]"
"""As the composer puts an image into words."""


class Prompt(NamedTuple):
    text: str
    attached: "tuple[Attachment, ...]" = ()


class Sending:
    """`running` from the first moment of a turn until it is known what follows it."""

    def __init__(self, chat: "Chat", first: str) -> None:
        self._chat = chat
        self.running = False
        self._turn_ended = False
        self._standing = False
        self._resting = False
        self._waiting: deque[Prompt] = deque([Prompt(first)] if first.strip() else [])
        self._steering: deque[str] = deque()

    # ── what comes ───────────────────────────────────────────────────────────────────────────────────────

    def send(self, prompt: Prompt, *, queue: bool = False) -> None:
        """Whatever a person sent: a prompt, a command of ours, a command of theirs."""
        chat, text = self._chat, prompt.text
        slash = chat.doing.is_command(text)
        if self.running and not queue and slash and chat.doing.anytime(text):
            chat.doing.slash(text)
        elif self.running and not self._resting and not (queue or slash or text.startswith("!") or prompt.attached):
            self._steering.append(text)
            chat.backstage.soon(lambda conversation: conversation.inbox.steer(text))
            chat.hint(say("tui.chat.steering"))
        else:
            self._waiting.append(prompt)
            if self.running:
                chat.hint(say("tui.chat.queued"))
            self.go_on()

    def stand(self, *, still: bool = True) -> None:
        """Whether there is a conversation to send to; between two there is none."""
        self._standing = still
        self.go_on()

    def go_on(self) -> None:
        """What was sent meanwhile has its turn now."""
        chat = self._chat
        while self._waiting and self._standing and not self.running and not chat.doing.busy and not chat.over:
            self._submit(self._waiting.popleft())

    def _submit(self, prompt: Prompt) -> None:
        chat, text, images = self._chat, prompt.text, tuple(each.image for each in prompt.attached)
        if chat.doing.is_command(text):
            chat.doing.slash(text)
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
        self._chat.turned()
        self._chat.backstage.play(turn)
        self._chat.opening.load_ahead()

    def interrupt(self) -> None:
        self._chat.backstage.soon(lambda conversation: conversation.interrupt())

    def feed(self, event: Event) -> None:
        """What the model was told waits no more; what waits behind a turn that came to nothing goes back."""
        self._turn_ended |= isinstance(event, TurnEnded) and event.agent == "main"
        match event:
            case UserSpoke(agent="main", steered=True, message=message) if message.origin == STEERED:
                if self._steering:
                    self._steering.popleft()
            case TurnEnded(agent="main", reason=reason) if reason not in GOES_ON:
                self._take_back()
            case _:
                pass

    def rested(self) -> None:
        """The turn is over: what was said to it too late leaves the inbox and opens the next one."""
        self._resting = True
        self._chat.backstage.look(lambda conversation: conversation.inbox.steering(), self._settled)

    def _settled(self, _too_late: list[str]) -> None:
        self.running = self._resting = False
        self._waiting.extendleft(map(Prompt, reversed(self._steering)))
        self._steering.clear()
        self.go_on()

    # ── back into the composer ───────────────────────────────────────────────────────────────────────────

    def _take_back(self) -> None:
        """What waited behind a turn was meant for what the turn would have come to."""
        kept = [*map(Prompt, self._steering), *self._waiting]
        self._steering.clear()
        self._waiting.clear()
        self.draft(kept)

    def take_last(self) -> bool:
        """The one that was queued last, to be changed or thrown away; False when none waits."""
        if not self._waiting:
            return False
        self.draft([self._waiting.pop()])
        return True

    def draft(self, prompts: list[Prompt]) -> None:
        """Before whatever stands in the composer, with their images."""
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
        self._chat.suggesting.close()

    def _put(self, prompt: Prompt) -> None:
        composer, rest = self._chat.composer, prompt.text
        for attachment in prompt.attached:
            found = re.search(IMAGE, rest)
            composer.insert(rest[: found.start()] if found else "")
            composer.attach(attachment)
            rest = rest[found.end() :] if found else rest
        composer.insert(rest)

    # ── seen ─────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, columns: int) -> list[Row]:
        """What waits: for the next step of the turn, then for turns of its own."""
        lines = [f"→ {text}" for text in self._steering] + [f"⧗ {prompt.text}" for prompt in self._waiting]
        rows = [cut(row(Span(_first_line(line), "dim")), columns) for line in lines[:SHOWN]]
        more = len(lines) - SHOWN
        return [*rows, cut(row(Span(f"  {say('tui.menu.more', count=more)}", "dim")), columns)] if more > 0 else rows


def _first_line(text: str) -> str:
    line, _, more = text.strip().partition("\n")
    return visible(line[:1000]).replace("\t", " ") + (" …" if more else "")
