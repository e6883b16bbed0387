"""A program that finishes rows and repaints its live region while its terminal is resized; ends after `q`.

Its words are the seed and what rows are filled with.

`f` opens the whole screen, `g` closes it, `s` stands still, Ctrl+Z stops.
"""

import random
import select
import signal
import sys
from contextlib import ExitStack
from types import FrameType

from overt.frontends.tui.terminal.keyboard import KeyDecoder
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, row
from overt.frontends.tui.terminal.screen import SETTLE_TMUX, Device, Frame, Terminal
from overt.frontends.tui.terminal.theme import theme

TICK = 0.02


def live(chance: random.Random, columns: int) -> Frame:
    rows: list[Row] = [
        row(Span("L" + chance.choice("xy") * chance.randrange(columns), "answer")) for _ in range(chance.randrange(5))
    ]
    typed = (BLANK, *rows, row(Span("L› ", "user"), "typed"), row(Span("Lstatus", "muted")))
    return Frame(typed, (len(rows) + 1, 8))


def main() -> None:
    chance = random.Random(int(sys.argv[1]))
    device, decoder = Device(), KeyDecoder()
    terminal = Terminal(device, theme("dark", depth=256), settle=SETTLE_TMUX)
    terminal.anchored = True
    changed = [False]

    def note(_number: int, _frame: FrameType | None) -> None:
        changed[0] = True

    signal.signal(signal.SIGWINCH, note)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    number, still = 0, False
    with ExitStack() as stack:
        terminal.enter()
        stack.callback(terminal.leave)
        while True:
            ready = select.select([device.reads], [], [], TICK)[0]
            keys = decoder.feed(device.read()) if ready else []
            if any(key.text == "q" for key in keys):
                break
            still = still or any(key.text == "s" for key in keys)
            if any(key.name == "ctrl-z" for key in keys):
                terminal.suspend()
            if any(key.text == "f" for key in keys):
                terminal.open_full(mouse=True)
                terminal.show_full([row("Linspector")] * terminal.lines)
            if any(key.text == "g" for key in keys):
                terminal.close_full()
            if changed[0]:
                changed[0] = False
                terminal.resized()
            if not still and chance.random() < 0.3:
                for _ in range(chance.randrange(1, 4)):
                    terminal.commit([row(Span(f"c{number}", "bold"), sys.argv[2] * chance.randrange(1, 100), ";")])
                    number += 1
            terminal.show(live(chance, terminal.columns))
    print(f"finished {number}")


main()
