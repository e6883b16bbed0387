"""Panels on paper: keys written as words, a screen as lines, and panels with something in them."""

from collections.abc import Sequence
from typing import Any

from tests.fakes.commands import BUILT_IN

from overt.app.inspect.inspector_values import (
    AgentListing,
    Changes,
    Contents,
    ContextPiece,
    Decisions,
    JobListing,
    ModelChoices,
    PermissionRules,
    Preview,
    RuleRow,
    SessionPage,
    SessionRow,
    Todos,
    TurnRow,
    Turns,
)
from overt.app.inspect.permissions import RecordedDecision
from overt.app.models.model_list import ModelListing, ModelRow
from overt.app.records.context_view import RequestView
from overt.app.subagents.tree import AgentNode
from overt.core.agents.profile import AgentProfile
from overt.core.capabilities import JobOutput, JobState
from overt.core.settings import Price
from overt.core.spending.spend import Totals
from overt.core.spending.usage import Usage
from overt.core.views import Todo
from overt.frontends.tui import panels
from overt.frontends.tui.panels.inspector import Panel, open_panel
from overt.frontends.tui.panels.pager import PanelInputs, PanelRequest, Screenful
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, plain
from overt.lib.diff import file_diff
from overt.lib.module_discovery import find_module, module_names
from overt.sessions.index import Summary

PANELS = tuple(name for name in module_names(panels) if hasattr(find_module(panels.__name__, name), "make"))
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
"""What must never reach a terminal."""
NAMED = (
    "up down left right home end pageup pagedown enter esc tab backspace "
    "ctrl-c ctrl-f ctrl-u ctrl-w ctrl-n ctrl-p ctrl-d"
).split()


def key(word: str) -> Key:
    """`up` is a key, anything else is typed."""
    return Key(word) if word in NAMED else Key("text", word)


def press(panel: Any, *words: str) -> list[PanelRequest]:
    """What the last of the keys made the panel request."""
    requests: list[PanelRequest] = []
    for word in words:
        requests = panel.press(key(word))
    return requests


def text_of(drawn: Screenful) -> list[str]:
    return [plain(row).rstrip() for row in drawn.rows]


def body(panel: Any, columns: int = 80, lines: int = 24) -> list[str]:
    """The screen without its empty rows."""
    return [line for line in text_of(panel.draw(columns, lines)) if line]


def numbered(count: int, word: str = "line") -> list[Row]:
    return [(Span(f"{word} {number}"),) for number in range(1, count + 1)]


def fragments(*texts: str) -> tuple[ContextPiece, ...]:
    return tuple(
        ContextPiece(
            number=number,
            key="user",
            tokens=100 * number,
            share=number / 10,
            cached="",
            origin="user",
            label=text[:20],
            text=text,
        )
        for number, text in enumerate(texts, 1)
    )


def contents(number: int = 0, sent: int = 3, pieces: Sequence[ContextPiece] = ()) -> Contents:
    request = RequestView(
        session="s",
        number=number,
        turn=2,
        step=1,
        purpose="step",
        provider="fake",
        model="fake-model",
        wire="openai-chat",
        length=5000,
        digest="",
        limit=200_000,
        used=8720,
        reported=bool(number),
        usage=Usage(),
        resets=(),
        spans=(),
    )
    return Contents(request, sent, tuple(pieces) or fragments(f"hello 世界 {EVIL}", "second"))


def kept(number: int, title: str, *, here: bool = False) -> SessionRow:
    session = Summary(
        id=f"id{number:06}",
        path=f"/sessions/{number}",
        title=title,
        created="",
        changed=1_790_000_000.0 - number,
        turns=number,
        model="fake-model",
        size=1000 * number,
    )
    return SessionRow(session, here)


def turned(number: int, text: str, *, files: int = 0, speaks: bool = True, undone: bool = False) -> TurnRow:
    return TurnRow(turn=number, text=text, when=1_790_000_000.0, files=files, undone=undone, speaks=speaks)


def model(provider: str, name: str, *, wants: str = "", price: Price | None = None) -> ModelRow:
    return ModelRow(
        provider=provider,
        model=name,
        chosen=False,
        source="known" if wants else "configured",
        local=False,
        window=200_000,
        price=price,
        tools=True,
        wants=wants,
    )


def agent(path: str, **more: Any) -> AgentNode:
    name = path.rpartition("/")[2]
    return AgentNode(path=path, session=f"id-{name}", session_path=f"/agents/{name}", profile="explore", **more)


AGENTS = AgentListing(
    (
        agent(
            "main/explore-1",
            description="Find the parser",
            steps=12,
            spent=Totals(requests=12, input=33_000, output=1_000, cost=0.02),
            calls={"1": "grep def parse"},
        ),
        agent("main/explore-1/general-1", description=f"写测试 {EVIL}", state="asking", steps=2),
        agent("main/general-2", description="Count", state="failed", steps=1),
    ),
    (AgentProfile(name="explore", description=f"searches {EVIL}", origin="built-in"),),
)
JOBS = (
    JobState(id="job-1", command="npm run dev", state="running", size=2345, seconds=74, ready="http://localhost:3000"),
    JobState(id="job-2", command=f"make {EVIL}", state="exited", code=2, size=120, seconds=3.2),
)
TODOS = (
    Todo(content="read the code", status="completed"),
    Todo(content="write", status="in_progress", active_form=f"写测试 {EVIL}"),
    Todo(content="release"),
)
SESSIONS = (kept(1, "Fix the login page", here=True), kept(2, f"把测试改成中文 {EVIL}"), kept(3, "Parser"))
TURNS = (
    turned(3, f"now 更快 {EVIL}", files=2),
    turned(2, "", speaks=False, files=1),
    turned(1, "write a parser", undone=True),
)
UNDONE = Changes((file_diff(f"src/世界{EVIL}.py", "a\nb\n", f"a\n{EVIL}c\n"),), (f"image.png {EVIL}",))
MODELS = ModelChoices(
    ModelListing(
        rows=(
            model("far", "strong", wants="FAR_KEY"),
            model("fake", f"odd{EVIL}"),
            model("fake", "fake-model", price=Price(input=3, output=15)),
        )
    ),
    ("fake", "fake-model"),
)
RULES = PermissionRules(
    "review",
    (RuleRow("bash(npm test *)", "allow", "always", True), RuleRow(f"read({EVIL})", "deny", "/p/overt.toml:12", False)),
)
DECIDED = (
    RecordedDecision(
        when=1.0,
        session="s",
        tool="bash",
        what=f"rm -rf build {EVIL}",
        verdict="deny",
        rule="dangerous",
        origin="guard",
        by="person",
        reason="",
    ),
)
FILLED: dict[str, list[tuple[PanelRequest, object]]] = {
    "context": [(PanelRequest("context"), contents())],
    "agents": [(PanelRequest("agents"), AGENTS)],
    "jobs": [(PanelRequest("jobs"), JobListing(JOBS))],
    "todos": [(PanelRequest("todos"), Todos(TODOS))],
    "sessions": [
        (PanelRequest("sessions"), SessionPage(SESSIONS, 0, 3)),
        (PanelRequest("preview", "/sessions/1"), Preview(f"fix {EVIL}", "修好了。\n\nsrc/login.py:12")),
    ],
    "rewind": [(PanelRequest("turns"), Turns(TURNS)), (PanelRequest("undone", number=3), UNDONE)],
    "models": [(PanelRequest("models"), MODELS)],
    "permissions": [(PanelRequest("permissions"), RULES), (PanelRequest("decisions"), Decisions(DECIDED))],
    "help": [],
    "details": [],
    "diff": [(PanelRequest("diff"), UNDONE)],
}
"""What each panel is given, in order."""


def filled(name: str) -> Panel:
    panel = open_panel(name, PanelInputs(details=lambda columns: numbered(50, "detail"), commands=BUILT_IN.listed()))
    panel.load()
    for request, value in FILLED[name]:
        panel.receive(request, value)
    return panel


def printed(id: str, text: str) -> JobOutput:
    return JobOutput(job=next(job for job in JOBS if job.id == id), text=text, next=len(text))
