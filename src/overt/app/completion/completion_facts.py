"""What the completions of command arguments are made from."""

import asyncio
from time import monotonic

from overt.app.conversation import Conversation
from overt.app.slash_command import Offer
from overt.core.errors import OvertError
from overt.lib.text import first_line
from overt.lib.translations import say
from overt.sessions.index import Summary, paths, summary

MOST_SESSIONS = 100
MODELS_FRESH_S = 300.0
SESSIONS_FRESH_S = 5.0
MODELS_TIMEOUT_S = 15.0


class CompletionFacts:
    """Lives in the engine's thread. What takes long is fetched in the background and kept for a while."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._models: tuple[float, tuple[Offer, ...]] | None = None
        self._sessions: tuple[float, tuple[Summary, ...]] = (0.0, ())
        self._fetching: asyncio.Task[None] | None = None

    def models(self) -> tuple[Offer, ...]:
        """Return the models that are known so far; `fetched` waits for the rest."""
        if self._models is None or monotonic() - self._models[0] > MODELS_FRESH_S:
            self._fetching = self._fetching or asyncio.create_task(self._fetch())
        current = self.conversation.agent.spec.params.model
        return self._models[1] if self._models else (Offer(current, say("tui.complete.current")),)

    @property
    def fetching(self) -> bool:
        return self._fetching is not None and self._models is None

    async def fetched(self) -> None:
        if self._fetching:
            await asyncio.wait([self._fetching])

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(MODELS_TIMEOUT_S):
                from overt.app.models.known_models import known_models  # late: 3 ms

                models = await known_models(self.conversation)
            self._models = (monotonic(), tuple(Offer(name, detail) for name, detail in models))
        except (OvertError, OSError):  # a TimeoutError is one
            self._models = self._models or (monotonic(), self.models())
        finally:
            self._fetching = None

    async def sessions(self) -> tuple[Summary, ...]:
        when, known = self._sessions
        if not when or monotonic() - when > SESSIONS_FRESH_S:
            setting = self.conversation.setting
            known = await asyncio.to_thread(_newest, setting.environment.data_dir, setting.roots.project)
            self._sessions = (monotonic(), known)
        return known

    def turns(self, *, more: bool) -> list[Offer]:
        """Return the turns, the last one first: it is the one that people regret."""
        marks = [mark for mark in self.conversation.session.marks if mark.text]
        return [Offer(str(mark.turn), text := first_line(mark.text), also=text, more=more) for mark in reversed(marks)]

    async def close(self) -> None:
        if self._fetching:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])


def _newest(data_dir: str, project: str) -> tuple[Summary, ...]:
    summaries: list[Summary] = []
    for path in paths(data_dir, project)[:MOST_SESSIONS]:
        try:
            summaries.append(summary(path))
        except (OSError, OvertError):
            continue
    return tuple(summaries)
