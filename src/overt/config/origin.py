"""Which file and line, flag or variable set each value."""

from typing import Any

from overt.config.schema import Config, Setting
from overt.core.settings import Limits, Rule, Timeouts

DEFAULTS: dict[str, Any] = {
    "default_model": "",
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
    "tools.enabled": None,
    "tools.disabled": (),
    "limits.max_parallel": Limits().max_parallel,
    "limits.result_bytes": Limits().result_bytes,
    "limits.result_tokens": Limits().result_tokens,
    "timeouts.connect": Timeouts().connect,
    "timeouts.headers": Timeouts().headers,
    "timeouts.between": Timeouts().between,
    "timeouts.total": Timeouts().total,
    "timeouts.notice": Timeouts().notice,
    "context.context_window": 0,
    "env.pass": (),
    "workspace.allow_read": (),
    "workspace.allow_write": (),
}
"""Every key outside `providers`, in the order `overt config` shows them, with its default."""


def explain(config: Config) -> tuple[Setting, ...]:
    """Every setting in a fixed order, one row for each item of a list, the defaults included."""
    rows: list[Setting] = []
    for key, default in DEFAULTS.items():
        set_here = [row for each in config.settings if each.key == key for row in _rows(each)]
        rows.extend(set_here or [Setting(key=key, value=default, origin="default")])
    for each in config.settings:
        if each.key.startswith("providers.") and not each.key.endswith(".name"):
            rows.extend(_rows(each))
    return tuple(rows)


def _rows(setting: Setting) -> list[Setting]:
    value: Any = setting.value
    if isinstance(value, dict):
        # The name of a header is a setting; what it carries may be a secret.
        return [Setting(key=f"{setting.key}.{name}", value="[hidden]", origin=setting.origin) for name in value]
    if not isinstance(value, tuple) or not value:
        return [setting]
    return [_item(setting, item) for item in value]


def _item(setting: Setting, item: Any) -> Setting:
    if isinstance(item, Rule):
        return Setting(key=setting.key, value=item.text(), origin=item.origin)
    return Setting(key=setting.key, value=item, origin=setting.origin)
