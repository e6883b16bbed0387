"""`overt permissions`: stored rules, verdicts explained, and the decisions that were made."""

import os
import sys
from collections.abc import Iterator
from time import localtime, strftime

from overt.app.inspect.permissions import (
    MODES,
    Explained,
    Judged,
    ModeVerdict,
    always_used,
    classify,
    decisions,
    explain,
    revoke,
)
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.parse import CommandLine, Flag, Given, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import decode, printable
from overt.core.errors import UsageError
from overt.core.settings import Mode
from overt.lib.catalogue import say
from overt.lib.text import cut_line, visible

PIECE = 1 << 16
LAST = 20
WIDEST = 160

ABOUT = """What may run here without asking, what was answered with always, and why.

  overt permissions                   what was answered with always, and what past calls each rule speaks of
  overt permissions revoke 2          take a rule back, by its number or as it reads
  overt permissions check "rm -r x"   the verdict in each mode, and why; also "edit(src/a.py)"
  overt permissions check --stdin --json   a JSON string a line, judged by the default rules: an object a line
  overt permissions log               the last decisions of this project"""

COMMAND = CommandLine(
    name="overt permissions",
    about=ABOUT,
    words="[list | revoke RULE | check COMMAND | log]",
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable"),
        Flag(names=("--stdin",), key="stdin", help="check: one JSON string per line of input"),
        Flag(names=("--mode",), key="mode", value="MODE", choices=MODES, help=f"check: only {', '.join(MODES)}"),
        Flag(names=("-n", "--last"), key="last", value="N", help=f"log: so many decisions (else {LAST})"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    as_json = given.switch("json")
    if given.words == ("check",) and given.switch("stdin"):
        return _stream(_mode(given), as_json=as_json)
    setting = read_setting_for(given, registries)
    match given.words:
        case () | ("list",):
            _list(setting, as_json=as_json)
        case ("revoke", text):
            print(f"revoked {visible(revoke(setting, text))}")
        case ("check", *words) if words and not given.switch("stdin"):
            _check(explain(setting, " ".join(words), mode=given.text("mode")), as_json=as_json)
        case ("log",):
            _log(setting, _count(given.text("last")), as_json=as_json)
        case _:
            raise UsageError("overt permissions takes: list, revoke RULE, check COMMAND, check --stdin, or log")
    return 0


def _mode(given: Given) -> Mode:
    return next((mode for mode in MODES if mode == given.text("mode")), "review")


def _count(text: str) -> int:
    if not text:
        return LAST
    if text.isascii() and text.isdecimal() and int(text[:9]) > 0:
        return int(text[:9])
    raise UsageError(f"--last must be a whole number above 0, got {text!r}")


def _line(*columns: str) -> str:
    return visible(cut_line(" ".join("  ".join(columns).split("\n")), WIDEST)).rstrip()


def _list(setting: Setting, *, as_json: bool) -> None:
    found = always_used(setting)
    if not found and not as_json:
        print(say("permissions.none"))
    for number, used in enumerate(found, 1):
        if as_json:
            told = {"number": number, "action": used.rule.action, "rule": used.rule.text()}
            told |= {"network": used.rule.network} if used.rule.network else {}
            print(printable(told | {"matched": used.count, "examples": used.examples}))
            continue
        past = f"{used.count} past call{'' if used.count == 1 else 's'}: " if used.count else "no past call"
        print(_line(f"{number:2}", used.rule.action, used.rule.shown(), past + "; ".join(used.examples)))


def _log(setting: Setting, last: int, *, as_json: bool) -> None:
    for made in decisions(setting, last):
        if as_json:
            print(printable(made))
            continue
        when = strftime("%Y-%m-%d %H:%M:%S", localtime(made.when))
        print(_line(when, f"{made.verdict:5}", f"{made.tool} {made.what}", f"[{made.rule}, {made.origin}, {made.by}]"))


# ── check ────────────────────────────────────────────────────────────────────────────────────────────────


def _check(found: Explained, *, as_json: bool) -> None:
    if as_json:
        print(printable(found))
        return
    print(visible(f"{found.tool}: {', '.join(found.about)}"))
    if found.hazard:
        more = [word for word, true in (("cannot be read whole", found.opaque), ("network", found.network)) if true]
        print(f"  {', '.join([found.hazard, *((found.reach,) if found.reach else ()), *more])}")
    for cause in found.hazards:
        print(visible(f"    {cause.words}: {cause.why}"))
    for reason in found.because:
        print(visible(f"  {found.reach}: {reason}"))
    if found.remedy:
        print(visible(f"  in a non-interactive run: {found.remedy}"))
    if found.commands:
        print(visible(f"  rules are matched with: {' | '.join(found.commands)}"))
    for ruled in found.verdicts:
        print(visible(f"  {ruled.mode:7} {_verdict(ruled)}  [{ruled.rule}, {ruled.origin}] {ruled.why}".rstrip()))


def _verdict(ruled: ModeVerdict) -> str:
    if ruled.alone == ruled.verdict:
        return ruled.verdict
    return f"{ruled.verdict} in a sandbox, else {ruled.alone}"


def _stream(mode: Mode, *, as_json: bool) -> int:
    """What has come is answered at once and together, so that both a person and ten thousand lines are served."""
    failed = False
    number = 0
    for lines in _pieces():
        answers: list[str] = []
        for line in lines:
            number += 1
            judged = _judged(line, mode)
            failed |= judged is None
            answers.append(_answer(judged, number, as_json=as_json))
        sys.stdout.write("".join(f"{answer}\n" for answer in answers if answer))
        sys.stdout.flush()
    return 1 if failed else 0


def _pieces() -> Iterator[list[bytes]]:
    """Whole lines as they arrive; the last one may lack its end."""
    rest = b""
    while piece := os.read(sys.stdin.fileno(), PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _judged(line: bytes, mode: Mode) -> Judged | None:
    try:
        command = decode(line, type=str)
    except ValueError:
        return None
    return classify(command, mode=mode)


def _answer(judged: Judged | None, number: int, *, as_json: bool) -> str:
    if judged is None:
        told = f'line {number} is not a JSON string, such as "ls -l"'
        return printable({"error": told}) if as_json else f"error: {told}"
    if as_json:
        return printable(judged)
    why = "; ".join(f"{cause.words}: {cause.why}" for cause in judged.hazards)
    return _line(f"{judged.verdict:5}", f"{'dangerous' if judged.dangerous else '':9}", judged.cmd, why)
