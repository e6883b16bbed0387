"""Files, variables and flags become one Config: flag > variable > project > user > default."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from overt.config.paths import Environment
from overt.config.reading.regular import hollow
from overt.config.schema import AgentSettings, Config, Permissions, Setting, ToolSettings
from overt.core.errors import ConfigError
from overt.core.settings import (
    CAPS,
    SOURCES,
    CacheSettings,
    Compaction,
    Interface,
    Limits,
    Logs,
    ProviderEntry,
    Quirks,
    Recipe,
    Rule,
    Sandbox,
    Timeouts,
    UndoSettings,
)
from overt.lib.paths import literal, shown

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
        "redact.allow",
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
"""The strictest first."""

UNSET = {
    "permissions.fallback": "ask",
    "permissions.dangerous_policy": "reach",
    "offline": False,
    "sandbox.network": False,
    "sandbox.write": True,
    "context.strict": False,
    "context.foreign": True,
}

ALWAYS_LOOSE = frozenset(
    {
        *("permissions.allow", "tools.enabled", "env.pass", "workspace.allow_read", "workspace.allow_write"),
        *("agent.system_prompt", "agent.append_system_prompt", "default_model", "small_model"),
        *("agent.permissions.allow", "agent.permissions.ask"),  # either may stand in for a denial
        # No mode and no kind of wall is stricter than every other: in `plan`, commands run unasked in their box.
        *("permissions.mode", "sandbox.mode"),
        # They name files, anywhere, whose text goes to the model.
        *("context.sources", "context.instructions", *(f"context.caps.{name}" for name in CAPS)),
        "ui.editor",  # a program that would be run
        "redact.allow",  # what it covers is sent to the model
        *("cache.max_age", "cache.models_max_age"),  # files of the user are deleted
        # A folder that is not trusted neither switches the safety net off nor decides how much disk it takes.
        *(f"undo.{name}" for name in UndoSettings.__struct_fields__),
        *("logs.level", "logs.max_size", "logs.keep"),  # they fill the disk, or hide what went wrong
    }
)
USER_ONLY = frozenset({"permissions.dangerous_policy"})
"""What a project can only make stricter, trusted or not."""

LOWER_ONLY = frozenset(
    {"agent.max_steps", "limits.max_parallel", "limits.result_bytes", "limits.result_tokens", "limits.budget_usd"}
)
WINDOW_DECIDES = {"limits.result_tokens": 8_000, "limits.result_bytes": 32 * 1024}
"""Where 0 lets the context window decide: most windows allow at least this much."""

FILES = (".ca_file", ".client_cert", ".client_key")


class Flag(Struct, frozen=True, kw_only=True):
    """A value from the command line under its dotted key; rules are texts, as in a file."""

    flag: str
    key: str
    value: Any


def load(environment: Environment, *, project: str, trusted: bool, flags: Sequence[Flag] = ()) -> Config:
    """The whole configuration, or a ConfigError: what cannot be read is never guessed.

    An empty `project` leaves out what a project says.
    """
    user = _present(environment.config_dir, USER_FILES)
    own = _present(project, PROJECT_FILES) if project else ()
    extra = _named_file(environment)
    variables = {name: environment.variables[name] for name in VARIABLES if environment.variables.get(name)}
    if not (user or own or extra or variables or flags):
        return Config()
    merged = _Merged()
    for path in user:
        merged.file(path, shown(path, home=environment.home), base=environment.config_dir, home=environment.home)
    for path in own:
        name = shown(path, project, environment.home)
        merged.file(path, name, base=project, home=environment.home, trusted=trusted, of_project=True)
    if extra:
        base = os.path.dirname(extra)
        merged.file(extra, shown(extra, project, environment.home), base=base, home=environment.home)
    merged.variables(variables)
    merged.flags(flags, base=environment.cwd, home=environment.home)
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
    return not (stat.S_ISDIR(found.st_mode) and hollow(path))


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
        self.settings: dict[str, list[Setting]] = {}
        self.warnings: list[str] = []
        self.dont_ask = False

    def file(
        self, path: str, name: str, *, base: str, home: str, trusted: bool = True, of_project: bool = False
    ) -> None:
        from overt.config.reading.files import read_settings  # late: 3 ms

        settings, warnings = read_settings(path, name)
        self.warnings.extend(warnings)
        ignored: list[Setting] = []
        for setting in settings:
            if not trusted and self.loosens(setting):
                ignored.append(setting)
            elif of_project and setting.key in USER_ONLY and self.loosens(setting):
                self.warnings.append(f"{setting.origin}: `{setting.key}` ignored; a project can only make it stricter")
            else:
                self.put(_resolved(_mark_rules(setting) if of_project else setting, base, home))
        if ignored:
            keys = ", ".join(f"`{key}`" for key in dict.fromkeys(_family(each.key) for each in ignored))
            self.warnings.append(
                f"{ignored[0].origin}: {keys} ignored, because this folder is not trusted; "
                "read the file, then run `overt trust` in this folder"
            )

    def variables(self, found: Mapping[str, str]) -> None:
        for name, text in found.items():
            key = VARIABLES[name]
            value = TRUTH.get(text.lower(), text) if key == "offline" else text
            if name == "OVERT_DEBUG":
                if TRUTH.get(text.lower()) is False:
                    continue
                value = "debug"
            self.outside(Setting(key=key, value=value, origin=name))

    def flags(self, flags: Sequence[Flag], *, base: str, home: str) -> None:
        for flag in flags:
            self.outside(_resolved(Setting(key=flag.key, value=flag.value, origin=flag.flag), base, home))

    def outside(self, setting: Setting) -> None:
        from overt.config.reading.outside import outside_value  # late: 2 ms

        value, warnings = outside_value(setting.key, setting.value, setting.origin)
        self.warnings.extend(warnings)
        self.put(Setting(key=setting.key, value=value, origin=setting.origin))

    def put(self, setting: Setting) -> None:
        self.dont_ask |= setting.key == "permissions.mode" and setting.value == "dontAsk"
        before = self.settings.get(setting.key, [])
        self.settings[setting.key] = [*before, setting] if setting.key in JOINED else [setting]

    def value(self, key: str, default: Any = None) -> Any:
        found = self.settings.get(key)
        if not found:
            return default
        return tuple(item for each in found for item in each.value) if key in JOINED else found[-1].value

    def loosens(self, setting: Setting) -> bool:
        """Whether a value from a folder nobody vouched for would allow more than stands already."""
        key, value = setting.key, setting.value
        if key in ALWAYS_LOOSE or key.startswith("providers."):
            return True
        if order := STRICTNESS.get(key):
            return order.index(value) > order.index(self.value(key, UNSET[key]))
        if key in LOWER_ONLY:
            before: float = self.value(key, getattr(Limits(), key.partition(".")[2]))
            return (value or inf) > (before or WINDOW_DECIDES.get(key, inf))  # 0 is no bound at all
        return False


def _mark_rules(setting: Setting) -> Setting:
    """Say of the rules of a project's file where they are from."""
    if not setting.key.endswith("permissions.allow"):
        return setting
    value = tuple(replace(rule, of_project=True) for rule in setting.value)
    return Setting(key=setting.key, value=value, origin=setting.origin)


def _family(key: str) -> str:
    return "providers" if key.startswith("providers.") else key


def _resolved(setting: Setting, base: str, home: str) -> Setting:
    """Paths are relative to the folder whose file names them."""
    if setting.key.startswith("providers.") and setting.key.endswith(FILES) and setting.value:
        return Setting(key=setting.key, value=_absolute(setting.value, base, home), origin=setting.origin)
    if setting.key == "context.instructions":
        base, home = literal(base), literal(home)
    elif not setting.key.startswith("workspace."):
        return setting
    paths = tuple(_absolute(path, base, home) for path in setting.value)
    return Setting(key=setting.key, value=paths, origin=setting.origin)


def _absolute(path: str, base: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(base, path))


def _build(merged: _Merged, files: tuple[str, ...]) -> Config:
    get = merged.value
    mode = get("permissions.mode", "review")
    timeouts = {name: get(f"timeouts.{name}", getattr(Timeouts(), name)) for name in Timeouts.__struct_fields__}
    limits = {name: get(f"limits.{name}", getattr(Limits(), name)) for name in Limits.__struct_fields__}
    limits["max_steps"] = get("agent.max_steps", Limits().max_steps)
    warnings = merged.warnings
    return Config(
        default_model=get("default_model", ""),
        small_model=get("small_model", ""),
        language=get("language", "auto"),
        offline=get("offline", False),
        base_url=get("base_url", ""),
        kind=get("kind", ""),
        agent=AgentSettings(
            system_prompt=get("agent.system_prompt"),
            append_system_prompt=get("agent.append_system_prompt", ""),
        ),
        providers=_providers(merged, timeouts),
        permissions=Permissions(
            rules=_rules(merged),
            fallback=get("permissions.fallback"),
            mode="review" if mode == "dontAsk" else mode,
            dont_ask=merged.dont_ask,
            dangerous=tuple(dict.fromkeys(get("permissions.dangerous", ()))),
            dangerous_policy=get("permissions.dangerous_policy", "reach"),
        ),
        sandbox=Sandbox(
            **{name: get(f"sandbox.{name}", getattr(Sandbox(), name)) for name in Sandbox.__struct_fields__}
        ),
        tools=ToolSettings(enabled=get("tools.enabled"), disabled=get("tools.disabled", ())),
        limits=Limits(**limits),
        compaction=Compaction(
            **{name: get(f"compaction.{name}", getattr(Compaction(), name)) for name in Compaction.__struct_fields__}
        ),
        timeouts=Timeouts(**timeouts),
        context_window=get("context.context_window", 0),
        recipe=Recipe(
            sources=get("context.sources", SOURCES),
            instructions=tuple(dict.fromkeys(get("context.instructions", ()))),
            strict=get("context.strict", False),
            foreign=get("context.foreign", True),
            caps={name: cap for name in CAPS if (cap := get(f"context.caps.{name}"))},
        ),
        env_pass=get("env.pass", ()),
        allow_read=get("workspace.allow_read", ()),
        allow_write=get("workspace.allow_write", ()),
        redact_allow=get("redact.allow", ()),
        ui=Interface(**{name: get(f"ui.{name}", getattr(Interface(), name)) for name in Interface.__struct_fields__}),
        cache=CacheSettings(
            **{name: get(f"cache.{name}", getattr(CacheSettings(), name)) for name in CacheSettings.__struct_fields__}
        ),
        undo=UndoSettings(
            **{name: get(f"undo.{name}", getattr(UndoSettings(), name)) for name in UndoSettings.__struct_fields__}
        ),
        logs=Logs(**{name: get(f"logs.{name}", getattr(Logs(), name)) for name in Logs.__struct_fields__}),
        warnings=tuple(warnings),
        settings=tuple(each for found in merged.settings.values() for each in found),
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
