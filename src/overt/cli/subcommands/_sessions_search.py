"""`overt sessions search` and `overt sessions check`."""

from shutil import get_terminal_size
from time import localtime, strftime

from overt.app.records.archive import SearchResult, check_sessions, search_sessions, stray_files
from overt.app.setting import Setting
from overt.cli.output import plural, print_result, warn
from overt.cli.parse import ParsedCommandLine
from overt.core.codec import printable
from overt.core.errors import SessionError
from overt.lib.text import visible

SHOWN = 5
"""Hits of one session on a screen; the others are counted."""
WHO = {
    "user": "you",
    "file": "file",
    "harness": "overt",
    "model": "model",
    "call": "call",
    "tool": "tool",
    "title": "name",
}
UNFINISHED = "Overt was killed, or the disk was full."


def search(setting: Setting, words: list[str], args: ParsedCommandLine) -> int:
    """Ends with 1 when nothing was found, as grep does."""
    any_hit = False
    for found in search_sessions(setting, words, everywhere=args.switch("all")):
        try:
            any_hit = (_all_as_json(found) if args.switch("json") else _some(found)) or any_hit
        except SessionError as error:
            warn(error.message)
    if not any_hit:
        where = "" if args.switch("all") else " of this project (--all looks at every one)"
        warn(f"no session{where} has a line with all of: {' '.join(words)}")
    return 0 if any_hit else 1


def check(setting: Setting, words: list[str], args: ParsedCommandLine) -> int:
    """Return 1 if a session has a damaged line or a turn without an end, or cannot be read."""
    reference, everywhere = words[0] if words else "", args.switch("all")
    bad = 0
    for session in check_sessions(setting, reference, everywhere=everywhere):
        bad += session.state != "sound"
        writer = "" if session.writer is None else f", being written by process {session.writer or '?'}"
        entries, turns = plural(session.entries, "entry", "entries"), plural(session.turns, "turn")
        lines = [f"{session.id}  {session.state}: {entries}, {turns}{writer}"]
        lines += [f"  {session.told}"] if session.told else []
        for fault in session.findings:
            lines += [f"  {f'line {fault.line}: ' if fault.line else ''}{fault.what}", f"    lost: {fault.lost}"]
        for turn in session.unfinished:
            lines.append(f"  turn {turn.turn} has no end: its last entry is `{turn.last}`. {UNFINISHED}")
        print_result(args, session, [*lines, *(f"  beside it: {line}" for line in session.beside)])
    for path in () if reference else stray_files(setting, everywhere=everywhere):
        warn(f"{path} belongs to no session")
    return 1 if bad else 0


def _all_as_json(found: SearchResult) -> bool:
    some = False
    for hit in found.hits:
        some = True
        row: dict[str, object] = {"session": found.session.id, "title": found.session.title, "turn": hit.turn}
        print(printable(row | {"seq": hit.seq, "who": hit.who, "number": hit.number, "line": hit.line, "at": hit.at}))
    return some


def _some(found: SearchResult) -> bool:
    """The first few, the rest as a number."""
    count = 0
    width = max(40, get_terminal_size((100, 24)).columns)
    for count, hit in enumerate(found.hits, 1):
        if count == 1:
            when = strftime("%Y-%m-%d", localtime(found.session.changed))
            print(visible(f"{found.session.id}  {when}  {found.session.title}"))
        if count <= SHOWN:
            place = f"  turn {hit.turn}  {WHO[hit.who]:5}  "
            print(visible(place + _around(hit.line, hit.at, hit.length, width - len(place) - 1)))
    if count > SHOWN:
        print(f"  and {count - SHOWN} more")
    return count > 0


def _around(line: str, at: int, length: int, width: int) -> str:
    """The part of a line in which a match stands."""
    if len(line) <= width:
        return line.strip()
    start = max(0, min(at - max(0, width - length) // 2, len(line) - width))
    cut = line[start : start + width].strip()
    return f"{'…' if start else ''}{cut}{'…' if start + width < len(line) else ''}"
