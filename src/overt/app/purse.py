"""What a session may cost in US dollars, held against what the ledger says it has cost."""

from typing import Any

from overt.app.setting import Setting
from overt.core.history import History
from overt.engine.purse import Looked
from overt.lib.catalogue import say

NEARLY = 0.8


class SessionPurse:
    """As configured; what a person said in the session goes before it. 0 is no bound."""

    def __init__(self, setting: Setting, session: str) -> None:
        self._data_dir = setting.environment.data_dir
        self._session = session
        self._bound = setting.config.limits.budget_usd
        self._spending: Any = None
        self._told: set[str] = set()

    def look(self, history: History) -> Looked:
        bound = self._bound if history.budget is None else history.budget
        if not bound:
            return Looked()
        spent = self.spent()
        from overt.core.cost import dollars  # late: 0.8 ms

        paid, most = dollars(spent.cost), dollars(bound)
        if spent.cost >= bound:
            return Looked(refusal=say("budget.over", spent=paid, bound=most))
        if spent.cost >= NEARLY * bound:
            return self._once(f"nearly {bound}", say("budget.nearly", spent=paid, bound=most))
        return self._once("unpriced", say("budget.unpriced", count=spent.unpriced)) if spent.unpriced else Looked()

    def spent(self) -> Any:
        """The totals of the session; loaded with the first question, because most sessions have no bound."""
        if self._spending is None:
            from overt.app.spending import Spending  # late: 14 ms

            self._spending = Spending(self._data_dir, self._session)
        return self._spending.read(0).session

    def _once(self, what: str, words: str) -> Looked:
        if what in self._told:
            return Looked()
        self._told.add(what)
        return Looked(warning=words)
