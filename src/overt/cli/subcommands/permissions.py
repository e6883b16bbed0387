"""`overt permissions`: stored rules, verdicts explained, and the decisions that were made."""

import os
import sys
from collections.abc import Iterator
from time import localtime, strftime

from overt.app.inspect.permissions import (
    MODES,
    CallExplanation,
    CommandVerdict,
    classify,
    decisions,
    explain,
    revoke,
    saved_rule_uses,
)
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import plural, print_result, setting_of
from overt.cli.parse import FOLDER, JSON, CommandLine, Flag, parse
from overt.core.codec import decode, printable
from overt.core.errors import UsageError
from overt.core.settings import Mode
from overt.lib.text import cut_line, visible
from overt.lib.translations import say

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
        FOLDER,
        JSON,
        Flag("--stdin", "check: one JSON string per line of input"),
        Flag("--mode MODE", f"check: only {', '.join(MODES)}", choices=MODES),
        Flag("-n, --last N", f"log: so many decisions (else {LAST})"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    as_json = args.switch("json")
    if args.words == ("check",) and args.switch("stdin"):
        mode: Mode = next((mode for mode in MODES if mode == args.text("mode")), "review")
        return _stream(mode, as_json=as_json)
    setting = setting_of(args)
    match args.words:
        case () | ("list",):
            _list(setting, as_json=as_json)
        case ("revoke", text):
            print(f"revoked {visible(revoke(setting, text))}")
        case ("check", *words) if words and not args.switch("stdin"):
            verdict = explain(setting, " ".join(words), mode=args.text("mode"))
            print_result(args, verdict, _explanation(verdict))
        case ("log",):
            _log(setting, args.number("last") or LAST, as_json=as_json)
        case _:
            raise UsageError("overt permissions takes: list, revoke RULE, check COMMAND, check --stdin, or log")
    return 0


def _line(*columns: str) -> str:
    return visible(cut_line(" ".join("  ".join(columns).split("\n")), WIDEST)).rstrip()


def _list(setting: Setting, *, as_json: bool) -> None:
    rules = saved_rule_uses(setting)
    if not rules and not as_json:
        print(say("permissions.none"))
    for number, used in enumerate(rules, 1):
        if as_json:
            row = {"number": number, "action": used.rule.action, "rule": used.rule.text()}
            row |= {"network": used.rule.network} if used.rule.network else {}
            print(printable(row | {"matched": used.count, "examples": used.examples}))
            continue
        past = f"{plural(used.count, 'past call')}: " if used.count else "no past call"
        print(_line(f"{number:2}", used.rule.action, used.rule.shown(), past + "; ".join(used.examples)))


def _log(setting: Setting, last: int, *, as_json: bool) -> None:
    for each in decisions(setting, last):
        if as_json:
            print(printable(each))
            continue
        when = strftime("%Y-%m-%d %H:%M:%S", localtime(each.when))
        print(_line(when, f"{each.verdict:5}", f"{each.tool} {each.what}", f"[{each.rule}, {each.origin}, {each.by}]"))


# ── check ────────────────────────────────────────────────────────────────────────────────────────────────


def _explanation(call: CallExplanation) -> Iterator[str]:
    yield f"{call.tool}: {', '.join(call.about)}"
    if call.hazard:
        notes = (call.reach, "cannot be read whole" if call.opaque else "", "network" if call.network else "")
        yield f"  {', '.join([call.hazard, *filter(None, notes)])}"
    yield from (f"    {cause.words}: {cause.why}" for cause in call.hazards)
    yield from (f"  {call.reach}: {reason}" for reason in call.because)
    if call.remedy:
        yield f"  in a non-interactive run: {call.remedy}"
    if call.commands:
        yield f"  rules are matched with: {' | '.join(call.commands)}"
    for each in call.verdicts:
        verdict = each.verdict if each.alone == each.verdict else f"{each.verdict} in a sandbox, else {each.alone}"
        yield f"  {each.mode:7} {verdict}  [{each.rule}, {each.origin}] {each.why}".rstrip()


def _stream(mode: Mode, *, as_json: bool) -> int:
    """Answer the lines that have arrived at once and together: for a person, and for ten thousand lines in a pipe."""
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
    """Yield whole lines as they arrive; the last one may lack its end."""
    rest = b""
    while piece := os.read(sys.stdin.fileno(), PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _judged(line: bytes, mode: Mode) -> CommandVerdict | None:
    try:
        command = decode(line, type=str)
    except ValueError:
        return None
    return classify(command, mode=mode)


def _answer(judged: CommandVerdict | None, number: int, *, as_json: bool) -> str:
    if judged is None:
        problem = f'line {number} is not a JSON string, such as "ls -l"'
        return printable({"error": problem}) if as_json else f"error: {problem}"
    if as_json:
        return printable(judged)
    why = "; ".join(f"{cause.words}: {cause.why}" for cause in judged.hazards)
    return _line(f"{judged.verdict:5}", f"{'dangerous' if judged.dangerous else '':9}", judged.cmd, why)
