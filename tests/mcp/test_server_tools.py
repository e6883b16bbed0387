"""Tools of servers as values of the program, whatever their manifests hold."""

import pytest
from msgspec import Raw, json

from overt.core.messages import Call, Image
from overt.core.settings import ServerEntry
from overt.mcp.manifest import Manifest, ServerTool
from overt.mcp.messages import Content
from overt.mcp.server_tools import read_contents, server_tools
from overt.repair.arguments import shape
from overt.repair.flatten_schema import flatten_schema
from overt.repair.repair_call import mend

ENTRY = ServerEntry(name="odd", command=("odd",))


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": {"x": 1}}}},
        {"properties": None},
        {"properties": ["a"]},
        {"properties": {"a": True}},
        {"properties": {"a": {"type": [["string"]]}}},
        {"properties": {"a": {"enum": 3, "items": 4}}},
        {"required": True},
        {"required": None},
        {"required": [{}]},
        {"type": 7},
        [],
        "text",
        None,
    ],
)
def test_a_malformed_schema_breaks_nothing(schema: object) -> None:
    manifest = Manifest(tools=(ServerTool(name="do", schema=Raw(json.encode(schema))),))
    (tool,) = server_tools(ENTRY, manifest).values()
    assert shape(tool).startswith("{")
    assert flatten_schema(tool.spec)
    mended = mend(Call(id="1", name=tool.name, arguments='{"a": "x"}'), {tool.name: tool})
    assert mended.error == ""


def test_two_tools_with_the_same_plain_name_are_both_there() -> None:
    manifest = Manifest(tools=(ServerTool(name="x.y"), ServerTool(name="x_y")))
    tools = server_tools(ENTRY, manifest)
    assert [tool.server.tool for tool in tools.values() if tool.server] == ["x.y", "x_y"]
    assert len(tools) == 2


@pytest.mark.parametrize("name", ["mcp.odd.do", "odd.do", "mcp__odd__do"])
def test_dotted_names_mean_the_tool_of_the_server(name: str) -> None:
    tools = server_tools(ENTRY, Manifest(tools=(ServerTool(name="do"),)))
    assert mend(Call(id="1", name=name, arguments="{}"), {}, find_unlisted=tools.get).call.name == "mcp__odd__do"


def test_an_image_with_a_name_is_an_image() -> None:
    contents = read_contents((Content(text="picture.png", media="image/png", data=b"png"),))
    assert (contents.text, contents.parts) == ("picture.png", (Image(media="image/png", data=b"png"),))
