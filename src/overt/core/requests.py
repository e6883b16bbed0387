"""What goes to a model and what streams back, before any wire gives it a shape."""

from typing import Any, Literal

from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from overt.core.codec import encode
from overt.core.messages import Message, Part
from overt.core.redaction import Exact
from overt.core.spending.usage import Usage
from overt.core.text_fragments import Fragment

ToolChoice = Literal["auto", "none", "required"]
Finish = Literal["stop", "calls", "length", "filter", "interrupted"]


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as the model is told of it; `schema` is compact JSON with its keys in a fixed order."""

    name: str
    description: str
    schema: Raw


class ServerTarget(Struct, frozen=True, kw_only=True):
    """A tool of an MCP server, under the names that the configuration and the server have for them.

    `remote`: the server is not a program on this machine. `sends`: what a call says may leave this machine.
    """

    server: str
    tool: str
    remote: bool = False
    sends: bool = False


class Prefix(Struct, frozen=True, kw_only=True):
    """The immutable head of every request of a session. `shots` are examples, sent as the first messages."""

    system: tuple[Fragment, ...]
    tools: tuple[ToolSpec, ...]
    shots: tuple[Message, ...] = ()

    def system_text(self) -> str:
        return "\n\n".join(fragment.text for fragment in self.system if fragment.text)


class Params(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Parameters of one request; None is not sent. `tool_choice` and `form` travel in the closing bytes.

    `form` is a JSON schema (a Raw) that the text of the reply must fit. `output_limit` takes the place of `max_tokens`
    where a spend limit decides how long this reply may be; it travels in the closing bytes too.
    """

    model: Exact
    max_tokens: int | None = None
    output_limit: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    effort: str | None = None
    thinking: bool | None = None
    form: Any = None
    tool_choice: ToolChoice = "auto"

    def __post_init__(self) -> None:
        """Out of a session file it comes as an object, because msgspec reads no union with Raw."""
        if self.form is not None and not isinstance(self.form, Raw):
            force_setattr(self, "form", Raw(encode(self.form)))


class Request(Struct, frozen=True, kw_only=True):
    """`stable` is the body without its closing bytes: a prefix of the next request's `stable`, unless reset."""

    prefix: Prefix
    messages: tuple[Message, ...]
    params: Params
    stable: tuple[bytes, ...]
    closing: bytes
    digest: str
    length: int

    def pieces(self) -> tuple[bytes, ...]:
        """Return the body as it is sent, in pieces: joining them would copy the whole conversation at every step."""
        return (*self.stable, self.closing)

    def body(self) -> bytes:
        return b"".join(self.pieces())


class TextDelta(Struct, frozen=True, kw_only=True):
    text: str


class ReasoningDelta(Struct, frozen=True, kw_only=True):
    text: str


class CallDelta(Struct, frozen=True, kw_only=True):
    """Progress of a call whose arguments are still streaming; never a call to run."""

    index: int
    name: str
    characters: int
    ready: int


class RetryDelta(Struct, frozen=True, kw_only=True):
    """An attempt failed before its first event; number `attempt` of at most `attempts` follows after `wait` seconds."""

    attempt: int
    attempts: int
    wait: float
    reason: str


class WaitDelta(Struct, frozen=True, kw_only=True):
    """Nothing has come for `seconds`; the request goes on."""

    seconds: float


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole reply, whole calls only; always the last delta of a stream that ended by its wire's rule."""

    parts: tuple[Part, ...]
    finish: Finish
    usage: Usage
    model: str = ""
    skipped: int = 0


Delta = TextDelta | ReasoningDelta | CallDelta | RetryDelta | WaitDelta | Reply
