"""The terminal chat in a pseudo-terminal: paint, echo, streaming, memory, rest."""

import time
from collections.abc import Iterator
from statistics import median

from bench.pty_run import Pty
from bench.runs import PYTHON, YARDSTICKS, Site, interleaved
from bench.server import Server, Turn
from bench.table import Row, Series, compared

MARK = "›".encode()
LIVE = b"fake-model"
ENDED = b"END-OF-ANSWER"
KEYS = b"abcdefghijklmnopqrstuvwxyz"
ANSWER = 18_000
CHUNKS = 760
BARE = 0.010
"""Seconds that bare Python took where the figures were set: those in seconds grow with what it takes here."""


def answer(length: int) -> str:
    """Markdown as models write it: headings, lists, a table, code, prose."""
    section = (
        "## Part {n}: how it works\n\nThe parser reads **one token** at a time and keeps `state` in a small record, "
        "so that a *wrong* line never spoils the next one. See [the notes](https://example.org/notes).\n\n"
        "1. Read the header and check its length.\n2. Split the body at blank lines.\n   - keep the order\n"
        "   - drop nothing\n3. Write the result.\n\n| step | input | cost |\n|---|---|---:|\n| read | bytes | {n} |\n"
        "| split | text | 2 ms |\n| write | rows | 3 ms |\n\n```python\ndef part_{n}(text: str) -> list[str]:\n"
        '    """Split a text."""\n    found = []\n    for line in text.splitlines():\n        if line.strip():\n'
        "            found.append(line)\n    return found\n```\n\n> A quoted line that says why.\n\n"
    )
    made = ""
    number = 0
    while len(made) < length:
        number += 1
        made += section.replace("{n}", str(number))
    return made[:length].rpartition("\n\n")[0] + "\n\nThat is the END-OF-ANSWER.\n"


def plain(text: str) -> Turn:
    return {"text": text, "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def chat(site: Site, port: int, *words: str) -> Pty:
    """In a folder that was asked about already."""
    env = {**site.environment(port), "TERM": "xterm-256color", "COLORFGBG": "15;0"}
    return Pty([site.program, *words], env=env, cwd=site.fresh("chat"))


def settled(site: Site, port: int) -> None:
    """Answer the question whether the folder is trusted, once."""
    if (site.folder / "chat").exists():
        return
    with chat(site, port) as pty:
        pty.until(b"trust", 0)
        pty.read_for(0.3)
        pty.send(b"n")
        pty.until(LIVE, 0)


def painting(site: Site) -> Iterator[Row]:
    with Server(site, "paint", [plain("ok")], record="bodies") as server:
        settled(site, server.port)

        def ours() -> tuple[float, float]:
            with chat(site, server.port) as pty:
                pty.send(b"hi\r")
                painted = pty.until(MARK, 0) - pty.began
                while not (arrived := server.arrivals()) and time.monotonic() < pty.began + 20:
                    pty.read_for(0.002)
                return painted, arrived[0].at - (time.time() - time.monotonic() + pty.began)

        def bare() -> float:
            with Pty([PYTHON, "-c", "print('ok')"], env=site.environment(0), cwd=site.folder) as pty:
                return pty.until(b"ok", 0) - pty.began

        found, python = interleaved(site.times(15), ours, bare)
    yield compared("composer painted (bare Python)", [at for at, _ in found], python, at_most=5)
    yield compared("a prompt typed at once is sent (bare Python)", [at for _, at in found], python, at_most=20)


def slowness(site: Site) -> float:
    """How much slower this machine is now than the one the figures were set on; never taken to be faster."""
    bare = [site.run([PYTHON, "-c", "pass"]).cpu for _ in range(9)]
    return max(median(bare) / BARE, 1.0)


def echoes(pty: Pty, times: int, *, unlike: bool = False) -> list[float]:
    """Seconds from a key to its echo; `unlike` anything else that is written meanwhile."""
    found = []
    for number in range(times):
        key = chr(0x4E00 + number).encode() if unlike else KEYS[number % len(KEYS) :][:1]
        at = len(pty.seen)
        sent = pty.send(key)
        found.append(pty.until(key, at) - sent)
        pty.read_for(0.008)
    return found


def yardstick(site: Site, times: int) -> list[float]:
    """The same in the barest prompt of prompt_toolkit."""
    with Pty([PYTHON, str(YARDSTICKS / "ask.py")], env=site.terminal(), cwd=site.folder) as pty:
        pty.until(b">", 0)
        pty.quiet(0.3)
        return echoes(pty, times)


def typing(site: Site) -> Iterator[Row]:
    flowing = {**plain(answer(60_000)), "chunk": 24, "delay": 1 / 250}
    turns = [flowing, plain(answer(1_000_000)), plain("ok")]
    with Server(site, "typing", turns) as server:
        settled(site, server.port)
        with chat(site, server.port) as pty:
            pty.until(LIVE, 0)
            pty.quiet()
            fresh = echoes(pty, site.times(240))
            pty.send(b"\x15go\r")
            pty.until(b"Part 3", 0)  # by now everything is loaded
            during = echoes(pty, site.times(180), unlike=True)
            pty.send(b"\x15")
            pty.until(ENDED, 0)
            pty.quiet(0.5)
            at, began, before = len(pty.seen), pty.send(b"\x15go\r"), pty.cpu()
            took = pty.until(ENDED, at) - began
            cpu = pty.cpu() - before
            pty.quiet(0.5)
            memory = pty.mib()
            later = echoes(pty, site.times(240))
    theirs, mine = Series(yardstick(site, site.times(240))), Series(fresh)
    yield Row(
        name="key to echo (prompt_toolkit's barest prompt)",
        ours=mine.ms(),
        yardstick=theirs.ms(),
        ratio=mine.median / theirs.median,
        budget="3 ms",
        ok=mine.median <= 0.003,
    )
    flow = Series(during)
    yield Row(
        name="… while an answer streams",
        ours=flow.ms(),
        yardstick=theirs.ms(),
        ratio=flow.median / theirs.median,
        budget="3 ms",
        ok=flow.median <= 0.003,
    )
    yield compared("… after an answer of 1 MB (before)", later, fresh, at_most=1.3)
    yield Row(
        name="an answer of 1 MB at once", ours=f"{took:.2f} s, {cpu:.2f} s CPU", yardstick=f"{memory:.1f} MiB after"
    )


def streaming(site: Site) -> Iterator[Row]:
    text = answer(ANSWER)
    turn = {**plain(text), "chunk": max(len(text) // CHUNKS, 1), "delay": 1 / 250}
    cpu, size, memory, idle = [], [], [], []
    slower = slowness(site)
    with Server(site, "streaming", [turn]) as server:
        settled(site, server.port)
        for _ in range(site.times(5)):
            with chat(site, server.port) as pty:
                pty.until(LIVE, 0)
                pty.quiet(0.3)
                began, at = pty.cpu(), len(pty.seen)
                pty.send(b"go\r")
                pty.until(ENDED, at)
                pty.quiet(0.3)
                cpu.append(pty.cpu() - began)
                size.append(len(pty.seen) - at)
                memory.append(pty.mib())
                rested = pty.cpu()
                pty.read_for(2.0)
                idle.append(pty.cpu() - rested)
    kilobytes = median(size) / 1000
    yield Row(
        name=f"an answer of {len(text) / 1000:.0f} KB in {CHUNKS} chunks, CPU",
        ours=Series(cpu).s(),
        budget=f"0.5 s x {slower:.1f}",
        ok=median(cpu) <= 0.5 * slower,
    )
    yield Row(name="… to the terminal", ours=f"{kilobytes:.1f} KB", budget="80 KB", ok=kilobytes <= 80)
    yield Row(name="… memory after it", ours=Series(memory).mib(), budget="80 MiB", ok=median(memory) <= 80)
    yield Row(name="CPU of 2 s at rest", ours=Series(idle).ms(), budget="0", ok=max(idle) <= 1.5 / 100)


def asking(site: Site) -> Iterator[Row]:
    """From the key that answers to what happens on the screen, beside a key in the barest prompt."""
    write = {"calls": [{"name": "write", "arguments": {"path": "made.txt", "content": "one\ntwo\n"}}]}
    with Server(site, "asking", [write, plain("ok")]) as server:
        settled(site, server.port)
        found = []
        with chat(site, server.port) as pty:
            pty.until(LIVE, 0)
            for _ in range(site.times(9)):
                at = len(pty.seen)
                pty.send(b"go\r")
                pty.until(b"Esc", at)
                pty.quiet(0.4)
                sent = pty.send(b"y")
                found.append(pty.any() - sent)
                pty.quiet(0.4)
    yield compared(
        "approval: key to reaction (a key in the barest prompt)", found, yardstick(site, site.times(60)), at_most=5
    )


def pasting(site: Site) -> Iterator[Row]:
    text = b"\x1b[200~" + b"line of a paste with some words in it\n" * 27_000 + b"\x1b[201~"
    with Server(site, "pasting", [plain("ok")]) as server:
        settled(site, server.port)
        found = []
        for _ in range(site.times(5)):
            with chat(site, server.port) as pty:
                pty.until(LIVE, 0)
                pty.quiet()
                at = len(pty.seen)
                sent = pty.send(text)
                found.append(pty.until(b"27000 lines", at) - sent)
    mine = Series(found)
    yield Row(name="a paste of 1 MB", ours=mine.ms(), budget="500 ms", ok=mine.median <= 0.5)


def long_session(site: Site) -> Iterator[Row]:
    """500 turns with 2 MB of text: memory after the first fifth and at the end."""
    turns = 500 if not site.quick else 120
    with Server(site, "long", [plain(answer(4_000))]) as server:
        settled(site, server.port)
        with chat(site, server.port) as pty:
            pty.until(LIVE, 0)
            early = 0.0
            for number in range(turns):
                at = len(pty.seen)
                pty.send(b"go on\r")
                pty.until(ENDED, at)
                pty.until(b" out ", at)  # what the turn took, at its end
                del pty.seen[:]
                if number == turns // 5:
                    early = pty.mib()
            end = pty.mib()
    yield Row(
        name=f"memory after {turns} turns with {turns * 4 / 1000:.1f} MB of text",
        ours=f"{end:.1f} MiB",
        yardstick=f"{early:.1f} MiB after {turns // 5}",
        ratio=end / early,
        budget="120 MiB",
        ok=end <= 120,
    )
