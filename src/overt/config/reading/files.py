"""One configuration file: read whole, parsed with its lines, checked key by key; loaded only when a file exists."""

from typing import Any

from msgspec.structs import replace

from overt.config.reading.agent_keys import AGENT, AGENT_ALIASES, RESERVED, is_agent_name
from overt.config.reading.hook_tables import read_hook_tables
from overt.config.reading.key_types import KeyType, read_value
from overt.config.reading.keys import FACTS, IN_FILES, PRICES, PROVIDER, QUIRKS
from overt.config.reading.toml_lines import parse as parse_toml
from overt.config.rules import ACTIONS, OWN_NAMES, described, did_you_mean, nearest, printable, read_rule
from overt.config.schema import SettingValue
from overt.core.errors import ConfigError
from overt.core.settings import Action, HookTable, ModelFacts, Price, Quirks, Rule, Timeouts
from overt.lib import jsonc
from overt.lib.jsonc import Located, Malformed, Path
from overt.lib.read_file import read_regular

LARGEST_FILE = 1024 * 1024
MOST_WARNINGS = 20

LATER: frozenset[str] = frozenset()
"""Keys of the whole tree that this version does not use yet."""

ALIASES = {
    "permission": "permissions",
    "provider": "providers",
    "instructions": "context.instructions",
    "mcpServers": "mcp",
}
BASELINE, OWN = "permissions", "agent.permissions"
SAME = {"limits.max_steps": "agent.max_steps", "permissions.defaultMode": "permissions.mode"}
PROVIDER_SAME = {"baseURL": "base_url", "baseUrl": "base_url", "apiKeyEnv": "api_key_env"}
KEYS = frozenset({"api_key", "apiKey", "apikey", "key", "token", "secret", "password"})
SECTIONS = tuple(dict.fromkeys(key.partition(".")[0] for key in IN_FILES if "." in key))
TOP = (
    *(key for key in IN_FILES if "." not in key),
    *SECTIONS,
    "providers",
    "mcp",
    "plugins",
    "hooks",
    *ALIASES,
    *sorted(LATER),
)
NESTED: dict[str, tuple[str, ...]] = {"timeouts": Timeouts.__struct_fields__, "quirks": tuple(QUIRKS)}
PERMISSION_KEYS = (*ACTIONS, "mode", "fallback", "dangerous")
MODEL_SAME = {"reasoning": "reasons", "attachment": "images", "cost": "price"}
PRICE_SAME = {"cache_read": "cached"}
LIMIT_SAME = {"context": "window"}
"""How opencode words the facts about a model, its price and its `limit`."""
MODEL_NAMES = frozenset({"name", "id"})
RULE_WORDS = frozenset({*ACTIONS, "permission", "permissions"})


def read_settings(path: str, shown: str) -> tuple[tuple[SettingValue, ...], tuple[str, ...]]:
    """What a file sets, and warnings; anything wrong in it is a ConfigError, so that nothing is guessed."""
    return parse_settings(read_text(path, shown), shown, toml=path.endswith(".toml"))


def parse_settings(text: str, shown: str, *, toml: bool) -> tuple[tuple[SettingValue, ...], tuple[str, ...]]:
    try:
        tree = parse_toml(text) if toml else jsonc.parse(text)
    except Malformed as error:
        raise ConfigError(f"{shown}:{error.line}: {printable_line(error.what)}") from None
    walk = _Walk(tree, shown)
    walk.document()
    return tuple(walk.settings.values()), walk.bounded_warnings()


def printable_line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def read_text(path: str, shown: str) -> str:
    try:
        data, _ = read_regular(path, LARGEST_FILE)
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read: {error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"{shown}:1: is larger than 1 MB; a configuration must be smaller")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{shown}:{line}: is not valid UTF-8; save the file as UTF-8") from None


class _Walk:
    def __init__(self, tree: Located, shown: str) -> None:
        self.tree = tree
        self.shown = shown
        self.settings: dict[str, SettingValue] = {}
        self.warnings: list[str] = []

    def place(self, path: Path) -> str:
        """The line of the value, or of the nearest thing around it that has one."""
        while path and path not in self.tree.lines:
            path = path[:-1]
        return f"{self.shown}:{self.tree.lines.get(path, 1)}"

    def bounded_warnings(self) -> tuple[str, ...]:
        more = len(self.warnings) - MOST_WARNINGS
        rest = (f"{self.shown}: and {more} more warnings",) if more > 0 else ()
        return (*self.warnings[:MOST_WARNINGS], *rest)

    def document(self) -> None:
        root = self.tree.value
        if not isinstance(root, dict):
            raise ConfigError(f"{self.shown}:1: must be a table of settings, got {described(root)}")
        for key, value in root.items():
            name = ALIASES.get(key, key)
            if key == "$schema":
                continue
            if name == "permissions":
                self.permissions((key,), value)
            elif name == "providers":
                self.providers((key,), value)
            elif name in ("mcp", "plugins"):
                self.servers((key,), value, plugins=name == "plugins")
            elif name == "hooks":
                self.put("hooks", (key,), self.hooks((key,), value))
            elif name in SECTIONS:
                self.section((key,), value)
            elif name in IN_FILES:
                self.put(name, (key,), self.read(IN_FILES[name], (key,), value))
            elif name in LATER:
                self.warnings.append(f"{self.place((key,))}: `{key}` is not used by this version")
            else:
                self.unknown((key,), value, TOP)

    def section(self, path: Path, value: object) -> None:
        section = ".".join(map(str, path))
        for inner, item in self.table(path, value).items():
            here = (*path, inner)
            key = SAME.get(f"{section}.{inner}", f"{section}.{inner}")
            if section == "agent" and ALIASES.get(inner, inner) == "permissions":
                self.permissions(here, item, into=OWN)
            elif section == "agent" and isinstance(item, dict) and not nearest(inner, RESERVED, 0.75):
                self.agent(here, inner, item)
            elif key in IN_FILES:
                self.put(key, here, self.read(IN_FILES[key], here, item))
            elif key == "context.caps":
                self.section(here, item)
            else:
                every = (*IN_FILES, *SAME, OWN)
                inside = (each[len(section) + 1 :] for each in every if each.startswith(f"{section}."))
                known = tuple(each.partition(".")[0] for each in inside)
                self.unknown(here, item, known, strict=section in ("tools", "sandbox"))

    def agent(self, path: Path, name: str, table: dict[str, object]) -> None:
        """Read the definition of an agent. Its rules have the same form as those under [permissions]."""
        if not is_agent_name(name):
            raise ConfigError(
                f"{self.place(path)}: an agent needs a name of letters, digits, `-` and `_`, got {described(name)}"
            )
        for written, value in table.items():
            here, key = (*path, written), AGENT_ALIASES.get(written, written)
            if ALIASES.get(key, key) == "permissions":
                self.permissions(here, value, into=f"agent.{name}.permissions")
            elif key in AGENT:
                self.put(f"agent.{name}.{key}", here, self.read(AGENT[key], here, value))
            else:
                self.unknown(here, value, (*AGENT, *AGENT_ALIASES, "permission"))

    def table(self, path: Path, value: object) -> dict[str, object]:
        if isinstance(value, dict):
            return value
        raise ConfigError(f"{self.place(path)}: `{path[-1]}` must be a table, got {described(value)}")

    def read(self, key_type: KeyType, path: Path, value: object) -> Any:
        return read_value(key_type, value, name=str(path[-1]), place=self.place(path))

    def put(self, key: str, path: Path, value: object) -> None:
        place = self.place(path)
        if key in self.settings:
            raise ConfigError(f"{place}: `{key}` is already set at {self.settings[key].origin}; remove one of the two")
        self.settings[key] = SettingValue(key=key, value=value, origin=place)

    def unknown(self, path: Path, value: object, known: tuple[str, ...], *, strict: bool = False) -> None:
        """A warning, so that a file shared with a newer version works; an error where a restriction may be lost."""
        key = str(path[-1])
        near = nearest(key, known)
        where = f" in [{printable('.'.join(map(str, path[:-1])))}]" if path[:-1] else ""
        text = f"{self.place(path)}: unknown key `{printable(key)}`{where}{did_you_mean(near)}"
        if strict or near in ("permission", "permissions", "tools", "sandbox") or _speaks_of_rules(key, value):
            raise ConfigError(text if near else f"{text}; permission rules belong under [permissions]")
        self.warnings.append(text)

    # ── permissions ──────────────────────────────────────────────────────────────────────────────────────

    def permissions(self, path: Path, value: object, *, into: str = BASELINE) -> None:
        """Rules for everybody, or `into` those of the agent, which has no mode or fallback of its own."""
        if isinstance(value, str):
            self.rule("*", self.action(path, value), path, into=into)
            return
        for key, item in self.table(path, value).items():
            here = (*path, key)
            name = SAME.get(f"permissions.{key}", f"permissions.{key}")
            if name in IN_FILES and into != BASELINE:
                raise ConfigError(f"{self.place(here)}: `{printable(key)}` belongs under [permissions]")
            if name in IN_FILES:
                self.put(name, here, self.read(IN_FILES[name], here, item))
            elif key in ACTIONS:
                self.rules(here, key, item, into=into)
            elif isinstance(item, str) and not _slip(key):
                self.rule(key, self.action(here, item), here, into=into)
            elif isinstance(item, dict) and "(" not in key:
                for pattern, action in item.items():
                    at = (*here, pattern)
                    self.rule(f"{key}({pattern})", self.action(at, action), at, into=into)
            else:
                raise ConfigError(f"{self.place(here)}: {self.no_permission(key, item)}")

    def no_permission(self, key: str, item: object) -> str:
        if near := nearest(key, PERMISSION_KEYS):
            return f"unknown key `{printable(key)}` in [permissions]{did_you_mean(near)}"
        return f"`{printable(key)}` must be 'allow', 'ask', 'deny' or a table of patterns, got {described(item)}"

    def action(self, path: Path, value: object) -> Action:
        for action in ACTIONS:
            if value == action:
                return action
        name = printable(str(path[-1]))
        raise ConfigError(f"{self.place(path)}: `{name}` must be 'allow', 'ask' or 'deny', got {described(value)}")

    def rules(self, path: Path, action: Action, value: object, *, into: str) -> None:
        if not isinstance(value, list):
            raise ConfigError(f"{self.place(path)}: `{action}` must be a list of rules, got {described(value)}")
        for index, item in enumerate(value):
            self.rule(item, action, (*path, index), into=into)

    def rule(self, text: object, action: Action, path: Path, *, into: str) -> None:
        rule = read_rule(text, action, self.place(path))
        key = f"{into}.{action}"
        before = self.settings.get(key)
        rules: tuple[Rule, ...] = (*before.value, rule) if before else (rule,)
        self.settings[key] = SettingValue(key=key, value=rules, origin=before.origin if before else rule.origin)

    # ── providers ────────────────────────────────────────────────────────────────────────────────────────

    def providers(self, path: Path, value: object) -> None:
        for here, name, entry in self.entries(path, value):
            self.provider(here, self.provider_name(here, name), entry)

    def entries(self, path: Path, value: object) -> list[tuple[Path, object, dict[str, object]]]:
        """Return the entries of a list of tables with a `name` each, or of a map from name to table."""
        entries: list[tuple[Path, object, dict[str, object]]] = []
        if isinstance(value, list):
            for index, item in enumerate(value):
                entry = self.table((*path, index), item)
                entries.append(((*path, index), entry.get("name"), entry))
        else:
            for key, item in self.table(path, value).items():
                entries.append(((*path, key), key, self.table((*path, key), item)))
        return entries

    def provider_name(self, path: Path, name: object) -> str:
        if isinstance(name, str) and len(name) <= 64 and name.isascii() and _letters(name).isalnum():
            return name
        got = f", got {described(name)}" if name is not None else ""
        raise ConfigError(f"{self.place(path)}: a provider needs a `name` of letters, digits, `-` and `_`{got}")

    def provider(self, path: Path, name: str, entry: dict[str, object]) -> None:
        self.put(f"providers.{name}.name", path, name)
        for key, value in entry.items():
            here = (*path, key)
            if key == "name":
                if value != name:
                    self.warnings.append(f"{self.place(here)}: `name` is not used here; the key `{name}` is the name")
            elif key == "models":
                self.models(name, here, value)
            elif key == "quirks" or (key in ("timeouts", "options") and isinstance(value, dict)):
                for inner, item in self.table(here, value).items():
                    self.provider_value(name, (*here, inner), item, nested=key)
            else:
                self.provider_value(name, here, value)

    def provider_value(self, name: str, path: Path, value: object, *, nested: str = "") -> None:
        written = str(path[-1])
        key = PROVIDER_SAME.get(written, written)
        if written in KEYS and nested != "quirks":
            key, value = "api_key_env", self.variable(path, value)
        if nested in NESTED:
            key = f"{nested}.{written}"
        if key in PROVIDER:
            self.put(f"providers.{name}.{key}", path, self.read(PROVIDER[key], path, value))
        else:
            names = NESTED.get(nested, ("name", *PROVIDER))
            self.unknown(path, value, names)

    def models(self, provider: str, path: Path, value: object) -> None:
        """A list of names and tables, or a map from name to table."""
        items: list[tuple[Path, Any, dict[str, object]]] = []
        if isinstance(value, dict):
            items = [((*path, name), name, self.table((*path, name), table)) for name, table in value.items()]
        elif isinstance(value, list):
            for index, item in enumerate(value):
                here = (*path, index)
                items.append((here, item.get("name"), item) if isinstance(item, dict) else (here, item, {}))
        names = [name for _, name, _ in items] if items else value
        self.put(f"providers.{provider}.models", path, self.read(PROVIDER["models"], path, names or []))
        facts = [self.facts(here, name, table) for here, name, table in items if not MODEL_NAMES.issuperset(table)]
        if facts:
            self.put(f"providers.{provider}.known", path, tuple(facts))

    def facts(self, path: Path, model: str, table: dict[str, object]) -> ModelFacts:
        facts: dict[str, Any] = {}
        for key, value in table.items():
            here, name = (*path, key), MODEL_SAME.get(key, key)
            if name in FACTS:
                facts[name] = self.read(FACTS[name], here, value)
            elif name == "price":
                facts["price"] = Price(**self.fields(here, value, PRICES, PRICE_SAME))
            elif name == "quirks":
                facts["quirks"] = Quirks(**self.fields(here, value, QUIRKS, {}))
            elif name == "limit":
                facts |= self.fields(here, value, {name: FACTS[name] for name in ("window", "output")}, LIMIT_SAME)
            elif name not in MODEL_NAMES:
                self.unknown(here, value, (*FACTS, "price", "quirks"))
        return ModelFacts(name=model, **facts)

    def fields(self, path: Path, value: object, keys: dict[str, KeyType], same: dict[str, str]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, item in self.table(path, value).items():
            here, name = (*path, key), same.get(key, key)
            if name in keys:
                fields[name] = self.read(keys[name], here, item)
            else:
                self.unknown(here, item, tuple(keys))
        return fields

    # ── MCP servers ──────────────────────────────────────────────────────────────────────────────────────

    def servers(self, path: Path, value: object, *, plugins: bool) -> None:
        """A server for each name. An entry of `plugins` is one if it has a `command` or a `url`."""
        from overt.config.reading.server_keys import read_name, read_server  # late: 0.6 ms

        for here, written, entry in self.entries(path, value):
            if plugins and not {"command", "url"} & entry.keys():
                self.warnings.append(f"{self.place(here)}: `plugins` without a `command` are not used by this version")
                continue

            def place(*keys: str, start: Path = here) -> str:
                return self.place((*start, *keys))

            name = read_name(written, place=place(), warn=self.warnings.append)
            server = read_server(name, entry, place=place, warn=self.warnings.append)
            self.put(f"mcp.{name}", here, replace(server, origin=place()))

    def hooks(self, path: Path, value: object) -> tuple[HookTable, ...]:
        events = self.table(path, value)
        for event, groups in events.items():
            if not isinstance(groups, list):
                got = described(groups)
                raise ConfigError(
                    f"{self.place((*path, event))}: `{printable(event)}` must be a list of tables, got {got}"
                )
        return read_hook_tables(events, lambda inner: self.place((*path, *inner)))

    def variable(self, path: Path, value: object) -> str:
        """`{env:NAME}` is opencode's way to name a variable; a key itself is refused without showing it."""
        if isinstance(value, str) and value.startswith("{env:") and value.endswith("}"):
            return value[5:-1]
        raise ConfigError(
            f"{self.place(path)}: `{path[-1]}` must not stand in a file; "
            "put the key into a variable and name that with `api_key_env`"
        )


def _slip(key: str) -> bool:
    """Whether a key of [permissions] is meant as one of its own and not as the name of a tool."""
    return key not in OWN_NAMES and bool(nearest(key, PERMISSION_KEYS, 0.7))


def _letters(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def _speaks_of_rules(key: str, value: object) -> bool:
    """True when a misplaced key carries permission rules that would be lost with it."""
    left: list[tuple[str, object]] = [(key, value)]
    while left:
        name, inner = left.pop()
        if name in RULE_WORDS:
            return True
        if isinstance(inner, dict):
            left.extend((str(each), item) for each, item in inner.items())
        elif isinstance(inner, list):
            left.extend(("", item) for item in inner)
    return False
