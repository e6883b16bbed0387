"""The text being edited with what was before it: undo, redo, and what was cut and can be put back."""

from overt.faces.tui.composer.editor import Motion, Text, inserted, removed, swapped

MEMORY = 2_000_000
"""Characters of earlier texts that undo holds."""
CUTS = 20


class Buffer:
    def __init__(self) -> None:
        self.now = Text()
        self.cuts: list[str] = []
        self._undo: list[Text] = []
        self._redo: list[Text] = []
        self._held = 0
        self._last = ""
        self._doing = ""
        self._yanked = (0, 0)

    def begin(self) -> None:
        """A key comes: what it does may join what the key before did."""
        self._last, self._doing = self._doing, ""

    def edit(self, new: Text, doing: str = "") -> None:
        """A change that undo takes back; changes of the same doing in a row are taken back together."""
        self._doing = doing
        if new.text != self.now.text:
            if not (doing == "type" and self._last in ("type", "typed") and self._undo):
                self._remember()
            self._redo.clear()
        self.now = new

    def _remember(self) -> None:
        self._undo.append(self.now)
        self._held += len(self.now.text)
        while self._held > MEMORY and len(self._undo) > 1:
            self._held -= len(self._undo.pop(0).text)

    def go(self, at: int) -> None:
        self.now = self.now._replace(cursor=at)

    def type(self, piece: str) -> None:
        """What is typed in one run is undone in one step; a line break ends the run."""
        self.edit(inserted(self.now, piece), "" if piece == "\n" else "type")

    def erase(self, motion: Motion) -> None:
        start, end = sorted((self.now.cursor, motion(self.now)))
        self.edit(removed(self.now, start, end))

    def cut(self, motion: Motion) -> None:
        """As `erase`, but it can be put back; cuts in a row are one."""
        at = motion(self.now)
        start, end = sorted((self.now.cursor, at))
        if piece := self.now.text[start:end]:
            if self._last == "cut" and self.cuts:
                joined = self.cuts[-1]
                self.cuts[-1] = joined + piece if at > start else piece + joined
            else:
                self.keep(piece)
            self.edit(removed(self.now, start, end))
        self._doing = "cut"

    def keep(self, piece: str) -> None:
        self.cuts = [*self.cuts[-CUTS + 1 :], piece]

    def yank(self) -> None:
        if self.cuts:
            start = self.now.cursor
            self.edit(inserted(self.now, self.cuts[-1]), "yank")
            self._yanked = start, start + len(self.cuts[-1])

    def yank_older(self) -> None:
        """What was just put back makes place for what was cut before it."""
        if self._last != "yank" or len(self.cuts) < 2:
            return
        self.cuts = [self.cuts[-1], *self.cuts[:-1]]
        start, end = self._yanked
        self.edit(swapped(self.now, start, end, self.cuts[-1]), "yank")
        self._yanked = start, start + len(self.cuts[-1])

    def undo(self) -> None:
        if self._undo:
            self._redo.append(self.now)
            self.now = self._undo.pop()
            self._held -= len(self.now.text)

    def redo(self) -> None:
        if self._redo:
            self._remember()
            self.now = self._redo.pop()

    def join(self, since: int) -> None:
        """Everything since undo was so deep is one step."""
        for dropped in self._undo[since + 1 :]:
            self._held -= len(dropped.text)
        del self._undo[since + 1 :]

    @property
    def depth(self) -> int:
        return len(self._undo)

    def forget(self) -> None:
        """Nothing can be undone any more; what was cut stays."""
        self.now = Text()
        self._undo.clear()
        self._redo.clear()
        self._held = 0

    def texts(self) -> list[str]:
        return [self.now.text, *self.cuts, *(each.text for each in (*self._undo, *self._redo))]
