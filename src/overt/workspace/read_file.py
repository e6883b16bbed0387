"""Reading regular files only, a window or the whole, never more memory than the window needs."""

import hashlib
import os
import stat
from threading import Event

from overt.core.capabilities import Blob, FileText, Lines
from overt.core.errors import ToolError
from overt.lib.encoding import Form, NotText, decode, sniff_bom, sniff_media
from overt.lib.sizes import spell_size
from overt.workspace.contained_path import OpenPath, as_tool_error

OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
MIB = 1024 * 1024
STREAM_ABOVE = 8 * MIB
MAX_TEXT = 16 * MIB
MAX_BLOB = 8 * MIB
CHUNK = 256 * 1024
MAX_LINE = 16 * 1024
MAX_WINDOW = 2 * MIB
SNIFF = 8192

KINDS = {
    stat.S_IFIFO: "a named pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a block device",
    stat.S_IFLNK: "a link that was put there a moment ago",
}


def open_regular(spot: OpenPath) -> int:
    """A descriptor of a regular file, or a refusal at once: pipes and devices are not even opened."""
    if spot.stat is None:
        raise ToolError(f"{spot.path} does not exist.", code="missing")
    _require_regular(spot, spot.stat)
    try:
        fd = os.open(spot.name, OPEN, dir_fd=spot.fd)
    except OSError as error:
        raise as_tool_error(error, spot.path) from error
    try:
        _require_regular(spot, os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def _require_regular(spot: OpenPath, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{spot.path} is a folder; see what is in it with list.", code="folder")
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")
    raise ToolError(f"{spot.path} is {kind}; only regular files can be read or changed.", code="special")


def read_raw(spot: OpenPath, limit: int, advice: str) -> tuple[bytes, os.stat_result]:
    """The whole file and its state, or a refusal when it is larger than `limit`."""
    fd = open_regular(spot)
    try:
        status = os.fstat(fd)
        if status.st_size > limit:
            raise ToolError(f"{spot.path} is {spell_size(status.st_size)}: too large to {advice}", code="large")
        chunks: list[bytes] = []
        while chunk := os.read(fd, min(max(status.st_size + 1, 4096), 4 * MIB)):
            chunks.append(chunk)
            if sum(map(len, chunks)) > limit:
                raise ToolError(f"{spot.path} grows while it is read: too large to {advice}", code="large")
    except OSError as error:
        raise as_tool_error(error, spot.path) from error
    finally:
        os.close(fd)
    return b"".join(chunks), status


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def file_hash(raw: bytes | None, status: os.stat_result) -> str:
    """Of the content, or of size and time for what is too large to read whole."""
    return digest(raw) if raw is not None else f"stat:{status.st_size}.{status.st_mtime_ns}"


def as_text(spot: OpenPath, raw: bytes) -> tuple[str, Form]:
    try:
        if sniff_media(raw[:16]) == "application/pdf":
            raise NotText("it is a PDF")
        return decode(raw)
    except NotText as error:
        raise not_text_error(spot.path, len(raw), raw[:SNIFF], str(error)) from error


def not_text_error(path: str, length: int, head: bytes, why: str) -> ToolError:
    kind = sniff_media(head) or "unknown type"
    return ToolError(
        f"{path} is not text ({why}; {spell_size(length)}, {kind}). "
        "Look at it with bash: `file`, `xxd | head`, `strings`, or a program for its type.",
        code="binary",
    )


def read_text(spot: OpenPath) -> FileText:
    raw, _ = read_raw(spot, MAX_TEXT, "edit (16 MB at most); change it with bash, for example sed -i or a script.")
    text, _ = as_text(spot, raw)
    return FileText(path=spot.path, text=text, hash=digest(raw))


def read_lines(spot: OpenPath, first: int, limit: int, *, stop: Event) -> Lines:
    """`stop` ends the search for the window in a large file."""
    fd = open_regular(spot)
    try:
        status = os.fstat(fd)
        if status.st_size > STREAM_ABOVE:
            return _stream(spot, fd, first, limit, stop=stop)
    except OSError as error:
        raise as_tool_error(error, spot.path) from error
    finally:
        os.close(fd)
    raw, status = read_raw(spot, MAX_TEXT, "read while it grows; use bash with tail.")
    text, form = as_text(spot, raw)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    chosen = tuple(line.removesuffix("\r") for line in lines[first - 1 : first - 1 + limit])
    note = f"decoded as {form.encoding}" if form.encoding != "utf-8" else ""
    return Lines(path=spot.path, first=first, lines=chosen, total=len(lines), hash=file_hash(raw, status), note=note)


def _stream(spot: OpenPath, fd: int, first: int, limit: int, *, stop: Event) -> Lines:
    """A window of a large file, without counting what comes after it."""
    status = os.fstat(fd)
    head = os.pread(fd, SNIFF, 0)
    bom, encoding = sniff_bom(head)
    if b"\0" in head or encoding != "utf-8" or sniff_media(head) == "application/pdf":
        raise not_text_error(spot.path, status.st_size, head, "it holds NUL bytes or needs decoding as a whole")
    os.lseek(fd, len(bom), os.SEEK_SET)
    lines, total = _collect(fd, first, limit, stop=stop)
    raw = None
    if status.st_size <= MAX_TEXT:
        raw, status = read_raw(spot, MAX_TEXT, "read while it grows; use bash with tail.")
    shown = tuple(line.removesuffix(b"\r").decode(errors="replace") for line in lines)
    return Lines(path=spot.path, first=first, lines=shown, total=total, hash=file_hash(raw, status))


def _collect(fd: int, first: int, limit: int, *, stop: Event) -> tuple[list[bytes], int | None]:
    lines: list[bytes] = []
    current, number, room = bytearray(), 1, MAX_WINDOW
    while not stop.is_set() and (chunk := os.read(fd, CHUNK)):
        feeds = chunk.count(b"\n")
        if number + feeds < first:
            number += feeds
            continue
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if number >= first:
                current += piece[: MAX_LINE - len(current)]
                lines.append(bytes(current))
                room -= len(current)
                current.clear()
                if len(lines) >= limit or room <= 0:
                    return lines, None
            number += 1
        if number >= first:
            current += rest[: MAX_LINE - len(current)]
    if current:
        lines.append(bytes(current))
        number += 1
    return lines, number - 1


def read_blob(spot: OpenPath) -> Blob | None:
    """An image or a PDF by its first bytes, whatever its name; None for anything else."""
    fd = open_regular(spot)
    try:
        media = sniff_media(os.read(fd, 16))
    except OSError as error:
        raise as_tool_error(error, spot.path) from error
    finally:
        os.close(fd)
    if "/" not in media:
        return None
    raw, _ = read_raw(spot, MAX_BLOB, "show (8 MB at most); make it smaller with bash first.")
    return Blob(path=spot.path, media=media, data=raw, hash=digest(raw))
