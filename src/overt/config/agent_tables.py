"""Merge the tables `[agent.NAME]` of all configuration files into one definition per agent."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from overt.config.schema import AgentTable, SettingValue, is_agent_key
from overt.core.errors import ConfigError
from overt.lib.read_file import read_regular

LARGEST_PROMPT_BYTES = 1024 * 1024
RULES = "permissions."


def _join(user: tuple[object, ...], project: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(dict.fromkeys((*user, *project)))


STRICTER: dict[str, Callable[..., object]] = {
    "effects": lambda user, project: tuple(effect for effect in user if effect in project),
    "tools": lambda user, _: user,
    "disallowed_tools": _join,
    "permissions.deny": _join,
    "permissions.ask": _join,
    "max_steps": min,
    "isolation": max,
    "disabled": max,
}
"""Limits of an agent: how what the user has set and what a project sets become one value, the stricter one."""


def keep_limits(user: SettingValue | None, project: SettingValue) -> SettingValue:
    """Return what a project sets of an agent, so that it removes no limit that the `user` has set."""
    merge = STRICTER.get(project.key.split(".", 2)[2])
    return replace(project, value=merge(user.value, project.value)) if user and merge else project


def collect_agents(
    settings: Mapping[str, Sequence[SettingValue]], of_project: Collection[str]
) -> tuple[AgentTable, ...]:
    """Return the agents. `of_project` names those for which a file of the project sets something."""
    tables: dict[str, dict[str, SettingValue]] = {}
    for key in filter(is_agent_key, settings):
        _, name, field = key.split(".", 2)
        tables.setdefault(name, {})[field] = settings[key][-1]
    return tuple(
        AgentTable(
            name=name,
            fields={field: each.value for field, each in table.items() if not field.startswith(RULES)},
            rules=tuple(rule for field, each in table.items() if field.startswith(RULES) for rule in each.value),
            origin=next(iter(table.values())).origin,
            of_project=name in of_project,
        )
        for name, table in tables.items()
    )


def read_prompt_file(setting: SettingValue, settings: Sequence[SettingValue]) -> SettingValue:
    """Return the system prompt of `agent.system_prompt_file`. `settings` are all settings of its file."""
    if any(each.key == "agent.system_prompt" for each in settings):
        raise ConfigError(f"{setting.origin}: set `system_prompt_file` or `system_prompt`, not both")
    try:
        data, _ = read_regular(setting.value, LARGEST_PROMPT_BYTES)
    except OSError as error:
        raise ConfigError(f"{setting.origin}: `system_prompt_file` cannot be read: {error.strerror}") from None
    text = data[:LARGEST_PROMPT_BYTES].decode("utf-8", "replace")
    return SettingValue(key="agent.system_prompt", value=text, origin=setting.origin)
