"""The agents inspector: the live tree of sub-agents, the view of one, and keys to stop, steer and fork it."""

from collections.abc import Callable
from time import monotonic
from typing import Literal, NamedTuple

from overt.app.inspect.inspector_values import AgentEvents, AgentListing, Contents, ForkedAgent, RequestBody
from overt.app.subagents.tree import AgentNode
from overt.core.agents.profile import AgentProfile
from overt.frontends.tui.agents.agent_cells import (
    activity_cell,
    cost_cell,
    name_cell,
    state_cell,
    tokens_cell,
)
from overt.frontends.tui.agents.agent_view import AgentView
from overt.frontends.tui.chat.streamed_answer import Streamed
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.context import ContextPanel
from overt.frontends.tui.panels.pager import (
    CLOSE,
    InputLine,
    Pager,
    PanelInputs,
    PanelRequest,
    Screenful,
    text_rows,
    yes_or_no,
)
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, cut
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.display_width import width
from overt.lib.text import whole_number
from overt.lib.translations import say

REFRESH_S = 0.3
ROOMY = 60
"""From this many columns on, a question shows the whole path."""
WIDE = 100
"""From this many columns on, the task and the running call have separate columns."""
COLUMNS = (
    Column(most=28),
    Column(most=10),
    Column(most=5, right=True, least=44),
    Column(most=6, right=True, least=44),
    Column(most=9, right=True, least=50),
    Column(most=32, least=WIDE - 2),
    Column(rest=True),
)
CONTEXT_KINDS = {"context": "agent_context", "request": "agent_request"}
"""Requests of the context inspector → the same requests for an agent."""
Item = AgentNode | AgentProfile


class Typing(NamedTuple):
    """The input line for an agent: a message, or the step at which to fork it."""

    what: Literal["steer", "fork"]
    agent: AgentNode
    line: InputLine


def make(inputs: PanelInputs) -> "AgentsPanel":
    return AgentsPanel(inputs.markdown)


class AgentsPanel:
    every = REFRESH_S

    def __init__(self, markdown: Callable[[], Streamed], clock: Callable[[], float] = monotonic) -> None:
        self._markdown = markdown
        self._clock = clock
        self._view: AgentView | None = None
        self._context: ContextPanel | None = None
        self._shown_in_context = ""
        self._text: Pager | None = None
        self._typing: Typing | None = None
        self._columns = 80
        self._picker: Picker[Item] = Picker("agents", COLUMNS, self._cells, _text_to_find, headed=True)

    def load(self) -> list[PanelRequest]:
        view = self._view
        more = [PanelRequest("agent_events", view.agent.path, view.count)] if view and view.wants_more else []
        return [PanelRequest("agents"), *more]

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        match value:
            case AgentListing(agents=agents, profiles=profiles):
                self._picker.set((*agents, *profiles))
            case AgentEvents() if self._view and self._view.agent.session == value.agent.session:
                self._view.receive(value, self._clock())
            case Contents() | RequestBody() if self._context and request.text == self._shown_in_context:
                kind = next(own for own, kind in CONTEXT_KINDS.items() if kind == request.kind)
                self._context.receive(request._replace(kind=kind), value)
            case AgentNode() if request.kind == "agent_steer":
                self._picker.message = say("agents.steered", path=one_line(value.path))
            case AgentNode():
                return [PanelRequest("agents")]
            case ForkedAgent(agent=agent, session=session):
                self._picker.message = say("agents.forked", path=one_line(agent.path), session=session)
            case _:
                pass
        return []

    def failed(self, request: PanelRequest, words: str) -> None:
        if request.kind == "agents":
            self._picker.fail(words)
            return
        self._picker.message = one_line(words)
        if request.kind in CONTEXT_KINDS.values():
            self._context = None
        elif request.kind == "agent_events":
            self._view = None

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

    def press(self, key: Key) -> list[PanelRequest]:
        if (answer := self._picker.answer(key)) is not None:
            return answer
        if self._typing is not None:
            return self._type(self._typing, key)
        if self._context is not None:
            return self._press_context(self._context, key)
        if self._text is not None:
            if self._text.press(key) == [CLOSE]:
                self._text = None
            return []
        if self._view is not None:
            return self._press_view(self._view, key)
        action, item = self._picker.press(key), self._picker.current
        if action == "close":
            return [CLOSE]
        if action == "chose" and item:
            return self._open(item)
        return self._act(key, item) if not action and isinstance(item, AgentNode) else []

    def _open(self, item: Item) -> list[PanelRequest]:
        if isinstance(item, AgentProfile):
            self._text = Pager(one_line(item.name), text_rows(_describe_profile(item)))
            return []
        self._view = AgentView(item, self._markdown)
        return [PanelRequest("agent_events", item.path)]

    def _press_view(self, view: AgentView, key: Key) -> list[PanelRequest]:
        if not view.pager.typing and key.name == "text" and key.text in ("x", "s", "f", "c"):
            return self._act(key, view.agent)
        if key.name == "ctrl-o":
            self._text = view.details()
            return []
        if view.pager.press(key) == [CLOSE]:
            self._view = None
        return []

    def _act(self, key: Key, agent: AgentNode) -> list[PanelRequest]:
        match key.text if key.name == "text" else "":
            case "x" | "s" if not agent.is_live:
                self._picker.message = say("tui.agents.ended", path=one_line(agent.path))
            case "x":
                name = agent.path if self._columns >= ROOMY else agent.path.rpartition("/")[2]
                words = say(
                    "tui.agents.stop" if self._columns >= ROOMY else "tui.agents.stop_short", path=one_line(name)
                )
                self._picker.ask(yes_or_no(words), {"y": [PanelRequest("agent_stop", agent.path)]})
            case "s":
                self._typing = Typing("steer", agent, InputLine())
            case "f":
                self._typing = Typing("fork", agent, InputLine())
            case "c":
                self._context, self._shown_in_context = ContextPanel(), agent.path
                return self._agent_requests(self._context.load())
            case _:
                pass
        return []

    def _press_context(self, context: ContextPanel, key: Key) -> list[PanelRequest]:
        requests = context.press(key)
        if requests == [CLOSE]:
            self._context = None
            return []
        return self._agent_requests(requests)

    def _agent_requests(self, requests: list[PanelRequest]) -> list[PanelRequest]:
        path = self._shown_in_context
        return [PanelRequest(CONTEXT_KINDS[request.kind], path, request.number) for request in requests]

    def _type(self, typing: Typing, key: Key) -> list[PanelRequest]:
        if key.name in ("esc", "ctrl-c"):
            self._typing = None
        elif key.name == "enter":
            self._typing, text, path = None, typing.line.text.strip(), typing.agent.path
            if typing.what == "steer":
                return [PanelRequest("agent_steer", f"{path} {text}")] if text else []
            if text and not whole_number(text):
                self._picker.message = say("tui.agents.no_step", text=text)
                return []
            return [PanelRequest("agent_fork", path, whole_number(text) or 0)]
        else:
            typing.line.press(key)
        return []

    # ── the screen ───────────────────────────────────────────────────────────────────────────────────────

    def draw(self, columns: int, lines: int) -> Screenful:
        self._columns = columns
        screen = self._draw_body(columns, lines)
        if self._typing is None:
            return screen
        foot, column = _prompt(self._typing, columns)
        rows = [*screen.rows[:-1], foot]
        return Screenful(rows, (len(rows) - 1, column))

    def _draw_body(self, columns: int, lines: int) -> Screenful:
        if self._context is not None:
            return self._context.draw(columns, lines)
        if self._text is not None:
            return self._text.draw(columns, lines)
        if self._view is not None:
            screen = self._view.draw(columns, lines, self._clock())
            foot = self._picker.foot
            return Screenful([*screen.rows[:-1], cut(foot, columns)]) if foot else screen
        return self._picker.draw(columns, lines, note=self._note())

    @property
    def _wide(self) -> bool:
        return self._columns >= WIDE

    def _note(self) -> str:
        agents = [item for item in self._picker.items if isinstance(item, AgentNode)]
        running = sum(agent.is_live for agent in agents)
        asking = sum(agent.state == "asking" for agent in agents)
        words = say("tui.agents.note", running=running, count=len(agents)) if agents else ""
        return f"{words} · {say('tui.agents.asking', count=asking)}" if asking else words

    def _cells(self, item: Item) -> list[Span]:
        if isinstance(item, AgentProfile):
            about = Span(one_line(item.description), "muted")
            name, state = Span(one_line(item.name), "muted"), Span(say("tui.agents.profile"), "muted")
            return [
                name,
                state,
                Span(""),
                Span(""),
                Span(""),
                *((about, Span("")) if self._wide else (Span(""), about)),
            ]
        task, activity = Span(one_line(item.description)), activity_cell(item)
        return [
            name_cell(item),
            state_cell(item),
            Span(str(item.steps or "")),
            tokens_cell(item),
            cost_cell(item),
            task if self._wide else Span(""),
            activity if self._wide or item.activity else task,
        ]


def _text_to_find(item: Item) -> str:
    if isinstance(item, AgentProfile):
        return f"{item.name} {item.description}"
    return f"{item.path} {item.description} {item.session}"


def _describe_profile(profile: AgentProfile) -> str:
    tools = ", ".join(profile.tools) if profile.tools is not None else say("tui.agents.all_tools")
    facts = (
        profile.description,
        say("tui.agents.origin", origin=profile.origin),
        say("tui.agents.tools", tools=tools),
        say("tui.agents.model", model=profile.model) if profile.model else "",
    )
    return "\n".join((*filter(None, facts), "", profile.prompt or profile.addition))


def _prompt(typing: Typing, columns: int) -> tuple[Row, int]:
    """Return the input line, scrolled to its end, and the column of the cursor."""
    words = say(f"tui.agents.{typing.what}", path=one_line(typing.agent.path), steps=typing.agent.steps)
    room = max(columns - width(words) - 1, 8)
    text = typing.line.text
    while width(text) > room:
        text = text[1:]
    row = cut((Span(words, "accent"), Span(text)), columns)
    return row, min(width(words) + width(text), columns - 1)
