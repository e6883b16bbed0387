"""How a panel is driven: when it is painted, which requests go out, what comes back too late, and how it ends."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.fakes.commands import BUILT_IN
from tests.frontends.tui.panel_kit import EVIL, FILLED, PANELS, filled, key, numbered, text_of

from overt.app.inspect.inspector_values import JobListing, Todos
from overt.frontends.tui.panels.inspector import Inspector, open_panel
from overt.frontends.tui.panels.pager import CLOSE, PanelInputs, PanelRequest, Screenful
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, columns, plain
from overt.frontends.tui.terminal.theme import theme
from overt.lib.text import visible
from overt.lib.translations import set_language

KINDS = tuple(kind for command in BUILT_IN.listed() for kind in command.queries)
NOTHING, MORE = JobListing(()), Todos(())
"""Answers: to the second one the panel below requests something else."""
SIZES = [(40, 12), (60, 16), (80, 24), (99, 30), (100, 12), (160, 50), (200, 60), (20, 5), (10, 3)]


class Paper:
    """A terminal that remembers what it was told."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self.columns, self.lines = columns, lines
        self.told: list[str] = []
        self.rows: Sequence[Row] = ()

    def open_full(self, *, mouse: bool = False) -> None:
        self.told.append("open with mouse" if mouse else "open")

    def close_full(self) -> None:
        self.told.append("close")

    def show_full(self, rows: Sequence[Row], cursor: tuple[int, int] | None) -> None:
        self.told.append("show")
        self.rows = rows


class Asking:
    """A panel that requests what its keys say, and remembers what it was given."""

    every = 0.5

    def __init__(self) -> None:
        self.got: list[object] = []
        self.requests = [PanelRequest("jobs")]

    def load(self) -> list[PanelRequest]:
        requests, self.requests = self.requests, [PanelRequest("jobs"), PanelRequest("job")]
        return requests

    def press(self, pressed: Key) -> list[PanelRequest]:
        word, _, text = pressed.text.partition(" ")
        if word == "q":
            return [CLOSE]
        kind = next((kind for kind in KINDS if kind == word), "slash")
        return [PanelRequest(kind, text)]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        self.got.append((request, value))
        return [PanelRequest("todos")] if isinstance(value, Todos) else []

    def failed(self, request: PanelRequest, words: str) -> None:
        self.got.append((request, words))

    def draw(self, columns: int, lines: int) -> Screenful:
        return Screenful([])


def asking(carried: list[PanelRequest]) -> tuple[Inspector, Asking, Paper]:
    panel, paper = Asking(), Paper()
    return Inspector(panel, paper, carried.append, mouse=True), panel, paper


def test_it_opens_paints_and_asks_for_what_it_needs() -> None:
    carried: list[PanelRequest] = []
    inspector, _, paper = asking(carried)
    inspector.open(1.0)
    assert (paper.told, carried, inspector.closed) == (["open with mouse", "show"], [PanelRequest("jobs")], False)


def test_of_each_kind_one_request_is_on_its_way_and_the_newest_follows() -> None:
    carried: list[PanelRequest] = []
    inspector, panel, _ = asking(carried)
    inspector.open(1.0)
    for text in ("preview 1", "preview 2", "preview 3"):
        inspector.press(Key("text", text))
    assert carried == [PanelRequest("jobs"), PanelRequest("preview", "1")]
    inspector.receive(PanelRequest("preview", "1"), NOTHING)
    assert carried[2:] == [PanelRequest("preview", "3")]
    inspector.failed(PanelRequest("preview", "3"), "gone")
    inspector.press(Key("text", "preview 4"))
    for text in ("preview 5", "preview 4"):
        inspector.press(Key("text", text))
    inspector.receive(PanelRequest("preview", "4"), NOTHING)
    assert carried[3:] == [PanelRequest("preview", "4")]
    assert panel.got == [
        (PanelRequest("preview", "1"), NOTHING),
        (PanelRequest("preview", "3"), "gone"),
        (PanelRequest("preview", "4"), NOTHING),
    ]


def test_a_request_that_waits_is_not_lost_when_an_answer_leads_to_another() -> None:
    carried: list[PanelRequest] = []
    inspector, _, _ = asking(carried)
    inspector.open(1.0)
    inspector.press(Key("text", "jobs again"))
    inspector.receive(PanelRequest("jobs"), MORE)
    assert carried == [PanelRequest("jobs"), PanelRequest("todos"), PanelRequest("jobs", "again")]


def test_what_changes_something_takes_the_place_of_nothing() -> None:
    carried: list[PanelRequest] = []
    inspector, _, _ = asking(carried)
    inspector.open(1.0)
    for text in ("stop job-1", "stop job-2", "revoke a", "revoke b"):
        inspector.press(Key("text", text))
    assert carried[1:] == [
        PanelRequest("stop", "job-1"),
        PanelRequest("stop", "job-2"),
        PanelRequest("revoke", "a"),
        PanelRequest("revoke", "b"),
    ]


@pytest.mark.parametrize("text", ["q", "slash /resume"])
def test_the_screen_is_given_back_before_a_last_request_is_carried_out(text: str) -> None:
    paper, seen = Paper(), list[object]()
    inspector = Inspector(Asking(), paper, lambda request: seen.append((request.kind, list(paper.told))))
    inspector.open(1.0)
    inspector.press(Key("text", text))
    assert seen[1:] == [(text.split()[0].replace("q", "close"), ["open", "show", "close"])]
    assert inspector.closed


def test_what_comes_after_the_end_is_nobodys() -> None:
    carried: list[PanelRequest] = []
    inspector, panel, paper = asking(carried)
    inspector.open(1.0)
    inspector.press(Key("text", "q"))
    inspector.receive(PanelRequest("jobs"), MORE)
    inspector.failed(PanelRequest("jobs"), "gone")
    inspector.press(Key("text", "jobs"))
    inspector.tick(99.0)
    inspector.show()
    inspector.close()
    assert (carried, panel.got, paper.told) == (
        [PanelRequest("jobs"), CLOSE],
        [],
        ["open with mouse", "show", "close"],
    )


def test_it_wakes_up_when_it_is_due_and_asks_again_only_for_what_has_come() -> None:
    carried: list[PanelRequest] = []
    inspector, _, _ = asking(carried)
    assert inspector.due() is None
    inspector.open(1.0)
    assert inspector.due() == 1.5
    inspector.tick(1.4)
    assert carried == [PanelRequest("jobs")]
    inspector.tick(1.6)
    assert (carried, inspector.due()) == ([PanelRequest("jobs"), PanelRequest("job")], 2.1)
    inspector.receive(PanelRequest("jobs"), NOTHING)
    inspector.tick(2.2)
    assert carried == [PanelRequest("jobs"), PanelRequest("job"), PanelRequest("jobs")]


def test_a_panel_without_news_never_wakes_up() -> None:
    inspector = Inspector(open_panel("help", PanelInputs(commands=BUILT_IN.listed())), Paper(), lambda request: None)
    inspector.open(1.0)
    assert inspector.due() is None


# ── every panel ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", PANELS)
def test_every_panel_fits_every_screen_and_drives_no_terminal(name: str, language: Any) -> None:
    set_language(language)
    try:
        panel = filled(name)
        colours = theme("dark", depth=256)
        for word in ("down", "tab", "down", "esc", "enter", "down", "G", "n", "2"):
            panel.press(key(word))
            for width, lines in SIZES:
                drawn = panel.draw(width, lines)
                assert len(drawn.rows) == lines
                for row in drawn.rows:
                    assert columns(row) <= width
                    assert visible(plain(row)) == plain(row) and not set(plain(row)) & {"\n", "\t"}
                    for span in row:
                        colours.sgr(span.style)
    finally:
        set_language("en")


@pytest.mark.parametrize("name", PANELS)
def test_every_panel_can_be_left_whatever_has_come_of_its_requests(name: str) -> None:
    untouched, broken = (
        open_panel(name, PanelInputs(details=lambda width: numbered(3), commands=BUILT_IN.listed())),
        open_panel(name, PanelInputs(commands=BUILT_IN.listed())),
    )
    for request in broken.load():
        broken.failed(request, f"no luck {EVIL}")
        assert r"no luck \x1b]0;owned" in "\n".join(text_of(broken.draw(120, 24)))
    for panel in (untouched, broken, filled(name)):
        panel.draw(80, 24)
        assert panel.press(Key("esc")) == [CLOSE]


@pytest.mark.parametrize("name", PANELS)
def test_a_request_of_every_panel_is_one_that_can_be_looked_up(name: str) -> None:
    assert open_panel(name, PanelInputs(commands=BUILT_IN.listed())).load() == list(
        dict.fromkeys(
            PanelRequest(request.kind) for request, _ in FILLED[name] if request.kind not in ("preview", "undone")
        )
    )


def test_no_panel_has_another_name() -> None:
    with pytest.raises(KeyError):
        open_panel("nothing", PanelInputs())
