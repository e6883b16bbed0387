"""`overt sessions`: list, show, delete."""

import sys
from time import localtime, strftime

from overt.app.queries import delete_session, session_entries, sessions
from overt.cli.flags import Parser
from overt.core.codec import encode
from overt.core.events import TYPE_OF, Event, Noticed, Replied, ToolFinished, ToolStarted, TurnEnded, UserSpoke
from overt.core.messages import Text
from overt.lib.text import visible


def run(argv: list[str]) -> int:
    parser = Parser(prog="overt sessions", description="The sessions of this project.")
    parser.add_argument("-C", "--cd", dest="directory", default="", metavar="DIR")
    parser.add_argument("--all", action="store_true", help="of every project")
    parser.add_argument("--json", action="store_true", help="one JSON object per session or entry")
    parser.add_argument("action", nargs="?", choices=("list", "show", "delete"), default="list")
    parser.add_argument("id", nargs="?", default="", help="the id, or its first characters")
    given = parser.parse_args(argv)
    if given.action != "list" and not given.id:
        parser.error(f"`overt sessions {given.action}` needs an id; `overt sessions` lists them")
    match given.action:
        case "show":
            return _show(given.id, as_json=given.json)
        case "delete":
            print(f"deleted {visible(delete_session(given.id))}")
        case _:
            _list(given.directory, everywhere=given.all, as_json=given.json)
    return 0


def _list(directory: str, *, everywhere: bool, as_json: bool) -> None:
    for found in sessions(directory, everywhere=everywhere):
        if as_json:
            print(encode(found).decode())
            continue
        when = strftime("%Y-%m-%d %H:%M", localtime(found.changed))
        print(visible(f"{found.id}  {when}  {found.turns:3} turns  {found.model:24.24}  {found.title}"))


def _show(reference: str, *, as_json: bool) -> int:
    path, entries, damage = session_entries(reference)
    for line in damage:
        print(f"overt: {visible(path)}: {visible(line)}", file=sys.stderr)
    for entry in entries:
        if as_json:
            kind = TYPE_OF.get(type(entry.data), "unknown")
            shown = {"seq": entry.seq, "ts": entry.ts, "agent": entry.agent, "turn": entry.turn, "step": entry.step}
            print(encode(shown | {"type": kind, "data": entry.data}).decode())
        elif text := _words(entry.data):
            print(visible(text))
    return 0


def _words(event: Event) -> str:
    match event:
        case UserSpoke(message=message):
            return f"\n› {message.text()}"
        case Replied(message=message):
            return message.text()
        case ToolStarted(call=call, headline=headline):
            return f"● {call.name} {headline}"
        case ToolFinished(result=result):
            text = "".join(part.text for part in result.parts if isinstance(part, Text))
            return "\n".join(f"  {line}" for line in text.splitlines()[:6])
        case Noticed(text=text):
            return f"({text})"
        case TurnEnded(reason=reason, text=text) if reason != "done":
            return f"[{reason}] {text}"
        case _:
            return ""
