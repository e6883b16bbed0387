"""`overt hooks`: the hooks that are configured, what they did, and trying them."""

from collections.abc import Iterator

from msgspec import DecodeError

from overt.app.diagnostics.event_loop import run_async
from overt.app.hooks.inspect import describe_firing, hook_lines, hook_rows, ledger_lines, try_event
from overt.app.hooks.occasion import Firing
from overt.app.registries import Registries
from overt.cli.output import print_lines, print_result, setting_of
from overt.cli.parse import FOLDER, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.codec import decode, printable
from overt.core.errors import UsageError
from overt.lib.text import whole_number
from overt.lib.translations import say

MOST_LINES = 50
DENIED = 3

ABOUT = """Hooks: commands of yours that run before and after calls, prompts, turns and sessions.

  overt hooks                                   list them, with where each is configured
  overt hooks log                               what ran, with exit code, time and verdict
  overt hooks test PreToolUse --tool Bash --input '{"command": "git push"}'
                                                run what matches; exit code 3 if a hook denies"""

COMMAND = CommandLine(
    name="overt hooks",
    about=ABOUT,
    words="[list | log | test EVENT]",
    flags=(
        FOLDER,
        Flag("--json", "list, log: machine-readable, log with one firing a line"),
        Flag("-n, --number NUMBER", f"log: how many firings, {MOST_LINES} by default"),
        Flag("--tool NAME", "test: the tool of the call"),
        Flag("--input JSON", "test: the arguments of the call, or fields of the event"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    match args.words:
        case () | ("list",):
            print_result(args, hook_rows(setting), hook_lines(setting))
        case ("log",):
            lines = ledger_lines(setting, whole_number(args.text("number")) or MOST_LINES)
            if args.switch("json"):
                for line in lines:
                    print(printable(line))
            else:
                print_lines(text for line in lines for text in describe_firing(line))
        case ("test", event):
            firing = run_async(try_event(setting, event, args.text("tool"), _input(args)))
            print_lines(_describe(firing))
            return DENIED if firing.verdict == "deny" else 0
        case _:
            raise UsageError(say("hooks.usage"))
    return 0


def _input(args: ParsedCommandLine) -> dict[str, object] | None:
    text = args.text("input")
    if not text:
        return None
    try:
        value = decode(text)
    except (DecodeError, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(say("hooks.bad_input"))
    return value


def _describe(firing: Firing) -> Iterator[str]:
    if not firing.runs:
        yield say("hooks.no_match")
        return
    for hook, result, reply in firing.runs:
        ended = f"exit {result.code}" if result.code is not None else result.failure
        yield f"{hook.line}  ({hook.origin})"
        yield f"  {ended}, {result.ms} ms"
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            yield from (f"  {name}: {line}" for line in text.splitlines())
        if reply.failure and result.code is not None:
            yield f"  failed: {reply.failure}"
    yield say("hooks.verdict", verdict=firing.verdict or "-", reason=firing.reason)
    if firing.updated_input is not None:
        yield say("hooks.changed", arguments=printable(firing.updated_input))
    if firing.context:
        yield say("hooks.context", text=firing.context)
