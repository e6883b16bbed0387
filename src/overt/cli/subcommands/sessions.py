"""`overt sessions`: list, show, rename, fork, export, delete; search and check are beside."""

import sys
from collections.abc import Sequence
from time import localtime, strftime

from overt.app.chat.budget_notice import describe_budget
from overt.app.inspect.queries import delete_session, session_entries, sessions
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.parse import CommandLine, Flag, Given, parse
from overt.cli.setting import read_setting_or_defaults_for
from overt.core.codec import printable
from overt.core.errors import ConfigError, UsageError
from overt.core.events import (
    TYPE_OF,
    BudgetSet,
    Compacted,
    Event,
    Noticed,
    PrefixReset,
    Replied,
    Restored,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.messages import Text
from overt.frontends.attached import ALONG, attached
from overt.lib.catalogue import say
from overt.lib.text import visible

SHOWN_LINES = 6
"""Lines of a result that `show` prints; the others are counted."""
WORDS = {
    "list": (0, 0, ""),
    "show": (1, 1, "an id"),
    "rename": (2, None, "an id and a name"),
    "fork": (1, 1, "an id"),
    "export": (1, 1, "an id"),
    "delete": (1, 1, "an id"),
    "search": (1, None, "words to look for"),
    "check": (0, 1, ""),
}
"""Action → how many words it needs, how many it takes, and what they are."""
FORMATS = ("markdown", "json", "html")

COMMAND = CommandLine(
    name="overt sessions",
    about="""The sessions of this project. ID is an id, its beginning, or a name; to delete one, its id.

  list                     the newest first
  show ID                  what was said and done
  rename ID NAME           what it is called from now on
  fork ID [--turn N]       a copy, up to the end of turn N
  export ID [-o FILE]      as Markdown, JSON or HTML
  delete ID                remove it, with what only it needed for undo
  search WORDS             the lines that hold all of the words, in prompts, replies, calls and results
  check [ID]               whether every line is in place and unchanged""",
    words="[list | show | rename | fork | export | delete | search | check] …",
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--all",), key="all", help="list, search, check: of every project"),
        Flag(names=("--json",), key="json", help="list, show, search, check: machine-readable"),
        Flag(names=("--turn",), key="turn", value="N", help="fork: the last turn of the copy"),
        Flag(names=("--format",), key="format", value="FORMAT", choices=FORMATS, help=f"export: {', '.join(FORMATS)}"),
        Flag(names=("-o", "--output"), key="output", value="FILE", help="export: to a file, which may set the format"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    action, *words = given.words or ("list",)
    if action not in WORDS:
        import difflib  # late: 1.4 ms

        near = difflib.get_close_matches(action, WORDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"overt sessions: {action!r} is none of {', '.join(WORDS)}{hint}")
    least, most, what = WORDS[action]
    if len(words) < least:
        lists = "" if action == "search" else "; `overt sessions` lists them"
        raise UsageError(f"overt sessions {action} needs {what}{lists}")
    if most is not None and len(words) > most:
        raise UsageError(f"overt sessions {action}: unexpected {words[most]!r}. Try: overt sessions --help")
    setting, mistake = read_setting_or_defaults_for(given, registries)  # a broken configuration hides no session
    return _act(action, words, given, setting, mistake)


def _act(action: str, words: list[str], given: Given, setting: Setting, mistake: str) -> int:
    match action:
        case "show":
            return _show(words[0], setting, as_json=given.switch("json"))
        case "delete":
            path, note = delete_session(words[0], setting)
            print(f"deleted {visible(path)}")
            if note:
                print(f"overt: {visible(note)}", file=sys.stderr)
        case "rename":
            if mistake:  # the name is written, and the configuration says which secrets to take out of it
                raise ConfigError(mistake)
            from overt.app.records import archive  # late: 8 ms

            id, name = archive.rename(setting, words[0], " ".join(words[1:]))
            print(visible(f"{id} is called {name} now"))
        case "fork":
            from overt.app.records import archive  # late: 8 ms

            print(archive.fork_session(setting, words[0], _turn(given)))
        case "export":
            from overt.app.records import archive  # late: 8 ms

            text = archive.export_session(setting, words[0], format=given.text("format"), target=given.text("output"))
            sys.stdout.write(text if not text or text.endswith("\n") else f"{text}\n")
        case "search" | "check":
            from overt.cli.subcommands import _sessions_look as sessions_look  # late: 11 ms

            return (sessions_look.search if action == "search" else sessions_look.check)(setting, words, given)
        case _:
            _list(setting, everywhere=given.switch("all"), as_json=given.switch("json"))
    return 0


def _turn(given: Given) -> int | None:
    text = given.text("turn")
    if not given.switch("turn"):
        return None
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0 and len(text) < 10):
        raise UsageError(f"--turn must be a whole number above 0, got {text!r}")
    return int(text)


def _list(setting: Setting, *, everywhere: bool, as_json: bool) -> None:
    rows = sessions(setting, everywhere=everywhere)
    if not rows:
        where = "" if everywhere else " in this project (--all looks at every one)"
        print(f"overt: there is no session yet{where}", file=sys.stderr)
    for found in rows:
        if as_json:
            print(printable(found))
            continue
        when = strftime("%Y-%m-%d %H:%M", localtime(found.changed))
        turns = f"{found.turns:3} {'turn ' if found.turns == 1 else 'turns'}"
        forked = f"  (fork of {found.parent})" if found.parent else ""
        print(visible(f"{found.id}  {when}  {turns}  {found.model:24.24}  {found.title}{forked}"))


def _show(reference: str, setting: Setting, *, as_json: bool) -> int:
    path, entries, damage = session_entries(reference, setting)
    for line in damage:
        print(f"overt: {visible(path)}: {visible(line)}", file=sys.stderr)
    results = _pair_results([(entry.agent, entry.data) for entry in entries])
    for number, entry in enumerate(entries):
        if as_json:
            kind = TYPE_OF.get(type(entry.data), "unknown")
            shown = {"seq": entry.seq, "ts": entry.ts, "agent": entry.agent, "turn": entry.turn, "step": entry.step}
            print(printable(shown | {"type": kind, "data": entry.data}))
        elif text := _words(entry.data, results.get(number)):
            print(visible(text))
    return 0


def _pair_results(events: Sequence[tuple[str, Event]]) -> dict[int, ToolFinished]:
    """Return the results by the place of their calls, and by their own. Servers use an id of a call again later."""
    results: dict[int, ToolFinished] = {}
    waiting: dict[tuple[str, str], int] = {}
    for number, (agent, event) in enumerate(events):
        if isinstance(event, ToolStarted):
            waiting[agent, event.call.id] = number
        elif isinstance(event, ToolFinished) and (agent, event.result.call_id) in waiting:
            results[waiting.pop((agent, event.result.call_id))] = results[number] = event
    return results


def _result(finished: ToolFinished) -> str:
    text = "".join(part.text for part in finished.result.parts if isinstance(part, Text))
    lines = [f"  {line}" for line in text.splitlines()]
    hidden = len(lines) - SHOWN_LINES
    more = [f"  … {hidden} more {'line' if hidden == 1 else 'lines'}"] if hidden > 0 else []
    return "\n".join([*(["  ✗ failed"] if finished.result.error else []), *lines[:SHOWN_LINES], *more])


def _words(event: Event, finished: ToolFinished | None) -> str:
    """Return what a person reads of an event. A result stands below its call, in whatever order the calls ended."""
    match event:
        case UserSpoke(message=message) if message.origin.kind in ALONG:
            return f"  + {attached(event)}"
        case UserSpoke(message=message):
            return f"\n› {message.text()}" if message.origin.kind == "user" else message.text()
        case Replied(message=message):
            return message.text()
        case ToolStarted(call=call, headline=headline):
            return f"● {call.name} {headline}\n{_result(finished) if finished else '  (no result)'}".rstrip()
        case ToolFinished():
            return "" if finished else _result(event)
        case BudgetSet():
            return f"({describe_budget(event)})"
        case Noticed(text=text):
            return f"({text})"
        case Compacted(before=before, after=after):
            return f"({say('export.compacted', before=before, after=after)})"
        case PrefixReset(cause=cause):
            return f"({say('export.reset', cause=cause)})"
        case Restored(way=way, paths=paths):
            return f"({say('export.restored', way=way, paths=', '.join(paths))})"
        case TurnEnded(reason=reason, text=text) if reason != "done":
            return f"[{reason}] {text}"
        case _:
            return ""
