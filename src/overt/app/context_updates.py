"""Messages that join before a request without having been typed: changed facts, rules of folders.

They stand after the prefix, which therefore stays the same for a whole session and across the sessions of a project.
"""

from collections.abc import Callable

from overt.app.prefix import Fragments, nested_names
from overt.app.setting import Setting
from overt.core.history import History
from overt.core.late import late
from overt.core.messages import Message
from overt.core.requests import Prefix
from overt.engine.agent import Agent
from overt.extend.facts import announce_changes, known_facts


class ContextUpdates:
    """`recorded` is the prefix that a resumed session was sent last."""

    def __init__(self, setting: Setting, fragments: Fragments, agent: Callable[[], Agent | None]) -> None:
        self._setting = setting
        self._fragments = fragments
        self._agent = agent
        self.recorded: Prefix | None = None
        self._settled: tuple[object, ...] = ()
        self._nesting: Callable[[History], tuple[Message, ...]] | None = None

    def collect(self, history: History) -> tuple[Message, ...]:
        """The messages that go before the next request: mostly none."""
        agent = self._agent()
        if agent is None:
            return ()
        return (*self._join_changes(history, agent), *self._join_rules(history, agent))

    def _join_changes(self, history: History, agent: Agent) -> tuple[Message, ...]:
        """A resumed session knows the facts of the prefix that it was sent, even if another one is sent now."""
        mode = agent.gate.mode
        budget_usd = self._setting.config.limits.budget_usd if history.budget is None else history.budget
        now = (mode, budget_usd, len(history.eras), agent.prefix)
        if now == self._settled:
            return ()  # all messages are looked at only if something may have changed
        prefix, self.recorded = self.recorded or agent.prefix, None
        known = known_facts(prefix.system, history.messages)
        facts = self._fragments.facts(mode, budget_usd=budget_usd)
        changes = announce_changes(known, facts) if known is not None else ()
        self._settled = () if changes else now
        return changes

    def _join_rules(self, history: History, agent: Agent) -> tuple[Message, ...]:
        """Rules of folders further down, when something below them was read."""
        recipe = self._setting.config.recipe
        if not history.seen or not nested_names(recipe.sources):
            return ()
        self._nesting = self._nesting or late("nested")(
            self._setting.roots.workspace,
            nested_names(recipe.sources),
            may_read=agent.gate.may_read,
            cap=recipe.cap("nested"),
        )
        return self._nesting(history)
