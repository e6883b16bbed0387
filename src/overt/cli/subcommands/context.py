"""`overt context`: what the model was sent, where each byte came from, and what the cache made of it."""

import sys

from overt.app.records.context_diff import compare
from overt.app.records.context_lines import difference, full, requests, table
from overt.app.records.context_view import (
    Opened,
    Wanted,
    chosen,
    columns,
    exact,
    listing,
    open_session,
    reference_of,
    requests_between,
    turn_of,
    view,
)
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, Given, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.text import visible

COMMAND = CommandLine(
    name="overt context",
    about=(
        "What was sent to the model, rebuilt from the session file and verified. Without flags: the last request of\n"
        "the newest session of this project, as a table of where everything in it came from."
    ),
    words="[SESSION]",
    most=1,
    flags=(
        Flag(names=("--turn",), key="turn", value="N", help="the last request of turn N"),
        Flag(names=("--step",), key="step", value="N", help="step N of the turn"),
        Flag(names=("--request",), key="request", value="N", help="request N of the session, or TURN.STEP"),
        Flag(names=("--raw",), key="raw", help="the exact body as it was sent, and nothing else"),
        Flag(names=("--full",), key="full", help="the texts, not only the table"),
        Flag(names=("--requests",), key="requests", help="list all requests, with what was cached of each"),
        Flag(
            names=("--diff",),
            key="diff",
            value="N M",
            many=True,
            more=lambda word: word[:1].isdigit(),
            help="what changed between two requests, and why",
        ),
        Flag(names=("--json",), key="json", help="machine-readable"),
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    _check(given)
    opened = open_session(given.words[0] if given.words else "", read_setting_for(given, registries))
    if given.switch("raw"):
        return _raw(opened, *_wanted(given))
    for line in opened.damage:
        print(f"overt: {visible(opened.path)}: {visible(line)}", file=sys.stderr)
    if given.switch("diff"):
        return _diff(opened, given.texts("diff"), as_json=given.switch("json"))
    if given.switch("requests"):
        return _requests(opened, as_json=given.switch("json"))
    return _table(opened, given)


def _check(given: Given) -> None:
    shapes = [name for name in ("raw", "full", "requests", "diff") if given.switch(name)]
    if len(shapes) > 1:
        raise UsageError(f"--{shapes[0]} and --{shapes[1]} do not go together; give one of them")
    if given.switch("request") and (given.switch("turn") or given.switch("step")):
        raise UsageError("--request and --turn do not go together; give one of them")
    if given.switch("diff") and len(given.texts("diff")) != 2:
        raise UsageError("--diff takes two requests, as in: overt context --diff 3 4, or --diff 1.2 2.1")


def _wanted(given: Given) -> tuple[Wanted, str]:
    if given.switch("request"):
        return reference_of(given.text("request"), "--request"), given.text("request")
    turn, step = given.text("turn"), given.text("step")
    asked = (f"turn {turn}" if turn else "", f"step {step}" if step else "")
    return turn_of(turn, step), "of " + ", ".join(filter(None, asked))


def _raw(opened: Opened, wanted: Wanted, told: str) -> int:
    """Bytes for a file or a pipe. A terminal would obey some of them: there they are escaped, as JSON allows."""
    body = exact(opened, wanted, told).made.request.body()
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return 0
    text = body.decode()
    print("".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text))
    return 0


def _table(opened: Opened, given: Given) -> int:
    wanted, told = _wanted(given)
    made = chosen(opened, wanted, told)
    shown = view(opened, made)
    if given.switch("json"):
        print(printable(shown))
    else:
        lines = full(shown) if given.switch("full") else table(shown, columns(1))
        print("\n".join(map(visible, lines)))
    if made.differs:
        print(f"overt: entry {made.seq}: {visible(made.differs)}; this is not what was sent", file=sys.stderr)
        return 1
    return 0


def _requests(opened: Opened, *, as_json: bool) -> int:
    rows, found = listing(opened)
    if as_json:
        print(printable({"session": opened.id, "requests": rows, "totals": found}))
    else:
        print("\n".join(map(visible, requests(rows, found, columns(1)))))
    return 1 if any(row.differs for row in rows) else 0


def _diff(opened: Opened, pair: tuple[str, ...], *, as_json: bool) -> int:
    one, other = (chosen(opened, reference_of(text, "--diff"), text) for text in pair)
    if one.number > other.number:
        one, other = other, one
    found = compare(one, other, requests_between(opened, one.number, other.number))
    if as_json:
        print(printable({"one": one.number, "other": other.number, "difference": found}))
    else:
        print("\n".join(map(visible, difference(one.number, other.number, found))))
    return 0
