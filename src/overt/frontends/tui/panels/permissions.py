"""The permissions inspector: rules and where they stand, what modes mean, what was decided; stored rules can go."""

from typing import TYPE_CHECKING

from overt.app.inspect.inspector_values import Decisions, PermissionRules, RevokedRule, RuleRow
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.pager import CLOSE, PanelInputs, PanelRequest, Screenful, Scroll, yes_or_no
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, wrap
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.inspect.permissions import RecordedDecision

MODES = ("review", "auto", "plan", "yolo")
ACTIONS = {"allow": "good", "deny": "error", "ask": "warn"}
COLUMNS = (Column(most=8), Column(rest=True), Column(most=40, least=44))


def make(_inputs: PanelInputs) -> "PermissionsPanel":
    return PermissionsPanel()


class PermissionsPanel:
    every = 0.0

    def __init__(self) -> None:
        self._mode = ""
        self._decided: tuple[RecordedDecision, ...] | None = None
        self._picker: Picker[RuleRow] = Picker("permissions", COLUMNS, _cells, _find)
        self._preview = self._picker.preview = Scroll(self._about)

    def load(self) -> list[PanelRequest]:
        return [PanelRequest("permissions"), PanelRequest("decisions")]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        match value:
            case PermissionRules(mode=mode, rules=rules, problem=problem):
                self._mode = mode
                self._picker.message = self._picker.message or one_line(problem)
                self._picker.set(rules)
            case Decisions(decisions=decisions):
                self._decided = decisions
            case RevokedRule(text=rule, here=here):
                key = "tui.permissions.revoked" if here else "tui.permissions.revoked_later"
                self._picker.message = say(key, rule=one_line(rule))
                return [PanelRequest("permissions")]
            case _:
                pass
        self._preview.set(self._about)
        return []

    def failed(self, request: PanelRequest, words: str) -> None:
        self._picker.fail(words)

    def press(self, key: Key) -> list[PanelRequest]:
        if (answer := self._picker.answer(key)) is not None:
            return answer
        did, rule = self._picker.press(key), self._picker.current
        if did == "close":
            return [CLOSE]
        if not did and key == Key("text", "d") and rule:
            if rule.stored:
                words = say("tui.permissions.revoke", rule=one_line(rule.text))
                self._picker.ask(yes_or_no(words), {"y": [PanelRequest("revoke", rule.text)]})
            else:
                self._picker.message = say("tui.permissions.not_stored", origin=one_line(rule.origin))
        return []

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
            what = Span(f"  {one_line(each.tool)} {one_line(each.what)[:200]}")
            why = Span("  " + one_line(" · ".join(filter(None, (each.rule, each.origin, each.by)))), "muted")
            rows += wrap([word, what, why], columns, first=(), rest=(Span("    "),))
        return rows

    def draw(self, columns: int, lines: int) -> Screenful:
        note = say("tui.permissions.note", mode=self._mode) if self._mode else ""
        return self._picker.draw(columns, lines, note=note)


def _find(rule: RuleRow) -> str:
    return f"{rule.action} {rule.text} {rule.origin}"


def _cells(rule: RuleRow) -> list[Span]:
    word = "tui.permissions.ask" if rule.action == "ask" else f"tui.permissions.rule_{rule.action}"
    origin = say("tui.permissions.stored") if rule.stored else one_line(rule.origin)
    return [
        Span(say(word), ACTIONS.get(rule.action, "")),
        Span(one_line(rule.text)),
        Span(origin, "accent" if rule.stored else "muted"),
    ]
