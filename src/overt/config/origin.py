"""Which file and line, flag or variable set each value."""

from msgspec import to_builtins

from overt.config.schema import Config, Setting
from overt.core.settings import (
    CAPS,
    SOURCES,
    CacheSettings,
    Compaction,
    Interface,
    Limits,
    Logs,
    ModelFacts,
    Rule,
    Sandbox,
    Timeouts,
    UndoSettings,
)

DEFAULTS: dict[str, object] = {
    "default_model": "",
    "small_model": "",
    "language": "auto",
    "offline": False,
    "base_url": "",
    "kind": "",
    "agent.system_prompt": None,
    "agent.append_system_prompt": "",
    "agent.max_steps": Limits().max_steps,
    "permissions.mode": "review",
    "permissions.fallback": None,
    "permissions.allow": (),
    "permissions.ask": (),
    "permissions.deny": (),
    "permissions.dangerous": (),
    "permissions.dangerous_policy": "reach",
    "agent.permissions.allow": (),
    "agent.permissions.ask": (),
    "agent.permissions.deny": (),
    "sandbox.mode": Sandbox().mode,
    "sandbox.network": Sandbox().network,
    "sandbox.write": Sandbox().write,
    "tools.enabled": None,
    "tools.disabled": (),
    "limits.max_parallel": Limits().max_parallel,
    "limits.result_bytes": Limits().result_bytes,
    "limits.result_tokens": Limits().result_tokens,
    "limits.budget_usd": Limits().budget_usd,
    **{f"compaction.{name}": getattr(Compaction(), name) for name in Compaction.__struct_fields__},
    "timeouts.connect": Timeouts().connect,
    "timeouts.headers": Timeouts().headers,
    "timeouts.between": Timeouts().between,
    "timeouts.total": Timeouts().total,
    "timeouts.notice": Timeouts().notice,
    "context.context_window": None,
    "context.sources": SOURCES,
    "context.instructions": (),
    "context.strict": False,
    "context.foreign": True,
    **{f"context.caps.{name}": cap for name, cap in CAPS.items()},
    "env.pass": (),
    "workspace.allow_read": (),
    "workspace.allow_write": (),
    **{f"cache.{name}": getattr(CacheSettings(), name) for name in CacheSettings.__struct_fields__},
    "redact.allow": (),
    **{f"ui.{name}": getattr(Interface(), name) for name in Interface.__struct_fields__},
    **{f"undo.{name}": getattr(UndoSettings(), name) for name in UndoSettings.__struct_fields__},
    **{f"logs.{name}": getattr(Logs(), name) for name in Logs.__struct_fields__},
}
"""Every key outside `providers`, in the order `overt config` shows them, with its default."""


def explain(config: Config) -> tuple[Setting, ...]:
    """Every setting in a fixed order, one row for each item of a list, the defaults included."""
    found: list[Setting] = []
    for key, default in DEFAULTS.items():
        set_here = [row for each in config.settings if each.key == key for row in rows(each)]
        found.extend(set_here or [Setting(key=key, value=default, origin="default")])
    for each in config.settings:
        if each.key.startswith("providers.") and not each.key.endswith(".name"):
            found.extend(rows(each))
    return tuple(found)


def rows(setting: Setting) -> list[Setting]:
    """One row for each item of a list; what a header or a proxy's address carries is not shown."""
    value: object = setting.value
    if setting.key.endswith(".proxy") and "@" in str(value):
        return [Setting(key=setting.key, value="[hidden]", origin=setting.origin)]
    if isinstance(value, dict):
        return [Setting(key=f"{setting.key}.{name}", value="[hidden]", origin=setting.origin) for name in value]
    if not isinstance(value, tuple) or not value:
        return [setting]
    return [_item(setting, item) for item in value]


def _item(setting: Setting, item: object) -> Setting:
    if isinstance(item, Rule):
        return Setting(key=setting.key, value=item.shown(), origin=item.origin)
    if isinstance(item, ModelFacts):
        return Setting(key=f"{setting.key}.{item.name}", value=_known(item), origin=setting.origin)
    return Setting(key=setting.key, value=item, origin=setting.origin)


def _known(facts: ModelFacts) -> str:
    """What is said of a model, in one line; what goes into its requests is not shown."""
    plain = {key: value for key, value in to_builtins(facts).items() if key not in ("name", "price", "quirks")}
    words = [f"{key} {'/'.join(value) if isinstance(value, tuple | list) else value}" for key, value in plain.items()]
    if facts.price is not None:
        prices = to_builtins(facts.price).items()
        words.append("price " + " ".join(f"{key} {value}" for key, value in prices if value is not None))
    return ", ".join(words + (["quirks"] if facts.quirks else []))
