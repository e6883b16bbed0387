"""The composer: it turns keys into text and text into rows, and leaves keys it does not know to the chat.

`press` handles editing, history and its search, pastes, the stash and line breaks. It reports `submit` for Enter,
`external` for Ctrl+G and Ctrl+X Ctrl+E, `image` for Ctrl+V and `ignored` for every other key, among them Esc, Tab,
Ctrl+C, and Ctrl+D on an empty text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from overt.core.errors import OvertError
from overt.frontends.tui.composer import emacs
from overt.frontends.tui.composer.buffer import Buffer
from overt.frontends.tui.composer.draw import ComposerView, Drawing, SearchMatch
from overt.frontends.tui.composer.editor import EditText, insert_text, left, replace_range
from overt.frontends.tui.composer.folded_pastes import OPENING, Folds, is_fold
from overt.frontends.tui.composer.history_recall import Recall, Search
from overt.frontends.tui.terminal.rows import Row

if TYPE_CHECKING:
    from overt.app.chat.attachments import Attachment
    from overt.frontends.tui.composer.vi import Vi
    from overt.frontends.tui.terminal.keyboard import Key

Keys = Literal["emacs", "vi"]
Kind = Literal["handled", "ignored", "submit", "external", "image"]
NEWLINES = ("shift-enter", "alt-enter", "ctrl-j")
UP, DOWN = ("up", "ctrl-p", "shift-up"), ("down", "ctrl-n", "shift-down")
PATH_LIKE = 8192
"""A longer paste is not checked for paths of dropped files."""


class KeyResult(NamedTuple):
    """Result of a key. `changed`: the text has changed. `note` tells the user why something did not work."""

    kind: Kind
    changed: bool = False
    note: str = ""


class Composer:
    def __init__(self, history: Sequence[str] = (), *, keys: Keys = "emacs", placeholder: str = "") -> None:
        self.placeholder = placeholder
        self._folds = Folds()
        self._buffer = Buffer()
        self._drawing = Drawing(self._folds)
        self._recall = Recall(list(history))
        self._search: Search | None = None
        self._stash: EditText | None = None
        self._prefix = ""
        self._wanted: int | None = None
        self._vi: Vi | None = None
        self._note = ""
        self.keys = keys

    @property
    def keys(self) -> Keys:
        return "emacs" if self._vi is None else "vi"

    @keys.setter
    def keys(self, keys: Keys) -> None:
        self._vi = None
        if keys == "vi":
            from overt.frontends.tui.composer.vi import Vi  # late: 1.0 ms

            self._vi = Vi(self._buffer, self._up_or_down, self._press, self._seek)

    @property
    def badge(self) -> str:
        """The mode of vi keys, NORMAL or INSERT; an empty string with emacs keys."""
        return self._vi.badge if self._vi else ""

    @property
    def text(self) -> str:
        """The text to send, with folds replaced by what they stand for."""
        return self._folds.expand(self._buffer.now.text)

    @property
    def now(self) -> EditText:
        """The text as it is edited, in which a fold is one character, and its cursor."""
        return self._buffer.now

    @property
    def empty(self) -> bool:
        return not self._buffer.now.text

    @property
    def searching(self) -> bool:
        return self._search is not None

    @property
    def stashed(self) -> bool:
        return self._stash is not None

    @property
    def attachments(self) -> "tuple[Attachment, ...]":
        return self._folds.attachments(self._buffer.now.text)

    def set(self, text: str) -> None:
        """Replace the text and put the cursor at its end; undo brings the old text back.

        An image that is here now and whose words stand in the new text too stays attached: it went through an editor.
        """
        text = self._safe(text.replace("\r\n", "\n").replace("\r", "\n"))
        for words, char in self._folds.images(self.now.text).items():
            text = text.replace(words, char, 1)
        self._put(text)

    def clear(self) -> None:
        """Remove the text; undo brings it back."""
        self._put("")
        self._tidy()

    def take(self) -> str:
        """Return the text to send, add it to the history, and reset the composer except for its stash."""
        text = self.text
        self._recall.add(text)
        self._buffer.forget()
        self._leave_modes()
        self._tidy()
        return text

    def insert(self, text: str) -> None:
        self._buffer.begin()
        self._buffer.edit(insert_text(self.now, self._safe(text)))
        self._touched()

    def put(self, text: str, cursor: int) -> None:
        """Replace the whole of `now`, because a completion was chosen."""
        self._buffer.begin()
        self._buffer.edit(EditText(text, cursor))
        self._touched()

    def attach(self, attachment: "Attachment") -> None:
        self._buffer.begin()
        self._buffer.type(self._folds.image(attachment))
        self._touched()

    def load_history(self, older: Sequence[str]) -> None:
        self._recall.load(list(older))

    def press(self, key: "Key") -> KeyResult:
        before = self._buffer.now.text
        self._buffer.begin()
        self._note = ""
        try:
            kind = self._in_search(key) if self._search else self._press(key)
        except OvertError as error:
            kind, self._note = "handled", error.message
        changed = self._buffer.now.text != before
        if changed:
            self._recall.came = self._recall.came if self._recall.came == self._buffer.now else None
        return KeyResult(kind, changed, self._note)

    def draw(self, columns: int, most: int) -> tuple[list[Row], tuple[int, int]]:
        """Return the rows and the cursor in them, as row and column."""
        view = ComposerView(now=self.now, placeholder=self.placeholder, search=self._sought())
        return self._drawing.draw(view, columns, most)

    def _press(self, key: "Key") -> Kind:
        name = key.name
        if self._prefix:
            self._prefix = ""
            return self._prefixed(f"ctrl-x {name}")
        vertical = name in UP or name in DOWN
        if not vertical and not (self._vi and self._vi.normal and key.text in ("j", "k")):
            self._wanted = None
        if self._vi is None:
            return self._usual(key, vertical=vertical)
        done = self._vi.press(key)
        if done is not None:
            return "handled" if done else "ignored"
        kind = self._usual(key, vertical=vertical)
        self._vi.settle()
        return kind

    def _usual(self, key: "Key", *, vertical: bool) -> Kind:
        """Handle a key with emacs keys or in the insert mode of vi."""
        match name := key.name:
            case "text":
                self._buffer.type(self._folds.safe(key.text))
            case "paste":
                self._paste(key.text)
            case "enter":
                return self._enter()
            case "ctrl-g":
                return "external"
            case "ctrl-v":
                return "image"
            case "ctrl-r":
                self._seek()
            case "ctrl-s":
                self._swap_stash()
            case "ctrl-x":
                self._prefix = name
            case "ctrl-d" if self.empty:
                return "ignored"
            case "alt-<" | "alt->":
                self._recalled(self._recall.jump(self.now, oldest=name == "alt-<"))
            case _ if vertical:
                self._up_or_down(-1 if name in UP else 1)
            case _ if name in NEWLINES:
                self._buffer.type("\n")
            case _:
                return "handled" if emacs.press(self._buffer, name) else "ignored"
        return "handled"

    def _prefixed(self, name: str) -> Kind:
        if name == "ctrl-x ctrl-e":
            return "external"
        if name == "ctrl-x ctrl-p":
            self._open_fold()
            return "handled"
        emacs.press(self._buffer, name)
        return "handled"

    def _enter(self) -> Kind:
        """Submit, or insert a line break in place of a backslash right before the cursor."""
        text, at = self._buffer.now
        if text[:at].endswith("\\"):
            self._buffer.edit(replace_range(self._buffer.now, at - 1, at, "\n"))
            return "handled"
        return "submit"

    def _paste(self, text: str) -> None:
        if len(text) <= PATH_LIKE and text.strip()[:1] in ("/", "~", "'", '"', "f", "\\"):
            from overt.app.chat.attachments import dropped_images  # late: 17 ms

            images, self._note = dropped_images(text)
            if images:
                self._buffer.edit(insert_text(self.now, " ".join(map(self._folds.image, images))))
                return
        self._buffer.edit(insert_text(self.now, self._folds.insertion(text)))

    def _open_fold(self) -> None:
        """Replace the folded paste at or right before the cursor with its text, unless that is too long."""
        text, at = self.now
        for start in (at, left(self.now)):
            if start < len(text) and is_fold(text[start]):
                fold = self._folds.get(text[start])
                if fold.kind == "paste" and len(fold.text) <= OPENING:
                    self._buffer.edit(replace_range(self.now, start, start + 1, self._folds.safe(fold.text)))
                return

    def _swap_stash(self) -> None:
        """Put the draft aside or bring it back. If there is a draft and a stash, swap them."""
        kept = self._stash
        self._stash = self.now if self.now.text else None
        self._buffer.edit(kept or EditText())
        self._recall.rest()

    def _up_or_down(self, by: int) -> None:
        untouched = self._recall.came is not None and self._recall.came == self.now
        if untouched or not self._vertical(by):
            self._recalled(self._recall.step(self.now, by))

    def _seek(self) -> None:
        self._search = Search(self._recall.entries)

    def _vertical(self, by: int) -> bool:
        """Go one display row up or down, keeping the column where this began. Return False at the edge."""
        at, self._wanted = self._drawing.vertical(self.now, by, self._wanted)
        if at is None:
            return False
        self._buffer.go(at)
        return True

    def _recalled(self, found: EditText | str | None) -> None:
        if found is None:
            return
        text = found if isinstance(found, EditText) else EditText(self._safe(found), 0)
        self._buffer.edit(text if isinstance(found, EditText) else text._replace(cursor=len(text.text)))
        if self._vi:
            self._vi.settle()
        self._recall.came = self.now if self._recall.away else None
        self._wanted = None

    def _in_search(self, key: "Key") -> Kind:
        search = self._search
        assert search is not None
        match key.name:
            case "text":
                search.seek(search.query + key.text)
            case "backspace" | "ctrl-h":
                search.seek(search.query[: left(EditText(search.query, len(search.query)))])
            case "ctrl-r" | "up":
                search.move(-1)
            case "ctrl-s" | "down":
                search.move(1)
            case "esc" | "ctrl-g" | "ctrl-c":
                self._search = None
            case "enter" | "tab":
                self._taken(search)
            case _:
                self._taken(search)
                return self._press(key)
        return "handled"

    def _taken(self, search: Search) -> None:
        self._search = None
        if search.found:
            at = search.at()[1]
            self._recall.rest()
            text = self._safe(search.found)
            self._buffer.edit(EditText(text, at if text == search.found else len(text)))

    def _sought(self) -> SearchMatch | None:
        search = self._search
        if search is None:
            return None
        return SearchMatch(search.query, self._folds.safe(search.found[:OPENING]), search.at(), search.failed)

    def _safe(self, text: str) -> str:
        """Return text that can be edited: one that is too long to lay out at every key becomes a fold."""
        return self._folds.paste(text) if len(text) > OPENING else self._folds.safe(text)

    def _put(self, text: str) -> None:
        self._buffer.begin()
        self._buffer.edit(EditText(text, len(text)))
        self._touched()
        self._leave_modes()

    def _touched(self) -> None:
        self._recall.came = self._wanted = None

    def _leave_modes(self) -> None:
        self._search = self._wanted = None
        self._prefix = ""
        if self._vi:
            self._vi.reset()

    def _tidy(self) -> None:
        stash = [self._stash.text] if self._stash else []
        self._folds.keep([*self._buffer.texts(), *self._recall.texts(), *stash])
