"""Looking a session over: every line in its place and unchanged, what is lost where it is not, what lies beside it."""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from overt.core.codec import decode
from overt.core.errors import SessionError
from overt.core.events import Event
from overt.lib.package_data import read_text
from overt.sessions._lock import lock_holder
from overt.sessions.entries import Entry
from overt.sessions.load import Fault, Loaded, load
from overt.sessions.names import SUFFIX, agents_folder, id_of

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


class CheckResult(Struct, frozen=True, kw_only=True):
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


def check(path: str) -> CheckResult:
    """Read every line of a session; nothing is changed."""
    beside, writer = _beside(path), lock_holder(path)
    try:
        loaded = load(path)
    except SessionError as error:
        state = "newer" if error.code == "newer" else "unreadable"
        return CheckResult(id=id_of(path), path=path, state=state, beside=beside, writer=writer, told=error.message)
    unfinished = find_unfinished_turns(loaded.entries, is_written=writer is not None)
    return CheckResult(
        id=id_of(path),
        path=path,
        state="damaged" if loaded.faults else "unfinished" if unfinished else "sound",
        entries=len(loaded.entries),
        turns=max((entry.turn for entry in loaded.entries), default=0),
        findings=tuple(
            Finding(line=fault.line, kind=fault.kind, what=fault.text, lost=_lost(fault, loaded))
            for fault in loaded.faults
        ),
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


@cache
def lost_texts() -> dict[str, str]:
    """Return what is not there any more if an entry is lost, by its type."""
    texts: dict[str, str] = decode(read_text("overt.sessions", "lost_entries.json"))
    return texts


def strays(folder: str) -> tuple[str, ...]:
    """Files in a folder of sessions that belong to none of them."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ()
    sessions = {name for name in names if name.endswith(SUFFIX)}
    ours = sessions | {f"{name}{more}" for name in sessions for more in (".lock", ".torn")}
    ours |= {os.path.basename(agents_folder(name)) for name in sessions}
    return tuple(os.path.join(folder, name) for name in names if name not in ours)


def _lost(fault: Fault, loaded: Loaded) -> str:
    """Return in words what a fault costs."""
    texts = lost_texts()
    if fault.kind == "header":
        return texts["session"]
    if fault.kind == "repeated":
        return f"nothing, when entry {fault.first} stands elsewhere in the file"
    if fault.type:
        return f"{texts.get(fault.type, f'an entry of type {fault.type}')} (turn {fault.turn})"
    at = bisect_left(loaded.entries, fault.first, key=lambda entry: entry.seq)
    before = loaded.entries[at - 1] if at else None
    at = bisect_right(loaded.entries, fault.last, key=lambda entry: entry.seq)
    after = loaded.entries[at] if at < len(loaded.entries) else None
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


def _beside(path: str) -> tuple[str, ...]:
    files = []
    if os.path.lexists(f"{path}.torn"):
        files.append(f"{path}.torn: {os.path.getsize(f'{path}.torn')} bytes that were moved aside as no entries")
    if os.path.lexists(f"{path}.lock") and lock_holder(path) is None:
        files.append(f"{path}.lock: left by a writer that was killed; it locks nothing and goes with the next one")
    return tuple(files)
