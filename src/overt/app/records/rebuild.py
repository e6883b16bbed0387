"""Requests made again from the session file alone: bodies are not stored, their hashes are.

The same fold, the same assembler and the same wire as live, so what comes out is what went out; where it is not,
the entry that differs is told.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.context.assemble import Assembler
from overt.core.events import Compacted, Event, PrefixReset, PrefixSet, Replied, RequestSent
from overt.core.history import History, fold
from overt.core.protocols import Wire
from overt.core.requests import Request
from overt.providers.wires import WireKind, make_wire
from overt.sessions.entries import Entry


class RebuiltRequest(Struct, frozen=True, kw_only=True):
    """A request made again. `differs` says why it is not the one that was sent, and is empty if it is.

    `resets` are the causes recorded since the request before. `reply` is None if nothing came back.
    `seq` is the entry of the request; `number` counts the requests of the session from 1.
    """

    number: int
    seq: int
    turn: int
    step: int
    ts: float
    sent: RequestSent
    opening: PrefixSet
    request: Request
    resets: tuple[str, ...] = ()
    reply: Replied | None = None
    differs: str = ""
    wires: Sequence[WireKind] = ()

    def wire(self) -> Wire:
        return wire_of(self.opening, self.wires)


def wire_of(opening: PrefixSet, wires: Sequence[WireKind] = ()) -> Wire:
    """Return the wire that the session used. `wires` are those that another package adds."""
    wire = make_wire(opening.wire, opening.about, extra=wires)
    if opening.calls == "native":
        return wire
    from overt.context.text_calls import TextCallWire  # late: 0.2 ms

    return TextCallWire(wire, opening.calls)


def rebuild(
    entries: Iterable[Entry[Event]], wires: Sequence[WireKind] = (), *, agent: str = "main"
) -> Iterator[RebuiltRequest]:
    """Yield every request of one agent, in order, each once its reply is known or the next request follows."""
    rebuilder = Rebuilder(wires)
    for entry in entries:
        if entry.agent == agent and (done := rebuilder.take(entry)):
            yield done
    if rebuilder.waiting:
        yield rebuilder.waiting


class Rebuilder:
    """Folds the entries of one agent and makes each request again. `waiting` is the last one, until another follows."""

    def __init__(self, wires: Sequence[WireKind]) -> None:
        self.waiting: RebuiltRequest | None = None
        self.history = History()
        self.opening: PrefixSet | None = None
        self.assembler: Assembler | None = None
        self._resets: tuple[str, ...] = ()
        self._number = 0
        self._wires = wires

    def request_at(self, entry: Entry[Event]) -> RebuiltRequest | None:
        """Return the request of the entry that was taken last, or None if there was no prefix before it."""
        return self.waiting if self.waiting and self.waiting.seq == entry.seq else None

    def take(self, entry: Entry[Event]) -> RebuiltRequest | None:
        """Read the next entry. If it is a request, return the request before it."""
        done: RebuiltRequest | None = None
        match entry.data:
            case PrefixSet() as opening:
                self.opening = opening
                self.assembler = Assembler(wire_of(opening, self._wires), vendor=opening.provider)
            case PrefixReset(cause=cause) | Compacted(cause=cause) as event:
                self._resets = (*self._resets, f"compaction ({cause})" if isinstance(event, Compacted) else cause)
                if self.assembler:
                    self.assembler.forget()
            case RequestSent() as sent:
                done, self.waiting = self.waiting, self._rebuild(entry, sent)
            case Replied(message=message) as reply if message.origin.kind == "model":
                if self.waiting and self.waiting.reply is None and self.waiting.sent.purpose != "summary":
                    self.waiting = replace(self.waiting, reply=reply)
            case _:
                pass
        self.history = fold(self.history, entry.data)
        return done

    def _rebuild(self, entry: Entry[Event], sent: RequestSent) -> RebuiltRequest | None:
        opening, assembler = self.opening, self.assembler
        if opening is None or assembler is None:
            return None
        aside = assembler if sent.purpose == "step" else assembler.beside()
        messages = (*self.history.messages, *sent.also)
        assembled = aside.assemble(opening.prefix, messages, sent.params)
        self._number += 1
        reset = assembled.reset
        resets = (*self._resets, reset) if reset and reset not in self._resets else self._resets
        self._resets = () if sent.purpose == "step" else self._resets
        rebuilt = RebuiltRequest(
            number=self._number,
            seq=entry.seq,
            turn=entry.turn,
            step=entry.step,
            ts=entry.ts,
            sent=sent,
            opening=opening,
            request=assembled.request,
            resets=resets,
            wires=self._wires,
        )
        return replace(rebuilt, differs=_difference(rebuilt, len(messages)))


def _difference(rebuilt: RebuiltRequest, messages: int) -> str:
    sent, request = rebuilt.sent, rebuilt.request
    if (request.digest, request.length) == (sent.digest, sent.length):
        return ""
    if sent.encoder != rebuilt.wire().version:
        wire = rebuilt.opening.wire
        return f"it was written by encoder {sent.encoder} of the wire {wire}, which this version does not have"
    if messages != sent.messages:
        return f"it had {sent.messages} messages, and the entries before it give {messages}"
    return (
        f"it was {sent.length} bytes with the hash {sent.digest[:12]}, and the entries before it give "
        f"{request.length} bytes with {request.digest[:12]}"
    )
