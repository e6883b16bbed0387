"""`overt diff`: two sessions side by side, as Markdown that a terminal shows well too."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from overt.app.records.statistics import (
    ComparedCall,
    ComparedTurn,
    Divergence,
    SessionComparison,
    TurnPair,
    compare_sessions,
    dollars,
)
from overt.app.registries import Registries
from overt.cli.output import count, cut_to_width, pad, print_result, warn
from overt.cli.parse import JSON, CommandLine, Flag, parse
from overt.core.errors import UsageError
from overt.core.spending.usage import Usage
from overt.lib.text import visible, wide

NAMES = {
    "prompt": "the prompt",
    "request": "the bytes of the request",
    "reply": "what the model said",
    "calls": "what it called",
    "outcomes": "what came of the calls",
    "end": "how the turn ended",
    "missing": "a turn that the other session does not have",
}

COMMAND = CommandLine(
    name="overt diff",
    about="Compare two sessions: turns are paired, the first difference is named, and calls, tokens and cost stand\n"
    "side by side. The output is Markdown.",
    words="A B",
    most=2,
    flags=(
        Flag("--markdown", "for a file: nothing is cut to fit a screen"),
        JSON,
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    if len(args.words) != 2:
        raise UsageError("overt diff needs the ids of two sessions; `overt sessions` lists them")
    comparison = compare_sessions(*args.words)
    print_result(args, comparison, _lines(comparison, UNCUT if args.switch("markdown") else _Cuts()))
    for damage in comparison.damage:
        warn(damage)
    return 0


class _Cuts(NamedTuple):
    """How many characters of a prompt, a call and a text are shown."""

    prompt: int = 30
    call: int = 44
    text: int = 600


UNCUT = _Cuts(prompt=1 << 30, call=1 << 30, text=1 << 30)


def _lines(comparison: SessionComparison, cuts: _Cuts) -> Iterator[str]:
    difference = comparison.difference
    yield f"# {comparison.left} and {comparison.right}"
    yield ""
    if difference.first is None:
        yield "No difference."
    else:
        yield f"First difference: {_where(difference.first)}."
        if comparison.prefixes:
            prefixes = comparison.prefixes.replace("\n", " ")
            yield f"What every request begins with is not the same: {prefixes}."
        behaviour = difference.behaviour
        if behaviour is None:
            yield "The model said, called and was told the same all the way."
        elif behaviour != difference.first:
            yield f"First difference in what was said or done: {_where(behaviour)}."
        parting = behaviour or difference.first
        for name, text in ((comparison.left, parting.left), (comparison.right, parting.right)):
            yield ""
            yield f"{name}:"
            yield from _fenced(text if len(text) <= cuts.text else text[: cuts.text] + "…")
    yield ""
    yield from _markdown(_totals_table(comparison, cuts))
    for pair in difference.pairs:
        yield from _calls(pair, cuts)


def _where(parting: Divergence) -> str:
    left, right = parting.turns
    turn = f"turn {left}" if left == right else f"turn {left or '–'} and turn {right or '–'}"
    step = f", step {parting.step}" if parting.step else ""
    return f"{turn}{step}: {NAMES[parting.what]}"


def _fenced(text: str) -> Iterator[str]:
    """Yield the text in a fence that no run of backticks inside can close."""
    lines = visible(text).splitlines() or ["(nothing)"]
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence, *lines, fence)


def _totals_table(comparison: SessionComparison, cuts: _Cuts) -> list[tuple[str, ...]]:
    pairs, columns = comparison.difference.pairs, ("cached", "out", "cost")
    rows = [("turn", "prompt", f"{comparison.left}: in", *columns, f"{comparison.right}: in", *columns)]
    for left, right in ((pair.left, pair.right) for pair in pairs):
        prompts = [turn.prompt for turn in (left, right) if turn]
        numbers = [str(turn.number) if turn else "–" for turn in (left, right)]
        name = numbers[0] if numbers[0] == numbers[1] else "/".join(numbers)
        rows.append((name, _cell(prompts[0], cuts.prompt), *_spent([left]), *_spent([right])))
    totals = _spent([pair.left for pair in pairs if pair.left]), _spent([pair.right for pair in pairs if pair.right])
    return [*rows, ("total", "", *totals[0], *totals[1])]


def _spent(turns: Sequence[ComparedTurn | None]) -> tuple[str, str, str, str]:
    """Return the tokens and the cost of turns, as cells. A turn that is missing has none."""
    recorded = [turn for turn in turns if turn]
    if len(recorded) < len(turns):
        return "–", "–", "–", "–"
    usage = sum((turn.usage for turn in recorded), Usage())
    costs = [turn.cost for turn in recorded if turn.cost is not None]
    cost = sum(costs) if len(costs) == len(recorded) else None
    return count(usage.input), count(usage.cached), count(usage.output), dollars(cost)


def _markdown(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(3, *map(wide, column)) for column in zip(*rows, strict=True)]
    for number, cells in enumerate(rows):
        yield "| " + " | ".join(map(pad, cells, widths)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def _calls(pair: TurnPair, cuts: _Cuts) -> Iterator[str]:
    """Yield a table of the calls of both turns, if there are any."""
    left, right = (
        [call for step in turn.steps for call in step.calls] if turn else [] for turn in (pair.left, pair.right)
    )
    rows = [("", "left", "right")]
    for one, other in zip_longest(left, right):
        alike = one and other and (one.name, one.arguments) == (other.name, other.arguments)
        rows.append(("=" if alike else "≠", _call(one, cuts), _call(other, cuts)))
    turn = pair.left or pair.right
    if turn and rows[1:]:
        yield from ("", f"## Calls of turn {turn.number}", "", *_markdown(rows))


def _call(call: ComparedCall | None, cuts: _Cuts) -> str:
    if call is None:
        return "–"
    return _cell(f"{call.name} {call.arguments}", cuts.call) + (" (failed)" if call.failed else "")


def _cell(text: str, width: int) -> str:
    """Cut a text for a cell of a table, which a bar would end."""
    return cut_to_width(text, width).replace("|", "\\|")
