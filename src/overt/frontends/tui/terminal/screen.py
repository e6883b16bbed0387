"""The screen: finished rows go into the terminal's own scrollback once, a small live region below is kept up to date.

How nothing finished can be lost when the terminal is resized. Where the live region begins is known only relative to
the cursor, so after a resize the rows between them must be counted as the terminal now holds them. A terminal that
reflows breaks every row at its new width, which is a sum over the rows that were drawn. It may have done so before
the program hears of it (tmux tells up to 250 ms late), while more is drawn. These rules keep the sum from ever being
too large, which would erase finished rows; too small only leaves a stale live row behind:

- Rows are drawn with autowrap on, so a row that turns out too wide is broken just as reflow breaks it, and all that
  follows is further down than thought.
- The cursor goes down by line feeds, never by a move that stops at the last line of a terminal that became lower.
- It ends further down in the live region than it was only when the whole region is drawn anew on erased lines. From a
  row that the terminal has broken, a line feed leads into the rest of that row, and both become one line again when the
  terminal is widened: the region would then be lower than its rows say.
- Rows that may be too wide for some terminals are cut by them instead, so those drawn lately are counted as one line.

tmux itself loses count where it puts broken lines with wide characters together again: its cursor then stands above
its place, once for each such line. But its last line stays the last one, so there the way up begins at the bottom of
a screen that is full; one that is not is left as it stands, and becomes full. Rows below the cursor may have been
dropped by then, and are not counted: what is left of them is the blank row that a frame begins with.

And nothing is drawn until sizes stop changing (`settle`), which makes such cases rare.
"""

from binascii import b2a_base64
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import NamedTuple

from overt.frontends.tui.terminal.device import Device, Gone
from overt.frontends.tui.terminal.layout import DrawnRow, FrameLayout, heights, lay_out, move, tail, up_to
from overt.frontends.tui.terminal.paint import harmless, paint
from overt.frontends.tui.terminal.rows import Row, cut, plain
from overt.frontends.tui.terminal.theme import Theme
from overt.lib.display_width import width

__all__ = ["Device", "Frame", "Gone", "Terminal"]

SYNC, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
HIDE, UNHIDE = "\x1b[?25l", "\x1b[?25h"
PASTES, PASTES_END = "\x1b[?2004h", "\x1b[?2004l"
# kitty's protocol and xterm's; what takes the second for a style is put right by the reset behind it.
KEYS, KEYS_END = "\x1b[>1u\x1b[>4;1m\x1b[m", "\x1b[<u\x1b[>4;0m\x1b[m"
FULL, FULL_END = "\x1b[?1049h", "\x1b[?1049l"
EMPTIED = "\x1b[H\x1b[2J"
MOUSE, MOUSE_END = "\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"
# From the second column: cleared from its first corner, tmux would put the screen into the scrollback instead.
DOWN = "\x1b[K\x1b[C\x1b[J\r"
LINE = "\r\n"
BOTTOM = "\x1b[9999;1H"
"""Wherever that is by now."""
SETTLE = 0.06
SETTLE_TMUX = LATELY = 0.3
"""Seconds: longer than tmux takes to tell of a resize."""
MOST_COPIED = 75_000
"""Characters of base64 that terminals take."""


class Frame(NamedTuple):
    """The live region. `cursor` is a row of it and a column; None hides it."""

    rows: Sequence[Row]
    cursor: tuple[int, int] | None = None


EMPTY = Frame(())
NOWHERE = (0, 0)


class Terminal:
    """`theme` and `links` may be changed at any time; `repaint` brings the change onto the screen."""

    def __init__(
        self, device: Device, theme: Theme, *, links: bool = False, reflows: bool = True, settle: float = SETTLE
    ) -> None:
        self.theme = theme
        self.links = links
        self.extended = True
        """Whether keys are asked for in the newer forms; the Linux console draws the question."""
        self._device = device
        self.reflows = reflows
        self.settle = settle
        self.anchored = False
        """In tmux: what stood on the last line of a full screen still does, whatever its size was meanwhile."""
        self.columns, self.lines = device.size()
        self._told = self.columns, self.lines
        self._frame = EMPTY
        self._waiting: deque[Row] = deque()
        self._layout = FrameLayout([], (0, 0), self.columns)
        self._hidden = False
        self._inside = False
        self._asked = False
        self._wide = False
        self._printed = 0
        self._still: float | None = None
        self._heard = self._tightly = 0.0
        self._full: list[DrawnRow] | None = None
        self._mouse = False

    # ── modes ────────────────────────────────────────────────────────────────────────────────────────────

    def enter(self) -> None:
        """The cursor must stand at the start of a line. What was shown before `leave` is shown again, and so it is
        when the program was stopped without being asked (SIGSTOP): call it after SIGCONT."""
        if self._inside and self._device.is_raw():
            return
        again = KEYS_END if self._inside and self.extended else ""
        self._device.raw()
        self._inside = True
        self._printed = 0
        if self._full is not None:
            self._full, self._told = [], NOWHERE
            self._write(again + PASTES + self._full_start())
            return
        self._layout = FrameLayout([], (0, 0), self.columns)
        self._hidden = False
        self._device.write(again + PASTES + (KEYS if self.extended else ""))
        if self._frame.rows or self._waiting:
            self.flush(now=True)

    def leave(self) -> None:
        """Everything as it was found, the live region gone, the cursor below the last finished row. Never fails and
        may be called twice: call it in `finally`, and let handlers of SIGTERM and SIGHUP raise so that it is reached.
        """
        if not self._inside:
            self._device.again_usual()
            return
        self._inside = False
        try:
            if self._full is not None:
                self._device.write(self._full_end())
            end = UNHIDE + PASTES_END + (KEYS_END if self.extended else "\x1b[m")
            self._device.write(self._to_top() + DOWN + self._finished() + end)
        except OSError:
            pass  # nobody sees it any more
        finally:
            self._layout = FrameLayout([], (0, 0), self.columns)
            self._device.usual(forget=self._asked)

    def suspend(self) -> None:
        """Ctrl+Z, or SIGTSTP from elsewhere: returns when the program is in front again, all drawn anew."""
        full = self._full is not None
        self.leave()
        self._device.stop()
        self._measure()
        self.enter()
        if full:
            self.open_full(mouse=self._mouse)
            self._told = NOWHERE

    def stop(self) -> None:
        """The same while somebody else has the terminal: it is theirs to give back."""
        self._device.stop()

    @property
    def inside(self) -> bool:
        """Whether the terminal is ours."""
        return self._inside

    def read(self) -> bytes:
        """What was typed, when there is something."""
        return self._device.read()

    # ── the live region ──────────────────────────────────────────────────────────────────────────────────

    def commit(self, rows: Iterable[Row]) -> None:
        """Finished rows; they go out with the next `show`, `flush` or `leave`, whichever comes first."""
        self._waiting.extend(rows)

    def show(self, frame: Frame) -> None:
        self._frame = frame
        self.flush()

    def clear(self) -> None:
        """An empty screen with the live region on top; what was on it is in the scrollback."""
        if not self._inside or self._full is not None:
            return
        out = self._to_top() + DOWN + self._finished() + "\n" * (self.lines - 1) + "\x1b[H"
        self._printed = 0
        self._layout = FrameLayout([], (0, 0), self.columns)
        self._write(self._framed(out + self._sequence(self._lay_out(), 0), 2))

    def repaint(self) -> None:
        """The live region in the theme of now."""
        rows = [row._replace(text="", sure=False) for row in self._layout.rows]
        self._layout = self._layout._replace(source=(), rows=rows)
        self.flush()

    def resized(self) -> bool:
        """Whether the size has changed since this was asked last, or the whole screen must be drawn anew. The live
        region waits until the size is still: see `wait`."""
        self._measure()
        changed, self._told = self._told != (self.columns, self.lines), (self.columns, self.lines)
        return changed

    @property
    def wait(self) -> float | None:
        """Seconds after which `flush` must be called for what was held back; None if nothing is."""
        return None if self._still is None else max(self._still - monotonic(), 0)

    def flush(self, *, now: bool = False) -> None:
        """Draws what is not on the screen yet, unless the terminal is being resized."""
        self._measure()
        if not self._inside or self._full is not None:
            return
        moved = self._still is not None
        if self._still is not None:
            if not now and monotonic() < self._still:
                return
            self._still = None
        new = self._lay_out()
        if moved or self._waiting or (self._layout.rows and new.at[0] > self._layout.at[0]):
            out = self._to_top() + DOWN + self._finished()
            self._layout = FrameLayout([], (0, 0), self.columns)
            self._write(self._framed(out + self._sequence(new, 0), 2))
            return
        self._write(self._changes(new))

    def _measure(self) -> None:
        size = self._device.size()
        if size != (self.columns, self.lines):
            self.columns, self.lines = size
            self._heard = monotonic()
            self._still = self._heard + self.settle
            self._full = None if self._full is None else []

    def _write(self, text: str) -> None:
        if text:
            if any(row.tight for row in self._layout.rows):
                self._tightly = monotonic()
            self._device.write(text)

    def _finished(self) -> str:
        made = [paint(row, self.theme, links=self.links) + LINE for row in self._waiting]
        self._printed += len(made)
        self._wide = self._wide or any(_wide(plain(row)) for row in self._waiting)
        self._waiting.clear()
        return "".join(made)

    def _lay_out(self) -> FrameLayout:
        """Cut the frame to the screen. Its top is left out if it is too high."""
        size = self.columns, self.lines - 1
        return lay_out(self._frame.rows, self._frame.cursor, self._layout, self._painted, size)

    def _painted(self, row: Row) -> str:
        return paint(row, self.theme, links=self.links)

    def _to_top(self) -> str:
        """To the start of the live region, wherever a resize has brought it."""
        old = self._layout
        line, column = old.at
        if self.reflows and old.columns != self.columns and old.rows:
            lately = self._heard - self._tightly < LATELY
            counted = [((1, 0) if row.tight and lately else None, row.row) for row in old.rows]
            above = sum((known or heights(row, self.columns))[0] for known, row in counted[:line])
            known, row = counted[line]
            line = above + (known or heights(row, self.columns, column))[1]
            if self.anchored and self._wide:
                if self._printed + len(old.rows) >= self.lines:
                    up = above + (known or heights(row, self.columns))[0] - 1
                    return BOTTOM + (f"\x1b[{up}A" if up else "")
                if self.columns > old.columns:
                    self._printed = self.lines
                    return BOTTOM + LINE
        return (f"\x1b[{line}A" if line else "") + "\r"

    def _changes(self, new: FrameLayout) -> str:
        """From the frame on the screen to the new one, in as few bytes as it takes."""
        old = self._layout
        changed = [at for at, row in enumerate(new.rows) if at >= len(old.rows) or row.text != old.rows[at].text]
        if len(new.rows) != len(old.rows):
            first = min(changed, default=min(len(new.rows), len(old.rows)))
            return self._framed(self._sequence(new, first), 2)
        out, here = "", old.at
        for at in changed:
            step, here = tail(old.rows[at], new.rows[at], here, (at, self.columns), self._painted)
            out += step
        self._layout = new
        return self._framed(out + self._cursor(new, here, changed), len(changed))

    def _framed(self, text: str, rows: int) -> str:
        """More than one row is shown at once, and the cursor is not seen on its way."""
        hidden, many = self._frame.cursor is None, rows > 1
        start = HIDE if many and not self._hidden else ""
        covered = self._hidden or many
        end = UNHIDE if covered and not hidden else HIDE if hidden and not covered else ""
        self._hidden = hidden
        return f"{SYNC}{start}{text}{end}{SYNC_END}" if many else text + end

    def _sequence(self, new: FrameLayout, first: int) -> str:
        """Rows from `first` on, one after the other, and nothing below them."""
        old = self._layout
        out, here = [], old.at
        for at in range(first, len(new.rows)):
            row = new.rows[at]
            if at >= len(old.rows):
                out.append(move(here, (max(at - 1, 0), here[1])) + (LINE if at else "\r"))
            else:
                out.append(move(here, (at, 0)) if at == first else LINE)
            known = old.rows[at] if at < len(old.rows) else None
            if known and (known.width > row.width or not row.sure):
                out.append("\x1b[K")
            out.append(row.drawn())
            here = (at, row.width)
        if len(new.rows) < len(old.rows):
            out.append(move(here, (len(new.rows), 0)) + DOWN)
            here = (len(new.rows), 0)
        self._layout = new
        return "".join(out) + self._cursor(new, here, range(first, len(new.rows)))

    def _cursor(self, new: FrameLayout, here: tuple[int, int], redrawn: Sequence[int]) -> str:
        """To where the person types. Where terminals differ on the width before it, the row itself leads there."""
        line, column = new.at
        if column and new.rows and not new.rows[line].sure and (line in redrawn or here != new.at):
            beyond = column - new.rows[line].width
            before = self._painted(up_to(new.rows[line].row, column))
            return move(here, (line, 0)) + before + (f"\x1b[{beyond}C" if beyond > 0 else "")
        return move(here, new.at)

    # ── the whole screen ─────────────────────────────────────────────────────────────────────────────────

    def open_full(self, *, mouse: bool = False) -> None:
        """Another screen for an inspector; what is below stays as it is, and what is finished meanwhile waits."""
        if self._full is not None or not self._inside:
            return
        self._full, self._mouse = [], mouse
        self._write(self._full_start())

    def _full_start(self) -> str:
        """The keyboard forms are kept per screen."""
        return FULL + HIDE + EMPTIED + (KEYS if self.extended else "") + (MOUSE if self._mouse else "")

    def show_full(self, rows: Sequence[Row], cursor: tuple[int, int] | None = None) -> None:
        if self._full is None:
            return
        self._measure()
        old, out = self._full, [SYNC]
        for at in range(self.lines):
            row = cut(rows[at], self.columns) if at < len(rows) else ()
            new = DrawnRow(row, self._painted(row), 0, True, False)
            if at < len(old) and old[at].text == new.text:
                continue
            out.append(f"\x1b[{at + 1};1H\x1b[K{new.text}")
            old[at : at + 1] = [new]
        if cursor:
            out.append(f"\x1b[{cursor[0] + 1};{cursor[1] + 1}H")
        self._write("".join(out) + (UNHIDE if cursor else HIDE) + SYNC_END)

    def close_full(self) -> None:
        if self._full is None:
            return
        self._write(self._full_end() + (HIDE if self._hidden else UNHIDE))
        self.flush()

    def _full_end(self) -> str:
        self._full = None
        # Emptied first: tmux would put rows that a resize has cut into the scrollback.
        return EMPTIED + (MOUSE_END if self._mouse else "") + (KEYS_END if self.extended else "") + FULL_END

    # ── signs ────────────────────────────────────────────────────────────────────────────────────────────

    def bell(self) -> None:
        self._write("\a")

    def notify(self, text: str) -> None:
        """A message of the desktop, in terminals that pass it on."""
        self._write(f"\x1b]9;{harmless(text)}\a")

    def copy(self, text: str) -> bool:
        """To the clipboard, also from afar; False if it is longer than terminals take."""
        data = b2a_base64(text.encode("utf-8", "replace"), newline=False).decode()
        if len(data) > MOST_COPIED:
            return False
        self._write(f"\x1b]52;c;{data}\a")
        return True

    def ask_colour(self) -> None:
        """The background; the answer is a `reply` key for `shade`."""
        self._asked = True
        self._write("\x1b]11;?\x1b\\")


def _wide(text: str) -> bool:
    return not text.isascii() and width(text) > len(text)
