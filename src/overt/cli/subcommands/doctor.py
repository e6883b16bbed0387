"""`overt doctor`: what Overt found here, which walls of its sandbox hold, and with `--model` what a server can do."""

import sys
from collections.abc import Iterator

from overt.app.diagnostics.doctor import Examination, doctor_lines, examine
from overt.app.diagnostics.event_loop import run_async
from overt.app.models.probing import ModelTest, try_model
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import pad, print_result, setting_of, setting_or_defaults_of
from overt.cli.parse import FOLDER, JSON, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.errors import UsageError
from overt.lib.text import visible, wide
from overt.lib.translations import say

COMMAND = CommandLine(
    name="overt doctor",
    about=(
        "Look at the configuration, the programs Overt uses and the sandbox; try every wall for real.\n"
        "With --model, ask a model's server what it can do, and keep the answer for later."
    ),
    most=0,
    flags=(
        FOLDER,
        JSON,
        Flag("-m, --model MODEL", "try this model: provider, model or both"),
        Flag("--no-save", "with --model: do not keep what was found"),
        Flag("--report", "make one redacted archive to attach to an issue"),
        Flag("--session ID", "with --report: include this session"),
        Flag("--replies", "with --report: include replies that could not be decoded"),
    ),
)
MARKS = {"yes": "✓", "no": "✗", "unknown": "?"}


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    if (args.switch("session") or args.switch("replies")) and not args.switch("report"):
        raise UsageError("--session and --replies need --report")
    if args.switch("model"):
        if args.switch("report"):
            raise UsageError("--report and --model cannot be used together")
        return _try(args)
    if args.switch("no-save"):
        raise UsageError("--no-save goes with --model: there is nothing else that doctor keeps")
    setting, mistake = setting_or_defaults_of(args)
    examination = run_async(examine(setting, mistake))
    if args.switch("report"):
        return _report(args, examination, setting)
    held = examination.sandbox.checked.held
    value = {"well": examination.well, "walls_held": held, "found": examination}
    print_result(args, value, doctor_lines(examination))
    return 0 if examination.well else 1


def _report(args: ParsedCommandLine, examined: Examination, setting: Setting) -> int:
    from overt.app.diagnostics.report import make_report  # late: 17 ms

    report = make_report(examined, setting, session=args.text("session"), replies=args.switch("replies"))
    lines = [
        say("report.made", path=report.path, size=-(-report.size // 1000)),
        say("report.has", names=", ".join(report.names)),
        *(() if args.switch("session") and args.switch("replies") else (say("report.without"),)),
    ]
    print_result(args, report, lines)
    return 0


def _try(args: ParsedCommandLine) -> int:
    progress = _Progress()
    save = not args.switch("no-save")
    try:
        setting = setting_of(args)
        tested = run_async(try_model(setting, args.text("model"), save=save, tell=progress.show))
    finally:
        progress.end()
    print_result(args, {"usable": tested.usable, "tested": tested}, _table(tested, save=save))
    return 0 if tested.usable else 1


class _Progress:
    """Names what is being tried: in one line that is written over on a terminal, a line each elsewhere."""

    def __init__(self) -> None:
        self._overwrites = sys.stderr.isatty()
        self._current = ""

    def show(self, what: str) -> None:
        if what == self._current:
            return
        self._current = what
        line = visible(say("probe.trying", what=what))
        start, end = ("\r\x1b[K", "") if self._overwrites else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._overwrites and self._current:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _table(tested: ModelTest, *, save: bool) -> Iterator[str]:
    place = tested.base_url if tested.base_url.startswith("http") else say("probe.embedded")
    yield say("probe.head", provider=tested.provider, model=tested.model, place=place, wire=tested.wire)
    titles = [say(f"probe.{row.name}") for row in tested.rows]
    widest = max(map(wide, titles))
    for row, title in zip(tested.rows, titles, strict=True):
        yield f"  {MARKS[row.state]} {pad(title, widest)}  {row.words}".rstrip()
    broken = ", ".join(say(f"probe.{row.name}") for row in tested.rows if row.broke)
    if tested.reached:
        yield say("probe.breaks", what=broken) if broken else say("probe.breaks_nothing")
    yield say(f"probe.decided.{tested.calls or ('unsure' if tested.reached else 'none')}")
    if tested.calls != tested.found:
        yield say("probe.overruled", found=tested.found, calls=tested.calls)
    if tested.saved:
        yield say("probe.saved", path=tested.saved)
    elif tested.usable and not save:
        yield say("probe.not_saved")
