"""Full-text search over sessions: what was said, answered, called and printed, and what sessions are called.

Letters match in either case, and characters however they are composed (NFC). Most of a large file is passed over as
bytes. That is safe because our lines spell ASCII letters and digits as themselves: a line may be passed over when a
run of them from the search does not stand in it. What could spell them otherwise is read as well: an escape, and the
two characters outside of ASCII whose small form is inside.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from overt.core.errors import SessionError
from overt.core.events import Event, Replied, TitleSet, ToolFinished, UserSpoke
from overt.sessions.entries import Entry, sound_entries
from overt.sessions.load import open_regular

_KINDS = (b'"type":"user"', b'"type":"reply"', b'"type":"outcome"', b'"type":"title"')
_WITHIN = 400
"""Bytes from the beginning of a line in which its type stands, unless the name of its agent is very long."""
_OTHER_SPELLINGS = (b"\\u", "\u212a".encode(), "\u0130".encode())
_SHORTEST = 2
_BLOCK = 1 << 20


class Hit(Struct, frozen=True, kw_only=True):
    """A line of a session that matches; `at` is where in `line` it does.

    `who` is user, model, call, tool or title, and file or harness for messages that joined a prompt.
    """

    turn: int
    step: int
    seq: int
    who: str
    number: int
    line: str
    at: int
    length: int


def search(path: str, words: Sequence[str]) -> Iterator[Hit]:
    """The lines of one session that hold the first of the words found in them, where one text holds them all."""
    folded = tuple(fold_case(word) for word in words if word.strip())
    if not folded:
        raise SessionError("There is nothing to search for: give at least one word.", code="missing")
    runs = _runs(folded)
    try:
        with open_regular(path) as file:
            for block in _blocks(file.fileno()):
                if _may_hold(block.lower(), runs):
                    yield from _in_block(block, folded, runs)
    except OSError as error:
        raise SessionError(f"The session {path} cannot be read: {error.strerror}. Check its mode.") from error


def fold_case(text: str) -> str:
    """How texts are compared; a sigma is one letter, wherever in a word it stands."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower().replace("ς", "σ")


def _runs(folded: Sequence[str]) -> tuple[bytes, ...]:
    """The longest run of ASCII letters and digits of each word; one of a single character would pass over nothing."""
    longest = (max(re.findall(r"[a-z0-9]+", word), key=len, default="") for word in folded)
    return tuple(run.encode() for run in longest if len(run) >= _SHORTEST)


def _may_hold(small: bytes, runs: Sequence[bytes]) -> bool:
    return all(run in small for run in runs) or any(other in small for other in _OTHER_SPELLINGS)


def _blocks(descriptor: int) -> Iterator[bytes]:
    """Whole lines, many at once."""
    rest = b""
    while piece := os.read(descriptor, _BLOCK):
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
    if rest:
        yield rest


def _in_block(block: bytes, folded: Sequence[str], runs: Sequence[bytes]) -> Iterator[Hit]:
    for line in block.splitlines():
        head = line[:_WITHIN]
        if b'"type":"' in head and not any(kind in head for kind in _KINDS):
            continue
        if not _may_hold(line.lower(), runs):
            continue
        for entry in sound_entries((line,)):
            yield from _in_entry(entry, folded)


def _in_entry(entry: Entry[Event], folded: Sequence[str]) -> Iterator[Hit]:
    for who, text in _texts(entry.data):
        whole = fold_case(text)
        if not all(word in whole for word in folded):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            small = fold_case(line)
            first = next((word for word in folded if word in small), None)
            if first is not None:
                yield Hit(
                    turn=entry.turn,
                    step=entry.step,
                    seq=entry.seq,
                    who=who,
                    number=number,
                    line=line,
                    at=_place(line, small, first),
                    length=len(first),
                )


def _place(line: str, small: str, word: str) -> int:
    """Where the word stands in the line as it was written; near it, where comparing changed the length."""
    at = small.index(word)
    if len(small) == len(line):
        return at
    return next((start for start in range(len(line)) if fold_case(line[start:]).startswith(word)), min(at, len(line)))


def _texts(event: Event) -> Iterator[tuple[str, str]]:
    match event:
        case UserSpoke(message=message):
            yield message.origin.kind if message.origin.kind in ("file", "harness") else "user", message.text()
        case Replied(message=message):
            yield "model", message.text()
            for call in message.calls():
                yield "call", f"{call.name} {call.arguments}"
        case ToolFinished(result=result):
            yield "tool", result.text()
        case TitleSet(title=title):
            yield "title", title
        case _:
            pass
