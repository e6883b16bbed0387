"""How a value that does not fit is told of, and the template of a status line."""

from overt.config.rules import nearest, printable

SHORTEST_PATTERN = 2
"""Characters besides wildcards that an entry of `redact.allow` must have."""


class Unfit(ValueError):
    """A value that does not fit, in words that go behind its name."""


def read_template(text: str) -> str:
    from overt.core.gauges import PLACEHOLDERS, template_parts  # late: 0.4 ms

    try:
        names = [name for _, name in template_parts(text)[:-1]]
    except ValueError:
        raise Unfit(f"must close each brace it opens, as in '{{model}}', got {described(text)}") from None
    if not text.isprintable():
        raise Unfit("must be one line that can be printed")
    for name in names:
        if name not in PLACEHOLDERS:
            near = did_you_mean(nearest(name, PLACEHOLDERS))
            raise Unfit(
                f"holds {{{printable(name)}}}, which is no placeholder{near}; they are {', '.join(PLACEHOLDERS)}"
            )
    return text


def read_allowed(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Check the entries of `redact.allow`: a pattern of wildcards alone would switch redaction off."""
    for entry in entries:
        if len(entry.replace("*", "").replace("?", "").strip("./")) < SHORTEST_PATTERN:
            raise Unfit(f"holds {printable(entry)!r}, which matches nearly everything; name a value or a path")
    return entries


def did_you_mean(near: str) -> str:
    return f"; did you mean `{near}`?" if near else ""


def described(value: object) -> str:
    """A value from a file, short and on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case str():
            return repr(printable(value))
        case int():
            return str(value) if value.bit_length() < 100 else "a huge number"
        case float():
            return str(value)
        case dict():
            return "a table"
        case list() | tuple():
            return "a list"
        case _:
            return "a date or time"
