"""The text being edited, with undo, redo, and the texts that were cut and can be inserted again."""

from overt.frontends.tui.composer.editor import EditText, Motion, insert_text, remove_range, replace_range

MEMORY = 2_000_000
"""The number of characters of earlier texts that undo keeps."""
CUTS = 20


class Buffer:
    def __init__(self) -> None:
        self.now = EditText()
        self.cuts: list[str] = []
        self._undo: list[EditText] = []
        self._redo: list[EditText] = []
        self._held = 0
        self._last = ""
        self._kind = ""
        self._yanked = (0, 0)

    def begin(self) -> None:
        """Begin a key. Its change may join the change of the key before."""
        self._last, self._kind = self._kind, ""

    def edit(self, new: EditText, kind: str = "") -> None:
        """Change the text so that undo can revert it. Typing in a row is reverted together."""
        self._kind = kind
        if new.text != self.now.text:
            if not (kind == "type" and self._last in ("type", "typed") and self._undo):
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
        """Insert typed text. One undo reverts everything typed in a row; a line break ends the row."""
        self.edit(insert_text(self.now, piece), "" if piece == "\n" else "type")

    def erase(self, motion: Motion) -> None:
        start, end = sorted((self.now.cursor, motion(self.now)))
        self.edit(remove_range(self.now, start, end))

    def cut(self, motion: Motion) -> None:
        """Erase as `erase` does, and keep the text for `yank`. Cuts in a row become one text."""
        at = motion(self.now)
        start, end = sorted((self.now.cursor, at))
        if piece := self.now.text[start:end]:
            if self._last == "cut" and self.cuts:
                joined = self.cuts[-1]
                self.cuts[-1] = joined + piece if at > start else piece + joined
            else:
                self.keep(piece)
            self.edit(remove_range(self.now, start, end))
        self._kind = "cut"

    def keep(self, piece: str) -> None:
        self.cuts = [*self.cuts[-CUTS + 1 :], piece]

    def yank(self) -> None:
        if self.cuts:
            start = self.now.cursor
            self.edit(insert_text(self.now, self.cuts[-1]), "yank")
            self._yanked = start, start + len(self.cuts[-1])

    def yank_older(self) -> None:
        """Replace the text that was just yanked with the one that was cut before it."""
        if self._last != "yank" or len(self.cuts) < 2:
            return
        self.cuts = [self.cuts[-1], *self.cuts[:-1]]
        start, end = self._yanked
        self.edit(replace_range(self.now, start, end, self.cuts[-1]), "yank")
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
        """Make one undo step of all changes since `depth` had this value."""
        for dropped in self._undo[since + 1 :]:
            self._held -= len(dropped.text)
        del self._undo[since + 1 :]

    @property
    def depth(self) -> int:
        return len(self._undo)

    def forget(self) -> None:
        """Empty the text and its undo history. Cut texts stay."""
        self.now = EditText()
        self._undo.clear()
        self._redo.clear()
        self._held = 0

    def texts(self) -> list[str]:
        return [self.now.text, *self.cuts, *(each.text for each in (*self._undo, *self._redo))]
