"""The notes as calls of the model use them: what is written is shown to the user, with the way to take it back."""

from overt.app.session import Session
from overt.core.capabilities import Memory, RecalledNote
from overt.core.events import Noticed
from overt.core.protocols import Journal
from overt.lib.translations import say


class SessionMemory:
    """Memory for one call. In a `preview` nothing is written."""

    def __init__(self, session: Session, journal: Journal, *, preview: bool) -> None:
        from overt.app.context.memory_notes import Notebook  # late: 1.3 ms

        self._book = Notebook(session.setting, session=session.id, turn=session.turn)
        self._journal = journal
        self._preview = preview

    def remember(self, text: str, *, everywhere: bool) -> str:
        if self._preview:
            return "global/…" if everywhere else "project/…"
        name = self._book.add(text, everywhere=everywhere, by="model")
        self._tell("memory.remembered", name=name, text=" ".join(text.split()))
        return name

    def recall(self, query: str) -> tuple[RecalledNote, ...]:
        return self._book.recall(query)

    def forget(self, name: str) -> str:
        if self._preview:
            return name
        removed = self._book.remove(name)
        self._tell("memory.forgotten", name=removed)
        return removed

    def _tell(self, key: str, **values: object) -> None:
        self._journal.add(Noticed(text=say(key, **values), level="warning", kind="memory"))


def make_memory(session: Session, journal: Journal, preview: bool) -> Memory:
    return SessionMemory(session, journal, preview=preview)
