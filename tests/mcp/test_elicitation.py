"""Questions of MCP servers become forms."""

from typing import Any

import pytest
from msgspec import Raw, json

from overt.core.questions import FieldOption, FormField, QuestionForm
from overt.mcp.elicitation import make_form, read_fields
from overt.mcp.messages import ServerQuestion


def asks(schema: Any = None, **values: Any) -> ServerQuestion:
    given: dict[str, Any] = {"question": 1, "id": 2, "server": "github", "message": "Who are you?"} | values
    return ServerQuestion(schema=Raw(json.encode(schema or {})), **given)


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "string"}, FormField(name="x")),
        (
            {"type": "string", "title": "Mail", "description": "yours", "format": "email", "default": "a@b.c"},
            FormField(name="x", title="Mail", description="yours", format="email", default="a@b.c"),
        ),
        ({"type": "string", "minLength": 2, "maxLength": 5}, FormField(name="x", min_length=2, max_length=5)),
        ({"type": "string", "format": "ipv4"}, FormField(name="x")),
        (
            {"type": "integer", "minimum": 1, "maximum": 9, "default": 3.0},
            FormField(name="x", kind="integer", minimum=1, maximum=9, default=3),
        ),
        ({"type": "number", "default": 0.5}, FormField(name="x", kind="number", default=0.5)),
        ({"type": "number", "default": True}, FormField(name="x", kind="number")),
        ({"type": "boolean", "default": False}, FormField(name="x", kind="boolean", default=False)),
        (
            {"type": "string", "enum": ["r", "g"], "enumNames": ["Red"], "default": "g"},
            FormField(
                name="x",
                kind="choice",
                options=(FieldOption(value="r", label="Red"), FieldOption(value="g")),
                default="g",
            ),
        ),
        (
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": 7}], "default": "b"},
            FormField(name="x", kind="choice", options=(FieldOption(value="r", label="Red"),)),
        ),
        (
            {"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}, "default": ["b", "z"]},
            FormField(
                name="x",
                kind="choices",
                options=(FieldOption(value="a"), FieldOption(value="b")),
                minimum=1,
                default=("b",),
            ),
        ),
        (
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
            FormField(name="x", kind="choices", options=(FieldOption(value="a", label="A"),)),
        ),
        ({"type": "object", "description": "nested", "properties": {}}, FormField(name="x", description="nested")),
        ({"type": ["string", "null"]}, FormField(name="x")),
        ("not a schema", FormField(name="x")),
    ],
)
def test_a_property_becomes_a_field(schema: Any, field: FormField) -> None:
    assert read_fields(Raw(json.encode({"properties": {"x": schema}}))) == (field,)


def test_the_form_names_the_server_and_its_required_fields() -> None:
    form = make_form(asks({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}))
    fields = (FormField(name="a"), FormField(name="b", required=True))
    assert form == QuestionForm(who="MCP server github", message="Who are you?", fields=fields)


def test_a_page_has_no_fields() -> None:
    form = make_form(asks({"properties": {"a": {}}}, url="https://example.org/x"))
    assert form == QuestionForm(who="MCP server github", message="Who are you?", url="https://example.org/x")


@pytest.mark.parametrize("schema", [b"", b"[1]", b'"x"', b'{"properties": 3, "required": {}}', b"\xff"])
def test_what_is_no_schema_has_no_fields(schema: bytes) -> None:
    assert read_fields(Raw(schema)) == ()


def test_an_enormous_question_is_bounded() -> None:
    many = {f"field {at}": {"title": "t" * 9000, "enum": [f"v{n}" for n in range(900)]} for at in range(200)}
    form = make_form(asks({"properties": many}, message="m" * 99_000))
    assert (len(form.message), len(form.fields)) == (4000, 30)
    assert {(len(field.title), len(field.options)) for field in form.fields} == {(300, 100)}
