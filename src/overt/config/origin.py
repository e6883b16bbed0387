"""Which file and line, flag or variable set each value."""

from msgspec import to_builtins

from overt.config.schema import Config, SettingValue, default_of
from overt.core.settings import ModelFacts, Rule


def explain(config: Config) -> tuple[SettingValue, ...]:
    """Every setting in a fixed order, one row for each item of a list, the defaults included."""
    from overt.config.reading.keys import SETTINGS  # late: 1.2 ms

    explained: list[SettingValue] = []
    for key in SETTINGS:
        set_here = [row for each in config.settings if each.key == key for row in setting_rows(each)]
        explained.extend(set_here or [SettingValue(key=key, value=default_of(key), origin="default")])
    for each in config.settings:
        if each.key.startswith("providers.") and not each.key.endswith(".name"):
            explained.extend(setting_rows(each))
    return tuple(explained)


def setting_rows(setting: SettingValue) -> list[SettingValue]:
    """One row for each item of a list; what a header or a proxy's address carries is not shown."""
    value: object = setting.value
    if setting.key.endswith(".proxy") and "@" in str(value):
        return [SettingValue(key=setting.key, value="[hidden]", origin=setting.origin)]
    if isinstance(value, dict):
        return [SettingValue(key=f"{setting.key}.{name}", value="[hidden]", origin=setting.origin) for name in value]
    if not isinstance(value, tuple) or not value:
        return [setting]
    return [_item(setting, item) for item in value]


def _item(setting: SettingValue, item: object) -> SettingValue:
    if isinstance(item, Rule):
        return SettingValue(key=setting.key, value=item.shown(), origin=item.origin)
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
