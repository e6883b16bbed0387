"""Where a command runs and what it was told: environment, roots, trust and configuration, read once."""

import os

from msgspec import Struct

from overt.app.diagnostics.recent import RECENT
from overt.app.options import CLAUDE_MODES, SANDBOX_FLAG, Options
from overt.app.registries import Registries
from overt.config.load import FlagValue, load
from overt.config.paths import Environment, Roots, read_environment, roots
from overt.config.rules import split_rules
from overt.config.schema import Config
from overt.config.trust import Trusted, trusted
from overt.core.errors import ConfigError
from overt.lib.catalogue import language_of, set_language
from overt.lib.logs.log import LOG
from overt.providers.registry import is_kind, kinds
from overt.tools.registry import BUILT_IN, ToolRegistry


class Setting(Struct, frozen=True, kw_only=True):
    """Environment, roots, trust and configuration, as they were read when a session or a subcommand began, and the
    tools there are."""

    environment: Environment
    roots: Roots
    trust: Trusted
    config: Config
    registries: Registries = Registries()
    tools: ToolRegistry = BUILT_IN


def read_setting(options: Options) -> Setting:
    registries = options.registries
    tools = ToolRegistry(registries.tools) if registries.tools else BUILT_IN
    environment = read_environment()
    places = roots(environment, options.directory)
    trust = trusted(environment, places.project)
    config = load(
        environment,
        project=places.project,
        trusted=trust.has(places.project),
        flags=tuple(_flags(options)),
        tool_names=lambda: tools.rule_names,
    )
    for key, paths in (("allow_write", config.allow_write), ("allow_read", config.allow_read)):
        for path in paths:
            if not os.path.isdir(path):
                origin = config.origin(f"workspace.{key}")
                raise ConfigError(f"{origin}: {path} is not a folder; give one that exists")
    _check_kinds(config, options.registries)
    set_language(language_of(config.language, environment.variables))
    logs = config.logs
    LOG.configure(environment.state_dir, level=logs.level, max_size=logs.max_size, keep=logs.keep)
    setting = Setting(
        environment=environment, roots=places, trust=trust, config=config, registries=registries, tools=tools
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
    given: list[FlagValue] = []
    if options.mode:
        mode = options.mode if options.mode == "dontAsk" else CLAUDE_MODES[options.mode]
        given.append(FlagValue(flag="--permission-mode", key="permissions.mode", value=mode))
    if options.allowed:
        given.append(FlagValue(flag="--allowedTools", key="permissions.allow", value=_rules(options.allowed)))
    if options.disallowed:
        given.append(FlagValue(flag="--disallowedTools", key="permissions.deny", value=_rules(options.disallowed)))
    if options.max_steps is not None:
        given.append(FlagValue(flag="--max-turns", key="agent.max_steps", value=options.max_steps))
    for key, value in SANDBOX_FLAG.get(options.sandbox, {}).items():
        given.append(FlagValue(flag="--sandbox", key=key, value=value))
    if options.network:
        given.append(FlagValue(flag="--network", key="sandbox.network", value=True))
    if options.add_dirs:
        given.append(FlagValue(flag="--add-dir", key="workspace.allow_write", value=list(options.add_dirs)))
    if options.model:
        given.append(FlagValue(flag="--model", key="default_model", value=options.model))
    if options.system_prompt is not None:
        origin = options.system_prompt_origin or "--system-prompt"
        given.append(FlagValue(flag=origin, key="agent.system_prompt", value=options.system_prompt))
    if options.append_system_prompt:
        text = options.append_system_prompt
        given.append(FlagValue(flag="--append-system-prompt", key="agent.append_system_prompt", value=text))
    return given


def _rules(words: tuple[str, ...]) -> list[str]:
    """One word may hold several rules, as other agents write them."""
    return [rule for word in words for rule in split_rules(word)]


def _known_secrets(setting: Setting) -> tuple[str, ...]:
    from overt.app.redaction.secrets import known_secrets  # late: 0.6 ms

    return known_secrets(setting)
