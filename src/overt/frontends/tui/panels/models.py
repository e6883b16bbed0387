"""The models picker: what can be used, with window, price and abilities; Enter uses it from the next request on."""

from typing import TYPE_CHECKING

from overt.app.inspect.values import ModelChoices
from overt.core.settings import Price
from overt.frontends.tui.panels.cells import Column, laid, widths
from overt.frontends.tui.panels.pager import CLOSE, Screenful, Wish, Wishes, shown
from overt.frontends.tui.panels.picker import Look, Picker
from overt.frontends.tui.terminal.formats import count
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span
from overt.lib.catalogue import say, say_columns

if TYPE_CHECKING:
    from overt.app.models.model_list import ModelRow

COLUMNS = (
    Column(rest=True),
    Column(most=8, right=True, least=44),
    Column(most=18, right=True, least=64),
    Column(most=26, least=100),
    Column(most=26, least=80),
)


class ModelsPanel:
    every = 0.0

    def __init__(self) -> None:
        self._loading = True
        self._said = ""
        self._current = ("", "")
        self._widths = [0] * len(COLUMNS)
        look: Look[ModelRow] = Look(lay=self._lay, find=_name, key=_name, head=self._head)
        self._picker: Picker[ModelRow] = Picker(look, typed=True)

    def first(self) -> Wishes:
        return [Wish("models")]

    def tick(self) -> Wishes:
        return []

    def given(self, wish: Wish, value: object) -> Wishes:
        if not isinstance(value, ModelChoices):
            return []
        self._loading, self._current = False, value.current
        rows = sorted(value.listing.rows, key=lambda row: (not self._used(row), bool(row.wants)))
        self._said = shown(value.listing.problem)
        heads = say_columns("tui.models.heads")
        self._widths = widths([heads, *map(self._texts, rows)], COLUMNS)
        self._picker.set(rows)
        return []

    def failed(self, wish: Wish, words: str) -> None:
        self._loading, self._said = False, shown(words)

    def press(self, key: Key) -> Wishes:
        self._said = ""
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        row = self._picker.current
        if did != "chose" or row is None:
            return []
        if row.wants:
            self._said = say("tui.models.wants", model=shown(row.model), variable=shown(row.wants))
            return []
        return [CLOSE] if self._used(row) else [Wish("slash", f"/model {_name(row)}")]

    def _used(self, row: "ModelRow") -> bool:
        return (row.provider, row.model) == self._current

    def draw(self, columns: int, lines: int) -> Screenful:
        model = shown("/".join(filter(None, self._current)))
        return self._picker.draw(
            columns,
            lines,
            title=say("tui.models.title"),
            note=say("tui.models.note", model=model) if model else "",
            foot=(Span(self._said, "warn"),) if self._said else say("tui.models.keys"),
            empty=say("tui.panel.loading") if self._loading else say("tui.models.none"),
        )

    def _head(self, room: int) -> Row:
        names = say_columns("tui.models.heads")
        return laid([Span(name, "muted") for name in names], self._widths, COLUMNS, room)

    def _lay(self, row: "ModelRow", room: int) -> Row:
        name = "bold good" if self._used(row) else "muted" if row.wants else ""
        styles = (name, "", "", "muted", "warn" if row.wants else "muted")
        return laid([Span(*pair) for pair in zip(self._texts(row), styles, strict=True)], self._widths, COLUMNS, room)

    def _texts(self, row: "ModelRow") -> tuple[str, ...]:
        name = shown(_name(row)) + (" ✓" if self._used(row) else "")
        window = count(row.window) if row.window else "?"
        able = [say(f"models.{name}") for name in ("tools", "images", "reasoning") if getattr(row, name)]
        state = say("models.wants", variable=shown(row.wants)) if row.wants else say(f"models.{row.source}")
        return name, window, _price(row.price, local=row.local), ", ".join(able), state


def _name(row: "ModelRow") -> str:
    return f"{row.provider}/{row.model}"


def _price(price: Price | None, *, local: bool) -> str:
    """For a million tokens in and out. What nobody told is not zero."""
    if local:
        return say("models.local")
    if price is None or price.input is None or price.output is None:
        return "?"
    return f"${price.input:g} / ${price.output:g}"
