"""Questions before a call runs: what exactly would happen is printed once, then one key answers.

No row of what is approved begins at the margin, and every character of it is shown as what it is: nothing in it can
pass for our own words. A key counts only when the question stands on the screen and the person is not in the middle
of typing something else.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from overt.core.agents.agent_events import AgentEnded
from overt.core.agents.agent_paths import is_below
from overt.core.events import Event, Noticed, PermissionAsked, PermissionDecided, ToolFinished, TurnEnded, UserSpoke
from overt.core.protocols import Answer
from overt.core.questions import FormAnswer, FormAsked, FormClosed
from overt.core.views import Diffs, Plain, View
from overt.frontends.describe_events import (
    EDITS,
    always_words,
    change_words,
    headline_words,
    permission_lines,
    takes_session,
    who_asks,
)
from overt.frontends.tui.chat.view_rows import file_head, view_rows
from overt.frontends.tui.composer import emacs
from overt.frontends.tui.composer.buffer import Buffer
from overt.frontends.tui.composer.editor import EditText
from overt.frontends.tui.composer.line_view import line_view
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, columns, cut, row, wrap
from overt.frontends.tui.terminal.verbatim_text import chop, harmless, one_line
from overt.lib.display_width import fitting_length, has_certain_width, width
from overt.lib.text import exact, visible
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.frontends.tui.chat.form_panel import FormPanel

LINE, WRAPPED, INDENT = Span("  │ ", "border"), Span("  ┆ ", "border"), Span("    ")
NARROWEST = 2
PANEL_ROWS = 3
"""The keys and the rule take no more; a longer rule is printed with the question."""
LONG = 16
"""Rows of a question that may have left a screen of unknown height."""
CALM, PAUSE = 0.5, 0.3
"""Seconds before a key answers: without a key typed into a draft, and after the answer to another question or
something pasted."""
Request = Literal["interrupt", "open", "copy"]
"""Stop the turn, or do something with the page of a form."""
ONCE, SESSION, ALWAYS, NO = ("y", "1"), ("s",), ("a", "2"), ("n", "3")


class Approval:
    """One question. `press` gives the answer once it is known, `interrupt` when the whole turn shall stop."""

    def __init__(self, question: PermissionAsked) -> None:
        self.question = question
        self.covered = False
        """Something else was printed below it."""
        self.in_sight: bool | None = None
        """Whether all of its rows are on the screen; None before that was measured."""
        self._reason: Buffer | None = None
        self.hint = ""
        self._size = 0
        self._widths: list[int] = []

    @property
    def explaining(self) -> bool:
        """A person writes why not."""
        return self._reason is not None

    # ── what is printed once ─────────────────────────────────────────────────────────────────────────────

    def opening(self, room: int) -> list[Row]:
        """Everything a person should know before the answer."""
        asked = self.question
        head = headline_words(asked, one_line)
        inner = max(room - len(LINE.text), NARROWEST)
        rows = wrap((Span("? ", "bold accent"), Span(head, "bold")), room, rest=(INDENT,))
        rows += _edged(asked.view, asked.hazards, inner)
        for line in permission_lines(asked):
            rows += _ours(line.text, room, line.style)
        if asked.always and self._above(room):
            words = "tui.ask.rule_network" if asked.network else "tui.ask.rule"
            rows += _ours(say(words, rule=exact(asked.always)), room, "")
        self._size, self._widths = len(rows), [columns(row) for row in rows]
        return rows

    def fits(self, room: int, rows_below: int, lines: int) -> bool:
        """True if the printed question, wrapped again by a narrower screen, and what is below it fit on the screen."""
        return sum(max(-(-width // max(room, 1)), 1) for width in self._widths) + rows_below <= lines

    # ── the panel ────────────────────────────────────────────────────────────────────────────────────────

    def draw(self, room: int, most: int, *, place: str = "") -> tuple[list[Row], tuple[int, int] | None]:
        """The question in a line and the keys below it; `place` says which of several it is."""
        if self._reason is not None:
            return self._draw_reason(self._reason.now, room, most)
        asked = self.question
        words = change_words(asked, one_line) or say("tui.ask.allow", tool=one_line(asked.call.name))
        words = who_asks(asked, words, one_line)
        head = row(
            *cut((Span(words, "bold accent"),), room),
            Span(f"  {place}", "dim") if place else "",
            Span(f"  {self.hint}", "warn") if self.hint else "",
        )
        rows = [*wrap(head, room, rest=(INDENT,)), *self._again(room), *self._keys(room)]
        return rows[-most:] if len(rows) > most else rows, None

    def _again(self, room: int) -> list[Row]:
        """What it is about once more, where that may have left the screen: it is never answered out of sight."""
        in_sight = self._size <= LONG if self.in_sight is None else self.in_sight
        if in_sight and not self.covered:
            return []
        first = harmless(self.question.headline.lstrip("\n").partition("\n")[0], exact)
        told = Span(say("tui.ask.above", rows=self._size), "warn")
        return [cut(row(LINE, first), room), *wrap((told,), room)]

    def _keys(self, room: int, *, always: str | None = None) -> list[Row]:
        asked = self.question
        above = always is None and self._above(room)
        if always is None:
            always = say("tui.ask.always_above") if above else always_words(asked)
        keys = [("y", say("tui.ask.once")), ("n", say("tui.ask.no")), ("Esc", say("tui.ask.esc"))]
        if asked.always:
            keys.insert(1, ("a", always))
        if takes_session(asked):
            keys.insert(1, ("s", say("tui.ask.session")))
        spans: list[Span] = []
        for key, words in keys:
            spans += [Span(" · ", "dim")] if spans else []
            spans += [Span(key, "key"), Span(f" {words}")]
        # A rule may hold what others wrote: then no row of it begins at the margin.
        return wrap(spans, room, rest=(INDENT,) if asked.always not in ("", EDITS) and not above else None)

    def _above(self, room: int) -> bool:
        """Whether the rule is too long for the panel: cut, it would not be the exact one."""
        return len(self._keys(room, always=always_words(self.question))) > PANEL_ROWS

    def _draw_reason(self, reason: EditText, room: int, most: int) -> tuple[list[Row], tuple[int, int]]:
        """One line that scrolls sideways, its keys below."""
        prompt = Span(say("tui.ask.reason"), "bold accent")
        space = max(room - columns((prompt,)) - 1, 4)
        text, column = line_view(reason, space)
        rows = [row(prompt, text) if text.strip() else row(prompt._replace(text=prompt.text.rstrip()))]
        rows += wrap((Span(say("tui.ask.reason_keys"), "dim"),), room)
        return rows[:most], (0, columns((prompt,)) + column)

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

    def press(self, key: Key) -> "Answer | Literal['interrupt'] | None":
        self.hint = ""
        if key.name == "ctrl-c":
            return "interrupt"
        if self._reason is not None:
            return self._press_reason(key, self._reason)
        if key.name == "esc":
            return Answer(choice="deny")
        if key.name in ("focus-in", "focus-out", "reply", "mouse"):
            return None
        letter = key.text.lower() if key.name == "text" else ""
        if len(letter) > 1 and letter[0] in NO:  # typed so fast that it came at once
            self._reason = Buffer()
            self._reason.type(key.text[1:])
            return None
        if letter in ONCE:
            return Answer(choice="once")
        if letter in SESSION and takes_session(self.question):
            return Answer(choice="session")
        if letter in ALWAYS and self.question.always and not self.question.dangerous:
            return Answer(choice="always")
        if letter in NO:
            self._reason = Buffer()
            return None
        self.hint = say("tui.ask.no_always" if letter in ALWAYS else "tui.ask.hint")
        return None

    def _press_reason(self, key: Key, reason: Buffer) -> Answer | None:
        reason.begin()
        match key.name:
            case "enter":
                return Answer(choice="deny", reason=reason.now.text.strip())
            case "esc":
                self._reason = None
            case "text" | "paste":
                reason.type(" ".join(key.text.split("\n")))
            case name:
                emacs.press(reason, name)
        return None


class Approvals:
    """The questions that wait, for permission or with a form, in the order they were asked, whoever asks."""

    def __init__(self) -> None:
        self._waiting: deque[Approval | FormPanel] = deque()
        self._opened: Approval | FormPanel | None = None
        self._painted: float | None = None
        self._armed = False
        self._answered = self._pasted = float("-inf")
        self._done = 0

    @property
    def current(self) -> "Approval | FormPanel | None":
        return self._waiting[0] if self._waiting else None

    def feed(self, event: Event) -> None:
        """A question that was answered elsewhere, or whose turn has ended, is none any more."""
        match event:
            case PermissionAsked():
                self._waiting.append(Approval(event))
            case FormAsked():
                from overt.frontends.tui.chat.form_panel import FormPanel  # late: 0.8 ms

                self._waiting.append(FormPanel(event))
            case PermissionDecided(agent=agent, call_id=call_id):
                self._keep(
                    lambda asked: isinstance(asked, FormAsked) or (asked.agent, asked.call.id) != (agent, call_id)
                )
            case FormClosed(id=id):
                self._keep(lambda asked: asked.id != id)
            case AgentEnded(agent=ended):
                self._keep(lambda asked: not is_below(asked.agent, ended))
            case TurnEnded(agent=agent):  # every form is closed by an event of its own
                self._keep(lambda asked: isinstance(asked, FormAsked) or agent not in ("main", asked.agent))
            case ToolFinished() | Noticed() | UserSpoke() if self.current is not None:
                self.current.covered = self.current is self._opened
            case _:
                pass

    def opening(self, room: int) -> list[Row]:
        """The rows to print for good because another question has come to the front; each is given once."""
        current = self.current
        if current is None or current is self._opened:
            return []
        self._opened, self._painted, self._armed = current, None, False
        return current.opening(room)

    def painted(self, now: float) -> None:
        """The question stands on the screen."""
        if self._opened is not None and self._painted is None:
            self._painted = now

    def armed(self, now: float, typed_at: float) -> bool:
        """Whether a key is an answer now; until then it belongs to the draft. Once it is, it stays so."""
        if self.current is None or self.current is not self._opened or self._painted is None:
            return False
        rested = now - typed_at >= CALM and now - self._answered >= PAUSE
        self._armed = self._armed or rested
        return self._armed

    def draw(self, room: int, most: int) -> tuple[list[Row], tuple[int, int] | None]:
        current = self.current
        if current is None:
            return [], None
        count = self._done + len(self._waiting)
        place = say("tui.ask.place", number=self._done + 1, count=count) if count > 1 else ""
        return current.draw(room, most, place=place)

    def press(self, key: Key, now: float) -> "tuple[str, Answer | FormAnswer] | Request | None":
        """A key for the question at the front. Ask `armed` before. The answer comes with the id of its question, which
        makes way for the next."""
        current = self.current
        if current is None:
            return None
        if key.name == "paste":
            self._pasted = now
        elif now - self._pasted < PAUSE and not current.explaining:
            return None  # a paste may hold its own end mark, and then goes on as keys
        answer = current.press(key)
        if answer is None or isinstance(answer, str):
            return answer
        self._waiting.popleft()
        self._answered = now
        self._done = self._done + 1 if self._waiting else 0
        return current.question.id, answer

    def tell(self, id: str, hint: str) -> None:
        """Say something about a form that is still open."""
        for each in self._waiting:
            if isinstance(each.question, FormAsked) and each.question.id == id:
                each.hint = hint

    def _keep(self, wanted: Callable[[PermissionAsked | FormAsked], bool]) -> None:
        self._waiting = deque(each for each in self._waiting if wanted(each.question))
        self._done = self._done if self._waiting else 0


def _edged(view: View, hazards: tuple[str, ...], room: int) -> Iterator[Row]:
    match view:
        case Diffs(files=files):
            from overt.frontends.tui.chat import diffs  # late: 2 ms

            for file in files:
                yield from ((LINE, *each) for each in chop(file_head(file), room))
                for each in diffs.diff_rows(file, room, whole=True, approval=True):
                    yield (LINE, *each)
        case Plain(text=text):
            for line in text.split("\n"):
                shown = harmless(line, exact)
                # Where terminals differ on its width, it must not reach the margin in any of them.
                first, *rest = chop(marked(shown, hazards), room if has_certain_width(shown) else room // 2)
                yield (LINE, *first)
                yield from ((WRAPPED, *each) for each in rest)
        case _:
            yield from ((LINE, *each) for each in view_rows(view, room, head=1_000_000))


def marked(line: str, hazards: tuple[str, ...]) -> list[Span]:
    """The line with the words that make it dangerous set off."""
    patterns = [_word(harmless(hazard, exact)) for hazard in sorted(hazards, key=len, reverse=True) if hazard.strip()]
    if not patterns:
        return [Span(line)]
    spans: list[Span] = []
    at = 0
    for found in re.finditer("|".join(patterns), line):
        spans += [Span(line[at : found.start()]), Span(found[0], "hazard")]
        at = found.end()
    return [span for span in (*spans, Span(line[at:])) if span.text]


def _word(text: str) -> str:
    """As a word of its own: `rm` is none in `format`."""
    before = r"(?<!\w)" if text[0].isalnum() else ""
    return before + re.escape(text) + (r"(?!\w)" if text[-1].isalnum() else "")


def _ours(text: str, room: int, style: str) -> list[Row]:
    """Our own words with others' behind them: only the first row begins at the margin."""
    rows = [each for line in visible(text).split("\n") for each in _at_words(harmless(line).rstrip(), room - 4)]
    first, *rest = rows
    return [(Span(first, style),), *((INDENT, Span(each, style)) if each else BLANK for each in rest)]


def _at_words(line: str, room: int) -> list[str]:
    """Every character of it, broken behind a blank where there is one in the second half of a row."""
    rows: list[str] = []
    while width(line[: 4 * room]) > room:
        size = max(fitting_length(line[: 4 * room], room), 1)
        blank = line.rfind(" ", size // 2, size)
        at = blank + 1 if blank >= 0 else size
        rows.append(line[:at].rstrip())
        line = line[at:]
    return [*rows, line]
