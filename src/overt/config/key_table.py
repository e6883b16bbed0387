"""Every setting with its type, default and description: what `overt config`, the reference and the schema are made of.

Types come from the checks in `_keys.py`, defaults from `origin.py` and the structs in `core/settings.py`, sentences
from `descriptions.py`. Nothing on the way to the first request imports this.
"""

from collections.abc import Iterator

from msgspec import Struct

from overt.config.descriptions import DESCRIPTIONS
from overt.config.origin import DEFAULTS
from overt.config.reading.keys import ACTIONS, CHECKS, DOLLARS, FACTS, OUTSIDE, PROVIDER, Check
from overt.config.rules import nearest
from overt.core.settings import ModelFacts, Price, ProviderEntry

ENTRY, MODEL = "providers.NAME", "providers.NAME.models.MODEL"
RULES = Check("a list of rules such as 'bash(git *)'", lambda value: value)
QUIRKS_TABLE = Check("a table", lambda value: value, secret=True)
MODELS = Check("a list of names or tables, or a table for each name", PROVIDER["models"].read)
SHOWN_IN_PARTS = ("headers", "quirks.extra", "known", "models")
"""Provider settings of which `overt config` shows each item under a key of its own."""


class SettingKey(Struct, frozen=True, kw_only=True):
    """One setting. `type` completes “must be”; a default of None means that it is not set."""

    key: str
    type: str
    default: object
    description: str
    check: Check

    @property
    def section(self) -> str:
        return self.key.rpartition(".")[0]


def _checks() -> Iterator[tuple[str, Check, object]]:
    """The dotted name, the check and the default of every setting."""
    for key, default in DEFAULTS.items():
        is_rule = key.rpartition(".")[0].endswith("permissions") and key.rpartition(".")[2] in ACTIONS
        yield key, RULES if is_rule else OUTSIDE.get(key) or CHECKS[key], default
    for field, check in PROVIDER.items():
        yield f"{ENTRY}.{field}", MODELS if field == "models" else check, _field_default(field)
    for field, check in FACTS.items():
        yield f"{MODEL}.{field}", check, getattr(ModelFacts(name=""), field) or None
    yield f"{MODEL}.quirks", QUIRKS_TABLE, None
    for field in Price.__struct_fields__:
        yield f"{MODEL}.price.{field}", DOLLARS, None


def _field_default(field: str) -> object:
    value: object = ProviderEntry(name="")
    for name in field.split("."):
        value = getattr(value, name)
    return None if field == "context_window" else value


KEYS: dict[str, SettingKey] = {
    key: SettingKey(key=key, type=check.expected, default=default, description=DESCRIPTIONS.get(key, ""), check=check)
    for key, check, default in _checks()
}
"""All settings in the order in which `overt config` shows them."""


def find_key(name: str) -> SettingKey | None:
    """The setting behind a dotted name; `providers.deepseek.kind` is `providers.NAME.kind`."""
    return KEYS.get(name) or KEYS.get(_general(name))


def _general(name: str) -> str:
    """The name with `NAME` in place of a provider's own name, and without the item of a table."""
    head, _, rest = name.partition(".")
    if head != "providers":
        return name
    field = rest.partition(".")[2]
    for table in SHOWN_IN_PARTS:
        if field.startswith(f"{table}."):
            field = table
    return f"{ENTRY}.{'models' if field == 'known' else field}"


def keys_below(prefix: str) -> tuple[SettingKey, ...]:
    """All settings of a table, such as `undo` or `providers`."""
    return tuple(key for name, key in KEYS.items() if name.startswith(f"{prefix}."))


def nearest_key(name: str, more: tuple[str, ...] = ()) -> str:
    """The setting, the table or one of `more` with the most similar name; empty if none is similar."""
    tables = dict.fromkeys(key.section for key in KEYS.values() if key.section and key.section != ENTRY)
    names = (*KEYS, "providers", *tables, *more)
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
        return _show_number(value, key.check.unit if key else "")
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
