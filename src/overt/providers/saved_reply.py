"""Decode a reply that was saved, with the same code that reads replies from a server."""

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from overt.core.requests import Delta
from overt.core.settings import Timeouts
from overt.lib.logs.raw_replies import RawReply
from overt.providers.transport.address import parse_address
from overt.providers.transport.attempt import AttemptServer, RequestAttempt, limits_of
from overt.providers.transport.client import Client, Outgoing
from overt.providers.transport.errors import RequestPlace
from overt.providers.transport.retry import Patience
from overt.providers.wires import WireKind, make_wire

SAVED_AT = "http://localhost/v1"
"""Stands in messages where the address of the server would; it is not saved with a reply."""
MAX_EVENT_BYTES = 16 * 1024 * 1024


def decode_saved(reply: RawReply, blocks: Iterable[bytes], wires: Sequence[WireKind] = ()) -> Iterator[Delta]:
    wire = make_wire(reply.wire, extra=wires)
    address = parse_address(SAVED_AT, place="saved reply")
    server = AttemptServer(
        transport=Client(address),
        address=address,
        place=RequestPlace(provider="saved", url=SAVED_AT, model=reply.model),
        max_event=MAX_EVENT_BYTES,
    )
    attempt = RequestAttempt(
        server,
        Outgoing(method="POST", target=wire.path, headers={}),
        wire=wire,
        limits=limits_of(Timeouts(), Patience(), loopback=True, until=inf),
    )
    return attempt.decode(blocks, reply.content_type)
