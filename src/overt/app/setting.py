"""Environment, roots, trust and configuration of a run, read once."""

import os

from msgspec import Struct

from overt.app.diagnostics.recent_events import RECENT
from overt.app.options import CLAUDE_MODES, SANDBOX_FLAG, Options
from overt.app.registries import Registries
from overt.config.load import FlagValue, load
from overt.config.paths import Environment, Roots, read_environment, roots
from overt.config.rules import split_rules
from overt.config.schema import Config
from overt.config.server_sources import ServerFlags
from overt.config.trust import Trusted, trusted
from overt.core.errors import ConfigError
from overt.lib.logs.log import LOG
from overt.lib.translations import language_of, set_language
from overt.providers.registry import is_kind, kinds
from overt.tools.registry import BUILT_IN, ToolRegistry


class Setting(Struct, frozen=True, kw_only=True):
    """Environment, roots, trust and configuration, as they were read when a session or a subcommand began, and the
    tools there are. `agents_json` is the value of `--agents`."""

    environment: Environment
    roots: Roots
    trust: Trusted
    config: Config
    server_flags: ServerFlags = ServerFlags()
    agents_json: str = ""
    registries: Registries = Registries()
    tools: ToolRegistry = BUILT_IN


def read_setting(options: Options) -> Setting:
    registries = options.registries
    tools = ToolRegistry(registries.tools) if registries.tools else BUILT_IN
    environment = read_environment()
    places = roots(environment, options.directory)
    trust = trusted(environment, places.project)
    flags = tuple(_flags(options))

    def load_config() -> Config:
        return load(
            environment,
            project=places.project,
            trusted=trust.has(places.project),
            flags=flags,
            tool_names=lambda: tools.rule_names,
        )

    config = load_config()
    if config.tools.packages:
        from overt.app.plugins.python_packages import load_python_plugins  # late: 45 ms

        registries = load_python_plugins(registries, config.tools.packages, config.origin("tools.packages"))
        tools = ToolRegistry(registries.tools)
        config = load_config()  # rules may name the tools that were added
    for key, paths in (("allow_write", config.allow_write), ("allow_read", config.allow_read)):
        for path in paths:
            if not os.path.isdir(path):
                origin = config.origin(f"workspace.{key}")
                raise ConfigError(f"{origin}: {path} is not a folder; give one that exists")
    _check_kinds(config, registries)
    set_language(language_of(config.language, environment.variables))
    logs = config.logs
    LOG.configure(environment.state_dir, level=logs.level, max_size=logs.max_size, keep=logs.keep)
    setting = Setting(
        environment=environment,
        roots=places,
        trust=trust,
        config=config,
        server_flags=ServerFlags(configs=options.mcp_configs, strict=options.strict_mcp_config),
        agents_json=options.agents,
        registries=registries,
        tools=tools,
    )
    LOG.learn_from(lambda: _known_secrets(setting))
    RECENT.setting = setting
    return setting


def read_setting_or_defaults(options: Options) -> tuple[Setting, str]:
    """Read the setting. If the configuration cannot be read, return its defaults and what is wrong with it."""
    try:
        return read_setting(options), ""
    except ConfigError as error:
        environment = read_environment()
        set_language(language_of("auto", environment.variables))
        places = roots(environment, options.directory)  # raises if the folder itself is missing
        defaults = Setting(
            environment=environment, roots=places, trust=Trusted(), config=Config(), registries=options.registries
        )
        return defaults, error.message


def _check_kinds(config: Config, registries: Registries) -> None:
    """Raise a ConfigError if a provider has a `kind` that is neither built in nor added by another package."""
    for setting in config.settings:
        if setting.key.rpartition(".")[2] == "kind" and not is_kind(setting.value, registries.wires):
            known = ", ".join(f"'{name}'" for name in kinds(registries.wires))
            raise ConfigError(f"{setting.origin}: `kind` must be one of {known}, got {setting.value!r}")


def is_tool_name(name: str) -> bool:
    return BUILT_IN.find(name) is not None


def _flags(options: Options) -> list[FlagValue]:
    """Return the settings that flags of the command line stand for."""
    mode = options.mode if options.mode == "dontAsk" else CLAUDE_MODES.get(options.mode)
    rows: list[tuple[str, str, object]] = [
        ("--permission-mode", "permissions.mode", mode),
        ("--allowedTools", "permissions.allow", _rules(options.allowed)),
        ("--disallowedTools", "permissions.deny", _rules(options.disallowed)),
        ("--max-budget-usd", "limits.budget_usd", options.budget_usd),
        ("--max-turns", "agent.max_steps", options.max_steps),
        *(("--sandbox", key, value) for key, value in SANDBOX_FLAG.get(options.sandbox, {}).items()),
        ("--network", "sandbox.network", options.network or None),
        ("--add-dir", "workspace.allow_write", list(options.add_dirs) or None),
        ("--model", "default_model", options.model or None),
        (options.system_prompt_origin or "--system-prompt", "agent.system_prompt", options.system_prompt),
        ("--append-system-prompt", "agent.append_system_prompt", options.append_system_prompt or None),
    ]
    return [FlagValue(flag=flag, key=key, value=value) for flag, key, value in rows if value is not None]


def _rules(words: tuple[str, ...]) -> list[str] | None:
    """Split words into rules: one may hold several, as other agents write them. Return None if there are no words."""
    return [rule for word in words for rule in split_rules(word)] if words else None


def _known_secrets(setting: Setting) -> tuple[str, ...]:
    from overt.app.redaction.secrets import known_secrets  # late: 2 ms

    return known_secrets(setting)
