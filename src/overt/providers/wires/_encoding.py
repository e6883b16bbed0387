"""What every wire needs to say a message so that no server rejects the conversation for it."""

from base64 import b64encode
from collections.abc import Collection, Mapping

from overt.core.codec import decode
from overt.core.messages import Call, Document, Image, Text
from overt.core.settings import ModelFacts

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
LONGEST_NAME = 64
OURS = frozenset({"model", "stream", "messages", "input", "tools"})
"""Fields that the conversation is made of, on one wire or another: `extra` does not touch them."""


def clean(text: str) -> str:
    """Text that UTF-8 can carry: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def tool_name(call: Call) -> str:
    """Servers reject a whole conversation for one name outside their alphabet, whoever made it up."""
    if call.name and len(call.name) <= LONGEST_NAME and NAME_CHARACTERS.issuperset(call.name):
        return call.name
    return "".join(c if c in NAME_CHARACTERS else "_" for c in call.name)[:LONGEST_NAME] or "unknown"


def arguments_text(call: Call) -> str:
    """The arguments as the model wrote them, or an empty object when a server would choke on them."""
    text = clean(call.arguments)
    try:
        return text if isinstance(decode(text), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def data_uri(part: Image | Document) -> str:
    return f"data:{clean(part.media)};base64,{b64encode(part.data).decode()}"


def file_name(part: Document) -> str:
    return clean(part.name) or "document"


def omission_note(part: Image | Document) -> str:
    """What a model that cannot take a part is told instead."""
    what = "image" if isinstance(part, Image) else f"document {file_name(part)}"
    return f"[{what} left out: this model does not take {'images' if isinstance(part, Image) else 'documents'}]"


def readable(part: Text | Image | Document, about: ModelFacts) -> Text | Image | Document:
    """The part, or a note if the model cannot take it: a server would reject the whole request."""
    accepted = about.images if isinstance(part, Image) else about.documents
    return part if isinstance(part, Text) or accepted is not False else Text(text=omission_note(part))


def known_effort(effort: str | None, about: ModelFacts) -> str:
    """The effort, where the model may know it; empty where it is known not to, for a server would refuse it."""
    if not effort or about.reasons is False or (about.efforts and effort not in about.efforts):
        return ""
    return effort


def extra_fields(extra: Mapping[str, object], *, but: Collection[str] = ()) -> dict[str, object]:
    """What the configuration adds to every request, without the fields that are ours."""
    return {name: value for name, value in extra.items() if name not in OURS and name not in but}
