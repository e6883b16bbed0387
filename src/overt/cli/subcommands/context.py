"""`overt context`: what the model was sent, where each byte came from, and what the cache made of it."""

import sys

from overt.app.records.context_diff import compare_requests
from overt.app.records.context_lines import comparison_lines, full_text_lines, request_lines, request_list_lines
from overt.app.records.context_view import (
    OpenedSession,
    RequestFilter,
    describe_request,
    exact_request,
    find_request,
    list_requests,
    open_session,
    parse_reference,
    parse_turn,
    requests_between,
    terminal_width,
)
from overt.app.registries import Registries
from overt.cli.output import print_result, setting_of, warn
from overt.cli.parse import FOLDER, JSON, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.errors import UsageError

COMMAND = CommandLine(
    name="overt context",
    about=(
        "What was sent to the model, rebuilt from the session file and verified. Without flags: the last request of\n"
        "the newest session of this project, as a table of where everything in it came from."
    ),
    words="[SESSION]",
    most=1,
    flags=(
        Flag("--turn N", "the last request of turn N"),
        Flag("--step N", "step N of the turn"),
        Flag("--request N", "request N of the session, TURN.STEP, title or web"),
        Flag("--raw", "the exact body as it was sent, and nothing else"),
        Flag("--full", "the texts, not only the table"),
        Flag("--requests", "list all requests, with what was cached of each"),
        Flag(
            "--diff N M",
            "what changed between two requests, and why",
            is_list=True,
            more=lambda word: word[:1].isdigit(),
        ),
        JSON,
        FOLDER,
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    _check(args)
    opened = open_session(args.word(), setting_of(args))
    if args.switch("raw"):
        return _print_body(opened, *_wanted(args))
    for line in opened.damage:
        warn(f"{opened.path}: {line}")
    if args.switch("diff"):
        return _print_difference(opened, args)
    if args.switch("requests"):
        rows, totals = list_requests(opened)
        value = {"session": opened.id, "requests": rows, "totals": totals}
        print_result(args, value, request_list_lines(rows, totals, terminal_width(1)))
        return 1 if any(row.differs for row in rows) else 0
    return _print_request(opened, args)


def _check(args: ParsedCommandLine) -> None:
    shapes = [name for name in ("raw", "full", "requests", "diff") if args.switch(name)]
    if len(shapes) > 1:
        raise UsageError(f"--{shapes[0]} and --{shapes[1]} do not go together; give one of them")
    if args.switch("request") and (args.switch("turn") or args.switch("step")):
        raise UsageError("--request and --turn do not go together; give one of them")
    if args.switch("diff") and len(args.texts("diff")) != 2:
        raise UsageError("--diff takes two requests, as in: overt context --diff 3 4, or --diff 1.2 2.1")


def _wanted(args: ParsedCommandLine) -> tuple[RequestFilter, str]:
    if args.switch("request"):
        return parse_reference(args.text("request"), "--request"), args.text("request")
    turn, step = args.text("turn"), args.text("step")
    asked = (f"turn {turn}" if turn else "", f"step {step}" if step else "")
    return parse_turn(turn, step), "of " + ", ".join(filter(None, asked))


def _print_body(opened: OpenedSession, wanted: RequestFilter, name: str) -> int:
    """Write the bytes to a file or a pipe. On a terminal, those that it would obey are escaped, as JSON allows."""
    body = exact_request(opened, wanted, name).request.body()
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return 0
    text = body.decode()
    print("".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text))
    return 0


def _print_request(opened: OpenedSession, args: ParsedCommandLine) -> int:
    request = find_request(opened, *_wanted(args))
    contents = describe_request(opened, request)
    print_result(
        args, contents, full_text_lines(contents) if args.switch("full") else request_lines(contents, terminal_width(1))
    )
    if request.differs:
        warn(f"entry {request.seq}: {request.differs}; this is not what was sent")
        return 1
    return 0


def _print_difference(opened: OpenedSession, args: ParsedCommandLine) -> int:
    pair = (find_request(opened, parse_reference(text, "--diff"), text) for text in args.texts("diff"))
    one, other = sorted(pair, key=lambda request: request.number)
    changes = compare_requests(one, other, requests_between(opened, one.number, other.number))
    value = {"one": one.number, "other": other.number, "difference": changes}
    print_result(args, value, comparison_lines(one.number, other.number, changes))
    return 0
