"""Editing keys of vi: insert and normal mode.

In insert mode every key except Esc means what it means with emacs keys. In normal mode `j` and `k` follow the rows on
the screen and go on into the history, `/` searches the history, and `.` feeds the keys of the last change again. There
is one register, which Ctrl+Y inserts too.
"""

from collections.abc import Callable

from overt.frontends.tui.composer.buffer import Buffer
from overt.frontends.tui.composer.editor import (
    EditText,
    insert_text,
    left,
    line_end,
    line_start,
    remove_range,
    replace_range,
    right,
    snap,
)
from overt.frontends.tui.composer.vi_moves import ViCommand, first_letter, inside, last_place, move, parse
from overt.frontends.tui.terminal.keyboard import Key

AS_LETTERS = {"left": "h", "right": "l", "home": "0", "end": "$", "delete": "x", "backspace": "h", "ctrl-h": "h"}


class Vi:
    """The vi modes of one composer.

    `walk` goes one display row up or down and on into the history, `feed` handles a key as if it was pressed, and
    `search` opens the search of the history.
    """

    def __init__(
        self,
        buffer: Buffer,
        walk: Callable[[int], object],
        feed: Callable[[Key], object],
        search: Callable[[], None],
    ) -> None:
        self._buffer = buffer
        self._walk, self._feed, self._search = walk, feed, search
        self._last_find = ("", "")
        self._register_lines = ""
        self._change: list[Key] = []
        self._replaying = False
        self.reset()

    def reset(self) -> None:
        """Start a new text in insert mode."""
        self.normal = False
        self._command = ""
        self._pressed = [Key("text", "i")]
        self._depth = self._buffer.depth

    @property
    def badge(self) -> str:
        return "NORMAL" if self.normal else "INSERT"

    def settle(self) -> None:
        """Move the cursor of normal mode from behind the last character of a line onto it."""
        now = self._buffer.now
        if self.normal and now.cursor == line_end(now):
            self._buffer.go(last_place(now))

    def press(self, key: Key) -> bool | None:
        """Return whether the key did something, or None if it means what it means with emacs keys."""
        if not self.normal:
            self._pressed.append(key)
            return self._leave_insert() if key.name == "esc" else None
        if key.name == "esc":
            was_typing, self._command = bool(self._command), ""
            self.settle()
            return was_typing
        if key.name == "ctrl-r" and not self._command:
            self._buffer.redo()
            self.settle()
            return True
        letters = key.text if key.name == "text" else AS_LETTERS.get(key.name, "")
        if key.name == "enter" and self._command.endswith("r"):
            letters = "\n"
        if not letters:
            self._command = ""
            return None
        return self._letters(letters)

    def _letters(self, letters: str) -> bool:
        for number, letter in enumerate(letters):
            if not self.normal:
                self._feed(Key("text", letters[number:]))
                break
            self._letter(letter)
        return True

    def _leave_insert(self) -> bool:
        self.normal = True
        self._finish(changed=True)
        now = self._buffer.now
        if now.cursor > line_start(now):
            self._buffer.go(left(now))
        return True

    def _finish(self, *, changed: bool) -> None:
        """Make one undo step of what the command did, and keep the keys of a change for `.`."""
        self._buffer.join(self._depth)
        if changed and not self._replaying:
            self._change = self._pressed

    def _letter(self, letter: str) -> None:
        self._pressed = [*(self._pressed if self._command else ()), Key("text", letter)]
        self._command += letter
        command = parse(self._command)
        if command == "more":
            return
        self._command = ""
        if command == "bad":
            return
        before, self._depth = self._buffer.now.text, self._buffer.depth
        self._run(command)
        if self.normal:
            self._finish(changed=self._buffer.now.text != before and command.name not in ("u", "."))
            self.settle()

    def _run(self, command: ViCommand) -> None:
        now, name, count = self._buffer.now, command.name, max(command.times, 1)
        if name in ("f", "F", "t", "T"):
            self._last_find = name, command.letter
        if command.operator:
            self._operate(command)
            return
        match name:
            case "i" | "I" | "a" | "A" | "o" | "O":
                self._insert(name)
            case "p" | "P":
                self._put(count, behind=name == "p")
            case "r":
                self._replace(command.letter, count)
            case "u":
                for _ in range(count):
                    self._buffer.undo()
            case ".":
                self._replaying, depth = True, self._depth
                for key in self._change * count:
                    self._feed(key)
                self._replaying, self._depth = False, depth
            case "/":
                self._search()
            case "j" | "k":
                for _ in range(count):
                    self._walk(1 if name == "j" else -1)
            case _:
                if (target := move(now, command, self._last_find)) is not None:
                    self._buffer.go(snap(now.text, target.at))

    def _operate(self, command: ViCommand) -> None:
        now, lines = self._buffer.now, False
        if command.name == "i":
            stretch = inside(now, command.letter)
        elif (target := move(now, command, self._last_find)) is not None:
            start, end = sorted((now.cursor, target.at))
            lines = target.reach == "lines"
            if lines:
                start, end = line_start(EditText(now.text, start)), line_end(EditText(now.text, end))
            elif target.reach == "inclusive" and now.text[end : end + 1] != "\n":
                end = right(EditText(now.text, end))
            stretch = start, end
        else:
            stretch = None
        if stretch is not None:
            self._apply(command.operator, *stretch, lines=lines)

    def _apply(self, operator: str, start: int, end: int, *, lines: bool) -> None:
        now = self._buffer.now
        if lines or start < end:
            self._register_lines = f"{now.text[start:end]}\n" if lines else ""
            self._buffer.keep(self._register_lines or now.text[start:end])
        if operator == "y":
            if not lines or start != line_start(now):
                self._buffer.go(start)
        elif operator == "c" or not lines:
            self._buffer.edit(remove_range(now, start, end))
            self.normal = operator != "c"
        else:
            has_next = end < len(now.text)
            rest = remove_range(now, start if has_next else max(start - 1, 0), end + has_next)
            self._buffer.edit(rest._replace(cursor=first_letter(rest)))

    def _insert(self, name: str) -> None:
        now, end = self._buffer.now, line_end(self._buffer.now)
        after = right(now) if now.cursor < end else end
        places = {"i": now.cursor, "I": first_letter(now), "a": after, "A": end, "o": end, "O": line_start(now)}
        if name in "oO":
            self._buffer.edit(insert_text(now._replace(cursor=places[name]), "\n"))
        self._buffer.go(places[name] + (name == "o"))
        self.normal = False

    def _put(self, count: int, *, behind: bool) -> None:
        """Insert the register. Lines that were taken whole become lines of their own."""
        now, piece = self._buffer.now, self._buffer.cuts[-1] if self._buffer.cuts else ""
        if not piece:
            return
        if piece == self._register_lines:
            at = line_end(now) if behind else line_start(now)
            piece = f"\n{(piece * count)[:-1]}" if behind else piece * count
            after = insert_text(now._replace(cursor=at), piece)
            self._buffer.edit(after._replace(cursor=first_letter(after._replace(cursor=at + behind))))
            return
        at = right(now) if behind and now.cursor < line_end(now) else now.cursor
        after = insert_text(now._replace(cursor=at), piece * count)
        self._buffer.edit(after._replace(cursor=left(after)))

    def _replace(self, letter: str, count: int) -> None:
        """Replace that many characters, none if the line has fewer. A line break replaces all of them at once."""
        now = end = self._buffer.now
        for _ in range(count):
            if end.cursor >= line_end(now):
                return
            end = end._replace(cursor=right(end))
        after = replace_range(now, now.cursor, end.cursor, letter if letter == "\n" else letter * count)
        self._buffer.edit(after if letter == "\n" else after._replace(cursor=left(after)))
