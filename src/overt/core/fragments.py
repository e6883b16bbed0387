"""Every piece of text the model sees knows where it came from."""

from typing import Literal

from msgspec import Struct

from overt.core.redaction import Exact

OriginKind = Literal["file", "flag", "environment", "user", "model", "tool", "summary", "harness"]


class Origin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`where` is a path, a flag or a call id; `hash` the SHA-256 of the whole source when it is a file."""

    kind: OriginKind
    where: Exact = ""
    lines: str = ""
    hash: Exact = ""


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
