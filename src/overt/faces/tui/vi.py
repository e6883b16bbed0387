"""Keys as vi has them: insert, normal and visual mode on one text.

In insert mode every key but Esc means what it means with emacs keys. `.` types the last change again, key by key; `j`
and `k` follow the rows on the screen and reach the history at the edges; `/` searches the history. One register, which
is also what Ctrl+Y puts back.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from overt.faces.tui._buffer import Buffer
from overt.faces.tui._vi_changes import joined, put, replaced
from overt.faces.tui._vi_moves import Command, Target, around, first_letter, last_place, move, parse, words_end
from overt.faces.tui.editor import Text, inserted, left, line_end, line_start, removed, right, snap, swapped

if TYPE_CHECKING:
    from overt.faces.tui.keys import Key

Mode = Literal["insert", "normal", "char", "line"]
BADGES: dict[Mode, str] = {"insert": "INSERT", "normal": "NORMAL", "char": "VISUAL", "line": "V-LINE"}
AS_LETTERS = {
    "left": "h",
    "right": "l",
    "home": "0",
    "end": "$",
    "delete": "x",
    "backspace": "h",
    "ctrl-h": "h",
}
SHORT = {"D": ("d", "$"), "C": ("c", "$"), "S": ("c", "line"), "Y": ("y", "line")}
INSERTS = "iIaAoO"


class Vi:
    """`walk` goes a display row up or down, and on into the history if it may; `feed` is the way all keys take;
    `seek` opens the search of the history."""

    def __init__(
        self,
        buffer: Buffer,
        walk: Callable[[int, bool], object],
        feed: "Callable[[Key], object]",
        seek: Callable[[], None],
    ) -> None:
        self._buffer = buffer
        self._walk, self._feed, self._seek = walk, feed, seek
        self._mode: Mode = "insert"
        self._keys = ""
        self._anchor = 0
        self._sought = ("", "")
        self._lines = ""
        self._record: list[Key] = []
        self._change: list[Key] = []
        self._replaying = False
        self._depth = 0
        self._times = 1
        self._typed = 0

    @property
    def badge(self) -> str:
        return BADGES[self._mode]

    @property
    def normal(self) -> bool:
        return self._mode != "insert"

    @property
    def selected(self) -> tuple[int, int]:
        if self._mode not in ("char", "line"):
            return 0, 0
        now = self._buffer.now
        low, high = sorted((min(self._anchor, len(now.text)), now.cursor))
        if self._mode == "line":
            return line_start(Text(now.text, low)), min(line_end(Text(now.text, high)) + 1, len(now.text))
        return low, right(Text(now.text, high))

    def reset(self) -> None:
        """A new text: begun in insert mode."""
        self._mode, self._keys, self._record, self._times, self._typed = "insert", "", [], 1, 0
        self._depth = self._buffer.depth

    def settle(self) -> None:
        """In normal mode the cursor stands on a character, not behind the last."""
        now = self._buffer.now
        if self._mode == "normal" and now.cursor == line_end(now):
            self._buffer.go(last_place(now))

    def press(self, key: "Key") -> bool | None:
        """Whether it meant something; None when it is a key like any other."""
        if self._mode == "insert":
            return self._insert(key)
        if key.name == "esc":
            return self._escape()
        if key.name == "ctrl-r" and not self._keys:
            self._buffer.redo()
            self.settle()
            return True
        if key.name == "enter" and self._keys.endswith("r"):
            return self._letters("\n", key)
        letters = key.text if key.name == "text" else AS_LETTERS.get(key.name, "")
        if self._mode in ("char", "line") and key.name in ("up", "down"):
            letters = "k" if key.name == "up" else "j"
        if not letters:
            self._keys = ""
            return None
        return self._letters(letters, key)

    def _insert(self, key: "Key") -> bool | None:
        if key.name != "esc":
            self._record = [*self._record, key]
            return None
        record, times, self._times = self._record, self._times, 1
        for again in record[self._typed :] * (times - 1):
            self._feed(again)
        self._mode = "normal"
        if not self._replaying:
            self._change = [*(record if self._typed else (key._replace(name="text", text="i"), *record)), key]
        self._record = []
        self._buffer.join(self._depth)
        now = self._buffer.now
        if now.cursor > line_start(now):
            self._buffer.go(left(now))
        return True

    def _escape(self) -> bool:
        busy = bool(self._keys) or self._mode in ("char", "line")
        self._keys, self._record = "", []
        self._mode = "normal"
        self.settle()
        return busy

    def _letters(self, letters: str, key: "Key") -> bool:
        for number, letter in enumerate(letters):
            if self._mode == "insert":
                self._feed(key._replace(name="text", text=letters[number:]))
                break
            self._letter(letter, key._replace(name="text", text=letter))
        return True

    def _letter(self, letter: str, key: "Key") -> None:
        if not self._keys and self._mode == "normal":
            self._record = []
        self._record.append(key)
        self._keys += letter
        command = parse(self._keys, visual=self._mode in ("char", "line"))
        if command == "more":
            return
        self._keys = ""
        if command == "bad":
            return
        before = self._buffer.now
        self._depth = self._buffer.depth
        if self._mode == "normal":
            self._normal(command)
        else:
            self._visual(command)
        after: Mode = self._mode
        if after == "normal":
            self._buffer.join(self._depth)
            if self._buffer.now.text != before.text and command.name not in ("u", ".") and not self._replaying:
                self._change = self._record
            self.settle()
        elif after == "insert":
            self._typed = len(self._record)

    def _normal(self, command: Command) -> None:
        if command.name in SHORT and not command.op:
            op, name = SHORT[command.name]
            command = Command(command.times, op, name)
        if command.op:
            self._operate(command)
        elif command.name in INSERTS:
            self._open_insert(command)
        elif (action := ACTIONS.get(command.name)) is not None:
            action(self, command)
        elif command.name in "jk":
            for _ in range(max(command.times, 1)):
                self._walk(1 if command.name == "j" else -1, True)
        else:
            self._moved(command)

    def _moved(self, command: Command) -> None:
        if command.name in "fFtT":
            self._sought = command.name, command.arg
        if (target := move(self._buffer.now, command, self._sought)) is not None:
            self._buffer.go(snap(self._buffer.now.text, target.at))

    # ── operators ────────────────────────────────────────────────────────────────────────────────────────

    def _operate(self, command: Command) -> None:
        now = self._buffer.now
        if command.name == "line":
            target = move(now, Command(max(command.times, 1) - 1, "", "j"), ("", "")) if command.times > 1 else None
            last = target.at if target else now.cursor if command.times <= 1 else len(now.text)
            self._take(command.op, now.cursor, last, lines=True)
            return
        if command.name in "ia":
            if (found := around(now, command)) is not None:
                self._take(command.op, *found)
            return
        if command.name in "fFtT":
            self._sought = command.name, command.arg
        target = self._reached(now, command)
        if target is None:
            return
        start, end = sorted((now.cursor, target.at))
        if target.reach == "inclusive" and now.text[end : end + 1] != "\n":
            end = right(Text(now.text, end))
        self._take(command.op, start, end, lines=target.reach == "lines")

    def _reached(self, now: Text, command: Command) -> Target | None:
        """`cw` changes to the end of the word; `dw` on the last word of a line leaves the line break."""
        text, at = now
        if command.op == "c" and command.name in "wW" and at < len(text) and not text[at].isspace():
            return words_end(now, command)
        target = move(now, command, self._sought)
        if target is not None and command.name in "wW":
            stop = max(len(text[: target.at].rstrip(" \t\n")), at)
            broken = text.find("\n", stop, target.at)
            return target if broken < 0 else Target(broken)
        return target

    def _take(self, op: str, start: int, end: int, *, lines: bool = False) -> None:
        text = self._buffer.now.text
        if lines:
            start, end = sorted((start, end))
            start, end = line_start(Text(text, start)), line_end(Text(text, end))
        piece = text[start:end]
        if not piece and not lines:
            if op == "c":
                self._buffer.go(start)
                self._mode = "insert"
            return
        self._buffer.keep(f"{piece}\n" if lines else piece)
        self._lines = f"{piece}\n" if lines else ""
        if op == "y":
            if not lines or start != line_start(self._buffer.now):
                self._buffer.go(start)
        elif op == "c" or not lines:
            self._buffer.edit(removed(self._buffer.now, start, end))
            self._mode = "insert" if op == "c" else self._mode
        else:
            if end < len(text):
                end += 1
            elif start:
                start -= 1
            left_over = removed(self._buffer.now, start, end)
            self._buffer.edit(left_over._replace(cursor=first_letter(left_over)))

    # ── actions ──────────────────────────────────────────────────────────────────────────────────────────

    def _open_insert(self, command: Command) -> None:
        now = self._buffer.now
        self._times = max(command.times, 1) if command.name in "iIaA" else 1
        self._mode = "insert"
        match command.name:
            case "I":
                self._buffer.go(first_letter(now))
            case "a":
                self._buffer.go(right(now) if now.cursor < line_end(now) else now.cursor)
            case "A":
                self._buffer.go(line_end(now))
            case "o":
                self._buffer.edit(inserted(now._replace(cursor=line_end(now)), "\n"))
            case "O":
                opened = inserted(now._replace(cursor=line_start(now)), "\n")
                self._buffer.edit(opened._replace(cursor=opened.cursor - 1))
            case _:
                pass

    def _delete(self, command: Command) -> None:
        name = {"x": "l", "s": "l", "X": "h"}[command.name]
        self._operate(Command(command.times, "c" if command.name == "s" else "d", name))

    def _put(self, command: Command) -> None:
        if self._buffer.cuts:
            piece = self._buffer.cuts[-1]
            lines, times = piece == self._lines, max(command.times, 1)
            self._buffer.edit(put(self._buffer.now, piece * times, lines=lines, behind=command.name == "p"))

    def _replace(self, command: Command) -> None:
        if (made := replaced(self._buffer.now, command.arg, max(command.times, 1))) is not None:
            self._buffer.edit(made)

    def _toggle(self, command: Command) -> None:
        now = self._buffer.now
        target = move(now, Command(command.times, "", "l"), ("", ""))
        if target is not None:
            self._buffer.edit(swapped(now, now.cursor, target.at, now.text[now.cursor : target.at].swapcase()))

    def _join(self, command: Command) -> None:
        for _ in range(max(command.times - 1, 1)):
            if (made := joined(self._buffer.now)) is not None:
                self._buffer.edit(made)

    def _undo(self, command: Command) -> None:
        for _ in range(max(command.times, 1)):
            self._buffer.undo()

    def _again(self, command: Command) -> None:
        keys = list(self._change)
        if command.times and keys:
            while len(keys) > 1 and keys[0].text.isdigit() and keys[0].text != "0":
                keys.pop(0)
            keys = [keys[0]._replace(name="text", text=digit) for digit in str(command.times)] + keys
        self._replaying, self._record = True, []
        depth = self._depth
        for key in keys:
            self._feed(key)
        self._replaying, self._depth = False, depth

    def _select(self, command: Command) -> None:
        self._mode = "char" if command.name == "v" else "line"
        self._anchor = self._buffer.now.cursor

    # ── visual ───────────────────────────────────────────────────────────────────────────────────────────

    def _visual(self, command: Command) -> None:
        now = self._buffer.now
        name = command.name
        if name in ("v", "V"):
            wanted: Mode = "char" if name == "v" else "line"
            self._mode = "normal" if self._mode == wanted else wanted
        elif name == "o":
            self._anchor, at = now.cursor, self._anchor
            self._buffer.go(at)
        elif name in ("i", "a"):
            if (found := around(now, command)) is not None:
                self._anchor = found[0]
                self._buffer.go(max(left(Text(now.text, found[1])), found[0]))
        elif name in ("j", "k"):
            for _ in range(max(command.times, 1)):
                self._walk(1 if name == "j" else -1, False)
        elif name in "dxXDyYcsSC~uUJpP":
            self._on_selected(name)
        else:
            self._moved(command)
            self._buffer.go(min(self._buffer.now.cursor, last_place(self._buffer.now)))

    def _on_selected(self, name: str) -> None:
        start, end = self.selected
        lines = self._mode == "line" or name in "XDYSC"
        self._mode = "normal"
        now = self._buffer.now
        if name in "~uU":
            change = {"~": str.swapcase, "u": str.lower, "U": str.upper}[name]
            self._buffer.edit(swapped(now, start, end, change(now.text[start:end]))._replace(cursor=start))
        elif name == "J":
            self._buffer.go(start)
            self._join(Command(now.text.count("\n", start, max(end - 1, start)) + 1, "", "J"))
        elif name in "pP":
            if self._buffer.cuts:
                piece = self._buffer.cuts[-1]
                made = swapped(now, start, end, piece)
                self._buffer.edit(made._replace(cursor=left(made)))
        else:
            op = {"d": "d", "x": "d", "X": "d", "D": "d", "y": "y", "Y": "y"}.get(name, "c")
            last = max(left(Text(now.text, end)), start) if lines and end > start else end
            self._take(op, start, last, lines=lines)


ACTIONS: dict[str, Callable[[Vi, Command], None]] = {
    "x": Vi._delete,
    "X": Vi._delete,
    "s": Vi._delete,
    "p": Vi._put,
    "P": Vi._put,
    "r": Vi._replace,
    "~": Vi._toggle,
    "J": Vi._join,
    "u": Vi._undo,
    ".": Vi._again,
    "v": Vi._select,
    "V": Vi._select,
    "/": lambda vi, _command: vi._seek(),
}
