"""Looking a session over: every line in its place and unchanged, what is lost where it is not, what lies beside it."""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from overt.core.errors import SessionError
from overt.core.events import Event
from overt.sessions._lock import holder
from overt.sessions.entries import Entry
from overt.sessions.load import Fault, Loaded, load
from overt.sessions.names import SUFFIX, id_of

LOST: dict[str, str] = {
    "session": "the header: the id and the time come from the name of the file, the folder is not known",
    "prefix": "the system prompt and the tools: the requests that stood on it cannot be made again",
    "user": "a prompt, or what went along with one",
    "request": "the record of a request: it cannot be verified",
    "reply": "a reply of the model; results of its calls go with it",
    "repair": "a note on how a call was put right",
    "call": "the record that a call was started; the call itself stands in the reply",
    "verdict": "the record of a permission decision",
    "snapshot": "the state of a file before a change: that change cannot be undone from here",
    "tree": "the state of the files before a command: what it changed cannot be undone from here",
    "git": "what a command did to the git repository: undo cannot name it or take it back",
    "restored": "the record that files were put back",
    "outcome": "the result of a call; the model is told that the call was interrupted",
    "todo": "a state of the task list",
    "mode": "a change of the mode",
    "model": "a change of the model",
    "title": "a name of the session",
    "reset": "a rewind or a reset: messages that had been taken back stand again",
    "compaction": "a compaction: the messages it had summed up stand again",
    "pin": "a pin",
    "budget": "a spending limit that the user had set",
    "note": "a notice",
    "partial": "a copy of what was streaming",
    "end": "how a turn ended and what it cost",
}
"""Type of entry → what is not there any more when it is lost."""
TURN_TYPES = frozenset({"user", "request", "reply", "call", "outcome", "compaction"})
"""Types of entries that only a running turn writes. Others, as a new title, can also come between two turns."""


class Finding(Struct, frozen=True, kw_only=True):
    """One fault, with what it costs in words."""

    line: int
    kind: str
    what: str
    lost: str


class UnfinishedTurn(Struct, frozen=True, kw_only=True):
    """A turn without an `end` entry: the program was killed, or the disk was full. `last` is its last entry's type."""

    turn: int
    entries: int
    last: str


class Checked(Struct, frozen=True, kw_only=True):
    """`state`: sound, unfinished (every line is in place, but a turn has no end), damaged, newer (written by a newer
    Overt, so not looked at), unreadable.

    `entries` and `turns` are what still stands. `beside` names files around it that are no session, `writer` the
    process that writes it now.
    """

    id: str
    path: str
    state: str
    entries: int = 0
    turns: int = 0
    findings: tuple[Finding, ...] = ()
    unfinished: tuple[UnfinishedTurn, ...] = ()
    beside: tuple[str, ...] = ()
    writer: int | None = None
    told: str = ""


def check(path: str) -> Checked:
    """Read every line of a session; nothing is changed."""
    beside, writer = _beside(path), holder(path)
    try:
        loaded = load(path)
    except SessionError as error:
        state = "newer" if error.code == "newer" else "unreadable"
        return Checked(id=id_of(path), path=path, state=state, beside=beside, writer=writer, told=error.message)
    unfinished = find_unfinished_turns(loaded.entries, is_written=writer is not None)
    return Checked(
        id=id_of(path),
        path=path,
        state="damaged" if loaded.faults else "unfinished" if unfinished else "sound",
        entries=len(loaded.entries),
        turns=max((entry.turn for entry in loaded.entries), default=0),
        findings=tuple(_finding(fault, loaded) for fault in loaded.faults),
        unfinished=unfinished,
        beside=beside,
        writer=writer,
    )


def find_unfinished_turns(entries: Sequence[Entry[Event]], *, is_written: bool) -> tuple[UnfinishedTurn, ...]:
    """Return the turns that were begun and have no end. The last turn of a session being written may still run."""
    turns: dict[int, list[str]] = {}
    for entry in entries:
        if entry.agent == "main":
            turns.setdefault(entry.turn, []).append(entry.type)
    running = max(turns, default=0) if is_written else 0
    return tuple(
        UnfinishedTurn(turn=turn, entries=len(types), last=types[-1])
        for turn, types in turns.items()
        if turn not in (0, running) and "end" not in types and not TURN_TYPES.isdisjoint(types)
    )


def strays(folder: str) -> tuple[str, ...]:
    """Files in a folder of sessions that belong to none of them."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ()
    sessions = {name for name in names if name.endswith(SUFFIX)}
    ours = sessions | {f"{name}{more}" for name in sessions for more in (".lock", ".torn")}
    return tuple(os.path.join(folder, name) for name in names if name not in ours)


def _finding(fault: Fault, loaded: Loaded) -> Finding:
    return Finding(line=fault.line, kind=fault.kind, what=fault.text, lost=_lost(fault, loaded))


def _lost(fault: Fault, loaded: Loaded) -> str:
    if fault.kind == "header":
        return LOST["session"]
    if fault.kind == "repeated":
        return f"nothing, when entry {fault.first} stands elsewhere in the file"
    if fault.type:
        return f"{LOST.get(fault.type, f'an entry of type {fault.type}')} (turn {fault.turn})"
    before, after = _before(fault, loaded), _after(fault, loaded)
    count = fault.last - fault.first + 1
    what = "one entry" if count == 1 else f"{count} entries"
    if before and after:
        between = f"turn {before.turn}" if before.turn == after.turn else f"turns {before.turn} to {after.turn}"
        return f"{what} of {between}, between the entries `{before.type}` and `{after.type}`"
    if after:
        return f"{what} before the entry `{after.type}` of turn {after.turn}"
    if before:
        return f"{what} after the entry `{before.type}` of turn {before.turn}: the end of the file"
    return f"{what}, and nothing else stands"


def _before(fault: Fault, loaded: Loaded) -> Entry[Event] | None:
    at = bisect_left(loaded.entries, fault.first, key=_seq)
    return loaded.entries[at - 1] if at else None


def _after(fault: Fault, loaded: Loaded) -> Entry[Event] | None:
    at = bisect_right(loaded.entries, fault.last, key=_seq)
    return loaded.entries[at] if at < len(loaded.entries) else None


def _seq(entry: Entry[Event]) -> int:
    return entry.seq


def _beside(path: str) -> tuple[str, ...]:
    found = []
    if os.path.lexists(f"{path}.torn"):
        found.append(f"{path}.torn: {os.path.getsize(f'{path}.torn')} bytes that were moved aside as no entries")
    if os.path.lexists(f"{path}.lock") and holder(path) is None:
        found.append(f"{path}.lock: left by a writer that was killed; it locks nothing and goes with the next one")
    return tuple(found)
