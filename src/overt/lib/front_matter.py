"""Markdown files with YAML front matter: skills, commands and agents, as several programs write them."""

import re
from collections.abc import Mapping

from msgspec import Struct

FENCE = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.M | re.S)
LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
MOST_CHARACTERS = 64 * 1024
"""Of front matter; YAML takes the square of some long texts."""


class FrontMatter(Struct, frozen=True, kw_only=True):
    """The fields and the text of a file. `problem` says why the fields are no YAML; simple lines are still read."""

    fields: dict[str, object]
    body: str
    problem: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """Split a file into front matter and text. A file without front matter has no fields."""
    match = FENCE.match(text)
    if match is None:
        return FrontMatter(fields={}, body=text.removeprefix("\ufeff"))
    head, body = match[1], text[match.end() :]
    if len(head) > MOST_CHARACTERS:
        return FrontMatter(fields={}, body=body, problem="its front matter is too long")
    import yaml  # late: 20 ms

    try:
        fields = yaml.safe_load(head)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return FrontMatter(fields=_simple_lines(head), body=body, problem=_describe(error))
    if fields is None:
        return FrontMatter(fields={}, body=body)
    if not isinstance(fields, dict):
        return FrontMatter(fields={}, body=body, problem="its front matter is not a table of names and values")
    return FrontMatter(fields={str(name): value for name, value in fields.items()}, body=body)


def _simple_lines(head: str) -> dict[str, object]:
    """Read `name: value` lines, as in a description with a colon that YAML would want in quotes."""
    matches = (LINE.fullmatch(line.rstrip()) for line in head.splitlines())
    return {match[1]: match[2].strip("\"'") for match in matches if match and match[2]}


def _describe(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be read"
    return f"line {mark.line + 2}: {problem}" if mark else str(problem)


class MatterFields:
    """Front matter whose values may have any type; one of the wrong type is reported in `problems` and left out."""

    def __init__(self, fields: Mapping[str, object], problems: list[str]) -> None:
        self._fields = fields
        self._problems = problems

    def text(self, name: str) -> str:
        value = self._fields.get(name)
        if isinstance(value, str):
            return value.strip()
        if value is None or isinstance(value, list | dict | bool):  # YAML takes the name `off` for false
            self._report(name, value, "a text")
            return ""
        return str(value)

    def texts(self, name: str, *, commas: bool = False) -> tuple[str, ...]:
        """Return a list. A single text becomes a list of one, or with `commas` is split at commas."""
        value = self._fields.get(name)
        if isinstance(value, list):
            return tuple(str(item).strip() for item in value if not isinstance(item, dict | list) and item is not None)
        text = self.text(name)
        return tuple(filter(None, (part.strip() for part in (text.split(",") if commas else [text]))))

    def flag(self, name: str, *, usual: bool) -> bool:
        value = self._fields.get(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if isinstance(value, bool):
            return value
        self._report(name, value, "true or false")
        return usual

    def _report(self, name: str, value: object, expected: str) -> None:
        if value is not None:
            self._problems.append(f"`{name}` must be {expected}")
