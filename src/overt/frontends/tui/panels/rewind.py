"""The rewind picker: the turns of the session, what going back would do to files, and which part of it is wanted."""

from collections.abc import Callable
from time import time

from overt.app.inspect.inspector_values import Changes, TurnRow, Turns
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.diff import changed
from overt.frontends.tui.panels.pager import CLOSE, PanelInputs, PanelRequest, Screenful, Scroll
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.panels.sessions import when
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

PARTS = {"1": "conversation", "2": "files", "3": "both"}
COLUMNS = (
    Column(most=5, right=True),
    Column(most=12, least=50),
    Column(rest=True),
    Column(most=12, right=True),
)


def make(_inputs: PanelInputs) -> "RewindPanel":
    return RewindPanel()


class RewindPanel:
    every = 0.0

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._changes: dict[int, Changes | str] = {}
        self._picker: Picker[TurnRow] = Picker(
            "rewind", COLUMNS, self._cells, lambda turn: f"{turn.turn} {turn.text}", typed=True
        )
        self._preview = self._picker.preview = Scroll()

    def load(self) -> list[PanelRequest]:
        return [PanelRequest("turns")]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        match value:
            case Changes():
                self._changes[request.number] = value
                self._show_preview()
            case Turns(turns=turns):
                self._picker.set(turns)
                return self._look()
            case _:
                pass
        return []

    def failed(self, request: PanelRequest, words: str) -> None:
        if request.kind == "undone":
            self._changes[request.number] = one_line(words)
            self._show_preview()
        else:
            self._picker.fail(words)

    def press(self, key: Key) -> list[PanelRequest]:
        if (answer := self._picker.answer(key)) is not None:
            return answer
        did, turn = self._picker.press(key), self._picker.current
        if did == "close":
            return [CLOSE]
        if did == "chose" and turn:
            question = say("tui.rewind.ask" if turn.speaks else "tui.rewind.ask_files", turn=turn.turn)
            parts = {key: part for key, part in PARTS.items() if turn.speaks or part == "files"}
            answers = {key: [PanelRequest("slash", f"/rewind {turn.turn} {part}")] for key, part in parts.items()}
            self._picker.ask((Span(question, "warn"),), answers)
        return self._look() if did == "moved" else []

    def _look(self) -> list[PanelRequest]:
        self._show_preview()
        turn = self._picker.current
        return [PanelRequest("undone", number=turn.turn)] if turn and turn.turn not in self._changes else []

    def _show_preview(self) -> None:
        preview, turn = self._preview, self._picker.current
        found = self._changes.get(turn.turn) if turn else None
        if turn is None:
            preview.set(())
        elif found is None:
            preview.set([(Span(say("tui.panel.loading"), "muted"),)], end=False)
        elif isinstance(found, str):
            preview.set([(Span(found, "warn"),)], end=False)
        else:
            none, head = say("tui.rewind.same"), say("tui.rewind.would")
            preview.set(lambda columns: changed(found, columns, none=none, head=head), end=False)

    def draw(self, columns: int, lines: int) -> Screenful:
        return self._picker.draw(columns, lines, note=say("tui.rewind.note"))

    def _cells(self, turn: TurnRow) -> list[Span]:
        return [
            Span(str(turn.turn), "muted"),
            Span(when(turn.when, self._clock()), "muted"),
            Span(one_line(turn.text) or say("tui.rewind.silent"), "muted" if turn.undone or not turn.text else ""),
            Span(_files(turn), "accent"),
        ]


def _files(turn: TurnRow) -> str:
    if turn.undone:
        return say("tui.rewind.undone")
    if turn.files == 1:
        return say("tui.rewind.one_file")
    return say("tui.rewind.files", count=turn.files) if turn.files else ""
