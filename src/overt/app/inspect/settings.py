"""The rows of `overt config` and `/config`: each setting with its value, origin, type, default and description."""

from msgspec import Struct, json

from overt.app.inspect.queries import list_settings
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.config.json_schema import build_schema
from overt.config.key_table import (
    AGENT_ENTRY,
    ENTRY,
    KEYS,
    SERVER_ENTRY,
    SettingKey,
    find_key,
    keys_below,
    nearest_key,
    show_value,
)
from overt.config.schema import SettingValue
from overt.core.errors import UsageError
from overt.lib.translations import say
from overt.providers.registry import kinds


class SettingRow(Struct, frozen=True, kw_only=True):
    """One row of `overt config`: a setting, or one item of a setting that is a list."""

    key: str
    value: object
    origin: str
    type: str
    default: object
    description: str


def explain_all(setting: Setting) -> tuple[tuple[SettingRow, ...], tuple[str, ...]]:
    """Return every setting in use, and warnings about the files."""
    rows, warnings = list_settings(setting)
    return tuple(_setting_row(row) for row in rows), warnings


def explain_setting(setting: Setting, name: str) -> tuple[tuple[SettingRow, ...], tuple[str, ...]]:
    """Return one setting, or all of a table such as `undo`, and warnings.

    Raise UsageError with the nearest name if there is no such setting.
    """
    rows, warnings = list_settings(setting)
    set_rows = [row for row in rows if row.key == name or row.key.startswith(f"{name}.")]
    keys_set = {row.key for row in set_rows}
    unset = [
        SettingValue(key=each, value=key.default, origin="default")
        for each, key in _unset(name, rows)
        if each not in keys_set
    ]
    if not set_rows and not unset:
        own = dict.fromkeys(
            ".".join(row.key.split(".")[:2]) for row in rows if row.key.startswith(("providers.", "mcp."))
        )
        fields = [each for entry in own for each, _ in _unset(entry, rows)]
        near = nearest_key(name, (*own, *fields))
        hint = say("config.near", name=near) if near else say("config.list")
        raise UsageError(f"{say('config.unknown', name=name)} {hint}")
    return tuple(_setting_row(row) for row in (*set_rows, *unset)), warnings


def _unset(name: str, rows: tuple[SettingValue, ...]) -> list[tuple[str, SettingKey]]:
    """Return the settings of providers and servers that are not set, with their full names: rows lack them."""
    head, _, rest = name.partition(".")
    entry = {"providers": ENTRY, "mcp": SERVER_ENTRY, "agent": AGENT_ENTRY}.get(head)
    if not entry:
        return []
    if not rest:
        return [(key.key, key) for key in keys_below(head)]
    chosen, _, field = rest.partition(".")
    own = f"{head}.{chosen}"
    if own in KEYS or own == "agent.permissions":
        return []
    if chosen != "NAME" and not any(row.key.startswith(f"{own}.") for row in rows):
        return []
    general = f"{entry}.{field}" if field else entry
    keys = [key for key in KEYS.values() if key.key == general or key.key.startswith(f"{general}.")]
    return [(own + key.key.removeprefix(entry), key) for key in keys if chosen == "NAME" or "MODEL" not in key.key]


def _setting_row(row: SettingValue) -> SettingRow:
    key = find_key(row.key)
    return SettingRow(
        key=row.key,
        value=row.value,
        origin=row.origin,
        type=key.type if key else "",
        default=key.default if key else None,
        description=key.description if key else "",
    )


def schema_text(registries: Registries) -> str:
    """The JSON schema of configuration files, with line breaks."""
    schema = build_schema()
    schema["$defs"]["provider"]["properties"]["kind"]["enum"] = kinds(registries.wires)
    return json.format(json.encode(schema), indent=2).decode() + "\n"


def value_text(setting: SettingRow) -> str:
    return show_value(setting.value, find_key(setting.key))


def setting_lines(settings: tuple[SettingRow, ...]) -> tuple[str, ...]:
    """A paragraph for each setting; the items of a list are lines of one paragraph."""
    lines: list[str] = []
    before = ""
    for number, each in enumerate(settings):
        value = f"{value_text(each)}  ({each.origin})"
        if each.key == before:
            lines.insert(len(lines) - 3, f"  {'':8} {value}")
            continue
        before = each.key
        lines += [""] if number else []
        lines += [
            each.key,
            f"  {say('config.value'):8} {value}",
            f"  {say('config.type'):8} {each.type}",
            f"  {say('config.default'):8} {show_value(each.default, find_key(each.key))}",
            f"  {each.description}",
        ]
    return tuple(lines)
