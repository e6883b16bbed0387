"""The JSON schema of a configuration file, built from the table of settings: `overt config --schema`."""

from typing import Any

from overt.config.key_table import AGENT_ENTRY, ENTRY, MODEL, SERVER_ENTRY, TABLES, SettingKey, keys_below, show_value
from overt.config.key_table import KEYS as TABLE
from overt.config.reading.agent_keys import AGENT_ALIASES
from overt.config.reading.files import ALIASES, KEYS, LATER, MODEL_SAME, PRICE_SAME, PROVIDER_SAME, SAME
from overt.config.reading.key_types import STRING, Schema
from overt.config.reading.keys import IN_FILES
from overt.config.reading.server_keys import OAUTH_ALIASES, SERVER_ALIASES
from overt.config.rules import ACTIONS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
KEY_NAME = "The variable that holds the key, as `{env:NAME}`; never the key itself."
NOT_TABLES = ("providers.", "permissions.", "agent.permissions.", "agent.NAME.", "mcp.")
ACTION: Schema = {"enum": [*ACTIONS]}
RULES: Schema = {
    "type": "array",
    "items": {"type": "string", "description": "A tool, or a tool with a pattern: `edit`, `bash(git *)`."},
}
NETWORK_RULE: Schema = {
    "type": "object",
    "properties": {"rule": RULES["items"], "network": {"type": "boolean"}},
    "required": ["rule"],
    "additionalProperties": False,
    "description": "A rule about bash that may open the network to the commands it allows.",
}


def build_schema() -> Schema:
    """The schema of a whole file. Unknown keys do not fit: Overt itself only warns about most of them."""
    properties: dict[str, Any] = {"$schema": {**STRING, "description": "The address of this schema, for editors."}}
    for key in TABLE.values():
        if key.section != "" and not key.key.startswith(NOT_TABLES):
            _put(properties, key.key, key)
        elif key.section == "" and key.key in IN_FILES:
            properties[key.key] = value_schema(key)
    properties["permissions"] = _permissions(own=False)
    properties["agent"]["properties"]["permissions"] = _permissions(own=True)
    properties["agent"]["properties"]["permission"] = {"$ref": "#/properties/agent/properties/permissions"}
    properties["agent"]["additionalProperties"] = {"$ref": "#/$defs/agent"}
    properties["providers"] = _entries("providers", "provider")
    properties["mcp"] = _entries("mcp", "server")
    properties["plugins"] = {**_entries("mcp", "server"), "description": TABLES["plugins"]}
    properties["hooks"] = _hooks()
    for written, meant in SAME.items():
        table, _, name = written.partition(".")
        if table != "permissions":
            properties[table]["properties"][name] = _same_as(meant)
    for written, meant in ALIASES.items():
        properties[written] = _same_as(meant)
    for name in sorted(LATER):
        properties[name] = {"description": "Not used by this version."}
    return {
        "$schema": DRAFT,
        "title": "Overt configuration",
        "description": "Settings of Overt: overt.toml, ~/.config/overt/config.toml, or the same in JSON.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": {
            "agent": _agent(),
            "provider": _provider(),
            "server": _server(),
            "model": _model(),
            "quirks": _quirks(),
        },
    }


def value_schema(key: SettingKey) -> Schema:
    """The schema of one value, with its sentence and its default."""
    schema = {"description": key.description, **key.key_type.schema}
    if key.key_type.unit and key.default:
        schema["default"] = show_value(key.default, key).strip('"')
    elif key.default is not None and key.default != "":
        schema["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return schema


def _table(section: str, properties: dict[str, Any]) -> Schema:
    about = {"description": TABLES[section]} if section else {}
    return {**about, "type": "object", "properties": properties, "additionalProperties": False}


def _put(properties: dict[str, Any], name: str, key: SettingKey, above: str = "") -> None:
    """Put a dotted name into tables of its parts."""
    head, _, rest = name.partition(".")
    if not rest:
        properties[head] = value_schema(key)
        return
    section = f"{above}.{head}" if above else head
    table = properties.setdefault(head, _table(section, {}))
    _put(table["properties"], rest, key, section)


def _same_as(name: str) -> Schema:
    return {"$ref": "#/properties/" + "/properties/".join(name.split("."))}


def _permissions(*, own: bool) -> Schema:
    """Rules in lists, or a tool with an action, or a tool with patterns; or one action for everything."""
    properties: dict[str, Any] = {}
    for action in ACTIONS:
        sentence = TABLE[f"{'agent.' if own else ''}permissions.{action}"].description
        rules = {**RULES, "items": {"anyOf": [RULES["items"], NETWORK_RULE]}} if action == "allow" else RULES
        properties[action] = {**rules, "description": sentence}
    if not own:
        for key in keys_below("permissions"):
            if key.key in IN_FILES:
                properties[key.key.rpartition(".")[2]] = value_schema(key)
        properties["defaultMode"] = properties["mode"]
    tool = {"anyOf": [ACTION, {"type": "object", "additionalProperties": ACTION}]}
    table = {"type": "object", "properties": properties, "additionalProperties": tool}
    return {"description": TABLES["agent.permissions" if own else "permissions"], "anyOf": [ACTION, table]}


def _entries(section: str, kind: str) -> Schema:
    entry = {"$ref": f"#/$defs/{kind}"}
    return {
        "description": TABLES[section],
        "anyOf": [
            {"type": "array", "items": {**entry, "required": ["name"]}},
            {"type": "object", "additionalProperties": entry},
        ],
    }


def _provider() -> Schema:
    properties: dict[str, Any] = {"name": {"type": "string", "pattern": r"^[A-Za-z0-9_-]{1,64}$"}}
    for key in keys_below(ENTRY):
        if not key.key.startswith((f"{MODEL}.", f"{ENTRY}.quirks.")):
            _put(properties, key.key.removeprefix(f"{ENTRY}."), key, ENTRY)
    model = {"$ref": "#/$defs/model"}
    properties["models"] = {
        "description": TABLE[f"{ENTRY}.models"].description,
        "anyOf": [
            {"type": "array", "items": {"anyOf": [{**STRING, "minLength": 1}, {**model, "required": ["name"]}]}},
            {"type": "object", "additionalProperties": model},
        ],
    }
    properties["quirks"] = {"$ref": "#/$defs/quirks"}
    same = "#/$defs/provider/properties/"
    key_name = {"type": "string", "pattern": r"^\{env:[A-Z_][A-Z0-9_]*\}$", "description": KEY_NAME}
    properties |= {written: {"$ref": f"{same}{meant}"} for written, meant in PROVIDER_SAME.items()}
    properties |= dict.fromkeys(sorted(KEYS), key_name)
    inside = [name for name in properties if name not in ("name", "models", "quirks", "timeouts")]
    properties["options"] = _table("", {name: {"$ref": f"{same}{name}"} for name in inside})
    return _table("providers", properties)


def _agent() -> Schema:
    properties: dict[str, Any] = {}
    for key in keys_below(AGENT_ENTRY):
        _put(properties, key.key.removeprefix(f"{AGENT_ENTRY}."), key, AGENT_ENTRY)
    properties |= {written: properties[meant] for written, meant in AGENT_ALIASES.items()}
    properties["permission"] = properties["permissions"] = _same_as("agent.permissions")
    return _table(AGENT_ENTRY, properties)


def _server() -> Schema:
    properties: dict[str, Any] = {"name": STRING, "description": STRING, "disabled": {"type": "boolean"}}
    for key in keys_below(SERVER_ENTRY):
        _put(properties, key.key.removeprefix(f"{SERVER_ENTRY}."), key, SERVER_ENTRY)
    oauth = properties["oauth"]
    oauth["properties"] |= {written: oauth["properties"][meant] for written, meant in OAUTH_ALIASES.items()}
    properties["oauth"] = {"anyOf": [oauth, {"const": False}]}
    properties |= {written: properties[meant] for written, meant in SERVER_ALIASES.items()}
    return _table("mcp", properties)


def _hooks() -> Schema:
    handler = {"type": "object", "properties": {"type": STRING, "command": STRING, "timeout": {"type": "number"}}}
    handlers = {"type": "array", "items": handler}
    group = {"type": "object", "properties": {"matcher": STRING, "hooks": handlers}, "required": ["hooks"]}
    groups = {"type": "array", "items": group}
    return {"description": TABLES["hooks"], "type": "object", "additionalProperties": groups}


def _quirks() -> Schema:
    keys = keys_below(f"{ENTRY}.quirks")
    return _table(f"{ENTRY}.quirks", {key.key.rpartition(".")[2]: value_schema(key) for key in keys})


def _model() -> Schema:
    properties: dict[str, Any] = {}
    for key in keys_below(MODEL):
        _put(properties, key.key.removeprefix(f"{MODEL}."), key, MODEL)
    properties["quirks"] = {"$ref": "#/$defs/quirks"}
    prices = properties["price"]["properties"]
    prices |= {written: prices[meant] for written, meant in PRICE_SAME.items()}
    properties |= {written: properties[meant] for written, meant in MODEL_SAME.items()}
    properties["limit"] = _table("", {"context": properties["window"], "output": properties["output"]})
    properties |= {"name": STRING, "id": STRING}
    return _table(MODEL, properties)
