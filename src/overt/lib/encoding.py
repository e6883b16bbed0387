"""How bytes on disk become text and go back unchanged: encoding, byte-order mark, line ends, odd names."""

import re
from typing import Literal

from msgspec import Struct

Newline = Literal["\n", "\r\n", "\r", ""]

BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"SQLite format 3\0", "SQLite database"),
)

# Patterns stay text: compiling them costs milliseconds, which start-up would pay.
HIGH = rb"[\x80-\xff]+"
CONTROL = rb"[\0-\x07\x0e-\x1a\x1c-\x1f\x7f]"
ODD = (
    "[\0-\x1f\x7f-\x9f\udc80-\udcff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
    r"|\\(?=x[0-9a-f]{2})"
)
ESCAPE = rb"\\x([0-9a-f]{2})"


class Form(Struct, frozen=True, kw_only=True):
    """What must be restored when a text is written back. An empty `newline` means mixed: left as it is."""

    encoding: str = "utf-8"
    bom: bytes = b""
    newline: Newline = "\n"


class NotText(ValueError):
    """The bytes are no text in any encoding this module knows."""


def decode(raw: bytes) -> tuple[str, Form]:
    """Text with `\\n` line ends (unless they are mixed) and the form that gives `raw` back exactly."""
    bom, encoding = sniff_bom(raw)
    body = raw[len(bom) :]
    if not bom:
        encoding = _guess(body)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText(f"not valid {encoding}") from error
    newline = _newline(text)
    if newline in ("\r\n", "\r"):
        text = text.replace(newline, "\n")
    return text, Form(encoding=encoding, bom=bom, newline=newline)


def encode(text: str, form: Form) -> bytes:
    """The bytes of a text in a form; UnicodeEncodeError when the encoding lacks a character."""
    if form.newline in ("\r\n", "\r"):
        text = text.replace("\r\n", "\n").replace("\n", form.newline)
    return form.bom + text.encode(form.encoding)


def sniff_bom(raw: bytes) -> tuple[bytes, str]:
    for bom, encoding in BOMS:
        if raw.startswith(bom):
            return bom, encoding
    return b"", "utf-8"


def sniff_media(head: bytes) -> str:
    """A media type, or plain words for what has none; empty when the first bytes say nothing."""
    for magic, media in MAGIC:
        if head.startswith(magic):
            return media
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def _guess(body: bytes) -> str:
    if b"\0" in body[:8192]:
        raise NotText("it holds NUL bytes")
    try:
        body.decode()
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    if re.search(CONTROL, body):
        raise NotText("it is not UTF-8 and holds control bytes")
    # Latin letters with accents stand alone mostly; two-byte Chinese never leaves an odd run of high bytes.
    runs = [len(run) for run in re.findall(HIGH, body)]
    if len(runs) >= 4 and not any(length % 2 for length in runs) and _comes_back(body, "gb18030"):
        return "gb18030"
    return "latin-1"


def _comes_back(body: bytes, encoding: str) -> bool:
    try:
        return body.decode(encoding).encode(encoding) == body
    except UnicodeError:
        return False


def _newline(text: str) -> Newline:
    pairs, returns, feeds = text.count("\r\n"), text.count("\r"), text.count("\n")
    if not returns:
        return "\n"
    if pairs == returns == feeds:
        return "\r\n"
    return "\r" if not feeds else ""


def show_name(path: str) -> str:
    """A file name anyone can print: bytes that are not UTF-8, controls and invisibles as `\\xNN`."""
    return path if path.isascii() and path.isprintable() and "\\" not in path else re.sub(ODD, _escape, path)


def _escape(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode("utf-8", "surrogateescape"))


def read_name(shown: str) -> str:
    """The name that `show_name` showed."""
    if "\\x" not in shown:
        return shown
    raw = shown.encode("utf-8", "surrogateescape")
    return re.sub(ESCAPE, lambda found: bytes((int(found[1], 16),)), raw).decode("utf-8", "surrogateescape")
