"""What changed is told by its name."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from overt.context.changes import describe_head_change, describe_history_change, describe_prefix_change
from overt.core.events import PrefixSet
from overt.core.messages import said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.settings import ModelFacts
from overt.core.text_fragments import HARNESS, USER, Fragment, Origin

SYSTEM = Fragment(key="system", text="Be brief.", origin=Origin(kind="harness", where="context/prompts/system.md"))
RULES = Fragment(key="rules", text="Use tabs.", origin=Origin(kind="file", where="AGENTS.md"))
PLACE = Fragment(key="environment", text="Linux", origin=Origin(kind="harness", where="environment"))


def tool(name: str, description: str = "It does.") -> ToolSpec:
    return ToolSpec(name=name, description=description, schema=Raw(b"{}"))


PREFIX = Prefix(system=(SYSTEM, RULES, PLACE), tools=(tool("read"), tool("edit")))
OLD = PrefixSet(prefix=PREFIX, provider="one", model="small", wire="openai", encoder=1, fingerprint="f")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tools": (*PREFIX.tools, tool("mcp__x__y"))}, "tool list changed: mcp__x__y added"),
        ({"tools": (tool("read"), tool("x"))}, "tool list changed: x added, edit removed"),
        ({"tools": (tool("edit"), tool("read"))}, "tool list changed: another order"),
        ({"tools": (tool("read", "It reads."), tool("edit"))}, "tool read changed"),
        ({"tools": tuple(tool(f"t{n}") for n in range(9))}, "t4 added, t5 added and 5 more"),
        ({"system": (SYSTEM, replace(RULES, text="Use spaces."), PLACE)}, "system prompt changed: rules (AGENTS.md)"),
        ({"system": (SYSTEM, PLACE)}, "system prompt changed: rules (AGENTS.md) removed"),
        ({"system": (RULES, SYSTEM, PLACE)}, "system prompt changed: another order"),
        ({"system": (SYSTEM, RULES, replace(PLACE, text="Mac"))}, "system prompt changed: environment"),
        ({"shots": (said("like this", origin=HARNESS),)}, "examples changed"),
    ],
)
def test_what_changed_in_the_prefix_is_named(change: dict[str, object], told: str) -> None:
    changed = replace(PREFIX, **change)
    assert describe_prefix_change(OLD, replace(OLD, prefix=changed)).endswith(told)
    assert describe_head_change((PREFIX, Params(model="m")), (changed, Params(model="m"))).endswith(told)


def test_what_changed_around_the_prefix_is_named() -> None:
    assert describe_prefix_change(OLD, replace(OLD, model="large")) == "model changed: small → large"
    assert describe_prefix_change(OLD, replace(OLD, provider="two")) == "model changed: one/small → two/small"
    assert describe_prefix_change(OLD, replace(OLD, calls="text")) == "the way tools are called changed: native → text"
    assert describe_prefix_change(OLD, replace(OLD, wire="anthropic")) == "wire changed: openai 1 → anthropic 1"
    assert (
        describe_prefix_change(OLD, replace(OLD, about=ModelFacts(name="small")))
        == "what is known of the model changed"
    )
    assert describe_prefix_change(OLD, replace(OLD, fingerprint="g")) == "the parameters changed"


def test_several_changes_are_all_told() -> None:
    changed = replace(OLD, model="large", prefix=replace(PREFIX, tools=(tool("read"),), system=(SYSTEM, PLACE)))
    assert describe_prefix_change(OLD, changed) == (
        "model changed: small → large; system prompt changed: rules (AGENTS.md) removed; "
        "tool list changed: edit removed"
    )


def test_parameters_are_named_with_both_values() -> None:
    old, new = Params(model="m", max_tokens=100), Params(model="n", temperature=0.5, max_tokens=100)
    assert describe_head_change((PREFIX, old), (PREFIX, new)) == (
        "model changed: m → n; parameters changed: temperature unset → 0.5"
    )


def test_the_message_that_is_another_is_counted() -> None:
    one, two, three = (said(text, origin=USER) for text in ("one", "two", "three"))
    assert describe_history_change((one, two), (one, three)) == "history changed: message 2 is another"
    assert describe_history_change((one, two, three), (one,)) == "history changed: 2 of its last messages are gone"
