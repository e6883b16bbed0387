"""Deep schemas as dotted names and back."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from overt.core.codec import decode, encode
from overt.core.messages import Call
from overt.core.requests import ToolSpec
from overt.repair.flatten_schema import flatten_schema, unflatten
from overt.repair.repair_call import mend
from overt.tools.registry import BUILT_IN

TEXT = {"type": "string"}


def spec(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="t", description="d", schema=Raw(encode(schema)))


def thing(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_a_deep_schema_gets_dotted_names() -> None:
    deep = thing({"a": thing({"b": thing({"c": TEXT, "d": TEXT}, "c")}, "b"), "e": TEXT}, "a")
    assert decode(flatten_schema(spec(deep)).schema) == {
        "type": "object",
        "properties": {"a.b.c": TEXT, "a.b.d": TEXT, "e": TEXT},
        "required": ["a.b.c"],
    }


def test_a_wide_schema_gets_dotted_names() -> None:
    wide = thing({"a": thing({f"x{n}": TEXT for n in range(6)}), "b": thing({f"y{n}": TEXT for n in range(6)})})
    assert list(decode(flatten_schema(spec(wide)).schema)["properties"]) == [
        f"{a}{n}" for a in ("a.x", "b.y") for n in range(6)
    ]


def test_small_schemas_and_those_with_dots_stay_as_they_are() -> None:
    small = spec(thing({"a": thing({"b": TEXT})}))
    dotted = spec(thing({"a.b": TEXT, "c": thing({"d": thing({"e": TEXT})})}))
    assert (flatten_schema(small), flatten_schema(dotted)) == (small, dotted)
    built_in = {tool.name: tool.spec for tool in BUILT_IN}
    assert {name: decode(flatten_schema(one).schema) for name, one in built_in.items()} == {
        name: decode(one.schema) for name, one in built_in.items()
    }


def test_dotted_names_become_objects_again() -> None:
    assert unflatten({"a.b.c": 1, "a.b.d": 2, "e": 3}) == {"a": {"b": {"c": 1, "d": 2}}, "e": 3}
    assert unflatten({"a": {"b": 1}, "a.c": 2}) == {"a": {"b": 1, "c": 2}}


def test_a_dotted_name_never_overwrites_a_value() -> None:
    assert unflatten({"a": 1, "a.b": 2}) == {"a": 1, "a.b": 2}
    assert unflatten({"a": {"b": 1}, "a.b": 2}) == {"a": {"b": 1}, "a.b": 2}
    assert unflatten({"..": 1, "a.": 2, ".a": 3}) == {"..": 1, "a.": 2, ".a": 3}


def test_a_flattened_call_is_nested_when_it_is_mended() -> None:
    tools = {tool.name: tool for tool in BUILT_IN}
    call = Call(id="1", name="read", arguments='{"arguments.path": "a"}')
    assert mend(call, tools, flatten=True).args.path == "a"
    assert mend(call, tools).tool is None


KEYS = st.text("ab", min_size=1, max_size=2)
TREES = st.recursive(st.integers(), lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3), max_leaves=8)


def dotted(tree: Any, before: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {before: tree}
    return {
        key: value for name, part in tree.items() for key, value in dotted(part, f"{before}.{name}".strip(".")).items()
    }


@given(st.dictionaries(KEYS, TREES, max_size=4))
def test_nesting_undoes_dotting(tree: dict[str, Any]) -> None:
    assert unflatten(dotted(tree)) == tree if tree else unflatten({}) == {}
