"""What the body of an error says, in whichever shape a server puts it, and which kind of refusal that is."""

from msgspec import Struct

from overt.core.codec import decode
from overt.lib.package_data import read_bytes
from overt.providers.wires._decoding import word


class RefusalWords(Struct, frozen=True, kw_only=True):
    """Words that give a kind of refusal away, in small letters; `glm_codes` maps the codes of GLM to kinds.

    `after_model` follow the word: `model x not found`; but in `not supported by this model` it is something else that
    is missing. `about_a_call` are words of a complaint about one call or one tool, which says nothing about taking
    them at all.
    """

    key: tuple[str, ...]
    balance: tuple[str, ...]
    overflow: tuple[str, ...]
    model_codes: tuple[str, ...]
    no_such_model: tuple[str, ...]
    after_model: tuple[str, ...]
    rate: tuple[str, ...]
    unable: tuple[str, ...]
    tools: tuple[str, ...]
    about_a_call: tuple[str, ...]
    form: tuple[str, ...]
    image: tuple[str, ...]
    glm_codes: dict[str, str]


WORDS = decode(read_bytes("overt.providers.transport", "refusal_words.json"), type=RefusalWords)
DEEPEST = 4


class ServerMessage(Struct, frozen=True, kw_only=True):
    """What an error body says, whatever its shape."""

    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""

    def words(self) -> str:
        return f"{self.code} {self.type} {self.message}".lower()


def kind_of(status: int, said: ServerMessage) -> str:
    """The kind of refusal; empty when neither the words nor the status give one away."""
    words = said.words()
    if code := WORDS.glm_codes.get(said.code, ""):
        return code
    if status == 402 or (_any(WORDS.balance, words) and asked_wait(words) is None):
        return "balance"
    if said.code.lower() in WORDS.model_codes or said.type.lower() in WORDS.model_codes:
        return "model"
    if status in (401, 403) or (status in (0, 400, 422) and _any(WORDS.key, words)):
        return "key"
    if status == 429 or (status == 0 and _any(WORDS.rate, words)):
        return "rate"
    if ability := _unable(status, said, words):
        return ability
    if status == 413 or _any(WORDS.overflow, words):
        return "overflow"
    if status in (0, 400, 404, 422) and _about_model(said, words):
        return "model"
    return ""


def asked_wait(words: str) -> float | None:
    """Seconds from `please retry in 34.07s`, which some say in words only."""
    for phrase in ("please retry in ", "try again in "):
        _, found, rest = words.partition(phrase)
        number, second, _ = rest.partition("s")
        if found and second and number.replace(".", "", 1).isdigit() and number.isascii():
            return float(number)
    return None


def read(body: bytes) -> ServerMessage:
    try:
        return said_in(decode(body))
    except (ValueError, RecursionError):
        text = body[:2000].decode("utf-8", "replace").strip()
        return ServerMessage() if text.startswith("<") else ServerMessage(message=text)


def said_in(body: object, depth: int = 0) -> ServerMessage:
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict) or depth > DEEPEST:
        return ServerMessage(message=body) if isinstance(body, str) else ServerMessage()
    for inner in ("error", "detail", "errors"):
        if isinstance(body.get(inner), dict) or (inner == "errors" and isinstance(body.get(inner), list)):
            return said_in(body[inner], depth + 1)
    if isinstance(body.get("detail"), list):
        return _fastapi(body["detail"])
    if raw := _relayed(body):
        return said_in(raw, depth + 1)
    told = (body.get(key) for key in ("message", "error", "detail", "msg"))
    message = next((text for text in told if text and isinstance(text, str)), "")
    param = word(body.get("param"))
    return ServerMessage(
        message=message,
        code=word(body.get("code")),
        type=word(body.get("type")),
        param=param or _leading_name(message),
    )


def _unable(status: int, said: ServerMessage, words: str) -> str:
    """A thing the server cannot take at all, rather than one that was sent wrongly."""
    if _any(WORDS.form, f"{words} {said.param}") and status != 429:
        return "form"
    if not (_any(WORDS.unable, words) or status == 501):
        return ""
    if _any(WORDS.image, words):
        return "image"
    named = said.param in ("tools", "tool_choice", "functions")
    return "tools" if (named or _any(WORDS.tools, words)) and not _any(WORDS.about_a_call, words) else ""


def _about_model(said: ServerMessage, words: str) -> bool:
    if said.param not in ("", "model"):
        return False
    if _any(WORDS.no_such_model, words) or (said.type == "not_found_error" and said.message.startswith("model:")):
        return True
    _, found, after = words.partition("model")
    return bool(found) and _any(WORDS.after_model, after)


def _fastapi(problems: list[object]) -> ServerMessage:
    first = problems[0] if problems and isinstance(problems[0], dict) else {}
    where = first.get("loc")
    param = ".".join(str(part) for part in where if part != "body") if isinstance(where, list) else ""
    return ServerMessage(message=word(first.get("msg")), type=word(first.get("type")), param=param)


def _relayed(body: dict[str, object]) -> object:
    """A router wraps what the vendor behind it said."""
    metadata = body.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str):
        return None
    try:
        return decode(raw)
    except (ValueError, RecursionError):
        return raw


def _leading_name(message: str) -> str:
    """`max_tokens: must be below 8192` names its parameter; so does Anthropic's `messages.1.content: …`."""
    name, colon, rest = message.partition(": ")
    plain = name.replace("_", "").replace(".", "").replace("[", "").replace("]", "")
    telling = "_" in name or "." in name or name in ("temperature", "tools", "messages", "stop", "system")
    return name if colon and rest and telling and plain.isascii() and plain.isalnum() and name[0].islower() else ""


def _any(needles: tuple[str, ...], text: str) -> bool:
    return any(needle in text for needle in needles)
