"""What went wrong at a server, in words a person can act on. No text of a server passes here with the key in it."""

from time import time
from typing import Any

from msgspec import Struct

from overt.core.codec import decode
from overt.core.errors import ProviderError
from overt.core.late import late
from overt.providers._address import Address

RETRIED = frozenset({408, 429})
MODEL_WORDS = ("not found", "not exist", "does not exist", "no such model", "unknown model", "not supported")
OVERFLOW_WORDS = (
    "context length",
    "context_length",
    "context size",
    "context window",
    "maximum context",
    "exceed_context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "range of input length",
)
BALANCE_WORDS = (
    "insufficient_quota",
    "insufficient_balance",
    "insufficient balance",
    "insufficient credit",
    "credit balance",
    "arrearage",
    "billing",
    "exceeded your current quota",
)


class Place(Struct, frozen=True, kw_only=True):
    """Where a request went and on whose behalf, as far as a person may see it."""

    provider: str
    url: str
    model: str
    key_env: str = ""
    has_key: bool = False


class Said(Struct, frozen=True, kw_only=True):
    """What an error body says, whatever its shape."""

    message: str = ""
    code: str = ""
    param: str = ""

    def words(self) -> str:
        return f"{self.code} {self.message}".lower()


def from_status(status: int, headers: dict[str, str], body: bytes, *, place: Place) -> ProviderError:
    """The error for a response that is not 2xx."""
    said = _read(body)
    kind, text = _judge(status, said, headers, place=place)
    return ProviderError(
        text,
        kind=kind,
        status=status,
        retryable=(status in RETRIED or status >= 500) and kind in ("rate", "server"),
        retry_after=retry_after(headers),
    )


def from_event(error: Any) -> ProviderError:
    """The error a server put into the stream after it had already answered 200."""
    said = _said({"error": error})
    words = said.words()
    status = int(said.code) if said.code.isascii() and said.code.isdigit() and len(said.code) == 3 else 0
    kind = "overflow" if _any(OVERFLOW_WORDS, words) else "balance" if _any(BALANCE_WORDS, words) else "server"
    kind = "rate" if kind == "server" and status == 429 else kind
    detail = said.message or said.code or "no reason given"
    return ProviderError(f"The server broke off its reply with an error: {clean(detail)}", kind=kind, status=status)


def not_api(status: int, content_type: str, *, place: Place) -> ProviderError:
    what = content_type.partition(";")[0] or "something else"
    return ProviderError(
        f"{place.url} is not an API endpoint: it answered {status} with {what} instead of an event stream. "
        f"{_version_hint(place.url)}",
        kind="not_api",
        status=status,
    )


def unreachable(address: Address, reason: OSError | UnicodeError | str) -> ProviderError:
    url = f"{'https' if address.secure else 'http'}://{address.authority}"
    text, retry = _why(reason)
    advice = "Is the server running?" if address.loopback else "Check the address and the network."
    return ProviderError(f"No answer from {url}: {text}. {advice}", kind="down", retryable=retry)


def stalled(address: Address, seconds: float, *, waiting_for: str) -> ProviderError:
    return ProviderError(
        f"{address.authority} sent no {waiting_for.removeprefix('a ')} within {seconds:g} s. "
        "Try again, or raise `timeouts` of this provider if the model is slow.",
        kind="stalled",
        retryable=True,
    )


def not_http(address: Address) -> ProviderError:
    hint = "" if address.secure else " If it speaks TLS, the URL begins with https://."
    return ProviderError(
        f"{address.authority} is not an API endpoint: it does not answer in HTTP.{hint}", kind="not_api"
    )


def redacted(error: ProviderError, key: str | None) -> ProviderError:
    """The same error without the key, should a server have echoed it."""
    if not key:
        return error
    text = error.message.replace(key, "[key]")
    if len(key) >= 16:
        text = text.replace(key[:10], "[key]")
    if text == error.message:
        return error
    return ProviderError(
        text, kind=error.kind, retryable=error.retryable, status=error.status, retry_after=error.retry_after
    )


def retry_after(headers: dict[str, str]) -> float | None:
    """Seconds the server asks to wait, from a number or a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    utils = late("email.utils")
    try:
        then: float = utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    try:
        # The server's own clock where it shows one: ours may be wrong.
        now: float = utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        now = time()
    return max(0.0, then - now)


def clean(text: str, *, limit: int = 400) -> str:
    """A server's words on one line, without control characters, cut to a bearable length."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _judge(status: int, said: Said, headers: dict[str, str], *, place: Place) -> tuple[str, str]:
    words = said.words()
    if 300 <= status < 400:
        to = clean(headers.get("location", ""), limit=200) or "another address"
        return "redirect", f"{place.url} redirects to {to}. Set base_url to the final address; requests do not follow."
    if status == 402 or _any(BALANCE_WORDS, words):
        return "balance", f"{place.provider} refused: no balance or quota left. {_quote(said)}".strip()
    if status in (401, 403):
        return "key", _key_words(status, said, place=place)
    if status == 413 or _any(OVERFLOW_WORDS, words):
        return "overflow", (
            f"The conversation is too long for {place.model}. {_quote(said)} "
            "Start a new session or use a model with a larger context."
        )
    if status in (400, 404, 422) and _is_about_model(said):
        return "model", f"{place.provider} has no model {place.model!r}."
    if status in (404, 405, 501):
        return "not_api", (
            f"{place.url} is not an API endpoint: it answered {status}. {_quote(said)} {_version_hint(place.url)}"
        )
    if status == 429:
        return "rate", f"{place.provider} limits the rate of requests (429). {_quote(said)}".strip()
    if status >= 500 or status in RETRIED:
        return "server", f"{place.url} failed with status {status}. {_quote(said)}".strip()
    what = f"the parameter `{said.param}`" if said.param else "the request"
    return "parameter", f"{place.provider} rejected {what} ({status}). {_quote(said)}".strip()


def _key_words(status: int, said: Said, *, place: Place) -> str:
    variable = place.key_env or "OVERT_API_KEY"
    if not place.has_key:
        return f"{place.provider} wants an API key, and none was found. Set {variable}."
    if status == 401:
        return f"{place.provider} rejected the API key. Check {variable}."
    return f"{place.provider} refused access (403). {_quote(said)} Check {variable} and what its account may use."


def _is_about_model(said: Said) -> bool:
    words = said.words()
    return said.code in ("model_not_found", "ModelNotFound") or (
        ("model" in words) and _any(MODEL_WORDS, words) and (said.param in ("", "model"))
    )


def _quote(said: Said) -> str:
    text = clean(said.message or said.code)
    if not text:
        return ""
    return f"It says: {text}" + ("" if text[-1] in ".!?…" else ".")


def _version_hint(url: str) -> str:
    path = url.partition("://")[2].partition("/")[2]
    if "/v1/" in f"/{path}/" or "/v2/" in f"/{path}/" or "/v3/" in f"/{path}/":
        return "Check base_url."
    return "base_url usually ends in /v1, and this one does not."


def _why(reason: OSError | UnicodeError | str) -> tuple[str, bool]:
    if isinstance(reason, str):
        return reason, True
    name = type(reason).__name__
    if name == "SSLCertVerificationError":
        return f"its certificate is not trusted ({getattr(reason, 'verify_message', '') or reason})", False
    if name.startswith("SSL"):
        return f"TLS failed ({getattr(reason, 'reason', None) or reason})", False
    if name in ("gaierror", "UnicodeError", "UnicodeEncodeError"):
        return "the host name is unknown", name == "gaierror"
    return (getattr(reason, "strerror", None) or str(reason) or name).lower(), True


def _read(body: bytes) -> Said:
    try:
        return _said(decode(body))
    except (ValueError, RecursionError):
        text = body[:2000].decode("utf-8", "replace").strip()
        return Said() if text.startswith("<") else Said(message=text)


def _said(body: Any) -> Said:
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return Said(message=body) if isinstance(body, str) else Said()
    error = body.get("error", body)
    if isinstance(error, str):
        return Said(message=error, code=_word(body.get("code")))
    if not isinstance(error, dict):
        return Said(message=_word(body.get("message")), code=_word(body.get("code")))
    detail = error.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        where = detail[0].get("loc")
        param = ".".join(str(part) for part in where if part != "body") if isinstance(where, list) else ""
        return Said(message=_word(detail[0].get("msg")), param=param)
    return Said(
        message=_word(error.get("message")) or _word(detail),
        code=_word(error.get("code")) or _word(error.get("type")),
        param=_word(error.get("param")),
    )


def _word(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _any(needles: tuple[str, ...], text: str) -> bool:
    return any(needle in text for needle in needles)
