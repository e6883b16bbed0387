"""Types of settings: how a value is read, what is said of one that does not fit, and its JSON schema."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from overt.config.rules import described
from overt.core.errors import ConfigError

LARGEST = 10**9
KB, MB, GB, TB = 1024, 1024**2, 1024**3, 1024**4
SIZE_UNITS = {"": 1, "B": 1, "KB": KB, "MB": MB, "GB": GB, "TB": TB, "KIB": KB, "MIB": MB, "GIB": GB, "TIB": TB}
DAY_UNITS = {"": 1.0, "HOUR": 1 / 24, "HOURS": 1 / 24, "DAY": 1.0, "DAYS": 1.0, "WEEK": 7.0, "WEEKS": 7.0}

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
OBJECT: Schema = {"type": "object"}
STRINGS: Schema = {"type": "array", "items": {"type": "string", "minLength": 1}}
AMOUNT = r"^\s*\d+(\.\d+)?\s*{units}\s*$"
SIZE: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": AMOUNT.format(units="([KMGTkmgt][Ii]?[Bb]|[Bb])?")},
    ]
}
AGE: Schema = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": AMOUNT.format(units="(([Hh][Oo][Uu][Rr]|[Dd][Aa][Yy]|[Ww][Ee][Ee][Kk])[Ss]?)?")},
    ]
}


class Unfit(ValueError):
    """A value that does not fit, in words that go behind its name."""


class KeyType(Struct, frozen=True):
    """The values that a key takes. `expected` completes “must be”, `schema` says it to editors.

    `read` returns the value as the program uses it, or raises ValueError. A value of a `secret` key is not quoted in
    messages. `unit` is that of a number that people write with one.
    """

    expected: str
    read: Callable[[Any], object]
    schema: Schema = {}
    secret: bool = False
    unit: Literal["", "bytes", "days"] = ""


def read_value(key_type: KeyType, value: object, *, name: str, place: str) -> Any:
    try:
        return key_type.read(value)
    except Unfit as unfit:
        raise ConfigError(f"{place}: `{name}` {unfit}") from None
    except ValueError:
        got = "" if key_type.secret else f", got {described(value)}"
        raise ConfigError(f"{place}: `{name}` must be {key_type.expected}{got}") from None


def read_text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    return value


def text_type(
    expected: str, fits: Callable[[str], bool], *, pattern: str = "", strip: bool = True, secret: bool = False
) -> KeyType:
    def read(value: object) -> str:
        text = read_text(value).strip() if strip else read_text(value)
        if not fits(text):
            raise ValueError
        return text

    return KeyType(expected, read, {**STRING, "pattern": pattern} if pattern else STRING, secret)


def choice(*choices: str, also: dict[str, str] | None = None) -> KeyType:
    accepted = dict(zip(choices, choices, strict=True)) | (also or {})

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in accepted:
            raise ValueError
        return accepted[value]

    shown = ", ".join(f"'{name}'" for name in choices)
    return KeyType(f"one of {shown}", read, {"enum": [*accepted]})


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def whole_number(expected: str, least: int, most: int = LARGEST) -> KeyType:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    return KeyType(expected, read, {"type": "integer", "minimum": least, "maximum": most})


def number(expected: str, fits: Callable[[float], bool], schema: Schema) -> KeyType:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
            raise ValueError
        return float(value)

    return KeyType(expected, read, schema)


def number_from_zero(expected: str) -> KeyType:
    schema = {"type": "number", "minimum": 0, "maximum": LARGEST}
    return number(expected, lambda value: 0 <= value <= LARGEST, schema)


def size(least: int, most: int, bounds: str) -> KeyType:
    expected = "a size like '2 GB' or a whole number of bytes"

    def read(value: object) -> int:
        if isinstance(value, float):
            raise ValueError
        amount = round(_read_amount(value, SIZE_UNITS))
        if not least <= amount <= most:
            raise Unfit(f"must be between {bounds}, got {described(value)}")
        return amount

    return KeyType(expected, read, SIZE, unit="bytes")


def age(*, or_never: bool = False) -> KeyType:
    expected = "an age like '30 days' or a number of days"

    def read(value: object) -> float:
        """Return a number of days, 0 for never."""
        days = _read_amount(value, DAY_UNITS)
        if not 1 / 24 <= days <= 36500 and not (or_never and value == 0):
            raise Unfit(f"must be between 1 hour and 36500 days, got {described(value)}")
        return days

    return KeyType(f"{expected}, or 0 for never" if or_never else expected, read, AGE, unit="days")


def _read_amount(value: object, units: dict[str, float] | dict[str, int]) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18:
        return float(value)
    if isinstance(value, str) and len(value) <= 40:
        text = value.strip()
        number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        unit = text[len(number) :].upper()
        digits = number.strip().replace(".", "", 1)
        if unit in units and digits.isascii() and digits.isdigit():
            return float(number.strip()) * units[unit]
    raise ValueError


def list_type(expected: str, read: Callable[[tuple[str, ...]], tuple[str, ...]] = tuple) -> KeyType:
    return KeyType(expected, lambda value: read(read_texts(value)), STRINGS)


def list_of(expected: str, fits: Callable[[str], bool]) -> KeyType:
    def read(names: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(fits, names)):
            raise ValueError
        return names

    return list_type(expected, read)


def read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(read_text(item).strip() for item in value):
        raise ValueError
    return tuple(value)
