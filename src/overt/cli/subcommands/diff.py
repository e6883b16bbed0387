"""`overt diff`: two sessions side by side, as Markdown that a terminal shows well too."""

import sys
from collections.abc import Iterator, Sequence

from msgspec import Struct, to_builtins

from overt.app.records.statistics import Compared, MadeCall, Pair, Parting, Told, compare_sessions, dollars
from overt.app.registries import Registries
from overt.cli._columns import count, cut, padded
from overt.cli.parse import CommandLine, Flag, parse
from overt.core.codec import printable
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
        Flag(names=("--markdown",), key="markdown", help="for a file: nothing is cut to fit a screen"),
        Flag(names=("--json",), key="json", help="machine-readable"),
    ),
)


def run(argv: list[str], _registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    if len(given.words) != 2:
        raise UsageError("overt diff needs the ids of two sessions; `overt sessions` lists them")
    found = compare_sessions(*given.words)
    if given.switch("json"):
        print(printable(to_builtins(found)))
    else:
        for line in _lines(found, _Cuts() if not given.switch("markdown") else UNCUT):
            print(line)
    for damage in found.damage:
        print(f"overt: {visible(damage)}", file=sys.stderr)
    return 0


class _Cuts(Struct, frozen=True, kw_only=True):
    """How much of a prompt, a call and a text is shown."""

    prompt: int = 30
    call: int = 44
    text: int = 600


UNCUT = _Cuts(prompt=1 << 30, call=1 << 30, text=1 << 30)


def _lines(found: Compared, cuts: _Cuts) -> Iterator[str]:
    difference = found.difference
    yield f"# {found.left} and {found.right}"
    yield ""
    if difference.first is None:
        yield "No difference."
    else:
        yield f"First difference: {_where(difference.first)}."
        if found.prefixes:
            yield f"What every request begins with is not the same: {_inline(found.prefixes)}."
        behaviour = difference.behaviour
        if behaviour is None:
            yield "The model said, called and was told the same all the way."
        elif behaviour != difference.first:
            yield f"First difference in what was said or done: {_where(behaviour)}."
        yield from _both(found, behaviour or difference.first, cuts)
    yield ""
    yield from _table(found, cuts)
    for pair in difference.pairs:
        yield from _turn(pair, cuts)


def _where(parting: Parting) -> str:
    left, right = parting.turns
    turn = f"turn {left}" if left == right else f"turn {left or '–'} and turn {right or '–'}"
    step = f", step {parting.step}" if parting.step else ""
    return f"{turn}{step}: {NAMES[parting.what]}"


def _both(found: Compared, parting: Parting, cuts: _Cuts) -> Iterator[str]:
    for name, text in ((found.left, parting.left), (found.right, parting.right)):
        yield ""
        yield f"{name}:"
        yield from _fenced(text if len(text) <= cuts.text else text[: cuts.text] + "…")


def _fenced(text: str) -> Iterator[str]:
    """A fence that no run of backticks inside can close."""
    lines = visible(text).splitlines() or ["(nothing)"]
    longest = max((len(run) for line in lines for run in _runs(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence
    yield from lines
    yield fence


def _runs(line: str) -> Iterator[str]:
    run = ""
    for char in line + " ":
        if char == "`":
            run += char
        elif run:
            yield run
            run = ""


def _table(found: Compared, cuts: _Cuts) -> Iterator[str]:
    rows = [
        ("turn", "prompt", f"{found.left}: in", "cached", "out", "cost", f"{found.right}: in", "cached", "out", "cost")
    ]
    for pair in found.difference.pairs:
        one = pair.left or pair.right
        numbers = "/".join(str(told.number) if told else "–" for told in (pair.left, pair.right))
        left, right = pair.left, pair.right
        same = left is not None and right is not None and left.number == right.number
        name = str(left.number) if same and left else numbers
        rows.append((name, _cell(one.prompt if one else "", cuts.prompt), *_spent(left), *_spent(right)))
    sides = ([pair.left for pair in found.difference.pairs], [pair.right for pair in found.difference.pairs])
    rows.append(("total", "", *_total(sides[0]), *_total(sides[1])))
    yield from _markdown(rows)


def _markdown(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(3, *map(wide, column)) for column in zip(*rows, strict=True)]
    for number, cells in enumerate(rows):
        yield "| " + " | ".join(padded(cell, width) for cell, width in zip(cells, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def _spent(told: Told | None) -> tuple[str, str, str, str]:
    if told is None:
        return "–", "–", "–", "–"
    usage = told.usage
    return count(usage.input), count(usage.cached), count(usage.output), dollars(told.cost)


def _total(turns: list[Told | None]) -> tuple[str, str, str, str]:
    there = [told for told in turns if told]
    usage = sum((told.usage for told in there), Usage())
    costs = [told.cost for told in there]
    known = [each for each in costs if each is not None]
    cost = sum(known) if len(known) == len(costs) else None
    return count(usage.input), count(usage.cached), count(usage.output), dollars(cost)


def _turn(pair: Pair, cuts: _Cuts) -> Iterator[str]:
    """The calls of both, where there are any."""
    left = [call for step in pair.left.steps for call in step.calls] if pair.left else []
    right = [call for step in pair.right.steps for call in step.calls] if pair.right else []
    if not left and not right:
        return
    rows = [("", "left", "right")]
    for at in range(max(len(left), len(right))):
        one, other = left[at] if at < len(left) else None, right[at] if at < len(right) else None
        alike = one is not None and other is not None and _key(one) == _key(other)
        rows.append(("=" if alike else "≠", _call(one, cuts), _call(other, cuts)))
    yield ""
    shown = pair.left or pair.right
    yield f"## Calls of turn {shown.number if shown else ''}"
    yield ""
    yield from _markdown(rows)


def _key(call: MadeCall) -> tuple[str, str]:
    return call.name, call.arguments


def _call(call: MadeCall | None, cuts: _Cuts) -> str:
    if call is None:
        return "–"
    failed = " (failed)" if call.failed else ""
    return _cell(f"{call.name} {call.arguments}", cuts.call) + failed


def _cell(text: str, width: int) -> str:
    """A bar would end the cell."""
    return cut(text, width).replace("|", "\\|")


def _inline(text: str) -> str:
    return visible(text.replace("\n", " "))
