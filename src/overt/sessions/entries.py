"""One line of a session file: an envelope in a fixed order around one fact.

`sum` is the CRC-32 of all bytes of the file up to the key `sum`, leaving out the sums and line ends before
it: it chains, and a changed, missing or moved line shows. It finds accidents. Against somebody who wants to
deceive no sum without a secret helps, so the cheapest one that never misses a changed byte was taken.

JSON cannot carry half a surrogate pair, which is how Python spells a byte of a file name that is not UTF-8.
A line that needs one is marked `odd`: in its strings NUL stands before four hex digits of a code point.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar
from zlib import crc32

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from overt.core.codec import decode, encode
from overt.core.errors import SessionError
from overt.core.events import Event, Unknown
from overt.sessions.entry_types import ENTRY_TYPES, TYPE_OF

VERSION = 1

E = TypeVar("E", covariant=True)


class Entry(Struct, Generic[E], frozen=True, kw_only=True):
    """`seq` orders the file; `ts` is the wall clock, which may jump, and orders nothing."""

    v: int
    seq: int
    ts: float
    agent: str
    turn: int
    step: int
    type: str
    data: E
    odd: bool = False
    sum: str = ""


class _Version(Struct, frozen=True):
    v: int


_SUM_KEY = b',"sum":"'
SUM_SIZE = len(_SUM_KEY) + 8 + len(b'"}\n')
READERS: dict[bytes, tuple[Callable[[bytes], Entry[Any]], str]] = {}
"""Of the types met so far: what reads a line of that type, and the name the line must give."""
_version = Decoder(_Version)
_any = Decoder(Entry[Any])


def entry_type(event: Event) -> str:
    """The entry type of a fact, empty for an event that is not one."""
    return event.type if isinstance(event, Unknown) else TYPE_OF.get(type(event), "")


def encode_line(
    event: Event, *, seq: int, turn: int, step: int, chain: int, ts: float | None = None
) -> tuple[bytes, int]:
    """The line of a fact, and the chain to give for the next one. `ts` is now, unless it is an old fact."""
    agent, kind, odd = event.agent, entry_type(event), b""
    data = event.data if isinstance(event, Unknown) else replace(event, agent="main") if agent != "main" else event
    try:
        agent_json, fact = encode(agent), encode(data)
    except UnicodeEncodeError:
        agent_json, fact, odd = encode(_escape(agent)), encode(_walk(data, _escape)), b',"odd":true'
    body = b'{"v":%d,"seq":%d,"ts":%.3f,"agent":%s,"turn":%d,"step":%d,"type":%s%s,"data":%s' % (
        VERSION,
        seq,
        time.time() if ts is None else ts,
        agent_json,
        turn,
        step,
        encode(kind),
        odd,
        fact,
    )
    return seal_line(body, chain)


def seal_line(body: bytes, chain: int) -> tuple[bytes, int]:
    """A line, given all that stands before its sum, and the chain to give for the next one."""
    chain = crc32(body, chain)
    return b'%s%s%08x"}\n' % (body, _SUM_KEY, chain), chain


def move_line(line: bytes, seq: int, chain: int) -> tuple[bytes, int] | None:
    """A whole line in another place of another chain, otherwise as it was; None when it is not spelled our way."""
    version, comma, rest = line[:-SUM_SIZE].partition(b',"seq":')
    digits, after, rest = rest.partition(b",")
    if not (comma and after and version.startswith(b'{"v":') and digits.isdigit()) or stated_sum(line) is None:
        return None
    return seal_line(b'%s,"seq":%d,%s' % (version, seq, rest), chain)


def expected_sum(line: bytes, chain: int) -> int:
    """What `sum` of a whole line, with its line end, must be after `chain`."""
    return crc32(memoryview(line)[:-SUM_SIZE], chain)


def matching_sum(line: bytes, chain: int) -> int | None:
    """The sum of a whole line when it is the right one after `chain`."""
    expected = crc32(memoryview(line)[:-SUM_SIZE], chain)
    return expected if line.endswith(b'%s%08x"}\n' % (_SUM_KEY, expected)) else None


def stated_sum(line: bytes) -> int | None:
    """The sum a whole line gives for itself."""
    if line[-SUM_SIZE : -SUM_SIZE + len(_SUM_KEY)] != _SUM_KEY:
        return None
    try:
        return int(line[-11:-3], 16)
    except ValueError:
        return None


def decode_line(line: bytes) -> Entry[Event]:
    """Read a line; ValueError when it is not an entry, SessionError when a newer version wrote it.

    An entry whose type is not known, or whose fact has another shape than this version writes, becomes Unknown.
    """
    # The envelope holds nothing before the type but numbers and an encoded string, so the first hit is the key.
    start = line.find(b'"type":"') + 8
    kind = line[start : line.find(b'"', start)]
    try:
        read, name = READERS.get(kind) or _decoder(kind)
        entry = read(line)
        if entry.type != name:
            raise ValueError(f"the type of entry {entry.seq} does not stand in its place")
    except (KeyError, ValueError):
        entry = _foreign(line)
    if entry.v > VERSION:
        raise newer_format_error(entry.v)
    return entry if entry.agent == "main" and not entry.odd else restore_envelope(entry)


def sound_entries(lines: Iterable[bytes]) -> Iterator[Entry[Event]]:
    """Yield the lines that are entries. The others are left out: `load` and `check` name the damage."""
    for line in lines:
        try:
            yield decode_line(line)
        except (ValueError, SessionError):
            continue


def restore_envelope(entry: Entry[Any]) -> Entry[Event]:
    """The fact with the agent that stood beside it, and with the strings that JSON could not carry."""
    if entry.odd:
        entry = replace(entry, agent=_unescape(entry.agent), data=_walk(entry.data, _unescape))
    return entry if entry.agent == "main" else replace(entry, data=replace(entry.data, agent=entry.agent))


def newer_format_error(version: int) -> SessionError:
    return SessionError(
        f"This session was written in format {version} by a newer Overt; this one reads up to format {VERSION}. "
        "Update Overt to open it. The file was left as it is.",
        code="newer",
    )


def _decoder(kind: bytes) -> tuple[Callable[[bytes], Entry[Any]], str]:
    from overt.sessions.upgrade import UPGRADES  # late: 0.2 ms

    name = kind.decode()
    cls = ENTRY_TYPES[name]
    decoder: Decoder[Entry[Any]] = Decoder(Entry[cls])  # type: ignore[valid-type]
    read = decoder.decode if cls not in UPGRADES else lambda line: _upgraded(decoder.decode(line))
    return READERS.setdefault(kind, (read, name))


def _upgraded(entry: Entry[Any]) -> Entry[Any]:
    from overt.sessions.upgrade import upgrade  # late: 0.2 ms

    event = upgrade(entry.data)
    return entry if event is entry.data else replace(entry, data=event)


def _foreign(line: bytes) -> Entry[Any]:
    version = _version.decode(line).v
    if version > VERSION:
        raise newer_format_error(version)
    entry = _any.decode(line)
    cls = ENTRY_TYPES.get(entry.type)
    if cls is not None:
        try:
            return _upgraded(replace(entry, data=decode(encode(entry.data), type=cls)))
        except ValueError:
            pass  # another shape of a type we know: kept as it stands, like a type we do not know
    return replace(entry, data=Unknown(type=entry.type, data=entry.data))


def _escape(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return "".join(f"\0{ord(c):04x}" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)


def _unescape(text: str) -> str:
    first, *rest = text.split("\0")
    return first + "".join(chr(int(piece[:4], 16)) + piece[4:] for piece in rest)


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with every string in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Struct):
        return type(value)(**{name: _walk(getattr(value, name), change) for name in value.__struct_fields__})
    if isinstance(value, tuple | list):
        return type(value)(_walk(item, change) for item in value)
    if isinstance(value, dict):
        return {_walk(key, change): _walk(item, change) for key, item in value.items()}
    return value
