"""`overt doctor`: what Overt found here, which walls of its sandbox hold, and with `--model` what a server can do."""

import sys
from collections.abc import Iterator

from overt.app.diagnostics.doctor import Examined, examine
from overt.app.diagnostics.doctor_lines import lines
from overt.app.diagnostics.event_loop import run_async
from overt.app.models.probing import ModelTest, try_model
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.parse import CommandLine, Flag, Given, parse
from overt.cli.setting import read_setting_for, read_setting_or_defaults_for
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.catalogue import say
from overt.lib.text import visible, wide

COMMAND = CommandLine(
    name="overt doctor",
    about=(
        "Look at the configuration, the programs Overt uses and the sandbox; try every wall for real.\n"
        "With --model, ask a model's server what it can do, and keep the answer for later."
    ),
    words="",
    most=0,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable"),
        Flag(names=("-m", "--model"), key="model", value="MODEL", help="try this model: provider, model or both"),
        Flag(names=("--no-save",), key="no_save", help="with --model: do not keep what was found"),
        Flag(names=("--report",), key="report", help="make one redacted archive to attach to an issue"),
        Flag(names=("--session",), key="session", value="ID", help="with --report: include this session"),
        Flag(names=("--replies",), key="replies", help="with --report: include replies that could not be decoded"),
    ),
)
MARKS = {"yes": "✓", "no": "✗", "unknown": "?"}


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    if (given.switch("session") or given.switch("replies")) and not given.switch("report"):
        raise UsageError("--session and --replies need --report")
    if given.switch("model"):
        if given.switch("report"):
            raise UsageError("--report and --model cannot be used together")
        return _try(given, registries)
    if given.switch("no_save"):
        raise UsageError("--no-save goes with --model: there is nothing else that doctor keeps")
    setting, mistake = read_setting_or_defaults_for(given, registries)
    found = run_async(examine(setting, mistake))
    if given.switch("report"):
        return _report(given, found, setting)
    if given.switch("json"):
        sandbox = found.sandbox
        print(printable({"well": found.well, "walls_held": sandbox.checked.held, "found": found}))
    else:
        for line in lines(found):
            print(visible(line))
    return 0 if found.well else 1


def _report(given: Given, examined: Examined, setting: Setting) -> int:
    from overt.app.diagnostics.report import make_report  # late: 18 ms

    report = make_report(examined, setting, session=given.text("session"), replies=given.switch("replies"))
    if given.switch("json"):
        print(printable(report))
        return 0
    print(visible(say("report.made", path=report.path, size=-(-report.size // 1000))))
    print(visible(say("report.has", names=", ".join(report.names))))
    if not given.switch("session") or not given.switch("replies"):
        print(say("report.without"))
    return 0


def _try(given: Given, registries: Registries) -> int:
    progress = _Progress()
    save = not given.switch("no_save")
    try:
        setting = read_setting_for(given, registries)
        tested = run_async(try_model(setting, given.text("model"), save=save, tell=progress.tell))
    finally:
        progress.end()
    if given.switch("json"):
        print(printable({"usable": tested.usable, "tested": tested}))
    else:
        for line in _table(tested, save=save):
            print(visible(line))
    return 0 if tested.usable else 1


class _Progress:
    """What is being tried: one line that is written over on a terminal, a line each elsewhere."""

    def __init__(self) -> None:
        self._over = sys.stderr.isatty()
        self._told = ""

    def tell(self, what: str) -> None:
        if what == self._told:
            return
        self._told = what
        line = visible(say("probe.trying", what=what))
        print(f"\r\x1b[K{line}" if self._over else line, end="" if self._over else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._over and self._told:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _table(tested: ModelTest, *, save: bool) -> Iterator[str]:
    place = tested.base_url if tested.base_url.startswith("http") else say("probe.embedded")
    yield say("probe.head", provider=tested.provider, model=tested.model, place=place, wire=tested.wire)
    titles = [say(f"probe.{row.name}") for row in tested.rows]
    widest = max(map(wide, titles))
    for row, title in zip(tested.rows, titles, strict=True):
        yield f"  {MARKS[row.state]} {title}{' ' * (widest - wide(title))}  {row.words}".rstrip()
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
