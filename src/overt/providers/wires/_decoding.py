"""What the decoders of all wires share: they work on plain values and believe nothing about them."""

from overt.core.codec import compact, decode
from overt.core.errors import ProviderError


def read_event(payload: bytes) -> object:
    """The JSON of one event; ValueError when it is none, however it was broken."""
    try:
        return decode(payload)
    except ValueError:
        return _read_broken(payload)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def cut() -> ProviderError:
    return ProviderError(
        "The connection ended in the middle of the reply: what came so far is incomplete, and nothing "
        "in it was run. Try again.",
        kind="cut",
        retryable=True,
    )


def too_large(limit: int) -> ProviderError:
    return ProviderError(
        f"The reply grew beyond {limit / 1024 / 1024:.3g} MB and was abandoned. "
        "If that is intended, raise `max_answer` of this provider.",
        kind="too_large",
    )


def count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e15 else 0


def word(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def text_of(content: object, depth: int = 8) -> str:
    """Text from a string, a list of typed parts or an object; compact JSON when nothing says what it is."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and depth:
        return "".join(text_of(part, depth - 1) for part in content)
    if isinstance(content, dict) and depth:
        for key in ("text", "refusal", "content", "value", "output_text"):
            if isinstance(content.get(key), str | list):
                return text_of(content[key], depth - 1)
    return compact(content)


def is_object(text: str) -> bool:
    try:
        return isinstance(decode(text), dict)
    except (ValueError, RecursionError):
        return False


def unique_ids(ids: list[str]) -> list[str]:
    """The same ids, those that are missing or come again replaced by new ones."""
    taken = set(ids)
    seen: set[str] = set()
    found: list[str] = []
    for number, id in enumerate(ids):
        if not id or id in seen:
            id = _fresh(number, taken)
            taken.add(id)
        seen.add(id)
        found.append(id)
    return found


def _fresh(number: int, taken: set[str]) -> str:
    while f"call_{number}" in taken:
        number += 1
    return f"call_{number}"


def _read_broken(payload: bytes) -> object:
    """Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD."""
    text = payload.decode("utf-8", "replace")
    try:
        return decode(text)
    except ValueError:
        if "\\u" not in text:
            raise
    import json  # late: 1.1 ms

    try:
        paired = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return decode(paired.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
