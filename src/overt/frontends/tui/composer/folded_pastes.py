"""Large pastes and images as one character each of the text that is edited.

Such a character stands for a text of any length: moving and deleting take it whole, and every key costs the same
however much was pasted. They come from the end of the private-use range; when a person really types or pastes one of
that range, it gets a fold of its own that stands for nothing but itself, so that no text can be mistaken for a fold.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from overt.core.errors import OvertError
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.chat.attachments import Attachment

FIRST, LAST = "\U0010f000", "\U0010fffd"
RESERVED = f"[{FIRST}-{LAST}]"
ROOM = ord(LAST) - ord(FIRST) + 1
SPARE = 64
"""Places that letters which stand for themselves leave to pastes."""
MANY_LINES, MANY_CHARACTERS = 10, 1000
OPENING = 100_000
"""Characters that may stand in the text itself: laying them out at every key is still quick."""
LONGEST_NAME = 40


class Fold(NamedTuple):
    """`text` is what is sent, `label` what is drawn; `attachment` goes along when it is an image."""

    text: str
    label: str
    kind: str
    attachment: "Attachment | None" = None


def is_fold(char: str) -> bool:
    return FIRST <= char <= LAST


class Folds:
    def __init__(self) -> None:
        self._held: dict[str, Fold] = {}
        self._pastes = self._images = 0
        self._next = 0

    def get(self, char: str) -> Fold:
        return self._held[char]

    def safe(self, text: str) -> str:
        """The text as it may stand among folds: what is in their range stands for itself."""
        if text.isascii() or not re.search(RESERVED, text):
            return text
        kinds = {fold.text for fold in self._held.values() if fold.kind == "letter"}
        if len(set(re.findall(RESERVED, text)) - kinds) + len(self._held) > ROOM - SPARE:
            return self.paste(text)
        return re.sub(RESERVED, lambda found: self._letter(found[0]), text)

    def _letter(self, char: str) -> str:
        fold = Fold(char, char, "letter")
        return next((place for place, held in self._held.items() if held == fold), None) or self._hold(fold)

    def insertion(self, text: str) -> str:
        """What a paste puts into the text: itself, or one fold when it is long."""
        if len(text) > MANY_CHARACTERS or text.count("\n") >= MANY_LINES:
            return self.paste(text)
        return self.safe(text)

    def paste(self, text: str) -> str:
        self._pastes += 1
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines > 1:
            label = say("tui.composer.pasted", number=self._pastes, lines=lines)
        else:
            label = say("tui.composer.pasted_line", number=self._pastes, characters=len(text))
        return self._hold(Fold(text, label, "paste"))

    def image(self, attachment: "Attachment") -> str:
        self._images += 1
        name = one_line(attachment.name)
        name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        size = max(round(attachment.size / 1024), 1)
        label = say("tui.composer.image", number=self._images, name=name, size=size)
        return self._hold(Fold(f"[image #{self._images}: {name}]", label, "image", attachment))

    def _hold(self, fold: Fold) -> str:
        if len(self._held) >= ROOM:
            raise OvertError(say("tui.composer.full"))
        # The same character must not soon mean something else: what was let go may still be on its way somewhere.
        while (char := chr(ord(FIRST) + self._next % ROOM)) in self._held:
            self._next += 1
        self._next += 1
        self._held[char] = fold
        return char

    def expand(self, text: str) -> str:
        """What is sent: every fold as the text it stands for."""
        if not self._held:
            return text
        return re.sub(RESERVED, lambda found: self._held[found[0]].text, text)

    def attachments(self, text: str) -> "tuple[Attachment, ...]":
        if not self._held:
            return ()
        found = (self._held[char].attachment for char in re.findall(RESERVED, text))
        return tuple(attachment for attachment in found if attachment is not None)

    def images(self, text: str) -> dict[str, str]:
        """What is sent for the images in a text, and the characters that stand for them."""
        found = {char: self._held[char] for char in re.findall(RESERVED, text)} if self._held else {}
        return {fold.text: char for char, fold in found.items() if fold.kind == "image"}

    def keep(self, texts: Iterable[str]) -> None:
        """Forget every fold that stands in none of these."""
        if self._held:
            used = {char for text in texts for char in re.findall(RESERVED, text)}
            self._held = {char: fold for char, fold in self._held.items() if char in used}
