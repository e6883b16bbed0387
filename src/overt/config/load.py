"""Files, variables and flags become one Config: flag > variable > project > user > default."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from overt.config.agent_tables import collect_agents, keep_limits, read_prompt_file
from overt.config.paths import Environment, is_placeholder
from overt.config.rules import ACTIONS, ToolNames, our_name, read_rule, resolve_rule, split_rules
from overt.config.schema import FIELDS, Config, SettingValue, default_of, is_agent_key
from overt.core.errors import ConfigError
from overt.core.settings import CAPS, Action, Limits, ProviderEntry, Quirks, Rule, Timeouts, UndoSettings, WebSettings
from overt.lib.paths import display_path, literal

USER_FILES = ("config.json", "config.jsonc", "config.toml")
PROJECT_FILES = (
    *(f".overt/{name}" for name in USER_FILES),
    *("overt.json", "overt.jsonc", "overt.toml"),
)
"""In rising order: where two files set one key, the later stands."""

VARIABLES = {
    "OVERT_MODEL": "default_model",
    "OVERT_BASE_URL": "base_url",
    "OVERT_KIND": "kind",
    "OVERT_LANGUAGE": "language",
    "OVERT_OFFLINE": "offline",
    "OVERT_DEBUG": "logs.level",
    "OVERT_LOG": "logs.level",
    "OVERT_SYSTEM_PROMPT": "agent.system_prompt",
}
TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}

JOINED = frozenset(
    {
        *("permissions.allow", "permissions.ask", "permissions.deny", "permissions.dangerous", "tools.disabled"),
        *("agent.permissions.allow", "agent.permissions.ask", "agent.permissions.deny"),
        *("env.pass", "workspace.allow_read", "workspace.allow_write", "context.instructions"),
        *("redact.allow", "hooks", "skills.paths", "skills.disabled", "skills.exclude"),
    }
)
"""Lists to which each layer adds; every other value is replaced by the stronger layer."""

STRICTNESS = {
    "permissions.fallback": ("deny", "ask", "allow"),
    "permissions.dangerous_policy": ("always", "reach"),
    "offline": (True, False),
    "sandbox.network": (False, True),
    "sandbox.write": (False, True),
    "context.strict": (True, False),
    "context.foreign": (False, True),
}
"""The strictest value first."""

WEB = frozenset(f"web.{name}" for name in WebSettings.__struct_fields__)
"""They send a key of the user and every search to an address, which may be a private one."""

ALWAYS_LOOSE = frozenset(
    {
        *("permissions.allow", "tools.enabled", "env.pass", "workspace.allow_read", "workspace.allow_write"),
        *("agent.system_prompt", "agent.append_system_prompt", "agent.system_prompt_file", "agent.temperature"),
        *("default_model", "small_model", "agent.subagent_model", "agent.subagent_models", "agent.top_p"),
        *("agent.permissions.allow", "agent.permissions.ask"),  # either may stand in for a denial
        # No mode and no kind of wall is stricter than every other: in `plan`, commands run unasked in their box.
        *("permissions.mode", "sandbox.mode"),
        # They name files, anywhere, whose text goes to the model.
        *("context.sources", "context.instructions", *(f"context.caps.{name}" for name in CAPS)),
        *("ui.editor", "hooks"),  # programs that would be run
        *("skills.paths", "skills.include"),  # instructions for the model
        "tools.mcp_tokens",  # they are paid for with every request
        "redact.allow",  # what it covers is sent to the model
        *("cache.max_age", "cache.models_max_age"),  # files of the user are deleted
        # A folder that is not trusted neither switches the safety net off nor decides how much disk it takes.
        *(f"undo.{name}" for name in UndoSettings.__struct_fields__),
        *("logs.level", "logs.max_size", "logs.keep"),  # they fill the disk, or hide what went wrong
        "tools.packages",  # code that runs in this process
        *WEB,
    }
)
USER_ONLY = frozenset({"permissions.dangerous_policy", "tools.packages", *WEB})
"""What a project can only make stricter, trusted or not."""

LOWER_ONLY = frozenset(
    {"agent.max_steps", *(f"limits.{name}" for name in Limits.__struct_fields__ if name != "max_steps")}
)
WINDOW_DECIDES = {"limits.result_tokens": 8_000, "limits.result_bytes": 32 * 1024}
"""Where 0 lets the context window decide: most windows allow at least this much."""

ENTRIES = ("providers.", "mcp.")
"""Settings of which there is one for each name that a file chooses."""
RULE_KEYS = ("permissions.allow", "permissions.ask", "permissions.deny")
FILES = (".ca_file", ".client_cert", ".client_key")


class FlagValue(Struct, frozen=True, kw_only=True):
    """A value from the command line under its dotted key; rules are texts, as in a file."""

    flag: str
    key: str
    value: Any


def load(
    environment: Environment,
    *,
    project: str,
    trusted: bool,
    flags: Sequence[FlagValue] = (),
    tool_names: ToolNames | None = None,
) -> Config:
    """The whole configuration, or a ConfigError: what cannot be read is never guessed.

    An empty `project` leaves out what a project says. `tool_names` are those that rules may use; without them, rules
    name tools as they were written and are not checked.
    """
    user = _present(environment.config_dir, USER_FILES)
    own = _present(project, PROJECT_FILES) if project else ()
    extra = _named_file(environment)
    variables = {name: environment.variables[name] for name in VARIABLES if environment.variables.get(name)}
    if not (user or own or extra or variables or flags):
        return Config()
    merged = _Merged()
    for path in user:
        merged.file(path, display_path(path, home=environment.home), base=environment.config_dir, home=environment.home)
    for path in own:
        name = display_path(path, project, environment.home)
        merged.file(path, name, base=project, home=environment.home, trusted=trusted, of_project=True)
    if extra:
        base = os.path.dirname(extra)
        merged.file(extra, display_path(extra, project, environment.home), base=base, home=environment.home)
    merged.variables(variables)
    merged.flags(flags, base=environment.cwd, home=environment.home)
    if tool_names:
        merged.name_tools(tool_names)
    return _build(merged, (*user, *own, *((extra,) if extra else ())))


def _present(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    paths = (os.path.join(folder, name) for name in names)
    return tuple(path for path in paths if _exists(path))


def _exists(path: str) -> bool:
    """A file that may be there but cannot be looked at is not taken for absent: it may hold restrictions."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return not (stat.S_ISDIR(found.st_mode) and is_placeholder(path))


def _named_file(environment: Environment) -> str:
    given = environment.get("OVERT_CONFIG")
    if not given:
        return ""
    path = os.path.join(environment.cwd, os.path.expanduser(given))
    if not os.path.exists(path):
        raise ConfigError(f"OVERT_CONFIG: {given} does not exist; name a file that does, or unset the variable")
    if not path.endswith((".toml", ".json", ".jsonc")):
        raise ConfigError(f"OVERT_CONFIG: {given} must end in .toml, .json or .jsonc")
    return path


class _Merged:
    """Settings by key as the layers are laid over each other, weakest first."""

    def __init__(self) -> None:
        self.settings: dict[str, list[SettingValue]] = {}
        self.warnings: list[str] = []
        self.dont_ask = False
        self.project_agents: set[str] = set()
        self.user_agents: dict[str, SettingValue] = {}

    def file(
        self, path: str, name: str, *, base: str, home: str, trusted: bool = True, of_project: bool = False
    ) -> None:
        from overt.config.reading.files import read_settings  # late: 2 ms

        settings, warnings = read_settings(path, name)
        self.warnings.extend(warnings)
        ignored: list[SettingValue] = []
        for setting in settings:
            if not trusted and self.loosens(setting):
                ignored.append(setting)
            elif of_project and setting.key in USER_ONLY and self.loosens(setting):
                self.warnings.append(f"{setting.origin}: `{setting.key}` ignored; a project can only make it stricter")
            else:
                if is_agent_key(setting.key):
                    setting = self.agent_setting(setting, of_project=of_project)
                self.put(_resolved(_mark_project(setting) if of_project else setting, base, home))
                if setting.key == "agent.system_prompt_file":
                    self.put(read_prompt_file(self.settings[setting.key][-1], settings))
        if ignored:
            keys = ", ".join(f"`{key}`" for key in dict.fromkeys(_family(each.key) for each in ignored))
            self.warnings.append(
                f"{ignored[0].origin}: {keys} ignored, because this folder is not trusted; "
                "read the file, then run `overt trust` in this folder"
            )

    def agent_setting(self, setting: SettingValue, *, of_project: bool) -> SettingValue:
        """Return a setting of an agent as it counts: with the limits of the user, if a file of the project has it."""
        if not of_project:
            self.user_agents[setting.key] = setting
            return setting
        self.project_agents.add(setting.key.split(".")[1])
        return keep_limits(self.user_agents.get(setting.key), setting)

    def variables(self, found: Mapping[str, str]) -> None:
        for name, text in found.items():
            key = VARIABLES[name]
            value = TRUTH.get(text.lower(), text) if key == "offline" else text
            if name == "OVERT_DEBUG":
                if TRUTH.get(text.lower()) is False:
                    continue
                value = "debug"
            self.outside(SettingValue(key=key, value=value, origin=name))

    def flags(self, flags: Sequence[FlagValue], *, base: str, home: str) -> None:
        for flag in flags:
            self.outside(_resolved(SettingValue(key=flag.key, value=flag.value, origin=flag.flag), base, home))

    def outside(self, setting: SettingValue) -> None:
        """Put a value from a flag or a variable, held to the same checks as one from a file."""
        from overt.config.reading.key_types import read_value  # late: 0.4 ms
        from overt.config.reading.keys import SETTINGS  # late: 0.9 ms

        key, value, place = setting.key, setting.value, setting.origin
        family, _, name = key.rpartition(".")
        if family == "permissions" and name in ACTIONS:
            action: Action = name
            texts = split_rules(value) if isinstance(value, str) else value
            value = tuple(read_rule(text, action, place) for text in texts)
        else:
            key_type = SETTINGS[key]
            if (
                key_type.schema.get("type") == "integer"
                and isinstance(value, str)
                and value.isascii()
                and value.isdigit()
            ):
                value = int(value[:20])
            value = read_value(key_type, value, name=name, place=place)
        self.put(SettingValue(key=key, value=value, origin=place))

    def name_tools(self, tools: ToolNames) -> None:
        """Use our names for the tools that rules and lists name, and warn about names that are not known."""
        for key, layers in self.settings.items():
            values: list[tuple[object, ...]]
            if key in ("tools.enabled", "tools.disabled"):
                values = [tuple(our_name(name, tools) for name in layer.value) for layer in layers]
            elif key.endswith(RULE_KEYS):
                values = [tuple(resolve_rule(rule, tools, self.warnings) for rule in layer.value) for layer in layers]
            else:
                continue
            self.settings[key] = [replace(layer, value=value) for layer, value in zip(layers, values, strict=True)]

    def put(self, setting: SettingValue) -> None:
        self.dont_ask |= setting.key == "permissions.mode" and setting.value == "dontAsk"
        before = self.settings.get(setting.key, [])
        joined = setting.key in JOINED or setting.key.startswith("mcp.")
        self.settings[setting.key] = [*before, setting] if joined else [setting]

    def value(self, key: str, default: Any = None) -> Any:
        layers = self.settings.get(key)
        if not layers:
            return default
        return (
            tuple(dict.fromkeys(item for each in layers for item in each.value)) if key in JOINED else layers[-1].value
        )

    def loosens(self, setting: SettingValue) -> bool:
        """True if a value of an untrusted folder would allow more than what is set already."""
        key, value = setting.key, setting.value
        if key in ALWAYS_LOOSE or key.startswith(ENTRIES) or is_agent_key(key):
            return True
        if order := STRICTNESS.get(key):
            before = self.value(key, default_of(key))
            return order.index(value) > order.index("ask" if before is None else before)
        if key in LOWER_ONLY:
            limit: float = self.value(key, default_of(key))
            return (value or inf) > (limit or WINDOW_DECIDES.get(key, inf))  # 0 is no bound at all
        return False


def _mark_project(setting: SettingValue) -> SettingValue:
    """Say of the rules, the servers and the hooks of a project's file where they are from."""
    if setting.key.startswith("mcp."):
        return replace(setting, value=replace(setting.value, of_project=True))
    if setting.key != "hooks" and not setting.key.endswith("permissions.allow"):
        return setting
    return replace(setting, value=tuple(replace(each, of_project=True) for each in setting.value))


def _family(key: str) -> str:
    if is_agent_key(key):
        return ".".join(key.split(".")[:2])
    return "providers" if key.startswith("providers.") else key


def _resolved(setting: SettingValue, base: str, home: str) -> SettingValue:
    """Paths are relative to the folder whose file names them."""
    of_provider = setting.key.startswith("providers.") and setting.key.endswith(FILES)
    if (of_provider or setting.key == "agent.system_prompt_file") and setting.value:
        return replace(setting, value=_absolute(setting.value, base, home))
    if setting.key == "context.instructions":
        base, home = literal(base), literal(home)
    elif not setting.key.startswith(("workspace.", "skills.paths")):
        return setting
    return replace(setting, value=tuple(_absolute(path, base, home) for path in setting.value))


def _absolute(path: str, base: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(base, path))


def _build(merged: _Merged, files: tuple[str, ...]) -> Config:
    """Put each value into its field of Config; what is not set keeps its default."""
    usual = Config()
    tables: dict[str, dict[str, Any]] = {"permissions": {}, "timeouts": {}}
    for key in merged.settings:
        table, _, name = FIELDS.get(key, key).rpartition(".")
        if not (key.startswith(ENTRIES) or is_agent_key(key)) and (name not in ACTIONS or "permissions" not in table):
            tables.setdefault(table, {})[name] = merged.value(key)
    if caps := tables.pop("recipe.caps", None):
        tables.setdefault("recipe", {})["caps"] = caps
    permissions = tables["permissions"]
    if permissions.get("mode") == "dontAsk":
        permissions["mode"] = "review"
    permissions |= {"rules": _rules(merged), "dont_ask": merged.dont_ask}
    return Config(
        **tables.pop("", {}),
        **{table: replace(getattr(usual, table), **fields) for table, fields in tables.items()},
        providers=_providers(merged, tables["timeouts"]),
        agents=collect_agents(merged.settings, merged.project_agents),
        mcp_servers=tuple(
            each.value for key in merged.settings if key.startswith("mcp.") for each in merged.settings[key]
        ),
        warnings=tuple(merged.warnings),
        settings=tuple(each for layers in merged.settings.values() for each in layers),
        files=files,
    )


def _rules(merged: _Merged) -> tuple[Rule, ...]:
    """The baseline, and the agent's own rules over it: where both speak of the same thing, the agent's stands."""
    baseline, own = (
        [rule for action in ("deny", "ask", "allow") for rule in merged.value(f"{where}.{action}", ())]
        for where in ("permissions", "agent.permissions")
    )
    replaced = {rule.text() for rule in own}
    found = [*(rule for rule in baseline if rule.text() not in replaced), *own]
    return tuple(rule for action in ("deny", "ask", "allow") for rule in found if rule.action == action)


def _providers(merged: _Merged, timeouts: dict[str, float]) -> tuple[ProviderEntry, ...]:
    """Entries of one name in several files are one entry; the general time-outs hold where it sets none."""
    entries: dict[str, dict[str, Any]] = {}
    for key in merged.settings:
        family, _, rest = key.partition(".")
        if family != "providers":
            continue
        name, _, field = rest.partition(".")
        entry = entries.setdefault(name, {"timeouts": dict(timeouts), "quirks": {}})
        group, _, inner = field.partition(".")
        if inner:
            entry[group][inner] = merged.value(key)
        else:
            entry[field] = merged.value(key)
    return tuple(
        ProviderEntry(**(entry | {"timeouts": Timeouts(**entry["timeouts"]), "quirks": Quirks(**entry["quirks"])}))
        for entry in entries.values()
    )
