"""The permissions inspector: rules and where they stand, what modes mean, what was decided; stored rules can go."""

from typing import TYPE_CHECKING

from overt.app.inspect.values import Decisions, Permits, Revoked, RuleRow
from overt.frontends.tui.panels.cells import Column, laid, widths
from overt.frontends.tui.panels.pager import CLOSE, Screenful, Wish, Wishes, shown
from overt.frontends.tui.panels.picker import Look, Picker
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, wrap
from overt.lib.catalogue import say

if TYPE_CHECKING:
    from overt.app.inspect.permissions import RecordedDecision

MODES = ("review", "auto", "plan", "yolo")
ACTIONS = {"allow": "good", "deny": "error", "ask": "warn"}
COLUMNS = (Column(most=8), Column(rest=True), Column(most=40, least=44))


class PermissionsPanel:
    every = 0.0

    def __init__(self) -> None:
        self._loading = True
        self._said = ""
        self._mode = ""
        self._asking: RuleRow | None = None
        self._decided: tuple[RecordedDecision, ...] | None = None
        self._widths = [0] * len(COLUMNS)
        look = Look[RuleRow](lay=self._lay, find=lambda rule: f"{rule.text} {rule.origin}", key=_key)
        self._picker: Picker[RuleRow] = Picker(look, typed=False, preview=True)
        self._tell()

    def first(self) -> Wishes:
        return [Wish("permissions"), Wish("decisions")]

    def tick(self) -> Wishes:
        return []

    def given(self, wish: Wish, value: object) -> Wishes:
        match value:
            case Permits(mode=mode, rules=rules, problem=problem):
                self._loading, self._mode = False, mode
                self._said = self._said or shown(problem)
                self._widths = widths(map(_texts, rules), COLUMNS)
                self._picker.set(rules)
            case Decisions(decisions=decisions):
                self._decided = decisions
            case Revoked(text=rule, here=here):
                key = "tui.permissions.revoked" if here else "tui.permissions.revoked_later"
                self._said = say(key, rule=shown(rule))
                return [Wish("permissions")]
            case _:
                pass
        self._tell()
        return []

    def failed(self, wish: Wish, words: str) -> None:
        self._loading, self._said = False, shown(words)

    def press(self, key: Key) -> Wishes:
        self._said = ""
        if self._asking is not None:
            rule, self._asking = self._asking, None
            return [Wish("revoke", rule.text)] if key == Key("text", "y") else []
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        rule_here = self._picker.current
        if not did and key == Key("text", "d") and rule_here:
            if rule_here.stored:
                self._asking = rule_here
            else:
                self._said = say("tui.permissions.not_stored", origin=shown(rule_here.origin))
        return []

    def _tell(self) -> None:
        assert self._picker.preview is not None
        self._picker.preview.set(lambda columns: self._about(columns))

    def _about(self, columns: int) -> list[Row]:
        rows: list[Row] = [(Span(say("tui.permissions.modes"), "bold"),)]
        for mode in MODES:
            head = (Span("• " if mode == self._mode else "  "), Span(mode, f"mode.{mode}"), Span(" " * (8 - len(mode))))
            rows += wrap([Span(say(f"tui.permissions.{mode}"))], columns, first=head, rest=(Span(" " * 10),))
        rows += [BLANK, (Span(say("tui.permissions.decisions"), "bold"),)]
        if self._decided is None:
            return [*rows, (Span(say("tui.panel.loading"), "muted"),)]
        if not self._decided:
            return [*rows, (Span(say("tui.permissions.no_decisions"), "muted"),)]
        for each in self._decided:
            word = Span(say(f"tui.permissions.{each.verdict}"), ACTIONS.get(each.verdict, ""))
            what = Span(f"  {shown(each.tool)} {shown(each.what)[:200]}")
            why = Span("  " + shown(" · ".join(filter(None, (each.rule, each.origin, each.by)))), "muted")
            rows += wrap([word, what, why], columns, first=(), rest=(Span("    "),))
        return rows

    def draw(self, columns: int, lines: int) -> Screenful:
        foot: Row | str = say("tui.permissions.keys")
        if self._asking is not None:
            asked = say("tui.permissions.revoke", rule=shown(self._asking.text))
            foot = (Span(asked, "warn"), Span(say("tui.panel.yes_no"), "dim"))
        elif self._said:
            foot = (Span(self._said, "warn"),)
        return self._picker.draw(
            columns,
            lines,
            title=say("tui.permissions.title"),
            note=say("tui.permissions.note", mode=self._mode) if self._mode else "",
            foot=foot,
            empty=say("tui.panel.loading") if self._loading else say("tui.permissions.none"),
        )

    def _lay(self, rule: RuleRow, room: int) -> Row:
        styles = (ACTIONS.get(rule.action, ""), "", "accent" if rule.stored else "muted")
        return laid([Span(*pair) for pair in zip(_texts(rule), styles, strict=True)], self._widths, COLUMNS, room)


def _key(rule: RuleRow) -> str:
    return f"{rule.action} {rule.text} {rule.origin}"


def _texts(rule: RuleRow) -> tuple[str, ...]:
    word = "tui.permissions.ask" if rule.action == "ask" else f"tui.permissions.rule_{rule.action}"
    return say(word), shown(rule.text), say("tui.permissions.stored") if rule.stored else shown(rule.origin)
