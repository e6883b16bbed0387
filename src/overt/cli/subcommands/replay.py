"""`overt replay`: a session run again offline, every request compared with the one that was sent."""

import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from msgspec.structs import asdict

from overt.app.diagnostics.event_loop import run_async
from overt.app.records.replay import ReplayDifference, ReplayedRequest, Report, RequestCost, replay
from overt.app.records.replay_tools import ReplayedCall
from overt.app.registries import Registries
from overt.cli.output import count, cut_to_width, plural, print_result, screen_width, table, warn
from overt.cli.parse import JSON, CommandLine, Flag, parse
from overt.core.errors import UsageError
from overt.core.spending.cost import dollars
from overt.core.spending.usage import Usage

WIDE = 76
"""A narrower terminal shows fewer columns."""
HEAD = ("request", "bytes", "in", "cached", "possible", "out", "cost", "")
MARKS = {"same": "same", "folded": "same*", "differs": "DIFFERS", "skipped": "–"}

COMMAND = CommandLine(
    name="overt replay",
    about="Run a recorded session again, offline: recorded replies, the real loop. Tells whether every request would\n"
    "be the same, byte for byte. Ends with 0 when all are, else with 1.",
    words="SESSION | --raw FILE",
    most=1,
    flags=(
        Flag("--tools", "run the tools again too, in a scratch copy of the workspace"),
        JSON,
        Flag("--raw FILE", "decode a reply that was saved instead"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    if args.switch("raw"):
        if args.words or args.switch("tools"):
            raise UsageError("--raw takes one file and no session")
        from overt.cli.subcommands._replay_raw import replay_raw  # late: 17 ms

        code: int = replay_raw(args, registries)
        return code
    if not args.words:
        raise UsageError("overt replay needs the id of a session; `overt sessions` lists them")
    if not args.switch("tools") and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # `overt replay … &`
        signal.signal(signal.SIGINT, _stop)
    report = run_async(replay(args.words[0], registries, tools=args.switch("tools")))
    print_result(args, {"identical": report.identical, **asdict(report)}, _lines(report, screen_width()))
    for damage in report.damage:
        warn(f"{report.path}: {damage}")
    return 0 if report.identical else 1


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    """Stop at once: the loop would stop at its next pause, which comes late where nothing is waited for."""
    raise KeyboardInterrupt


def _lines(report: Report, width: int) -> Iterator[str]:
    yield cut_to_width(
        f"session {report.session}: {plural(report.turns, 'turn')}, {plural(len(report.lines), 'request')}", width
    )
    if report.lines:
        yield ""
        rows = [HEAD, *map(_row, report.lines), _total(report.lines)]
        yield from table(rows if width >= WIDE else [(*row[:4], row[-1]) for row in rows])
    for why in sorted({line.why for line in report.lines if line.state == "folded"}):
        yield f"* made from the entries alone, without the loop: {why}"
    if report.tools:
        yield ""
        for again in report.tools:
            yield from _tool(again, width)
    yield ""
    yield from _verdict(report)


def _row(line: ReplayedRequest) -> tuple[str, ...]:
    agent = "" if line.agent == "main" else f" {line.agent}"
    kind = "" if line.purpose == "step" else f" {line.purpose}"
    return _cells(f"{line.turn}.{line.step}{kind}{agent}", line.bytes, line.spent, MARKS[line.state])


def _total(lines: tuple[ReplayedRequest, ...]) -> tuple[str, ...]:
    costs = [line.spent.cost for line in lines if line.spent.cost is not None]
    spent = RequestCost(
        usage=sum((line.spent.usage for line in lines), Usage()),
        possible=sum(line.spent.possible for line in lines),
        cost=sum(costs) if costs else None,
    )
    return _cells("total", sum(line.bytes for line in lines), spent, "")


def _cells(name: str, size: int, spent: RequestCost, state: str) -> tuple[str, ...]:
    usage = spent.usage
    middle = count(size), count(usage.input), count(usage.cached), count(spent.possible), count(usage.output)
    return (name, *middle, dollars(spent.cost), state)


def _tool(again: ReplayedCall, width: int) -> Iterator[str]:
    yield (
        cut_to_width(f"{again.turn}.{again.step}  {again.name} {again.about}", max(10, width - 12))
        + f"  {MARKS[again.state]}"
    )
    if again.state == "skipped":
        yield cut_to_width(f"     {again.why}", width)
    elif again.state == "differs":
        for line in again.why.splitlines():
            yield f"     {line}"


def _verdict(report: Report) -> Iterator[str]:
    states = [line.state for line in report.lines]
    same, folded = states.count("same"), states.count("folded")
    if report.unlike:
        yield f"{plural(len(report.unlike), 'difference')}; the first: {_place(report.unlike[0])}"
        yield f"  {report.unlike[0].what}"
    elif report.damage:
        yield "The file is damaged, so what was recorded is not all there."
    else:
        beside = f", {folded} made from the entries alone" if folded else ""
        yield f"0 differences: {plural(same, 'request')} run again{beside}."
    if report.tools:
        calls = [again.state for again in report.tools]
        differing, skipped = calls.count("differs"), calls.count("skipped")
        yield f"Tools: {calls.count('same')} the same, {differing} not, {skipped} not run."


def _place(unlike: ReplayDifference) -> str:
    agent = "" if unlike.agent == "main" else f" of {unlike.agent}"
    byte = "" if unlike.byte is None else f", byte {unlike.byte}"
    return f"turn {unlike.turn}, step {unlike.step}{agent} (entry {unlike.seq}{byte})"
