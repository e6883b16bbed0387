"""Arguments of tools that come with a JSON schema, and calls that are forwarded to such tools."""

import pytest
from msgspec import Raw, json

from overt.core.messages import Call
from overt.core.requests import ToolSpec
from overt.core.tool import JsonArguments, Outcome, Tool
from overt.core.views import Plain
from overt.repair.json_arguments import check_json
from overt.repair.repair_call import mend
from overt.tools.registry import BUILT_IN

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "count": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "nothing": {"type": ["string", "null"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


async def answer(args: JsonArguments) -> Outcome:
    return Outcome(text=str(args.values), view=Plain(text=""))


ISSUE = Tool(
    name="mcp__github__create_issue",
    args=JsonArguments,
    needs={"servers": "mcp"},
    run=answer,
    spec=ToolSpec(name="mcp__github__create_issue", description="Create an issue", schema=Raw(json.encode(SCHEMA))),
)
TOOLS = {name: tool for name, tool in BUILT_IN.by_name.items() if name in ("read", "toolcall", "bash")}


@pytest.mark.parametrize(
    ("given", "values", "notes"),
    [
        ({"title": "a"}, {"title": "a"}, ()),
        ({"title": 3}, {"title": "3"}, ("converted argument types",)),
        ({"title": "a", "count": "4"}, {"title": "a", "count": 4}, ("converted argument types",)),
        ({"title": "a", "labels": "bug"}, {"title": "a", "labels": ["bug"]}, ("converted argument types",)),
        ({"title": "a", "labels": '["x", "y"]'}, {"title": "a", "labels": ["x", "y"]}, ("converted argument types",)),
        ({"title": "a", "state": "OPEN "}, {"title": "a", "state": "open"}, ("converted argument types",)),
        ({"title": "a", "count": None}, {"title": "a"}, ("dropped null count",)),
        ({"title": "a", "nothing": None}, {"title": "a", "nothing": None}, ()),
        ({"title": "a", "colour": "red"}, {"title": "a"}, ("ignored unknown `colour`",)),
    ],
)
def test_arguments_whose_form_alone_is_wrong_are_put_right(
    given: dict[str, object], values: dict[str, object], notes: tuple[str, ...]
) -> None:
    assert check_json(SCHEMA, given) == (JsonArguments(values), notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "missing `title`"),
        ({"title": None}, "`title`: expected string, got null"),
        ({"title": "a", "count": "many"}, '`count`: expected integer, got "many"'),
        ({"title": "a", "count": True}, "`count`: expected integer, got true"),
        ({"title": "a", "state": "gone"}, '`state`: expected one of "open", "closed", got "gone"'),
    ],
)
def test_arguments_that_are_wrong_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        check_json(SCHEMA, given)


def test_a_schema_without_properties_takes_anything() -> None:
    assert check_json({"type": "object"}, {"x": [1, {"y": None}]}) == (JsonArguments({"x": [1, {"y": None}]}), ())


def call(name: str, arguments: object) -> Call:
    return Call(id="c1", name=name, arguments=json.encode(arguments).decode())


def find(name: str) -> Tool | None:
    return ISSUE if name == ISSUE.name else None


@pytest.mark.parametrize(
    "given",
    [
        call("toolcall", {"name": ISSUE.name, "arguments": {"title": "a"}}),
        call("toolcall", {"name": ISSUE.name, "arguments": '{"title": "a"}'}),
        call("toolcall", {"name": ISSUE.name, "title": "a"}),
        call("use_mcp_tool", {"name": ISSUE.name, "arguments": {"title": "a"}}),
        call(ISSUE.name, {"title": "a"}),
        call(ISSUE.name, {"arguments": {"title": "a"}}),
    ],
)
def test_a_forwarded_call_becomes_a_call_of_the_tool_it_names(given: Call) -> None:
    mended = mend(given, TOOLS, find_unlisted=find)
    assert (mended.tool, mended.args, mended.error) == (ISSUE, JsonArguments({"title": "a"}), "")
    assert mended.call.name == ISSUE.name


def test_a_tool_of_the_list_can_be_called_through_toolcall_too() -> None:
    mended = mend(call("toolcall", {"name": "read", "arguments": {"path": "a.py"}}), TOOLS, find_unlisted=find)
    assert mended.call.name == "read"
    assert mended.args.path == "a.py"


def test_wrong_arguments_inside_a_forwarded_call_are_explained_with_the_shape_of_that_tool() -> None:
    mended = mend(call("toolcall", {"name": ISSUE.name, "arguments": {"count": 2}}), TOOLS, find_unlisted=find)
    assert mended.error.startswith(f"Invalid arguments for {ISSUE.name}: missing `title`. Expected {{title: string, ")


def test_an_unknown_name_inside_a_forwarded_call_is_reported_as_unknown() -> None:
    mended = mend(call("toolcall", {"name": "mcp__github__close", "arguments": {}}), TOOLS, find_unlisted=find)
    assert mended.unknown == "mcp__github__close"
    assert "toolsearch" in mended.error


@pytest.mark.parametrize("arguments", [{}, {"arguments": {"x": 1}}, {"name": "toolcall", "arguments": {}}])
def test_a_forwarded_call_without_another_tool_runs_nothing(arguments: dict[str, object]) -> None:
    mended = mend(call("toolcall", arguments), TOOLS, find_unlisted=find)
    assert mended.tool is None or mended.tool.name == "toolcall"


def test_a_cut_forwarded_call_is_not_run() -> None:
    cut = Call(id="c1", name="toolcall", arguments=f'{{"name": "{ISSUE.name}", "arguments": {{"title": "a')
    assert mend(cut, TOOLS, cut=True, find_unlisted=find).tool is None
