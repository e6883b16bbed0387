"""Content is parts everywhere, never a bare string."""

from typing import Literal

from msgspec import Struct

from overt.core.fragments import Origin
from overt.core.redaction import Exact, JsonText, Seal, ToolName

Role = Literal["user", "assistant", "tool"]


class Text(Struct, frozen=True, kw_only=True, tag="text"):
    text: str


class Image(Struct, frozen=True, kw_only=True, tag="image"):
    """`media` is the MIME type; `data` travels as base64 in the session file."""

    media: str
    data: bytes


class Document(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="document"):
    media: str
    data: bytes
    name: str = ""


class Reasoning(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="reasoning"):
    """`signature` and `opaque` go back to the vendor exactly as they came."""

    text: str
    signature: Seal = ""
    opaque: Seal = ""


class Call(Struct, frozen=True, kw_only=True, tag="call"):
    """`arguments` is the JSON text as the model wrote it, valid or not."""

    id: Exact
    name: ToolName
    arguments: JsonText


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="result"):
    """The answer to one call: `parts` hold what the model reads. `harness`: it is ours, the tool had no say in it."""

    call_id: Exact
    parts: tuple[Text | Image | Document, ...]
    error: bool = False
    harness: bool = False


Part = Text | Image | Document | Reasoning | Call | Result


class Message(Struct, frozen=True, kw_only=True):
    role: Role
    parts: tuple[Part, ...]
    origin: Origin

    def text(self) -> str:
        """The plain text of the message, without reasoning, calls or results."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))


def said(text: str, *, role: Role = "user", origin: Origin) -> Message:
    return Message(role=role, parts=(Text(text=text),), origin=origin)
