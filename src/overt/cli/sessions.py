"""`overt sessions`: list, show, delete."""

import sys
from time import localtime, strftime

from overt.app.queries import delete_session, session_entries, sessions
from overt.cli.parse import Command, Flag, parse
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.core.events import TYPE_OF, Event, Noticed, Replied, ToolFinished, ToolStarted, TurnEnded, UserSpoke
from overt.core.messages import Text
from overt.lib.text import visible

COMMAND = Command(
    name="overt sessions",
    about="The sessions of this project: list, show ID, delete ID.",
    words="[list | show ID | delete ID]",
    most=2,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable"),
        Flag(names=("--all",), key="all", help="of every project"),
    ),
)


def run(argv: list[str]) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    action, *ids = given.words or ("list",)
    if action not in ("list", "show", "delete"):
        raise UsageError(f"overt sessions: {action!r} is none of list, show, delete")
    if action != "list" and not ids:
        raise UsageError(f"overt sessions {action} needs an id; `overt sessions` lists them")
    match action:
        case "show":
            return _show(ids[0], as_json=given.switch("json"))
        case "delete":
            print(f"deleted {visible(delete_session(ids[0]))}")
        case _:
            _list(given.text("directory"), everywhere=given.switch("all"), as_json=given.switch("json"))
    return 0


def _list(directory: str, *, everywhere: bool, as_json: bool) -> None:
    for found in sessions(directory, everywhere=everywhere):
        if as_json:
            print(printable(found))
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
            print(printable(shown | {"type": kind, "data": entry.data}))
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
