"""Every piece of text the model sees knows where it came from."""

from typing import Literal

from msgspec import Struct

from overt.core.redaction import Exact

OriginKind = Literal["file", "flag", "environment", "user", "model", "tool", "outside", "summary", "harness"]


LABEL = "[overt] "
"""What a text of our own begins with, so that the model sees who speaks."""


class Origin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`where` is a path, a flag, a call id, or the URL of a text from `outside` of this machine; `hash` the SHA-256 of
    the whole source when it is a file.

    The first `label` characters of the text only introduce it to the model. `detail` is what else is known of the
    source: the value of an environment fact, how a typed command ended, `rules` for a file of instructions, or the
    occasion of a message of ours.
    """

    kind: OriginKind
    where: Exact = ""
    lines: str = ""
    hash: Exact = ""
    label: int = 0
    detail: str = ""

    @property
    def is_prompt(self) -> bool:
        """True for text that the user typed, and for the task that an agent gave to a sub-agent."""
        return self.kind == "user" or (self.kind == "model" and self.detail == "task")


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file whose text joins the context. `where` is how it is shown; not `whole`: it has more than was read.

    What stands before the character `start` does not join: a note has a head that is not for the model.
    """

    path: str
    where: str
    content: bytes
    whole: bool = True
    start: int = 0

    def text(self) -> str:
        return self.content.decode("utf-8", "replace").removeprefix("\ufeff")

    def body(self) -> str:
        return self.text()[self.start :].strip()


class Fragment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named text of the prefix; `cap` is the size in characters above which its source was cut."""

    key: str
    text: str
    origin: Origin
    cap: int = 0


USER = Origin(kind="user")
STEERED = Origin(kind="user", where="steered")
"""Said while a turn ran, so that it belongs to the prompt before it."""
MODEL = Origin(kind="model")
HARNESS = Origin(kind="harness")


def own_origin(occasion: str) -> Origin:
    """Return the origin of a message of ours, whose text begins with the label."""
    return Origin(kind="harness", label=len(LABEL), detail=occasion)
