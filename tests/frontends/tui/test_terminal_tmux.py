"""The guarantee that matters most, in a real tmux: every finished row once, in order, whatever is resized."""

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.frontends.tui.tmux_kit import needs_tmux, program, tmux

BUSY = Path(__file__).parent / "busy_screen.py"
ROW = re.compile(r"c(\d+)[.好]+;")


@needs_tmux
@pytest.mark.parametrize("pause", [0.01, 0.12])
def test_tmux_holds_every_finished_row_once_after_fifty_resizes_and_inspectors(pause: float) -> None:
    chance = random.Random(7)
    with tmux() as pane:
        pane.start(program(BUSY, 3, "."))
        pane.until(lambda: any("Lstatus" in line for line in pane.screen()))
        for number in range(50):
            pane.resize(chance.randrange(10, 120), chance.randrange(3, 40))
            if number % 9 == 4:
                pane.keys("f")
            if number % 9 == 6:
                pane.keys("g")
            time.sleep(pause)
        pane.resize(100, 30)
        pane.keys("g")
        time.sleep(0.7)
        pane.keys("q")
        pane.until(lambda: any(line.startswith("finished") for line in pane.screen()))
        lines = pane.everything()
    assert_once(lines)


@needs_tmux
def test_tmux_holds_every_finished_row_once_where_it_loses_count_of_wide_characters() -> None:
    """It does when it puts lines together again: each of these makes it do so, and is over before the next one."""
    with tmux() as pane:
        pane.start(program(BUSY, 3, "好"))
        pane.until(lambda: any("c40" in line for line in pane.everything()))
        pane.keys("s")
        for size in ((31, 20), (80, 20), (47, 30), (93, 12), (21, 12), (120, 35), (40, 9)):
            pane.resize(*size)
            time.sleep(0.8)
        pane.resize(100, 30)
        time.sleep(0.8)
        pane.keys("q")
        pane.until(lambda: any(line.startswith("finished") for line in pane.screen()))
        lines = pane.everything()
    assert_once(lines)


def assert_once(lines: list[str]) -> None:
    count = int(next(line for line in lines if line.startswith("finished")).split()[1])
    # tmux itself forgets here and there that a line goes on in the next one: what counts is the text.
    text = "".join(lines).replace(" ", "")
    assert [int(found) for found in ROW.findall(text)] == list(range(count))


def _modes(words: str) -> set[str]:
    return {word for word in words.replace(";", " ").split() if word.lstrip("-") in ("icanon", "echo", "isig", "icrnl")}


@needs_tmux
@pytest.mark.parametrize("how", ["q", "C-z", "kill"])
def test_a_shell_finds_its_terminal_as_it_was(how: str) -> None:
    with tmux() as pane:
        pane.start("env PS1='$ ' bash --norc --noprofile -i", 100, 30)
        pane.keys("stty -a > before", "Enter")
        pane.keys(program(BUSY, 3, "."), "Enter")
        pane.until(lambda: any("Lstatus" in line for line in pane.screen()))
        pane.keys("s")
        time.sleep(0.2)
        if how == "kill":
            pid = pane.run("list-panes", "-F", "#{pane_pid}").strip()
            child = subprocess.run(["pgrep", "-P", pid], capture_output=True, text=True, check=True).stdout.split()[0]
            os.kill(int(child), signal.SIGTERM)
        else:
            pane.keys(how)
        pane.until(lambda: pane.screen()[-1].startswith("$"))
        pane.keys("stty -a > after; clear", "Enter")
        pane.until(lambda: (pane.place / "after").exists() and pane.screen() == ["$"])
        before, after = (_modes((pane.place / name).read_text()) for name in ("before", "after"))
        assert (after, before) == ({"icanon", "echo", "isig", "icrnl"}, before)
        assert pane.run("display-message", "-p", "#{cursor_flag}#{alternate_on}#{mouse_any_flag}").strip() == "100"
        if how == "C-z":
            pane.keys("fg", "Enter")
            pane.until(lambda: any("Lstatus" in line for line in pane.screen()))
            pane.keys("q")
            pane.until(lambda: any(line.startswith("finished") for line in pane.screen()))
