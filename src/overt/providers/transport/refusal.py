"""What the body of an error says, in whichever shape a server puts it, and which kind of refusal that is."""

from msgspec import Struct

from overt.core.codec import decode
from overt.providers.wires._decoding import word

KEY_WORDS = (
    "invalid_api_key", "invalidapikey", "incorrect api key", "invalid api key", "api key not valid",
    "authentication_error", "invalid_authentication", "authentication fails", "no auth credentials",
    "invalid x-api-key", "invalid authentication",
)  # fmt: skip
BALANCE_WORDS = (
    "insufficient_quota", "insufficient_balance", "insufficient balance", "insufficient credit", "credit balance",
    "arrearage", "billing", "exceeded your current quota", "exceeded_current_quota", "freetieronly", "余额不足", "欠费",
)  # fmt: skip
OVERFLOW_WORDS = (
    "context length", "context_length", "context size", "context window", "maximum context", "exceed_context",
    "exceed context", "context limit", "context overflow", "the overflows", "prompt is too long", "input is too long",
    "too many tokens", "range of input length", "model token limit", "exceeds the maximum number of tokens",
    "request_too_large", "request too large", "prompt 超长", "输入过长",
)  # fmt: skip
MODEL_CODES = ("model_not_found", "modelnotfound", "invalid_model", "model_decommissioned", "model_not_exist")
NO_SUCH_MODEL = (
    "no such model", "unknown model", "invalid model", "not a valid model", "not found the model", "模型不存在",
    "does not have access to model",
)  # fmt: skip
AFTER_MODEL = ("not found", "not exist", "does not exist", "not supported", "unknown", "decommissioned")
"""`model x not found`; but in `not supported by this model` it is something else that is missing."""
RATE_WORDS = ("rate_limit", "rate limit", "throttling", "too many requests", "overloaded")
UNABLE = (
    "not support", "unsupported", "not implemented", "not allowed", "not permitted", "not enabled", "not available",
    "disabled", "unrecognized", "unknown", "unexpected", "requires --", "no endpoints found", "extra inputs",
    "extra fields", "cannot handle", "is not a multimodal", "at most 0", "missing data required", "不支持",
)  # fmt: skip
TOOLS = ("tools", "tool_choice", "tool choice", "tool use", "tool call", "function call", "functions")
ABOUT_A_CALL = (
    "tool_call_id", "tool_use_id", "tool_result", "schema", ".parameters", "role", "tool name", "function name",
)  # fmt: skip
"""Words of a complaint about one call or one tool, which says nothing about taking them at all."""
FORM = ("response_format", "json_schema", "json_object", "grammar", "structured output", "guided", "output_config")
IMAGE = ("image", "vision", "multimodal", "mmproj")
GLM_CODES = {
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), "key"),
    **dict.fromkeys(("1110", "1111", "1112", "1113", "1308", "1309", "1310"), "balance"),
    **dict.fromkeys(("1211", "1221", "1222"), "model"),
    "1261": "overflow",
    **dict.fromkeys(("1302", "1303", "1304", "1305"), "rate"),
}
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
    if code := GLM_CODES.get(said.code, ""):
        return code
    if status == 402 or (_any(BALANCE_WORDS, words) and asked_wait(words) is None):
        return "balance"
    if said.code.lower() in MODEL_CODES or said.type.lower() in MODEL_CODES:
        return "model"
    if status in (401, 403) or (status in (0, 400, 422) and _any(KEY_WORDS, words)):
        return "key"
    if status == 429 or (status == 0 and _any(RATE_WORDS, words)):
        return "rate"
    if ability := _unable(status, said, words):
        return ability
    if status == 413 or _any(OVERFLOW_WORDS, words):
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
    if _any(FORM, f"{words} {said.param}") and status != 429:
        return "form"
    if not (_any(UNABLE, words) or status == 501):
        return ""
    if _any(IMAGE, words):
        return "image"
    named = said.param in ("tools", "tool_choice", "functions")
    return "tools" if (named or _any(TOOLS, words)) and not _any(ABOUT_A_CALL, words) else ""


def _about_model(said: ServerMessage, words: str) -> bool:
    if said.param not in ("", "model"):
        return False
    if _any(NO_SUCH_MODEL, words) or (said.type == "not_found_error" and said.message.startswith("model:")):
        return True
    _, found, after = words.partition("model")
    return bool(found) and _any(AFTER_MODEL, after)


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
