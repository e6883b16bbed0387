"""Every setting with its type: the keys of a configuration file."""

from types import NoneType
from typing import Any, get_args

from msgspec import Struct

from overt.config.reading.agent_keys import MODELS, TEMPERATURE, TOP_P
from overt.config.reading.key_types import (
    GB,
    KB,
    LARGEST,
    MB,
    OBJECT,
    STRING,
    TB,
    KeyType,
    Unfit,
    age,
    choice,
    list_of,
    list_type,
    number,
    number_from_zero,
    read_flag,
    read_text,
    read_texts,
    size,
    text_type,
    whole_number,
)
from overt.config.rules import ACTIONS, described, did_you_mean, nearest, printable
from overt.core.settings import (
    CAPS,
    CacheSettings,
    Compaction,
    DangerousPolicy,
    Interface,
    Limits,
    Logs,
    ModelFacts,
    Price,
    ProviderEntry,
    Quirks,
    Sandbox,
    SkillSettings,
    Timeouts,
    UndoSettings,
    WebSettings,
)

MODES = ("review", "auto", "plan", "yolo")
CLAUDE_MODES = {
    "default": "review",
    "manual": "review",
    "acceptEdits": "auto",
    "bypassPermissions": "yolo",
    "dontAsk": "dontAsk",
}
"""Claude Code's names for our modes; `dontAsk` is review with every question denied."""


SHORTEST_PATTERN = 2
"""Characters besides wildcards that an entry of `redact.allow` must have."""


def fits_address(text: str) -> bool:
    if text.startswith("file:") and text.isprintable():
        return True  # a script for the scripted provider
    scheme, _, rest = text.partition("://")
    host = rest.partition("/")[0]
    usable = scheme.lower() in ("http", "https") and host and "@" not in host
    return bool(usable) and text.isprintable() and " " not in text


def read_template(value: object) -> str:
    from overt.core.status_values import PLACEHOLDERS, template_parts  # late: 0.3 ms

    text = read_text(value)
    try:
        names = [name for _, name in template_parts(text)[:-1]]
    except ValueError:
        raise Unfit(f"must close each brace it opens, as in '{{model}}', got {described(text)}") from None
    if not text.isprintable():
        raise Unfit("must be one line that can be printed")
    for name in names:
        if name not in PLACEHOLDERS:
            near = did_you_mean(nearest(name, PLACEHOLDERS))
            raise Unfit(
                f"holds {{{printable(name)}}}, which is no placeholder{near}; they are {', '.join(PLACEHOLDERS)}"
            )
    return text


def fits_program(name: str) -> bool:
    """Names as they are typed, not paths and not patterns: a program is known by its last part."""
    return name.isprintable() and not set(name) & set(" /*?[]$`\"'\\;|&()<>")


def read_sources(names: tuple[str, ...]) -> tuple[str, ...]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise Unfit(f"names {printable(name)!r} twice; remove one of them")
    return names


def read_patterns(names: tuple[str, ...]) -> tuple[str, ...]:
    if address := next((name for name in names if "://" in name), ""):
        raise Unfit(f"takes files and patterns, not addresses such as {printable(address)!r}; save it as a file")
    return names


def read_allowed(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Check the entries of `redact.allow`: a pattern of wildcards alone would switch redaction off."""
    for entry in entries:
        if len(entry.replace("*", "").replace("?", "").strip("./")) < SHORTEST_PATTERN:
            raise Unfit(f"holds {printable(entry)!r}, which matches nearly everything; name a value or a path")
    return entries


def read_json(value: object) -> object:
    """A table of what JSON can carry."""
    if not isinstance(value, dict):
        raise ValueError
    left: list[object] = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif not isinstance(item, str | int | float | bool | None):
            raise ValueError
    return value


def read_headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in value.items():
        if not name.isascii() or not name.isprintable() or not name.strip() or ":" in name:
            raise ValueError
        if not read_text(text).isprintable():
            raise ValueError
    return dict(value)


TEXT = KeyType("a text", read_text, STRING)
FLAG = KeyType("true or false", read_flag, {"type": "boolean"})
WHOLE = whole_number("a whole number above 0", 1)
RESULTS = whole_number("a whole number above 0, or 0 to let the context window decide", 0)
SECONDS = number(
    "a number of seconds above 0",
    lambda value: 0 < value <= LARGEST,
    {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST},
)
SHARE = number(
    "a share of the window from 0.1 to 0.95, or 0 for never",
    lambda value: value == 0 or 0.1 <= value <= 0.95,
    {"anyOf": [{"const": 0}, {"type": "number", "minimum": 0.1, "maximum": 0.95}]},
)
TEXTS = list_type("a list of texts")
TOOLS = list_type("a list of tool names")
RULES = KeyType("a list of rules such as 'bash(git *)'", read_texts)
ADDRESS = text_type(
    "an address that begins with http:// or https:// and holds no password",
    fits_address,
    pattern=r"^\s*([Hh][Tt][Tt][Pp][Ss]?://[^@/]+(/|$)|file:)",
    secret=True,
)
KEY_VARIABLE = text_type(
    "the NAME of the variable that holds the key, never the key",
    lambda name: name.isascii() and name.isidentifier() and name == name.upper() and len(name) <= 64,
    pattern=r"^[A-Z_][A-Z0-9_]*$",
    strip=False,
    secret=True,
)
KIND = text_type("a protocol such as 'openai', 'responses', 'anthropic' or 'local'", str.isidentifier)
PATH = KeyType("the path of a file", read_text, STRING)
DOLLARS = number_from_zero("a number of dollars, 0 or more")
SPENDING = {
    **dict.fromkeys(
        ("budget_usd", "turn_usd", "agent_usd"), number_from_zero("a number of dollars above 0, or 0 for no limit")
    ),
    **dict.fromkeys(
        ("session_tokens", "turn_tokens", "agent_tokens"),
        whole_number("a whole number of tokens above 0, or 0 for no limit", 0),
    ),
    **dict.fromkeys(
        ("session_seconds", "turn_seconds", "agent_seconds"),
        number_from_zero("a number of seconds above 0, or 0 for no limit"),
    ),
}
"""What may be spent, as fields of `Limits`."""


def _fields(struct: type[Struct], but: tuple[str, ...] = (), **special: KeyType) -> dict[str, KeyType]:
    """Return a key for each field of a struct: the type of the field decides, unless `special` does."""
    hints = struct.__annotations__.items()
    return {name: special.get(name) or _type_of(hint) for name, hint in hints if name not in but}


def _type_of(hint: Any) -> KeyType:
    if NoneType in get_args(hint):
        hint = get_args(hint)[0]
    usual: dict[Any, KeyType] = {bool: FLAG, str: TEXT, int: WHOLE, float: SECONDS, tuple[str, ...]: TEXTS}
    return usual.get(hint) or choice(*get_args(hint))


def _below(table: str, keys: dict[str, KeyType]) -> dict[str, KeyType]:
    return {f"{table}.{name}": each for name, each in keys.items()}


def is_package_name(name: str) -> bool:
    return name.isascii() and name.replace("-", "_").replace(".", "_").isidentifier()


SETTINGS: dict[str, KeyType] = {
    "default_model": TEXT,
    "small_model": TEXT,
    "language": choice("auto", "en", "zh"),
    "offline": FLAG,
    "base_url": ADDRESS,
    "kind": KIND,
    "agent.system_prompt": TEXT,
    "agent.append_system_prompt": TEXT,
    "agent.max_depth": whole_number("a whole number, 0 for no sub-agents", 0),
    "agent.subagent_model": TEXT,
    "agent.subagent_models": MODELS,
    "agent.system_prompt_file": PATH,
    "agent.temperature": TEMPERATURE,
    "agent.top_p": TOP_P,
    "agent.max_steps": whole_number("a whole number above 0, or 0 for no limit", 0),
    "permissions.mode": choice(*MODES, also=CLAUDE_MODES),
    "permissions.fallback": choice(*ACTIONS),
    **_below("permissions", dict.fromkeys(ACTIONS, RULES)),
    "permissions.dangerous": list_of("a list of names of programs", fits_program),
    "permissions.dangerous_policy": choice(*get_args(DangerousPolicy)),
    **_below("agent.permissions", dict.fromkeys(ACTIONS, RULES)),
    **_below("sandbox", _fields(Sandbox)),
    "tools.enabled": TOOLS,
    "tools.disabled": TOOLS,
    "tools.packages": list_of("a list of names of installed packages", is_package_name),
    "tools.mcp_tokens": whole_number("a whole number of tokens, 0 or more", 0),
    **_below("limits", _fields(Limits, ("max_steps",), result_bytes=RESULTS, result_tokens=RESULTS, **SPENDING)),
    **_below("compaction", _fields(Compaction, threshold=SHARE)),
    **_below("timeouts", _fields(Timeouts)),
    "context.context_window": whole_number("a whole number of tokens, or 0 to leave it to the server", 0),
    "context.sources": list_type("a list of sources and files", read_sources),
    "context.instructions": list_type("a list of files and patterns", read_patterns),
    "context.strict": FLAG,
    "context.foreign": FLAG,
    **_below("context.caps", dict.fromkeys(CAPS, WHOLE)),
    "env.pass": list_of("a list of names of variables", lambda name: name.isascii() and name.isidentifier()),
    "workspace.allow_read": TEXTS,
    "workspace.allow_write": TEXTS,
    **_below("cache", dict.fromkeys(CacheSettings.__struct_fields__, age(or_never=True))),
    "redact.allow": list_type("a list of patterns and paths", read_allowed),
    **_below(
        "ui",
        _fields(
            Interface,
            notify_after=number_from_zero("a number of seconds, 0 or more"),
            status=KeyType("a line of text with placeholders", read_template, STRING),
            editor=text_type("a command in one line", str.isprintable),
        ),
    ),
    **_below(
        "undo",
        _fields(
            UndoSettings,
            max_size=size(1 * MB, 1024 * TB, "1 MB and 1024 TB"),
            max_age=age(),
            max_file=size(1 * KB, 1 * GB, "1 KB and 1 GB"),
        ),
    ),
    **_below(
        "logs",
        _fields(
            Logs,
            max_size=size(10 * KB, 1 * GB, "10 KB and 1 GB"),
            keep=whole_number("a whole number of files from 1 to 100", 1, 100),
        ),
    ),
    **_below("skills", _fields(SkillSettings)),
    **_below("web", _fields(WebSettings, search_url=ADDRESS, api_key_env=KEY_VARIABLE)),
}
"""Every key outside of `providers`, in the order in which `overt config` shows them."""

OUTSIDE = ("base_url", "kind")
"""Keys that only a variable or a flag may set."""

IN_FILES = {name: each for name, each in SETTINGS.items() if name not in OUTSIDE and each is not RULES}
"""Keys that a file may set, permission rules apart."""

PRICES = dict.fromkeys(Price.__struct_fields__, DOLLARS)
FACTS = _fields(ModelFacts, ("name", "price", "quirks"))
"""What a person may say of one model, its price and quirks apart."""

QUIRKS = _fields(
    Quirks,
    balance=text_type(
        "a path below the address, as in '/user/balance'",
        lambda path: path.startswith("/") and path.isprintable(),
        pattern=r"^\s*/",
    ),
    extra=KeyType("a table of fields for every request", read_json, OBJECT, secret=True),
)
PROVIDER = {
    **_fields(
        ProviderEntry,
        ("name", "known", "quirks", "timeouts"),
        kind=KIND,
        base_url=ADDRESS,
        api_key_env=KEY_VARIABLE,
        headers=KeyType("a table of texts", read_headers, {**OBJECT, "additionalProperties": STRING}, secret=True),
        proxy=text_type(
            "an address like http://host:3128 or socks5://host:1080, or 'none'",
            lambda text: bool(text) and text.isprintable() and " " not in text,
            pattern=".",
            secret=True,
        ),
        ca_file=PATH,
        client_cert=PATH,
        client_key=PATH,
    ),
    **_below("quirks", QUIRKS),
    **_below("timeouts", _fields(Timeouts)),
}
