"""How much the model in use holds: as set, as known, or as its server tells after a first long request."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from overt.config.schema import Config
from overt.context.budget import Budget
from overt.core.events import Noticed
from overt.lib.logs.background import log_failure
from overt.lib.tokens import family_of
from overt.lib.translations import say
from overt.providers.model_choice import ChosenModel
from overt.providers.wires import WireKind, find_wire

SAFE = 32_768
"""Taken for the window of a model that nobody knows: small enough for most servers, large enough to work in."""

MATTERS = SAFE // 4
"""Below this many tokens the window of an unknown model makes no difference, and nobody is asked for it."""


def window_of(chosen: ChosenModel, config: Config) -> int:
    """As set for every model, for this one, or known of it; 0: nobody says, or somebody said 0."""
    return chosen.about.window if config.origin("context.context_window") == "default" else config.context_window


def budget_of(chosen: ChosenModel, config: Config, wires: Sequence[WireKind] = ()) -> Budget:
    """Someone who sets `context_window` to 0 leaves it to the server: room is made when that finds a request too long.

    What a request asks for as the most of its reply has to fit as well.
    """
    entry, about = chosen.entry, chosen.about
    wire = find_wire(entry.kind, wires)
    quirks = about.quirks or entry.quirks
    budget = Budget(
        window=window_of(chosen, config),
        threshold=config.compaction.threshold if config.compaction.auto else 0.0,
        prune=config.compaction.prune,
        reserve=entry.max_tokens or (about.output if wire and wire.limits_every_reply else 0),
        family=family_of(chosen.model),
        reasoning=not (wire and wire.reasoning_is_quirk) or bool(quirks.reasoning),
    )
    if config.origin("context.context_window") != "default":
        budget.unknown = False
    return budget


class WindowSeeker:
    """Asks for a window once it matters and a reply is there: no request waits for it, the first not even a moment.

    `notify` is called with a notice if a window had to be assumed.
    """

    def __init__(
        self, environ: Mapping[str, str], notify: Callable[[Noticed], None], wires: Sequence[WireKind] = ()
    ) -> None:
        self._environ = environ
        self._wires = wires
        self._notify = notify
        self._task: asyncio.Task[None] | None = None
        self._asked: Budget | None = None

    def seek(self, chosen: ChosenModel, budget: Budget | None) -> None:
        """Called when a reply is there; nothing happens where the window is known or does not matter yet."""
        if budget is None or budget is self._asked or not budget.unknown or not budget.threshold:
            return
        if budget.counted < MATTERS:
            return
        if chosen.entry.base_url.startswith("http"):
            self._asked = budget
            self._task = asyncio.create_task(self._seek(chosen, budget))
            self._task.add_done_callback(log_failure("context window"))

    @property
    def pending(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _seek(self, chosen: ChosenModel, budget: Budget) -> None:
        from overt.providers.probing.server_window import ask_window  # late: 0.4 ms

        size: int = await ask_window(chosen, self._environ, self._wires)
        budget.resize(size or SAFE)
        if not size:
            self._notify(Noticed(text=say("window.assumed", model=chosen.model, window=SAFE)))

    async def close(self) -> None:
        """The answer is not waited for."""
        if self._task is not None and self.pending:
            self._task.cancel()
            await asyncio.wait((self._task,))
