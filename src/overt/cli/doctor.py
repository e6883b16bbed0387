"""`overt doctor`: what Overt found here, which walls of its sandbox hold, and with `--model` what a server can do."""

import asyncio
import sys
from collections.abc import Iterator

from overt.app.doctor import Examined, Sandbox, examine
from overt.app.probing import Tested, try_model
from overt.cli.parse import Command, Flag, Given, parse
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.catalogue import say
from overt.lib.text import visible, wide

COMMAND = Command(
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
    ),
)
MARKS = {"yes": "✓", "no": "✗", "unknown": "?"}


def run(argv: list[str]) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    if given.switch("model"):
        return _try(given)
    if given.switch("no_save"):
        raise UsageError("--no-save goes with --model: there is nothing else that doctor keeps")
    found = asyncio.run(examine(given.text("directory")))
    if given.switch("json"):
        sandbox = found.sandbox
        print(printable({"well": found.well, "walls_held": sandbox.checked.held, "found": found}))
    else:
        for line in _lines(found):
            print(visible(line))
    return 0 if found.well else 1


def _try(given: Given) -> int:
    progress = _Progress()
    save = not given.switch("no_save")
    try:
        tested = asyncio.run(try_model(given.text("directory"), given.text("model"), save=save, tell=progress.tell))
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


def _table(tested: Tested, *, save: bool) -> Iterator[str]:
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


def _lines(found: Examined) -> Iterator[str]:
    yield say("doctor.head", version=found.version, python=found.python, platform=found.platform)
    yield say("doctor.files", files=", ".join(found.files) or say("doctor.no_files"))
    if found.mistake:
        yield f"  ✗ {found.mistake}"
    for warning in found.warnings:
        yield f"  ! {warning}"
    yield say("doctor.trusted" if found.trusted else "doctor.untrusted", project=found.project)
    if found.model.name:
        yield say("doctor.model", model=found.model.name)
        if found.model.probed:
            yield say("doctor.profile", calls=found.model.calls, probed=found.model.probed)
        elif found.model.reference:
            yield say("doctor.no_profile", model=found.model.reference)
    else:
        yield say("doctor.no_model")
        yield from (f"  ! {line}" for line in found.model.problem.splitlines())
    yield say("doctor.programs")
    for program in found.programs:
        said = program.version or program.name
        yield f"  ✓ {said} ({program.path})" if program.path else f"  ! {program.name}: {say('doctor.absent')}"
    yield say("doctor.sessions", folder=found.sessions)
    if not found.sessions_writable:
        yield f"  ✗ {say('doctor.read_only')}"
    yield from _walls(found.sandbox)


def _walls(sandbox: Sandbox) -> Iterator[str]:
    checked, state = sandbox.checked, sandbox.state
    held = 0 if checked.void else checked.held
    yield say("doctor.sandbox", held=held, all=len(checked.walls), kind=state.kind)
    if checked.void:
        yield f"  ✗ {say('doctor.void', reason=checked.void)}"
        return
    for wall in checked.walls:
        yield f"  {'✓' if wall.held else '✗'} {wall.number:2} {say(f'doctor.wall.{wall.name}')}"
        if not wall.held:
            yield f"       {say(f'doctor.means.{wall.name}')}"
        if wall.detail:
            yield f"       {say('doctor.through', what=wall.detail)}"
    if state.boxed and not checked.loopback:
        yield f"  ! {say('doctor.no_loopback')}"
    if state.missing:
        yield f"  ! {say('doctor.lacking', names=', '.join(state.missing))}"
    if sandbox.network:
        yield f"  ! {say('doctor.network', origin=sandbox.network)}"
    if state.why and not sandbox.whole:
        yield f"  → {state.why}"
