"""`overt sessions`: list, show, rename, fork, export, delete; search and check are in `_sessions_search`."""

import sys
from collections.abc import Sequence
from time import localtime, strftime

from overt.app.chat.notices import describe_budget
from overt.app.inspect.queries import (
    Summary,
    delete_session,
    list_agent_sessions,
    list_project_sessions,
    session_entries,
)
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import plural, print_lines, setting_or_defaults_of, warn
from overt.cli.parse import FOLDER, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.codec import printable
from overt.core.errors import ConfigError, UsageError
from overt.core.events import (
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
    Unknown,
    UserSpoke,
)
from overt.core.messages import Text
from overt.frontends.describe_events import ALONG, attachment_words
from overt.lib.text import visible
from overt.lib.translations import say

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
  fork ID [--turn N] [--step N]  a copy, up to the end of turn N, or of a step of it
  export ID [-o FILE]      as Markdown, JSON or HTML
  delete ID                remove it, with what only it needed for undo
  search WORDS             the lines that hold all of the words, in prompts, replies, calls and results
  check [ID]               whether every line is in place and unchanged""",
    words="[list | show | rename | fork | export | delete | search | check] …",
    flags=(
        FOLDER,
        Flag("--all", "list, search, check: of every project"),
        Flag("--json", "list, show, search, check: machine-readable"),
        Flag("--agents", "list: the sub-agents of each session too; their ids open them as any session"),
        Flag("--turn N", "fork: the last turn of the copy"),
        Flag("--step N", "fork: the last step of that turn in the copy"),
        Flag("--format FORMAT", f"export: {', '.join(FORMATS)}", choices=FORMATS),
        Flag("-o, --output FILE", "export: to a file, which may set the format"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    action, *words = args.words or ("list",)
    if action not in WORDS:
        import difflib  # late: 0.7 ms

        near = difflib.get_close_matches(action, WORDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"overt sessions: {action!r} is none of {', '.join(WORDS)}{hint}")
    least, most, what = WORDS[action]
    if len(words) < least:
        lists = "" if action == "search" else "; `overt sessions` lists them"
        raise UsageError(f"overt sessions {action} needs {what}{lists}")
    if most is not None and len(words) > most:
        raise UsageError(f"overt sessions {action}: unexpected {words[most]!r}. Try: overt sessions --help")
    return _act(action, words, args)


def _act(action: str, words: list[str], args: ParsedCommandLine) -> int:
    setting, mistake = setting_or_defaults_of(args)  # a broken configuration hides no session
    if action == "list":
        _list(setting, args)
        return 0
    if action == "show":
        return _show(words[0], setting, as_json=args.switch("json"))
    if action in ("search", "check"):
        from overt.cli.subcommands import _sessions_search as sessions_look  # late: 7 ms

        return (sessions_look.search if action == "search" else sessions_look.check)(setting, words, args)
    from overt.app.records import archive  # late: 6 ms

    match action:
        case "delete":
            path, note = delete_session(words[0], setting)
            print_lines([f"deleted {path}"])
            if note:
                warn(note)
        case "rename":
            if mistake:  # the name is written, and the configuration says which secrets to take out of it
                raise ConfigError(mistake)
            id, name = archive.rename(setting, words[0], " ".join(words[1:]))
            print_lines([f"{id} is called {name} now"])
        case "fork":
            print(archive.fork_session(setting, words[0], args.number("turn"), args.number("step")))
        case _:
            text = archive.export_session(setting, words[0], format=args.text("format"), target=args.text("output"))
            sys.stdout.write(text if not text or text.endswith("\n") else f"{text}\n")
    return 0


def _list(setting: Setting, args: ParsedCommandLine) -> None:
    everywhere = args.switch("all")
    rows = list_project_sessions(setting, everywhere=everywhere)
    if not rows:
        where = "" if everywhere else " in this project (--all looks at every one)"
        warn(f"there is no session yet{where}")
    for row in rows:
        for each in (row, *(list_agent_sessions(row) if args.switch("agents") else ())):
            print(printable(each) if args.switch("json") else visible(_session_line(each)))


def _session_line(row: Summary) -> str:
    when = strftime("%Y-%m-%d %H:%M", localtime(row.changed))
    if row.agent_path:
        return f"{'  ' * row.agent_path.count('/')}{row.id}  {when}  {row.agent_path}  {row.model}  {row.title}"
    turns = f"{row.turns:3} {'turn ' if row.turns == 1 else 'turns'}"
    forked = f"  (fork of {row.parent})" if row.parent else ""
    return f"{row.id}  {when}  {turns}  {row.model:24.24}  {row.title}{forked}"


def _show(reference: str, setting: Setting, *, as_json: bool) -> int:
    path, entries, damage = session_entries(reference, setting)
    for line in damage:
        warn(f"{path}: {line}")
    results = _pair_results([(entry.agent, entry.data) for entry in entries])
    for number, entry in enumerate(entries):
        if as_json:
            kind = "unknown" if isinstance(entry.data, Unknown) else entry.type
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
    more = [f"  … {plural(hidden, 'more line')}"] if hidden > 0 else []
    return "\n".join([*(["  ✗ failed"] if finished.result.error else []), *lines[:SHOWN_LINES], *more])


def _words(event: Event, finished: ToolFinished | None) -> str:
    """Return what a person reads of an event. A result stands below its call, in whatever order the calls ended."""
    match event:
        case UserSpoke(message=message) if message.origin.kind in ALONG:
            return f"  + {attachment_words(event)}"
        case UserSpoke(message=message):
            return f"\n› {message.text()}" if message.origin.is_prompt else message.text()
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
