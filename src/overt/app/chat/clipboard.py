"""Read the image in the clipboard with a program of the desktop."""

import os
import select
import shutil
import subprocess
import time

from overt.app.chat.attachments import LIMIT, LIMIT_MB, Attachment, from_bytes
from overt.config.paths import read_environment
from overt.core.errors import OvertError
from overt.lib.translations import say

SECONDS = 5.0
NAME = "clipboard"
LISTING = 65_536
KINDS = ("image/png", "image/jpeg", "image/webp", "image/gif")


def attachment() -> Attachment:
    return from_bytes(image(), NAME)


def image() -> bytes:
    """Return the bytes of the image. An OvertError says that there is none, no program to ask, or no answer in time."""
    environment = read_environment()
    path = environment.get("PATH")
    if environment.get("WAYLAND_DISPLAY") and (program := shutil.which("wl-paste", path=path)):
        ask, types = [program, "--no-newline", "--type"], [program, "--list-types"]
    elif environment.get("DISPLAY") and (program := shutil.which("xclip", path=path)):
        ask = [program, "-selection", "clipboard", "-out", "-target"]
        types = [*ask, "TARGETS"]
    elif program := shutil.which("pngpaste", path=path):
        return _taken([program, "-"])
    else:
        raise OvertError(
            say("tui.composer.clipboard_tools", programs="wl-paste (Wayland), xclip (X11), pngpaste (macOS)")
        )
    offered = _output(types, LISTING).decode(errors="replace").split()
    kind = next((kind for kind in KINDS if kind in offered), "")
    if not kind:
        raise OvertError(say("tui.composer.clipboard_empty"))
    return _taken([*ask, kind])


def _taken(command: list[str]) -> bytes:
    data = _output(command, LIMIT)
    if not data:
        raise OvertError(say("tui.composer.clipboard_empty"))
    return data


def _output(command: list[str], limit: int) -> bytes:
    """Return what a program prints, or nothing if it fails. Stop it if it is slow or prints more than `limit`."""
    name = os.path.basename(command[0])
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as program:
        assert program.stdout is not None
        try:
            data = _read(program.stdout.fileno(), limit, name)
            return data if program.wait(SECONDS) == 0 else b""
        except subprocess.TimeoutExpired:
            raise OvertError(_late(name)) from None
        finally:
            program.kill()


def _read(fd: int, limit: int, name: str) -> bytes:
    end = time.monotonic() + SECONDS
    chunks: list[bytes] = []
    size = 0
    while select.select([fd], [], [], max(end - time.monotonic(), 0))[0]:
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise OvertError(say("tui.composer.image_large", name=name, limit=LIMIT_MB))
    raise OvertError(_late(name))


def _late(name: str) -> str:
    return say("tui.composer.clipboard_late", program=name, seconds=round(SECONDS))
