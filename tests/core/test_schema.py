"""Our short schemas mean what msgspec's long ones mean."""

from typing import Any

import msgspec
import pytest

from overt.core.tool import Tool
from overt.tools.registry import BUILT_IN


def plain(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema without titles, references and defaults that say nothing."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return plain(definitions[schema["$ref"].rpartition("/")[2]], definitions) | {
            key: value for key, value in schema.items() if key == "description"
        }
    if "anyOf" in schema:
        (only,) = (option for option in schema["anyOf"] if option.get("type") != "null")
        return plain(only, definitions) | {key: value for key, value in schema.items() if key == "description"}
    kept = {key: value for key, value in schema.items() if key in KEPT}
    if "properties" in kept:
        kept["properties"] = {name: plain(part, definitions) for name, part in kept["properties"].items()}
        kept["required"] = sorted(kept.get("required", []))
    if "items" in kept:
        kept["items"] = plain(kept["items"], definitions)
    if "enum" in kept:
        kept["enum"] = sorted(kept["enum"])
        kept.pop("type", None)
    return kept


KEPT = {"type", "properties", "required", "items", "enum", "description", "minimum", "maximum", "minItems"}


@pytest.mark.parametrize("tool", tuple(BUILT_IN), ids=lambda tool: tool.name)
def test_a_tool_schema_means_what_the_library_says_of_its_arguments(tool: Tool) -> None:
    (long,), definitions = msgspec.json.schema_components([tool.args], ref_template="#/{name}")
    ours = msgspec.json.decode(tool.spec.schema)
    assert plain(ours, {}) == plain(long, definitions)
    assert len(bytes(tool.spec.schema)) < len(msgspec.json.encode([long, definitions]))
