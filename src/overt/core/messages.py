"""Content is parts everywhere, never a bare string."""

from typing import Literal

from msgspec import Struct

from overt.core.redaction import Exact, JsonText, Seal, ToolName
from overt.core.text_fragments import LABEL, Origin, own_origin

Role = Literal["user", "assistant", "tool"]
ResultCause = Literal["", "denied", "repeated", "interrupted", "removed"]
"""Why a result is not from a tool: the call was denied, refused as a repetition or interrupted, or it was removed."""


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
    """The answer to one call: `parts` hold what the model reads. `harness`: it is ours, the tool had no say in it.

    `cause` says why it is not what a tool usually returns; `reason` is what the user said when they denied the call.
    `ended` is how a command ended, unless well: `exit code 1`. `unchanged`: the files were already as asked for.
    `outside` is where a text from outside of this machine came from, such as a URL.
    """

    call_id: Exact
    parts: tuple[Text | Image | Document, ...]
    error: bool = False
    harness: bool = False
    cause: ResultCause = ""
    reason: str = ""
    ended: str = ""
    unchanged: bool = False
    outside: str = ""

    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


Part = Text | Image | Document | Reasoning | Call | Result


class SummaryFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a summary tells in its text, for the next summary to go on with.

    `quotes` are what the user said, without `left_out` messages; `files` what was done with each, `commands` how each
    ended, both with the latest last; `written` is the text of the model.
    """

    quotes: tuple[str, ...] = ()
    left_out: int = 0
    files: dict[str, tuple[str, ...]] = {}
    commands: dict[str, str] = {}
    written: str = ""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`facts` are those of a summary that stands in the place of other messages."""

    role: Role
    parts: tuple[Part, ...]
    origin: Origin
    facts: SummaryFacts | None = None

    def text(self) -> str:
        """Return the plain text of the message, without reasoning, calls or results."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    def shown(self) -> str:
        """Return the text for people: without the label that tells the model who speaks."""
        return self.text()[self.origin.label :]

    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))


def own_message(text: str, occasion: str) -> Message:
    """Return a message of ours to the model, as in `nudge`: the label goes before the text."""
    return said(f"{LABEL}{text}", origin=own_origin(occasion))


def said(text: str, *, role: Role = "user", origin: Origin) -> Message:
    return Message(role=role, parts=(Text(text=text),), origin=origin)
