"""Images that go along with a prompt: from files a person dropped on the terminal, or from the clipboard."""

import os
import re
from typing import NamedTuple

from overt.core.errors import OvertError
from overt.core.messages import Image
from overt.lib.encoding import sniff_media
from overt.lib.read_file import read_regular
from overt.lib.text import visible
from overt.lib.translations import say

LIMIT_MB = 10
LIMIT = LIMIT_MB << 20
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Attachment(NamedTuple):
    name: str
    image: Image

    @property
    def size(self) -> int:
        return len(self.image.data)


def from_bytes(data: bytes, name: str) -> Attachment:
    """Make an attachment of an image. Its kind is read from its first bytes; an OvertError says why it is refused."""
    shown = visible(name)
    if len(data) > LIMIT:
        raise OvertError(say("tui.composer.image_large", name=shown, limit=LIMIT_MB))
    media = sniff_media(data)
    if not media.startswith("image/"):
        raise OvertError(say("tui.composer.image_kind", name=shown))
    return Attachment(name, Image(media=media, data=data))


def from_file(path: str) -> Attachment:
    name = os.path.basename(path)
    try:
        data, _ = read_regular(path, LIMIT)
    except OSError as error:
        raise OvertError(say("tui.composer.image_unread", name=visible(name), why=error.strerror or error)) from None
    return from_bytes(data, name)


def dropped_images(text: str) -> tuple[tuple[Attachment, ...], str]:
    """Return the images if a pasted text is nothing but paths of image files, and why one was refused.

    Terminals give a dropped file as its path: bare, in quotes, with backslashes, or as a file:// address.
    """
    paths = _paths(text.strip())
    if not paths:
        return (), ""
    try:
        return tuple(map(from_file, paths)), ""
    except OvertError as error:
        return (), error.message


def _paths(text: str) -> list[str]:
    if not text or "\0" in text:
        return []
    if _is_image(text):
        return [text]
    try:
        import shlex  # late: 0.2 ms

        words = shlex.split(text)
    except ValueError:  # a quote that is not closed: a sentence, no path
        return []
    paths = [_plain(word) for word in words]
    return paths if all(map(_is_image, paths)) else []


def _plain(word: str) -> str:
    if word.startswith("file://"):
        # By hand: an address is all that is needed here, and the library for it is slow to load.
        rest = re.sub(r"^file://(localhost)?(?=/)", "", word)
        raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), rest.encode("utf-8", "replace"))
        return os.fsdecode(raw)
    return os.path.expanduser(word)


def _is_image(path: str) -> bool:
    try:
        return os.path.isabs(path) and path.lower().endswith(ENDINGS) and os.path.lexists(path)
    except ValueError:
        return False
