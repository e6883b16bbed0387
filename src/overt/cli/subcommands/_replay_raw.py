"""`overt replay --raw FILE`: show what the decoder makes of a reply that was saved because it could not be read."""

from collections.abc import Iterator

from overt.app.diagnostics.event_loop import run_async
from overt.app.diagnostics.raw_replay import DecodedReply, replay_reply
from overt.app.registries import Registries
from overt.cli.output import plural, print_result
from overt.cli.parse import ParsedCommandLine
from overt.core.requests import Delta


def replay_raw(args: ParsedCommandLine, registries: Registries) -> int:
    """Return 0 if the reply can be decoded now, 1 if it still fails."""
    decoded = run_async(replay_reply(args.text("raw"), registries.wires))
    print_result(args, decoded, _lines(decoded))
    return 1 if decoded.error else 0


def _lines(decoded: DecodedReply) -> Iterator[str]:
    reply = decoded.reply
    size = f"{len(reply.data)} bytes" + (", truncated" if reply.truncated else "")
    yield f"{reply.wire} reply of {reply.model or 'unknown model'}, {size}, saved {reply.time} by Overt {reply.overt}"
    yield f"failed with: {reply.error}"
    yield ""
    for byte, event, delta in decoded.steps:
        yield f"event {event:4}  byte {byte:7}  {_delta(delta)}"
    yield ""
    if not decoded.error:
        yield f"Decoded without an error: {plural(decoded.event, 'event')}, {decoded.byte} bytes."
        return
    yield f"Error in event {decoded.event}, which ends at byte {decoded.byte}: {decoded.error}"
    yield from (f"  {line}" for line in decoded.traceback if not line.startswith("Traceback ("))


def _delta(delta: Delta) -> str:
    fields = ", ".join(f"{name}={getattr(delta, name)!r}" for name in delta.__struct_fields__)
    return f"{type(delta).__name__}({fields})"
