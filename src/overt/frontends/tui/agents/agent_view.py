"""View of one sub-agent: its prompt, answers and calls, drawn like the chat, with a line at the start of each step."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from overt.app.inspect.inspector_values import AgentEvents
from overt.core.events import Event, ModeSet, RequestSent
from overt.frontends.tui.agents.agent_cells import cost_cell, state_cell, tokens_cell
from overt.frontends.tui.chat.streamed_answer import Streamed
from overt.frontends.tui.chat.transcript import Transcript
from overt.frontends.tui.panels.pager import Pager, Screenful
from overt.frontends.tui.terminal.rows import Row, Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.subagents.tree import AgentNode

TAIL_ROWS = 8
"""Rows of the live region below the transcript."""


class AgentView:
    """`count` is the number of events received; the next request starts there."""

    def __init__(self, agent: "AgentNode", markdown: Callable[[], Streamed]) -> None:
        self.agent = agent
        self.pager = Pager(one_line(agent.path), end=True)
        self._markdown = markdown
        self._events: list[Event] = []
        self._columns = 80
        self._begin()

    @property
    def count(self) -> int:
        return len(self._events)

    @property
    def wants_more(self) -> bool:
        return self.agent.is_live or not self._events

    def _begin(self) -> None:
        self._transcript = Transcript(lambda: self._columns, self._markdown)
        self._transcript.live.esc_interrupts = False
        self._rows: list[Row] = []
        self._steps = 0

    def receive(self, value: AgentEvents, now: float) -> None:
        self.agent = value.agent
        if value.start == self.count:  # else the same events were requested twice
            self._events += value.events
            self._feed(value.events, now)

    def _feed(self, events: "list[Event] | tuple[Event, ...]", now: float) -> None:
        for event in events:
            if isinstance(event, ModeSet):  # an agent that may not write makes no plan for the user
                continue
            self._rows += self._transcript.feed(event, now)
            if isinstance(event, RequestSent) and event.purpose == "step" and event.agent == "main":
                self._steps += 1
                line = Span(f"── {say('tui.agents.step', number=self._steps)} ", "muted")
                self._rows += self._transcript.insert_block([(line,)])

    def draw(self, columns: int, lines: int, now: float) -> Screenful:
        if columns != self._columns:
            self._columns = columns
            self._begin()
            self._feed(self._events, now)
        tail = self._transcript.tail(columns, TAIL_ROWS, now) if self.agent.is_live else []
        loading = [] if self._events else [(Span(say("tui.panel.loading"), "muted"),)]
        self.pager.body.set([*self._rows, *tail, *loading])
        self.pager.note = self._note()
        self.pager.keys = "tui.agents.live_keys" if self.agent.is_live else "tui.agents.view_keys"
        return self.pager.draw(columns, lines)

    def details(self) -> Pager:
        """A pager with all reasoning and complete tool outputs so far."""
        return Pager(say("tui.details.title"), self._transcript.details, note=one_line(self.agent.path), end=True)

    def _note(self) -> str:
        agent = self.agent
        steps = say("agents.step" if agent.steps == 1 else "agents.steps", count=agent.steps)
        figures = (tokens_cell(agent).text, cost_cell(agent).text, one_line(agent.description))
        return " · ".join(filter(None, (state_cell(agent).text, steps, *figures)))
