"""Recall earlier prompts: step by step with the draft kept at the end, or by a search."""

from overt.frontends.tui.composer.editor import EditText


class Recall:
    """`entries` oldest first. What is changed in an entry while walking stays there until something is sent."""

    def __init__(self, entries: list[str]) -> None:
        self.entries = entries
        self._place: int | None = None
        self._changed: dict[int, EditText] = {}
        self.came: EditText | None = None
        """The text as walking brought it: as long as nobody touches it, Up and Down walk on."""

    @property
    def away(self) -> bool:
        """True while an entry is shown instead of the draft."""
        return self._place is not None and self._place < len(self.entries)

    def step(self, now: EditText, by: int) -> EditText | str | None:
        """The next older (-1) or newer (1) entry: as it was left, or fresh from the history; nothing at the ends."""
        place = len(self.entries) if self._place is None else self._place
        target = place + by
        if not 0 <= target <= len(self.entries):
            return None
        self._changed[place] = now
        self._place = target
        kept = self._changed.get(target)
        if kept is not None:
            return kept
        return self.entries[target] if target < len(self.entries) else EditText()

    def jump(self, now: EditText, *, oldest: bool) -> EditText | str | None:
        place = len(self.entries) if self._place is None else self._place
        return self.step(now, -place if oldest else len(self.entries) - place)

    def rest(self) -> None:
        """Make the text in the composer the draft again."""
        self._place = self.came = None
        self._changed.clear()

    def add(self, text: str) -> None:
        if text and (not self.entries or self.entries[-1] != text):
            self.entries.append(text)
        self.rest()

    def load(self, older: list[str]) -> None:
        """Prompts from the file, before those of this program; the walk goes on where it is."""
        mine = len(older)
        self.entries = [*older, *self.entries]
        if self._place is not None:
            self._place += mine
        self._changed = {place + mine: text for place, text in self._changed.items()}

    def texts(self) -> list[str]:
        return [text.text for text in self._changed.values()]


class Search:
    """Capital letters in what is sought must stand so; small ones find both."""

    def __init__(self, entries: list[str]) -> None:
        self._entries = entries
        self.query = ""
        self.place = len(entries)
        self.failed = False

    @property
    def found(self) -> str:
        return self._entries[self.place] if self.place < len(self._entries) else ""

    def at(self) -> tuple[int, int]:
        """Where in the entry it stands."""
        start = self._where(self.found)
        return (start, start + len(self.query)) if self.query and start >= 0 else (0, 0)

    def _where(self, entry: str) -> int:
        if self.query != self.query.lower():
            return entry.find(self.query)
        lowered = entry.lower()
        return lowered.find(self.query) if len(lowered) == len(entry) else entry.find(self.query)

    def seek(self, query: str) -> None:
        """Other letters: from where it is, and from the newest when they became fewer."""
        start = min(self.place, len(self._entries) - 1) if query.startswith(self.query) else len(self._entries) - 1
        self.query = query
        if query:
            self._walk(range(start, -1, -1), "")
        else:
            self.place, self.failed = len(self._entries), False

    def move(self, by: int) -> None:
        if self.query:
            end = -1 if by < 0 else len(self._entries)
            self._walk(range(self.place + by, end, by), self.found)

    def _walk(self, places: range, passing: str) -> None:
        for place in places:
            if not 0 <= place < len(self._entries) or self._entries[place] == passing:
                continue
            if self._where(self._entries[place]) >= 0:
                self.place, self.failed = place, False
                return
        self.failed = True
