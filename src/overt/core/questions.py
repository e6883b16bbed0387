"""Questions with fields that a tool or an MCP server puts to the user, and the answers that come back.

A form goes up as `FormAsked`. It is shown by a frontend and never recorded: an answer may hold a secret.
"""

import re
from datetime import date, datetime
from math import isfinite
from typing import Annotated, Literal

from msgspec import Struct

from overt.core.events import Event
from overt.core.redaction import Exact, Treatment

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
TextFormat = Literal["", "email", "uri", "date", "date-time"]
FieldValue = str | int | float | bool | tuple[str, ...]
FormAction = Literal["accept", "decline", "cancel"]
ProblemKind = Literal[
    "required", "number", "integer", "boolean", "option", "email", "uri", "date", "date-time",
    "too_small", "too_large", "too_short", "too_long", "too_few", "too_many",
]  # fmt: skip
YES, NO = ("y", "yes", "true", "on", "1", "是"), ("n", "no", "false", "off", "0", "否")
LONGEST_NUMBER = 40
EMAIL, URI = r"[^\s@]+@[^\s@.]+(\.[^\s@.]+)*", r"[A-Za-z][A-Za-z0-9+.-]*:\S+"


class FieldOption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`value` is what the asker gets; people see the `label`, or the value if there is none."""

    value: Exact
    label: str = ""
    description: str = ""

    @property
    def shown(self) -> str:
        return self.label or self.value


class FormField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`minimum` and `maximum` bound a number, or how many of the `choices` are taken. `other`: an answer that is not
    among the options is accepted too."""

    name: Exact
    kind: FieldKind = "text"
    title: str = ""
    description: str = ""
    options: tuple[FieldOption, ...] = ()
    other: bool = False
    required: bool = False
    default: Annotated[FieldValue | None, Treatment("exact")] = None
    format: TextFormat = ""
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None

    @property
    def shown(self) -> str:
        return self.title or self.name


class QuestionForm(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`who` asks, as the user knows it: "MCP server github". `message` is in its own words. With a `url` there are no
    fields: the user is asked to open that page."""

    who: str
    message: str
    fields: tuple[FormField, ...] = ()
    url: Exact = ""


class FormAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`values` are those of an accepted form by field name, without fields that were left empty.

    `unattended`: the run is non-interactive, so nobody was asked.
    """

    action: FormAction
    values: dict[str, FieldValue] = {}
    unattended: bool = False


class FieldProblem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an input is no answer to a field. `limit` is the bound that it breaks."""

    kind: ProblemKind
    limit: str = ""


class FormAsked(Event, frozen=True, kw_only=True):
    """A form waits for an answer. `call_id` is the call that asks, or empty."""

    id: Exact
    form: QuestionForm
    call_id: Exact = ""


class FormClosed(Event, frozen=True, kw_only=True):
    """A form was answered, or is not wanted any more."""

    id: Exact
    call_id: Exact = ""


def read_value(field: FormField, text: str) -> FieldValue | FieldProblem | None:
    """Return what a typed text means in a field. Empty text is None, or a problem if the field is required.

    An option can be typed as its number, counted from 1, its value or its label; several are separated by commas.
    """
    text = text.strip()
    if not text:
        return FieldProblem(kind="required") if field.required else None
    match field.kind:
        case "text":
            return _read_text(field, text)
        case "number" | "integer":
            return _read_number(field, text)
        case "boolean":
            word = text.lower()
            return word in YES if word in YES or word in NO else FieldProblem(kind="boolean")
        case "choice":
            value = _find_option(field, text)
            return FieldProblem(kind="option") if value is None else value
        case "choices":
            values = [_find_option(field, part.strip()) for part in re.split("[,，]", text) if part.strip()]
            known = tuple(dict.fromkeys(value for value in values if value is not None))
            return FieldProblem(kind="option") if None in values else check_choices(field, known)


def check_choices(field: FormField, values: tuple[str, ...]) -> tuple[str, ...] | FieldProblem | None:
    """Return the taken options of a field of `choices`, None if there are none, or what is wrong with their number."""
    if not values and not field.required:
        return None
    if not values:
        return FieldProblem(kind="required")
    if field.minimum is not None and len(values) < field.minimum:
        return FieldProblem(kind="too_few", limit=f"{field.minimum:g}")
    if field.maximum is not None and len(values) > field.maximum:
        return FieldProblem(kind="too_many", limit=f"{field.maximum:g}")
    return values


def _find_option(field: FormField, text: str) -> str | None:
    if text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= len(field.options):
        return field.options[int(text) - 1].value
    for option in field.options:
        if text in (option.value, option.label) or text.lower() == option.shown.lower():
            return option.value
    return text if field.other else None


def _read_number(field: FormField, text: str) -> int | float | FieldProblem:
    try:
        value = int(text) if re.fullmatch(r"[+-]?\d+", text[:LONGEST_NUMBER], re.ASCII) else float(text)
    except ValueError:
        return FieldProblem(kind="integer" if field.kind == "integer" else "number")
    if not isfinite(value) or len(text) > LONGEST_NUMBER:
        return FieldProblem(kind="number")
    if field.kind == "integer" and not isinstance(value, int):
        return FieldProblem(kind="integer")
    if field.minimum is not None and value < field.minimum:
        return FieldProblem(kind="too_small", limit=f"{field.minimum:g}")
    if field.maximum is not None and value > field.maximum:
        return FieldProblem(kind="too_large", limit=f"{field.maximum:g}")
    return value


def _read_text(field: FormField, text: str) -> str | FieldProblem:
    if field.format and not _fits_format(field.format, text):
        return FieldProblem(kind=field.format)
    if field.min_length is not None and len(text) < field.min_length:
        return FieldProblem(kind="too_short", limit=str(field.min_length))
    if field.max_length is not None and len(text) > field.max_length:
        return FieldProblem(kind="too_long", limit=str(field.max_length))
    return text


def _fits_format(format: TextFormat, text: str) -> bool:
    try:
        match format:
            case "email":
                return re.fullmatch(EMAIL, text) is not None
            case "uri":
                return re.fullmatch(URI, text) is not None
            case "date":
                return len(text) == len("2026-11-18") and date.fromisoformat(text) is not None
            case "date-time":
                return "T" in text.upper() and datetime.fromisoformat(text.upper()).tzinfo is not None
            case _:
                return True
    except ValueError:
        return False
