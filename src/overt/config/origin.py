"""Which file and line, flag or variable set each value."""

from msgspec import to_builtins
from msgspec.structs import replace

from overt.config.schema import Config, SettingValue, default_of, is_agent_key
from overt.core.settings import HookTable, ModelFacts, Rule, ServerEntry
from overt.lib.redaction.redact import Redactor


def explain(config: Config) -> tuple[SettingValue, ...]:
    """Every setting in a fixed order, one row for each item of a list, the defaults included."""
    from overt.config.reading.keys import SETTINGS  # late: 1.2 ms

    explained: list[SettingValue] = []
    for key in SETTINGS:
        set_here = [row for each in config.settings if each.key == key for row in setting_rows(each)]
        explained.extend(set_here or [SettingValue(key=key, value=default_of(key), origin="default")])
    for each in config.settings:
        entry = each.key.startswith(("providers.", "mcp.", "hooks")) and not each.key.endswith(".name")
        if entry or is_agent_key(each.key):
            explained.extend(setting_rows(each))
    return tuple(explained)


def setting_rows(setting: SettingValue) -> list[SettingValue]:
    """One row for each item of a list; what a header or a proxy's address carries is not shown."""
    value: object = setting.value
    if isinstance(value, ServerEntry):
        return _server_rows(setting.key, value)
    if setting.key.endswith(".proxy") and "@" in str(value):
        return [SettingValue(key=setting.key, value="[hidden]", origin=setting.origin)]
    if setting.key == "agent.subagent_models":
        return [replace(setting, key=f"{setting.key}.{name}", value=model) for name, model in setting.value.items()]
    if isinstance(value, dict):
        return [SettingValue(key=f"{setting.key}.{name}", value="[hidden]", origin=setting.origin) for name in value]
    if not isinstance(value, tuple) or not value:
        return [setting]
    return [_item(setting, item) for item in value]


def _server_rows(key: str, entry: ServerEntry) -> list[SettingValue]:
    """One row for each field that is set; values of variables and headers are not shown."""
    redactor = Redactor()
    rows: list[SettingValue] = []
    for name, value in {"type": entry.kind, **to_builtins(entry)}.items():
        if name in ("environment", "headers", "oauth"):
            rows += [SettingValue(key=f"{key}.{name}.{each}", value="[hidden]", origin=entry.origin) for each in value]
        elif name not in ("name", "kind", "origin", "of_project"):
            rows.append(SettingValue(key=f"{key}.{name}", value=_without_secrets(value, redactor), origin=entry.origin))
    return rows


def _without_secrets(value: object, redactor: Redactor) -> object:
    if isinstance(value, list | tuple):
        return tuple(redactor.clean(str(word)) for word in value)
    return redactor.clean(value) if isinstance(value, str) else value


def _item(setting: SettingValue, item: object) -> SettingValue:
    if isinstance(item, Rule):
        return SettingValue(key=setting.key, value=item.shown(), origin=item.origin)
    if isinstance(item, HookTable):
        value = Redactor().clean(item.text)
        return SettingValue(key=f"{setting.key}.{item.event}", value=value, origin=item.origin)
    if isinstance(item, ModelFacts):
        return SettingValue(key=f"{setting.key}.{item.name}", value=_known(item), origin=setting.origin)
    return SettingValue(key=setting.key, value=item, origin=setting.origin)


def _known(facts: ModelFacts) -> str:
    """What is said of a model, in one line; what goes into its requests is not shown."""
    plain = {key: value for key, value in to_builtins(facts).items() if key not in ("name", "price", "quirks")}
    words = [f"{key} {'/'.join(value) if isinstance(value, tuple | list) else value}" for key, value in plain.items()]
    if facts.price is not None:
        prices = to_builtins(facts.price).items()
        words.append("price " + " ".join(f"{key} {value}" for key, value in prices if value is not None))
    return ", ".join(words + (["quirks"] if facts.quirks else []))
