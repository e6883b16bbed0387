"""Fork a session: copy its entries up to a turn into a file and a chain of their own.

The old session is only read, so one that another process writes can be forked as well.
"""

import os
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from overt.core.errors import SessionError
from overt.core.events import Event, PrefixReset
from overt.core.ids import new_id
from overt.lib import atomic
from overt.sessions.entries import VERSION, Entry, encode_line, move_line
from overt.sessions.index import paths
from overt.sessions.load import Loaded, load, open_regular
from overt.sessions.names import file_name, id_of, project_folder, utc_stamp

LONGEST = 64


def fork(path: str, *, turn: int | None = None, step: int | None = None, id: str = "", overt: str = "") -> str:
    """Return the path of the copy, with everything up to the end of `turn`, or the last one; with a `step`, up to
    the end of that step of the turn.

    A rewind after the turn is not part of it. The copy of a sub-agent's session is an ordinary
    session.
    """
    loaded = load(path)
    copied_entries = _entries_until(loaded, turn, step)
    created, id = utc_stamp(), id or new_id()
    header = replace(
        loaded.opened, id=id, format=VERSION, created=created, parent=loaded.id, overt=overt, agent_path=""
    )
    first, chain = encode_line(header, seq=1, turn=0, step=0, chain=0)
    pieces = [first]
    seq = 2
    for entry, line in zip(copied_entries, _lines(path, loaded, len(copied_entries)), strict=True):
        if entry.type == "session" or (entry.turn == turn and _goes_back(entry.data)):
            continue
        same = move_line(line, seq, chain) if line else None
        copied, chain = same or encode_line(
            entry.data, seq=seq, turn=entry.turn, step=entry.step, chain=chain, ts=entry.ts
        )
        pieces.append(copied)
        seq += 1
    target = os.path.join(project_folder(path), file_name(created, id))
    try:
        atomic.replace(target, b"".join(pieces))
    except OSError as error:
        raise SessionError(
            f"Session {loaded.id} cannot be forked: {error.strerror}: {os.path.dirname(path)}. Make room there, or "
            "check its mode; the session itself was left as it is.",
            code="full",
        ) from error
    return target


def free_id(data_dir: str, wanted: str) -> str:
    """Return the id that was chosen for a new session. Raise SessionError if it is invalid or taken."""
    if not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9-]{{0,{LONGEST - 1}}}", wanted):
        raise SessionError(
            f"`{wanted}` cannot be the id of a session: it takes 1 to {LONGEST} letters, digits and dashes, and begins "
            "with a letter or a digit.",
            code="invalid",
        )
    if any(id_of(path).lower() == wanted.lower() for path in paths(data_dir)):
        raise SessionError(
            f"There is a session {wanted} already. Continue it with `overt -r {wanted}`, or choose another id.",
            code="taken",
        )
    return wanted


def _entries_until(loaded: Loaded, turn: int | None, step: int | None) -> Sequence[Entry[Event]]:
    entries = loaded.entries
    own = [entry for entry in entries if entry.agent == "main"]
    last = max((entry.turn for entry in own), default=0)
    if turn is None and step is None:
        return entries
    turn = last if turn is None else turn
    if not 1 <= turn <= last:
        there = f"turns 1 to {last}" if last > 1 else "one turn" if last else "no turn yet"
        raise SessionError(f"Session {loaded.id} has {there}, so it cannot be forked at turn {turn}.", code="missing")
    steps = max((entry.step for entry in own if entry.turn == turn), default=0)
    if step is not None and not 1 <= step <= steps:
        raise SessionError(
            f"Turn {turn} of session {loaded.id} has {steps} {'step' if steps == 1 else 'steps'}, so it cannot be "
            f"forked at step {step}.",
            code="missing",
        )
    after = (turn, steps if step is None else step)
    end = next((entry for entry in own if (entry.turn, entry.step) > after), None)
    return entries if end is None else entries[: entries.index(end)]


def _goes_back(event: Event) -> bool:
    return isinstance(event, PrefixReset) and event.keep is not None


def _lines(path: str, loaded: Loaded, count: int) -> Iterator[bytes]:
    """The bytes of the first entries, so that nothing in them is lost; empty where a line is not an entry each."""
    if loaded.faults:
        yield from (b"" for _ in range(count))
        return
    with open_regular(path) as file:
        for _ in range(count):
            line = file.readline()
            yield line if line.endswith(b"\n") else b""
