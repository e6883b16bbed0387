"""The JSON schema of a reply that is one call or the final answer, for servers that hold a model to a schema."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

from overt.core.codec import decode, encode
from overt.core.requests import ToolSpec

FINAL = "final"
CLOSED = (".json", ".ipynb", ".xml", ".html", ".svg")
"""Files that end with a bracket or a tag."""
MOST_PATHS = 200
KEPT = ("type", "enum", "items", "minLength", "properties", "required")
"""What every converter of schemas to grammars understands; other bounds are checked when the call is."""


def form_of(
    tools: Mapping[str, ToolSpec],
    *,
    paths: Mapping[str, Sequence[str]] = {},
    final: bool = True,
    only_final: bool = False,
) -> Raw:
    """`{"tool": NAME, …arguments}` for one of the tools, or `{"tool": "final", "text": …}`.

    A tool for which there are `paths` takes one of these and nothing else; too many are left to the model.
    """
    options: list[dict[str, Any]] = []
    for name, spec in tools.items() if not only_final else ():
        known = list(dict.fromkeys(paths.get(name, ())))
        options += _calls(name, decode(spec.schema), known if len(known) <= MOST_PATHS else [])
    if final or not options:
        options.append(_option(FINAL, {"text": {"type": "string"}}, ["text"]))
    return Raw(encode(options[0] if len(options) == 1 else {"anyOf": options}))


def _calls(name: str, schema: dict[str, Any], paths: list[str]) -> list[dict[str, Any]]:
    """One option, or two: where nothing can be added at the end, an edit has to name its place."""
    closed = [path for path in paths if path.endswith(CLOSED)] if "old" in schema["properties"] else []
    rest = [path for path in paths if path not in closed]
    options = [_call(name, schema, rest)] if rest or not closed else []
    if closed:
        place = schema["properties"]["old"] | {"minLength": 1}
        options.append(_call(name, schema | {"properties": schema["properties"] | {"old": place}}, closed))
    return options


def _call(name: str, schema: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    properties = {key: _plain(value) for key, value in schema["properties"].items() if key != "tool"}
    if paths and "path" in properties:
        properties["path"] = {"type": "string", "enum": paths}
    return _option(name, properties, schema.get("required", []))


def _option(name: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """`tool` comes first, so that the rest is written under the rules of the tool that was chosen."""
    return {
        "type": "object",
        "properties": {"tool": {"type": "string", "const": name}, **properties},
        "required": ["tool", *required],
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what every server understands. An object with any content becomes a text of JSON, which repair reads."""
    if schema.get("type") == "object" and not schema.get("properties"):
        return {"type": "string"}
    plain = {key: schema[key] for key in KEPT if key in schema}
    if "items" in plain:
        plain["items"] = _plain(plain["items"])
    if "properties" in plain:
        plain["properties"] = {key: _plain(value) for key, value in plain["properties"].items()}
        plain["additionalProperties"] = False
    return plain
