"""What went wrong at a server, in words a person can act on. No text of a server passes here with the key in it."""

from time import time
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.core.errors import ProviderError
from overt.providers.transport.address import Address

if TYPE_CHECKING:
    from overt.providers.transport.classify_error import ServerMessage

RETRIED = frozenset({408, 429})
HTTPS_WANTED = ("http request to an https server", "plain http request was sent to https port")


class RequestPlace(Struct, frozen=True, kw_only=True):
    """Where a request went and on whose behalf, as far as a person may see it."""

    provider: str
    url: str
    model: str
    key_env: str = ""
    has_key: bool = False


def from_status(status: int, headers: dict[str, str], body: bytes, *, place: RequestPlace) -> ProviderError:
    """The error for a response that is not 2xx."""
    from overt.providers.transport import classify_error  # late: 5 ms

    said: ServerMessage = classify_error.read(body)
    kind, text = _judge(status, said, headers, place=place)
    return ProviderError(
        " ".join(text.split()),
        kind=kind,
        status=status,
        retryable=(status in RETRIED or status >= 500) and kind in ("rate", "server"),
        retry_after=retry_after(headers) or classify_error.asked_wait(said.words()),
        server_text=_server_text(said),
    )


def from_event(error: object) -> ProviderError:
    """The error a server put into the stream after it had already answered 200."""
    from overt.providers.transport import classify_error  # late: 5 ms

    said: ServerMessage = classify_error.said_in({"error": error})
    status = int(said.code) if said.code.isascii() and said.code.isdigit() and len(said.code) == 3 else 0
    kind = classify_error.kind_of(status, said) or "server"
    detail = said.message or said.code or said.type or "no reason given"
    return ProviderError(f"The server broke off its reply with an error: {clean(detail)}", kind=kind, status=status)


def not_api(status: int, content_type: str, *, place: RequestPlace) -> ProviderError:
    what = content_type.partition(";")[0] or "something else"
    return ProviderError(
        f"{place.url} is not an API endpoint: it answered {status} with {what} instead of an event stream. "
        f"{_version_hint(place.url)}",
        kind="not_api",
        status=status,
    )


def unreachable(address: Address, reason: OSError | UnicodeError | str) -> ProviderError:
    url = f"{'https' if address.secure else 'http'}://{address.authority}"
    from overt.providers.transport import connection_errors as unreached  # late: 0.7 ms

    why = unreached.explain_failure(reason)
    usual = "Is the server running?" if address.loopback else "Check the address and the network."
    return ProviderError(f"No answer from {url}: {why.text}. {why.advice or usual}", kind="down", retryable=why.passing)


def stalled(address: Address, seconds: float, *, waiting_for: str) -> ProviderError:
    return ProviderError(
        f"{address.authority} sent no {waiting_for} within {seconds:g} s. "
        "Try again, or raise `timeouts` of this provider if the model is slow.",
        kind="stalled",
        retryable=True,
    )


def not_http(address: Address, answer: bytes = b"") -> ProviderError:
    """A TLS record begins with its type (21: an alert) and version 3."""
    if answer[:2] == b"\x15\x03" and not address.secure:
        words = f"{address.authority} speaks TLS: begin its URL with https:// instead of http://."
        return ProviderError(words, kind="not_api")
    hint = "" if address.secure else " If it speaks TLS, the URL begins with https://."
    return ProviderError(
        f"{address.authority} is not an API endpoint: it does not answer in HTTP.{hint}", kind="not_api"
    )


def redact_error(error: ProviderError, *secrets: str) -> ProviderError:
    """The same error without the key and other secrets, should a server have echoed them, whole or how they begin."""
    text, server_text = error.message, error.server_text
    for secret in sorted(secrets, key=len, reverse=True):
        for known in (secret, secret[:10]) if len(secret) >= 16 else (secret,):
            text, server_text = text.replace(known, "[key]"), server_text.replace(known, "[key]")
    same = (text, server_text) == (error.message, error.server_text)
    return error if same else error.reworded(text, server_text=server_text)


def retry_after(headers: dict[str, str]) -> float | None:
    """Seconds the server asks to wait, from a number or a date."""
    value = headers.get("retry-after", "").strip()
    exact = headers.get("retry-after-ms", "").strip()
    if exact.isascii() and exact.isdigit():
        return int(exact[:12]) / 1000
    if not value:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if seconds == seconds else None  # `nan` is a float too
    except ValueError:
        pass
    from email import utils  # late: 0.1 ms

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


def _judge(status: int, said: "ServerMessage", headers: dict[str, str], *, place: RequestPlace) -> tuple[str, str]:
    if 300 <= status < 400:
        to = clean(headers.get("location", ""), limit=200) or "another address"
        return "redirect", f"{place.url} redirects to {to}. Set base_url to the final address; requests do not follow."
    if status == 407:
        from overt.providers.transport import connection_errors as unreached  # late: 0.7 ms

        return "proxy", f"The proxy wants a name and a password (407). {unreached.PROXY_LOGIN}"
    if any(words in said.message.lower() for words in HTTPS_WANTED):
        return "not_api", f"{place.url} speaks TLS: begin base_url with https:// instead of http://."
    from overt.providers.transport import classify_error  # late: 5 ms

    kind = classify_error.kind_of(status, said)
    if kind:
        return kind, _words(kind, status, said, place=place)
    if status < 200 or status in (404, 405, 501):
        return "not_api", (
            f"{place.url} is not an API endpoint: it answered {status}. {_quote(said)} {_version_hint(place.url)}"
        )
    if status >= 500 or status in RETRIED:
        return "server", f"{place.url} failed with status {status}. {_quote(said)}"
    what = f"the parameter `{clean(said.param, limit=80)}`" if said.param else "the request"
    return "parameter", f"{place.provider} rejected {what} ({status}). {_quote(said)}"


def _words(kind: str, status: int, said: "ServerMessage", *, place: RequestPlace) -> str:
    model = place.model or "this model"
    match kind:
        case "key":
            return _key_words(status, said, place=place)
        case "balance":
            return f"{place.provider} refused: no balance or quota left. {_quote(said)}"
        case "model":
            return f"{place.provider} has no model {place.model!r}."
        case "rate":
            return f"{place.provider} limits the rate of requests ({status}). {_quote(said)}"
        case "overflow":
            return (
                f"The conversation is too long for {model}. {_quote(said)} "
                "Start a new session or use a model with a larger context."
            )
        case "tools":
            return f"{place.provider} takes no tools for {model}. {_quote(said)}"
        case "form":
            return f"{place.provider} does not hold the replies of {model} to a JSON schema. {_quote(said)}"
        case _:
            return f"{model} at {place.provider} takes no images. {_quote(said)}"


def _key_words(status: int, said: "ServerMessage", *, place: RequestPlace) -> str:
    variable = place.key_env or "OVERT_API_KEY"
    if not place.has_key:
        return f"{place.provider} wants an API key, and none was found. Set {variable}."
    if status != 403:
        return f"{place.provider} rejected the API key. Check {variable}."
    return f"{place.provider} refused access (403). {_quote(said)} Check {variable} and what its account may use."


def _quote(said: "ServerMessage") -> str:
    text = _server_text(said)
    return f"It says: {text}" if text else ""


def _server_text(said: "ServerMessage") -> str:
    text = clean(said.message or said.code)
    return f"{text}." if text and text[-1] not in ".!?…" else text


def _version_hint(url: str) -> str:
    path = url.partition("://")[2].partition("/")[2]
    if "/v1/" in f"/{path}/" or "/v2/" in f"/{path}/" or "/v3/" in f"/{path}/":
        return "Check base_url."
    return "base_url usually ends in /v1, and this one does not."
