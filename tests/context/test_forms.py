"""Forms: what a reply may be, as every converter of schemas understands it."""

from typing import Any

from msgspec import Raw, json

from overt.context.reply_schema import MOST_PATHS, form_of
from overt.core.requests import ToolSpec
from overt.tools.registry import BUILT_IN

FINAL = {
    "type": "object",
    "properties": {"tool": {"type": "string", "const": "final"}, "text": {"type": "string"}},
    "required": ["tool", "text"],
    "additionalProperties": False,
}
READ = ToolSpec(
    name="read",
    description="Read.",
    schema=Raw(
        b'{"type":"object","properties":{"path":{"type":"string"},'
        b'"offset":{"type":"integer","description":"First line","minimum":1}},"required":["path"]}'
    ),
)
WRITE = ToolSpec(
    name="write",
    description="Write.",
    schema=Raw(b'{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'),
)


def shape(form: Raw) -> Any:
    return json.decode(form)


def option(name: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"type": "string", "const": name}, **properties},
        "required": ["tool", *required],
        "additionalProperties": False,
    }


def test_a_reply_is_one_call_or_the_answer() -> None:
    path, offset = {"path": {"type": "string"}}, {"offset": {"type": "integer"}}
    assert shape(form_of({"read": READ, "write": WRITE})) == {
        "anyOf": [option("read", path | offset, "path"), option("write", path, "path"), FINAL]
    }


def test_the_tool_is_written_first() -> None:
    assert bytes(form_of({"read": READ})).startswith(
        b'{"anyOf":[{"type":"object","properties":{"tool":{"type":"string","const":"read"},"path":'
    )


def test_reading_takes_existing_files_and_writing_any() -> None:
    found = shape(form_of({"read": READ, "write": WRITE}, paths={"read": ["a.py", "b.py"]}))["anyOf"]
    assert found[0]["properties"]["path"] == {"type": "string", "enum": ["a.py", "b.py"]}
    assert found[1]["properties"]["path"] == {"type": "string"}


def test_where_nothing_can_be_added_at_the_end_an_edit_names_its_place() -> None:
    schema = (
        b'{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"}},"required":["path","old"]}'
    )
    edit = ToolSpec(name="edit", description="Edit.", schema=Raw(schema))
    free, place = {"type": "string"}, {"type": "string", "minLength": 1}
    assert shape(form_of({"edit": edit}, paths={"edit": ["a.py", "b.json"]}, final=False)) == {
        "anyOf": [
            option("edit", {"path": {"type": "string", "enum": ["a.py"]}, "old": free}, "path", "old"),
            option("edit", {"path": {"type": "string", "enum": ["b.json"]}, "old": place}, "path", "old"),
        ]
    }
    assert shape(form_of({"edit": edit}, final=False)) == option("edit", {"path": free, "old": free}, "path", "old")


def test_too_many_paths_are_left_to_the_model() -> None:
    many = [f"f{number}" for number in range(MOST_PATHS + 1)]
    assert shape(form_of({"read": READ}, paths={"read": many})) == shape(form_of({"read": READ}))


def test_the_answer_can_be_kept_out_or_be_all_there_is() -> None:
    assert shape(form_of({"write": WRITE}, final=False)) == option("write", {"path": {"type": "string"}}, "path")
    assert shape(form_of({"write": WRITE}, only_final=True)) == FINAL
    assert shape(form_of({}, final=False)) == FINAL


def walk(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        return [schema, *(found for value in schema.values() for found in walk(value))]
    return [found for value in schema for found in walk(value)] if isinstance(schema, list) else []


def test_no_schema_of_ours_asks_for_more_than_strict_servers_know() -> None:
    form = shape(form_of({tool.name: tool.spec for tool in BUILT_IN}))
    for schema in walk(form):
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
        if "properties" not in schema and isinstance(schema.get("type"), str):
            assert set(schema) <= {"type", "enum", "items", "const"}
