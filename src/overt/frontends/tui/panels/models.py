"""The models picker: what can be used, with window, price and abilities; Enter uses it from the next request on."""

from typing import TYPE_CHECKING

from overt.app.inspect.inspector_values import ModelChoices
from overt.core.settings import Price
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.pager import CLOSE, PanelInputs, PanelRequest, Screenful
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.formats import count
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.models.model_list import ModelRow

COLUMNS = (
    Column(rest=True),
    Column(most=8, right=True, least=44),
    Column(most=18, right=True, least=64),
    Column(most=26, least=100),
    Column(most=26, least=80),
)


def make(_inputs: PanelInputs) -> "ModelsPanel":
    return ModelsPanel()


class ModelsPanel:
    every = 0.0

    def __init__(self) -> None:
        self._current = ("", "")
        self._picker: Picker[ModelRow] = Picker("models", COLUMNS, self._cells, _name, typed=True, headed=True)

    def load(self) -> list[PanelRequest]:
        return [PanelRequest("models")]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        if isinstance(value, ModelChoices):
            self._current = value.current
            self._picker.message = one_line(value.listing.problem)
            self._picker.set(sorted(value.listing.rows, key=lambda row: (not self._used(row), bool(row.wants))))
        return []

    def failed(self, request: PanelRequest, words: str) -> None:
        self._picker.fail(words)

    def press(self, key: Key) -> list[PanelRequest]:
        self._picker.message = ""
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        row = self._picker.current
        if did != "chose" or row is None:
            return []
        if row.wants:
            self._picker.message = say("tui.models.wants", model=one_line(row.model), variable=one_line(row.wants))
            return []
        return [CLOSE] if self._used(row) else [PanelRequest("slash", f"/model {_name(row)}")]

    def _used(self, row: "ModelRow") -> bool:
        return (row.provider, row.model) == self._current

    def draw(self, columns: int, lines: int) -> Screenful:
        model = one_line("/".join(filter(None, self._current)))
        return self._picker.draw(columns, lines, note=say("tui.models.note", model=model) if model else "")

    def _cells(self, row: "ModelRow") -> list[Span]:
        able = [say(f"models.{name}") for name in ("tools", "images", "reasoning") if getattr(row, name)]
        state = say("models.wants", variable=one_line(row.wants)) if row.wants else say(f"models.{row.source}")
        used = self._used(row)
        return [
            Span(one_line(_name(row)) + (" ✓" if used else ""), "bold good" if used else "muted" if row.wants else ""),
            Span(count(row.window) if row.window else "?"),
            Span(_price(row.price, local=row.local)),
            Span(", ".join(able), "muted"),
            Span(state, "warn" if row.wants else "muted"),
        ]


def _name(row: "ModelRow") -> str:
    return f"{row.provider}/{row.model}"


def _price(price: Price | None, *, local: bool) -> str:
    """For a million tokens in and out. What nobody told is not zero."""
    if local:
        return say("models.local")
    if price is None or price.input is None or price.output is None:
        return "?"
    return f"${price.input:g} / ${price.output:g}"
