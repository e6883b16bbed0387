"""Replies that could not be decoded: their bytes, redacted, in the state folder, so that the fault can be replayed.

A file is one line of JSON (wire, model, error) and the bytes as they came behind HTTP. A secret that streams in
pieces cannot be found in the bytes, so the texts of the events are joined field by field: where the joined text
holds a secret, every letter and digit of that field is replaced by `x`. The structure of the events stays.
"""

import os

from msgspec import Struct

from overt.core.codec import compact, decode
from overt.core.errors import OvertError
from overt.lib.logs.dated_files import now_in_name, write_dated
from overt.lib.logs.log import LOG
from overt.lib.redaction.redact import Redactor

FOLDER = "replies"
MAX_FILES = 10
MAX_BYTES = 1_000_000
DATA = b"data:"
Path = tuple[str | int, ...]


class RawReply(Struct, frozen=True, kw_only=True):
    """`truncated`: only the first bytes were kept. `time` is when the file was written (UTC)."""

    wire: str
    model: str
    content_type: str
    error: str
    time: str = ""
    overt: str = ""
    truncated: bool = False
    data: bytes = b""


def save_reply(reply: RawReply) -> str:
    """Write the reply and return the path; an empty string if the log is off or the file cannot be written."""
    if not LOG.enabled("error"):
        return ""
    header = {name: getattr(reply, name) for name in reply.__struct_fields__ if name != "data"}
    header |= {"time": now_in_name(), "error": LOG.clean(reply.error)}
    data = LOG.clean(compact(header)).encode() + b"\n" + redact_stream(reply.data, LOG.redactor())
    try:
        return write_dated(os.path.join(LOG.folder, FOLDER), "reply.raw", data, keep=MAX_FILES)
    except OSError as error:
        LOG.warning("provider", f"the reply could not be saved: {error.strerror}")
        return ""


def load_reply(path: str) -> RawReply:
    try:
        with open(path, "rb") as file:
            head, _, data = file.read(2 * MAX_BYTES).partition(b"\n")
    except OSError as error:
        raise OvertError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        header = decode(head)
        known = {name: header[name] for name in RawReply.__struct_fields__ if name in header and name != "data"}
        return RawReply(**known, data=data)
    except (ValueError, TypeError):
        raise OvertError(
            f"{path}: not a saved reply; its first line must be the JSON header that Overt writes"
        ) from None


def redact_stream(data: bytes, redactor: Redactor) -> bytes:
    """Redact the bytes of an event stream or of a JSON body."""
    lines = data.split(b"\n")
    payloads = {number: value for number, line in enumerate(lines) if (value := _payload(line)) is not None}
    texts: dict[Path, list[str]] = {}
    for value in payloads.values():
        _collect(value, (), texts)
    spread = {path for path, pieces in texts.items() if _holds_secret(pieces, redactor)}
    if spread:
        for number, line in enumerate(lines):
            if number in payloads:
                masked = _masked(payloads[number], (), spread)
                lines[number] = line if masked == payloads[number] else DATA + b" " + compact(masked).encode()
            elif line.startswith(DATA):
                lines[number] = DATA + _mask(line[len(DATA) :].decode("utf-8", "replace")).encode()
    text = b"\n".join(lines).decode("utf-8", "surrogateescape")
    return redactor.clean(text).encode("utf-8", "surrogateescape")


def _payload(line: bytes) -> object:
    if not line.startswith(DATA):
        return None
    try:
        value = decode(line[len(DATA) :])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _collect(value: object, path: Path, texts: dict[Path, list[str]]) -> None:
    """Texts by field: list positions do not count, but the `index` of a call or block does."""
    if isinstance(value, str):
        texts.setdefault(path, []).append(value)
    elif isinstance(value, list):
        for item in value:
            _collect(item, path, texts)
    elif isinstance(value, dict):
        path = _indexed(value, path)
        for name, item in value.items():
            _collect(item, (*path, name), texts)


def _masked(value: object, path: Path, spread: set[Path]) -> object:
    if isinstance(value, str):
        return _mask(value) if path in spread else value
    if isinstance(value, list):
        return [_masked(item, path, spread) for item in value]
    if isinstance(value, dict):
        path = _indexed(value, path)
        return {name: _masked(item, (*path, name), spread) for name, item in value.items()}
    return value


def _indexed(value: dict[str, object], path: Path) -> Path:
    index = value.get("index")
    return (*path, index) if isinstance(index, int) else path


def _holds_secret(pieces: list[str], redactor: Redactor) -> bool:
    """True if a secret is spread over several pieces; one within a piece is found by itself."""
    joined = "".join(redactor.clean(piece) for piece in pieces)
    flow = redactor.flow()
    return flow.feed(joined) + flow.end(broken=True) != joined


def _mask(text: str) -> str:
    return "".join("x" if char.isalnum() else char for char in text)
