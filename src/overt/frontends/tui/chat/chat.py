"""The chat: what keys mean, what is on the screen, and the turn in between.

This object lives in the thread that owns the terminal and never waits for the session, so that typing is always
echoed at once. What the session does comes as items: events of a turn, or things to be done (`Callback`).
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from overt.app.options import Options
from overt.core.agents.agent_events import AgentEnded, AgentStarted
from overt.core.errors import OvertError
from overt.core.events import (
    EndReason,
    Event,
    ModeSet,
    PrefixSet,
    Replied,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.messages import Image
from overt.core.settings import Mode
from overt.core.status_values import Gauges
from overt.frontends.tui.agents.live_agents import read_running_agents
from overt.frontends.tui.chat.background import Background
from overt.frontends.tui.chat.command_runner import CommandRunner
from overt.frontends.tui.chat.completion import CompletionRequests
from overt.frontends.tui.chat.modal_panel import Modal, ModalPanel
from overt.frontends.tui.chat.prompt_queue import Prompt, PromptQueue
from overt.frontends.tui.chat.startup import Startup
from overt.frontends.tui.chat.status import status_row
from overt.frontends.tui.chat.streamed_answer import AnswerMarkdown
from overt.frontends.tui.chat.transcript import RecordedEvent, Transcript
from overt.frontends.tui.chat.view_rows import words_rows
from overt.frontends.tui.composer.composer import Composer
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.loop import Callback, Item
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, row
from overt.frontends.tui.terminal.screen import Frame, Terminal
from overt.frontends.wakeup_queue import Wake
from overt.lib.text import visible
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation
    from overt.frontends.session_thread import SessionItem

TICK = 0.1
TWICE = 1.0
"""Seconds within which a second press means more than two presses."""
HINTED = 3.0
"""Seconds for which a hint stands in the status line."""
LONGEST = 1000
"""Rows that one line of ours may take."""
CYCLE: dict[Mode, Mode] = {"review": "auto", "auto": "plan", "plan": "review", "yolo": "review"}
GAUGED = (TurnStarted, Replied, ToolFinished, ModeSet, AgentStarted, AgentEnded)
"""Events after which the status line may read differently."""
PANELS = {"ctrl-o": "details", "ctrl-t": "todos"}
WALKING = ("up", "down", "shift-up", "shift-down", "ctrl-p", "ctrl-n", "alt-<", "alt->")
"""Keys that may bring an earlier prompt: it is to be read, not completed."""


class Chat:
    def __init__(self, terminal: Terminal, wake: Wake[Item], options: Options, first: str) -> None:
        self.over = False
        self.ending: EndReason = "interrupted"
        self.terminal = terminal
        self.options = options
        self.background = Background(wake)
        self.composer = Composer(placeholder="")
        self.markdown = AnswerMarkdown(lambda: self.background.current.workspace, lambda: terminal.links)
        self.transcript = self._transcript()
        self.completion = CompletionRequests(self)
        self.command_runner = CommandRunner(self)
        self.startup = Startup(self)
        self.prompt_queue = PromptQueue(self, first)
        self.modal_panel = ModalPanel(self)
        self.gauges: Gauges | None = None
        self._blind = ""
        self._hint = ""
        self._hint_until = 0.0
        self._before = self._pressed = ("", 0.0)
        self._ticked = self._here = 0.0

    # ── what happened ────────────────────────────────────────────────────────────────────────────────────

    def item(self, item: "SessionItem | Callback") -> None:
        match item:
            case Callback(do=do):
                do()
            case OvertError():
                self.tell_error(item)
            case None:
                self.prompt_queue.turn_over()
            case TurnEnded(agent="main"):
                self._read_gauges(lambda gauges: self._ended(item, gauges), lambda error: self._ended(item, error))
            case _:
                self._event(item)

    def _ended(self, event: TurnEnded, gauges: Gauges | OvertError) -> None:
        """What the turn cost is told at its end."""
        if isinstance(gauges, OvertError):
            self.tell_error(gauges)
        else:
            self._set_gauges(gauges)
        self._event(event)
        self._call_for_attention(say("tui.chat.done"))

    def _event(self, event: Event) -> None:
        if rows := self.transcript.feed(event, monotonic()):
            self.terminal.commit(rows)
        self._look_at_images(event)
        if self.modal_panel.feed(event):
            self._call_for_attention(say("tui.chat.asks"))
        self.prompt_queue.feed(event)
        if isinstance(event, GAUGED):
            self.gauge()

    def _look_at_images(self, event: Event) -> None:
        """A model that takes no images is told so of each; a person should know too."""
        match event:
            case PrefixSet(agent="main", model=model, about=about):
                self._blind = model if about and about.images is False else ""
            case UserSpoke(agent="main", message=message) if self._blind:
                if any(isinstance(part, Image) for part in message.parts):
                    self.tell((say("tui.chat.no_images", model=self._blind),), "warn")
            case _:
                pass

    def gauge(self) -> None:
        self._read_gauges(self._set_gauges, self.tell_error)

    def _read_gauges(self, then: Callable[[Gauges], None], failed: Callable[[OvertError], None]) -> None:
        self.background.read(_read_gauges, then, failed)

    def _set_gauges(self, gauges: Gauges) -> None:
        self.gauges = gauges
        self.transcript.mode = gauges.mode

    def _transcript(self) -> Transcript:
        return Transcript(lambda: self.terminal.columns, self.markdown, cost=self._cost)

    def _cost(self, _end: TurnEnded) -> float | None:
        return self.gauges.cost if self.gauges else None

    def begin_anew(self) -> None:
        """Another conversation: nothing of the one before is shown as its own."""
        self.transcript, self._blind = self._transcript(), ""
        self.markdown.forget()
        self.terminal.commit([BLANK])

    def replay(self, entries: Sequence[RecordedEvent]) -> None:
        """What a conversation was before."""
        for entry in entries:
            if isinstance(entry.data, PrefixSet):
                self._look_at_images(entry.data)
        self.terminal.commit(self.transcript.replay(entries, self.background.current.id))

    def note_turn_start(self) -> None:
        """A turn begins: from here on a person may look elsewhere."""
        self._here = monotonic()

    def _call_for_attention(self, text: str) -> None:
        """A turn that took long, or asks, tells a person who looks elsewhere."""
        preferences = self.startup.preferences
        if preferences is None or preferences.notify == "off" or monotonic() - self._here < preferences.notify_after:
            return
        if preferences.notify == "osc9":
            self.terminal.notify(text)
        else:
            self.terminal.bell()

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

    def key(self, key: Key) -> None:
        if key.name == "reply":
            self.startup.reply(key.text)
            return
        if key.name in ("focus-in", "focus-out"):
            return
        now = self._here = monotonic()
        self._before, self._pressed = self._pressed, ("", 0.0)
        if key.name == "ctrl-z":
            self.terminal.suspend()
            self.resized()
        elif self.command_runner.inspector is not None:
            self._inspect(key)
        elif not self._anywhere(key) and not self.modal_panel.press(key, now):
            if self.composer.searching or not self.completion.press(key):
                self._compose(key)
            self.modal_panel.typed = now if not self.composer.empty else 0.0

    def _inspect(self, key: Key) -> None:
        """Letters that came at once were pressed one by one: those behind the one that closes it are the composer's."""
        for at, one in enumerate(key.text if key.name == "text" else " "):
            if self.command_runner.inspector is None:
                self.key(Key("text", key.text[at:]))
                return
            self.command_runner.inspector.press(Key("text", one) if key.name == "text" else key)

    def _anywhere(self, key: Key) -> bool:
        """Keys that mean the same in the middle of a text and of a question."""
        match key.name:
            case "shift-tab" if not self.modal_panel.is_form:
                self._cycle_mode()
            case "ctrl-l":
                self.terminal.clear()
            case "ctrl-o" | "ctrl-t":
                self.command_runner.panel(PANELS[key.name])
            case "down" if self._agents_run and self.composer.empty and not self.composer.searching:
                self.command_runner.panel("agents")
            case _:
                return False
        return True

    @property
    def _agents_run(self) -> bool:
        return bool(self.transcript.live.agents.nodes) and not self.modal_panel.is_form

    def _compose(self, key: Key) -> None:
        searching, before = self.composer.searching, self.composer.now
        if not searching and self._idle(key):
            return
        pressed = self.composer.press(key)
        if pressed.note:
            self.hint(pressed.note)
        match pressed.kind:
            case "submit":
                self.send()
            case "external":
                self.command_runner.edit_outside()
            case "image":
                self.command_runner.paste_image()
            case "ignored":
                self._ignored(key)
            case _:
                if searching or key.name in WALKING:
                    self.completion.close()
                elif self.composer.now != before:
                    self.completion.changed()

    def _idle(self, key: Key) -> bool:
        """What a key means that would mean something else to the text, or nothing."""
        empty, running = self.composer.empty, self.prompt_queue.running
        match key:
            case Key(name="ctrl-c"):
                self._ctrl_c()
            case Key(name="alt-enter") if running:
                self.send(queue=True)
            case Key(name="esc") if self.prompt_queue.can_be_interrupted and empty:
                self.prompt_queue.interrupt()
            case Key(name="text", text="?") if empty:
                self.command_runner.panel("help")
            case Key(name="up") if empty:
                return self.prompt_queue.take_last()
            case _:
                return False
        return True

    def _ignored(self, key: Key) -> None:
        if key.name == "esc":
            self._escape()
        elif key.name == "ctrl-d" and self.composer.empty:
            self.over = True
        elif key.name == "tab":
            self.hint(say("tui.chat.no_completion"))

    def _escape(self) -> None:
        if self.prompt_queue.can_be_interrupted:
            self.prompt_queue.interrupt()
        elif not self._again("esc"):
            self.hint(say("tui.chat.esc_empty") if self.composer.empty else say("tui.chat.esc_text"))
        elif self.composer.empty:
            self.command_runner.panel("rewind")
        else:
            self._clear()

    def _ctrl_c(self) -> None:
        if self.prompt_queue.can_be_interrupted:
            self.prompt_queue.interrupt()
        elif not self.composer.empty:
            self._clear()
        elif self._again("ctrl-c"):
            self.over = True
        else:
            self.hint(say("tui.chat.again"))

    def _again(self, name: str) -> bool:
        """Whether it is the second press in a row; one that stopped a turn or closed a menu was no first."""
        now = monotonic()
        if self._before[0] == name and now - self._before[1] < TWICE:
            self._hint = ""
            return True
        self._pressed = (name, now)
        return False

    def _clear(self) -> None:
        self.composer.clear()
        self.completion.close()

    def _cycle_mode(self) -> None:
        if self.background.conversation is not None:
            self.background.call_soon(lambda conversation: conversation.set_mode(CYCLE[conversation.mode]))
            self.gauge()

    def send(self, *, queue: bool = False) -> None:
        """What the composer holds goes to whoever it is meant for."""
        if self.composer.text.strip() in ("", "!"):
            return
        attached = self.composer.attachments
        text = self.composer.take()
        self.completion.close()
        self.completion.sent(text)
        self.startup.remember(text)
        self.prompt_queue.send(Prompt(text, attached), queue=queue)

    # ── the screen ───────────────────────────────────────────────────────────────────────────────────────

    def hint(self, text: str) -> None:
        self._hint, self._hint_until = " ".join(visible(text).split()), monotonic() + HINTED

    def tell(self, lines: tuple[str, ...], style: str = "") -> None:
        """Lines of ours, for good."""
        room = self.terminal.columns
        rows = [each for line in lines for each in (words_rows(line, room, style, most=LONGEST) if line else [BLANK])]
        self.terminal.commit(self.transcript.insert_block(rows))

    def tell_error(self, error: OvertError) -> None:
        self.tell((say("prefix.error", text=error.message),), "error")

    def paint(self) -> None:
        if self.command_runner.inspector is not None:
            return
        now = monotonic()
        modal = self.modal_panel.modal(now)
        self.terminal.show(self.modal_panel.frame(modal, lambda: self._frame(modal, now)))
        self.modal_panel.painted(modal, now)

    def resized(self) -> None:
        """Another size, or back from a sleep: an inspector paints itself."""
        self.terminal.resized()
        self.command_runner.show()

    def _frame(self, modal: Modal | None, now: float) -> Frame:
        columns, room = self.terminal.columns, max(self.terminal.lines - 1, 1)
        status = [self._status(columns, now)] if room > 3 else []
        most = self.modal_panel.max_rows(modal, room)
        inputs, cursor = modal.draw(columns, most) if modal else self.composer.draw(columns, most)
        suggests = not modal and not self.composer.searching
        menu = self.completion.draw(columns, min(8, room - len(inputs) - 1)) if suggests else []
        below = menu or status
        queued = self.prompt_queue.rows(columns)
        left = room - len(inputs) - len(below) - len(queued) - 1
        tail = self.transcript.tail(columns, min(left, max(room // 2, 4)), now) if left > 0 else []
        above = [*tail, BLANK, *queued] if left > 0 else []
        place = (len(above) + cursor[0], cursor[1]) if cursor else None
        return Frame([*above, *inputs, *below], place)

    def _status(self, columns: int, now: float) -> Row:
        hint = self._hint if now < self._hint_until else ""
        if hint:
            return cut(row("  ", Span(hint, "warn")), columns)
        if self.gauges is None:
            return BLANK
        template = self.startup.preferences.status if self.startup.preferences else ""
        badge = " ".join(filter(None, (self.composer.badge, say("tui.chat.stashed") if self.composer.stashed else "")))
        made = status_row(self.gauges, columns - 2, badge=badge, template=template)
        return row("  ", *made)

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────

    def due(self, now: float) -> float | None:
        ends = [self.command_runner.due()]
        if self._hint:
            ends.append(self._hint_until)
        if self.command_runner.inspector is None and (self.transcript.animated or self.modal_panel.hidden(now)):
            ends.append(self._ticked + TICK)
        return min((end for end in ends if end is not None), default=None)

    def tick(self, now: float) -> None:
        self._ticked = now
        if self._hint and now >= self._hint_until:
            self._hint = ""
        self.command_runner.tick(now)
        if self.transcript.live.agents.is_due(now):
            self.background.read(read_running_agents, self.transcript.live.agents.update)


def _read_gauges(conversation: "Conversation") -> Gauges:
    from overt.app.inspect.status import read_gauges  # late: 73 ms

    return read_gauges(conversation)
