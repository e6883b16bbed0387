"""Every setting with its type, default and description: what `overt config`, the reference and the schema are made of.

Types come from `reading/keys.py`, defaults from `schema.py` and the structs in `core/settings.py`, sentences from
`descriptions.toml`. Nothing on the way to the first request imports this.
"""

import tomllib

from msgspec import Struct

from overt.config.reading.agent_keys import AGENT
from overt.config.reading.key_types import OBJECT, KeyType
from overt.config.reading.keys import FACTS, PRICES, PROVIDER, SETTINGS
from overt.config.reading.server_keys import SERVER
from overt.config.rules import nearest
from overt.config.schema import default_of
from overt.core.settings import ModelFacts, ProviderEntry, ServerEntry
from overt.lib.package_data import read_text

ENTRY, MODEL = "providers.NAME", "providers.NAME.models.MODEL"
SERVER_ENTRY = "mcp.NAME"
AGENT_ENTRY = "agent.NAME"
QUIRKS_TABLE = KeyType("a table", dict, OBJECT, secret=True)
MODELS = KeyType("a list of names or tables, or a table for each name", PROVIDER["models"].read)
SHOWN_IN_PARTS = ("headers", "quirks.extra", "known", "models")
"""Provider settings of which `overt config` shows each item under a key of its own."""

_TEXTS = tomllib.loads(read_text("overt.config", "descriptions.toml"))
TABLES: dict[str, str] = _TEXTS["tables"]
DESCRIPTIONS: dict[str, str] = _TEXTS["settings"]


class SettingKey(Struct, frozen=True, kw_only=True):
    """One setting. A default of None means that it is not set."""

    key: str
    key_type: KeyType
    default: object
    description: str

    @property
    def type(self) -> str:
        """What the value must be, in words."""
        return self.key_type.expected

    @property
    def section(self) -> str:
        return self.key.rpartition(".")[0]


def _provider_default(field: str) -> object:
    value: object = ProviderEntry(name="")
    for name in field.split("."):
        value = getattr(value, name)
    return None if field == "context_window" else value


def _server_default(field: str) -> object:
    if field in ("type", "args"):
        return None
    value: object = ServerEntry(name="")
    for name in field.split("."):
        value = getattr(value, name)
    return None if value in ("", ()) else value


_TYPES = {
    **SETTINGS,
    **{f"{AGENT_ENTRY}.{field}": key_type for field, key_type in AGENT.items()},
    **{f"{SERVER_ENTRY}.{field}": key_type for field, key_type in SERVER.items()},
    **{f"{ENTRY}.{field}": key_type for field, key_type in (PROVIDER | {"models": MODELS}).items()},
    **{f"{MODEL}.{field}": key_type for field, key_type in FACTS.items()},
    f"{MODEL}.quirks": QUIRKS_TABLE,
    **{f"{MODEL}.price.{field}": key_type for field, key_type in PRICES.items()},
}
_DEFAULTS = {
    **{key: default_of(key) for key in SETTINGS},
    **{f"{SERVER_ENTRY}.{field}": _server_default(field) for field in SERVER},
    **{f"{ENTRY}.{field}": _provider_default(field) for field in PROVIDER},
    **{f"{MODEL}.{field}": getattr(ModelFacts(name=""), field) or None for field in FACTS},
}
KEYS: dict[str, SettingKey] = {
    key: SettingKey(key=key, key_type=each, default=_DEFAULTS.get(key), description=DESCRIPTIONS.get(key, ""))
    for key, each in _TYPES.items()
}
"""All settings in the order in which `overt config` shows them."""


def find_key(name: str) -> SettingKey | None:
    """The setting behind a dotted name; `providers.deepseek.kind` is `providers.NAME.kind`."""
    head, _, rest = name.partition(".")
    field = rest.partition(".")[2]
    if head == "mcp" and name not in KEYS:
        return next((KEYS[f"{SERVER_ENTRY}.{each}"] for each in SERVER if f".{each}." in f"{name}."), None)
    if head == "agent" and name not in KEYS and field in AGENT:
        return KEYS[f"{AGENT_ENTRY}.{field}"]
    if name in KEYS or head != "providers":
        return KEYS.get(name)
    for table in SHOWN_IN_PARTS:
        if field.startswith(f"{table}."):
            field = table
    return KEYS.get(f"{ENTRY}.{'models' if field == 'known' else field}")


def keys_below(prefix: str) -> tuple[SettingKey, ...]:
    """All settings of a table, such as `undo` or `providers`."""
    return tuple(key for name, key in KEYS.items() if name.startswith(f"{prefix}."))


def nearest_key(name: str, more: tuple[str, ...] = ()) -> str:
    """The setting, the table or one of `more` with the most similar name; empty if none is similar."""
    entries = ("", ENTRY, SERVER_ENTRY, AGENT_ENTRY)
    tables = dict.fromkeys(key.section for key in KEYS.values() if key.section not in entries)
    names = (*KEYS, "providers", "mcp", *tables, *more)
    last = name.rpartition(".")[2]
    same_end = [each for each in names if each.rpartition(".")[2] == last]
    return nearest(name, names) or (same_end[0] if len(same_end) == 1 else "")


def show_value(value: object, key: SettingKey | None = None) -> str:
    """A value as one would write it in TOML, with its unit."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _show_number(value, key.key_type.unit if key else "")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {show_value(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show_value(item) for item in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _show_number(value: float, unit: str) -> str:
    if unit == "bytes" and value:
        for name, size in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
            if value % size == 0:
                return f'"{value // size:.0f} {name}"'
    if unit == "days" and value:
        return f'"{value:g} day{"" if value == 1 else "s"}"'
    return f"{value:g}" if isinstance(value, float) else str(value)
