"""Read amounts with a unit: sizes such as `"2 GB"` and ages such as `"30 days"`."""

from overt.config.reading.values import Unfit, described

KB, MB, GB, TB = 1024, 1024**2, 1024**3, 1024**4
SIZE_UNITS = {"": 1, "B": 1, "KB": KB, "MB": MB, "GB": GB, "TB": TB, "KIB": KB, "MIB": MB, "GIB": GB, "TIB": TB}
DAY_UNITS = {"": 1.0, "HOUR": 1 / 24, "HOURS": 1 / 24, "DAY": 1.0, "DAYS": 1.0, "WEEK": 7.0, "WEEKS": 7.0}
SIZE_FORM = "a size like '2 GB' or a whole number of bytes"
AGE_FORM = "an age like '30 days' or a number of days"
AGE_OR_NEVER_FORM = f"{AGE_FORM}, or 0 for never"
LARGEST_TEXT = 40


def read_store_size(value: object) -> int:
    return _read_size(value, 1 * MB, 1024 * TB, "between 1 MB and 1024 TB")


def read_file_size(value: object) -> int:
    return _read_size(value, 1 * KB, 1 * GB, "between 1 KB and 1 GB")


def read_log_size(value: object) -> int:
    return _read_size(value, 10 * KB, 1 * GB, "between 10 KB and 1 GB")


def read_age(value: object) -> float:
    """Return a number of days."""
    days = _read_amount(value, DAY_UNITS, AGE_FORM)
    if not 1 / 24 <= days <= 36500:
        raise Unfit(f"must be between 1 hour and 36500 days, got {described(value)}")
    return days


def read_age_or_never(value: object) -> float:
    """Return a number of days, or 0 for never."""
    return 0.0 if value == 0 and not isinstance(value, bool) else read_age(value)


def _read_size(value: object, least: int, most: int, bounds: str) -> int:
    if isinstance(value, float):
        raise Unfit(f"must be {SIZE_FORM}, got {described(value)}")
    size = round(_read_amount(value, SIZE_UNITS, SIZE_FORM))
    if not least <= size <= most:
        raise Unfit(f"must be {bounds}, got {described(value)}")
    return size


def _read_amount(value: object, units: dict[str, float] | dict[str, int], form: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18:
        return float(value)
    if isinstance(value, str) and len(value) <= LARGEST_TEXT:
        text = value.strip()
        number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        unit = text[len(number) :].upper()
        digits = number.strip().replace(".", "", 1)
        if unit in units and digits.isascii() and digits.isdigit():
            return float(number.strip()) * units[unit]
    raise Unfit(f"must be {form}, got {described(value)}")
