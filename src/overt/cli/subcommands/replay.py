"""`overt replay`: a session run again offline, every request compared with the one that was sent."""

import signal
import sys
from collections.abc import Iterator
from itertools import groupby
from types import FrameType
from typing import NoReturn

from msgspec import to_builtins

from overt.app.diagnostics.event_loop import run_async
from overt.app.records.replay import ReplayDifference, ReplayedRequest, Report, replay
from overt.app.records.replay_tools import ReplayedCall
from overt.app.registries import Registries
from overt.cli._columns import count, cut, screen_width, table
from overt.cli.parse import CommandLine, Flag, parse
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.core.spending.cost import dollars
from overt.core.spending.usage import Usage
from overt.lib.text import visible

WIDE = 76
MARKS = {"same": "same", "folded": "same*", "differs": "DIFFERS", "skipped": "–"}

COMMAND = CommandLine(
    name="overt replay",
    about="Run a recorded session again, offline: recorded replies, the real loop. Tells whether every request would\n"
    "be the same, byte for byte. Ends with 0 when all are, else with 1.",
    words="SESSION | --raw FILE",
    most=1,
    flags=(
        Flag(names=("--tools",), key="tools", help="run the tools again too, in a scratch copy of the workspace"),
        Flag(names=("--json",), key="json", help="machine-readable"),
        Flag(names=("--raw",), key="raw", value="FILE", help="decode a reply that was saved instead"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    if given.switch("raw"):
        if given.words or given.switch("tools"):
            raise UsageError("--raw takes one file and no session")
        from overt.cli.subcommands._replay_raw import replay_raw  # late: 15 ms

        code: int = replay_raw(given.text("raw"), as_json=given.switch("json"))
        return code
    if not given.words:
        raise UsageError("overt replay needs the id of a session; `overt sessions` lists them")
    if not given.switch("tools") and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # `overt replay … &`
        signal.signal(signal.SIGINT, _stop)
    found = run_async(replay(given.words[0], tools=given.switch("tools")))
    if given.switch("json"):
        print(printable({"identical": found.identical, **to_builtins(found)}))
    else:
        for line in _lines(found, screen_width()):
            print(line)
    for damage in found.damage:
        print(f"overt: {visible(found.path)}: {visible(damage)}", file=sys.stderr)
    return 0 if found.identical else 1


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    """At once: the loop would wait for a pause, which comes late where nothing is waited for."""
    raise KeyboardInterrupt


def _lines(found: Report, width: int) -> Iterator[str]:
    yield cut(f"session {found.session}: {_many(found.turns, 'turn')}, {_many(len(found.lines), 'request')}", width)
    if found.lines:
        yield ""
        yield from table([_head(width), *(_row(line, width) for line in found.lines), _sum(found.lines, width)], left=1)
    whys = sorted({line.why for line in found.lines if line.state == "folded"})
    for why in whys:
        yield f"* made from the entries alone, without the loop: {visible(why)}"
    if found.tools:
        yield ""
        for again in found.tools:
            yield from _tool(again, width)
    yield ""
    yield from _verdict(found)


def _head(width: int) -> tuple[str, ...]:
    if width < WIDE:
        return ("request", "bytes", "in", "cached", "")
    return ("request", "bytes", "in", "cached", "possible", "out", "cost", "")


def _row(line: ReplayedRequest, width: int) -> tuple[str, ...]:
    agent = "" if line.agent == "main" else f" {visible(line.agent)}"
    kind = "" if line.purpose == "step" else f" {line.purpose}"
    name = f"{line.turn}.{line.step}{kind}{agent}"
    return _cells(name, line.bytes, line.spent.usage, (line.spent.possible, line.spent.cost), MARKS[line.state], width)


def _sum(lines: tuple[ReplayedRequest, ...], width: int) -> tuple[str, ...]:
    usage = sum((line.spent.usage for line in lines), Usage())
    known = [line.spent.cost for line in lines if line.spent.cost is not None]
    possible = sum(line.spent.possible for line in lines)
    return _cells(
        "total", sum(line.bytes for line in lines), usage, (possible, sum(known) if known else None), "", width
    )


def _cells(
    name: str, size: int, usage: Usage, more: tuple[int, float | None], state: str, width: int
) -> tuple[str, ...]:
    first = (name, count(size), count(usage.input), count(usage.cached))
    if width < WIDE:
        return (*first, state)
    return (*first, count(more[0]), count(usage.output), dollars(more[1]), state)


def _tool(again: ReplayedCall, width: int) -> Iterator[str]:
    yield cut(f"{again.turn}.{again.step}  {again.name} {again.about}", max(10, width - 12)) + f"  {MARKS[again.state]}"
    if again.state == "skipped":
        yield cut(f"     {again.why}", width)
    elif again.state == "differs":
        for line in again.why.splitlines():
            yield f"     {visible(line)}"


def _verdict(found: Report) -> Iterator[str]:
    counts = {state: len(list(each)) for state, each in groupby(sorted(line.state for line in found.lines))}
    same, folded = counts.get("same", 0), counts.get("folded", 0)
    if found.unlike:
        yield f"{_many(len(found.unlike), 'difference')}; the first: {_place(found.unlike[0])}"
        yield f"  {visible(found.unlike[0].what)}"
    elif found.damage:
        yield "The file is damaged, so what was recorded is not all there."
    else:
        beside = f", {folded} made from the entries alone" if folded else ""
        yield f"0 differences: {_many(same, 'request')} run again{beside}."
    if found.tools:
        states = [again.state for again in found.tools]
        told = (
            f"{states.count('same')} the same",
            f"{states.count('differs')} not",
            f"{states.count('skipped')} not run",
        )
        yield f"Tools: {', '.join(told)}."


def _place(unlike: ReplayDifference) -> str:
    agent = "" if unlike.agent == "main" else f" of {visible(unlike.agent)}"
    byte = "" if unlike.byte is None else f", byte {unlike.byte}"
    return f"turn {unlike.turn}, step {unlike.step}{agent} (entry {unlike.seq}{byte})"


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
