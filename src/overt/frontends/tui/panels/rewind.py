"""The rewind picker: the turns of the session, what going back would do to files, and which part of it is wanted."""

from collections.abc import Callable
from time import time

from overt.app.inspect.values import Changes, TurnRow, Turns
from overt.frontends.tui.panels.cells import Column, laid, widths
from overt.frontends.tui.panels.pager import CLOSE, Screenful, Wish, Wishes, shown
from overt.frontends.tui.panels.picker import Look, Picker
from overt.frontends.tui.panels.sessions import when
from overt.frontends.tui.panels.texts import changed
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, wrap
from overt.lib.catalogue import say

PARTS = {"1": "conversation", "2": "files", "3": "both"}
COLUMNS = (
    Column(most=5, right=True),
    Column(most=12, least=50),
    Column(rest=True),
    Column(most=12, right=True),
)


class RewindPanel:
    every = 0.0

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._loading = True
        self._said = ""
        self._asking: TurnRow | None = None
        self._changes: dict[int, Changes | str] = {}
        self._widths = [0] * len(COLUMNS)
        look = Look[TurnRow](
            lay=self._lay, find=lambda turn: f"{turn.turn} {turn.text}", key=lambda turn: str(turn.turn)
        )
        self._picker: Picker[TurnRow] = Picker(look, typed=True, preview=True)

    def first(self) -> Wishes:
        return [Wish("turns")]

    def tick(self) -> Wishes:
        return []

    def given(self, wish: Wish, value: object) -> Wishes:
        match value:
            case Changes():
                self._changes[wish.number] = value
                self._show_preview()
            case Turns(turns=turns):
                self._loading = False
                self._widths = widths(map(self._texts, turns), COLUMNS)
                self._picker.set(turns)
                return self._look()
            case _:
                pass
        return []

    def failed(self, wish: Wish, words: str) -> None:
        if wish.kind == "undone":
            self._changes[wish.number] = shown(words)
            self._show_preview()
            return
        self._loading, self._said = False, shown(words)

    def press(self, key: Key) -> Wishes:
        self._said = ""
        if self._asking is not None:
            turn, self._asking = self._asking, None
            part = PARTS.get(key.text, "") if key.name == "text" else ""
            if not part or (part != "files" and not turn.speaks):
                return []
            return [Wish("slash", f"/rewind {turn.turn} {part}")]
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        if did == "chose":
            self._asking = self._picker.current
        return self._look() if did == "moved" else []

    def _look(self) -> Wishes:
        self._show_preview()
        turn = self._picker.current
        return [Wish("undone", number=turn.turn)] if turn and turn.turn not in self._changes else []

    def _show_preview(self) -> None:
        preview, turn = self._picker.preview, self._picker.current
        assert preview is not None
        found = self._changes.get(turn.turn) if turn else None
        if turn is None:
            preview.set(())
        elif found is None:
            preview.set([(Span(say("tui.panel.loading"), "muted"),)], end=False)
        elif isinstance(found, str):
            preview.set([(Span(found, "warn"),)], end=False)
        else:
            preview.set(lambda columns: _told(found, columns), end=False)

    def draw(self, columns: int, lines: int) -> Screenful:
        foot: Row | str = say("tui.rewind.keys")
        if self._asking is not None:
            key = "tui.rewind.ask" if self._asking.speaks else "tui.rewind.ask_files"
            foot = (Span(say(key, turn=self._asking.turn), "warn"),)
        elif self._said:
            foot = (Span(self._said, "warn"),)
        return self._picker.draw(
            columns,
            lines,
            title=say("tui.rewind.title"),
            note=say("tui.rewind.note"),
            foot=foot,
            empty="" if self._said else say("tui.panel.loading" if self._loading else "tui.rewind.none"),
        )

    def _lay(self, turn: TurnRow, room: int) -> Row:
        styles = ("muted", "muted", "muted" if turn.undone or not turn.text else "", "accent")
        return laid([Span(*pair) for pair in zip(self._texts(turn), styles, strict=True)], self._widths, COLUMNS, room)

    def _texts(self, turn: TurnRow) -> tuple[str, ...]:
        text = shown(turn.text) or say("tui.rewind.silent")
        return str(turn.turn), when(turn.when, self._clock()), text, _files(turn)


def _files(turn: TurnRow) -> str:
    if turn.undone:
        return say("tui.rewind.undone")
    if turn.files == 1:
        return say("tui.rewind.one_file")
    return say("tui.rewind.files", count=turn.files) if turn.files else ""


def _told(found: Changes, columns: int) -> list[Row]:
    if not found.files and not found.others:
        return wrap([Span(say("tui.rewind.same"), "muted")], columns)
    return changed(found, columns, none="", head=say("tui.rewind.would"))
