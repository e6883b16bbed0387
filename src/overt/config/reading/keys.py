"""What each key takes: one table, one way to say that a value does not fit."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from msgspec import Struct

from overt.config.reading.amounts import (
    AGE_FORM,
    AGE_OR_NEVER_FORM,
    SIZE_FORM,
    read_age,
    read_age_or_never,
    read_file_size,
    read_log_size,
    read_store_size,
)
from overt.config.reading.values import Unfit, described, did_you_mean, read_allowed, read_template
from overt.config.rules import nearest, printable, tool_name
from overt.core.errors import ConfigError
from overt.core.settings import (
    CAPS,
    SOURCES,
    Action,
    Calls,
    Interface,
    Logs,
    Quirks,
    is_file_name,
)

MODES: dict[str, str] = {
    "review": "review",
    "auto": "auto",
    "plan": "plan",
    "yolo": "yolo",
    "default": "review",
    "manual": "review",
    "acceptEdits": "auto",
    "bypassPermissions": "yolo",
    "dontAsk": "dontAsk",
}
"""Our modes and Claude Code's names for them; `dontAsk` is review with every question denied."""

ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")
KINDS = ("openai", "responses", "anthropic", "local", "scripted")
SANDBOXES = ("auto", "bubblewrap", "landlock", "none")
FILES = ("ca_file", "client_cert", "client_key")
LARGEST = 10**9


class Check(Struct, frozen=True):
    """`read` gives the value as the program wants it, or raises ValueError; `expected` finishes “must be”.

    `choices` are the texts it accepts, where only these are; `overt config --schema` lists them. `unit` is that of a
    number that people write with one.
    """

    expected: str
    read: Callable[[object], object]
    secret: bool = False
    choices: tuple[str, ...] = ()
    unit: Literal["", "bytes", "days"] = ""


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST:
        raise ValueError
    return value


def _whole_or_zero(value: object) -> int:
    return 0 if value == 0 and not isinstance(value, bool) else _whole(value)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value == 0 or 0.1 <= value <= 0.95):
        raise ValueError
    return float(value)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LARGEST:
        raise ValueError
    return float(value)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError
    found = tuple(_text(item) for item in value)
    if not all(item.strip() for item in found):
        raise ValueError
    return found


def _tools(value: object) -> tuple[str, ...]:
    return tuple(tool_name(name) for name in _texts(value))


def _programs(value: object) -> tuple[str, ...]:
    """Names as they are typed, not paths and not patterns: a program is known by its last part."""
    names = _texts(value)
    if not all(name.isprintable() and not set(name) & set(" /*?[]$`\"'\\;|&()<>") for name in names):
        raise ValueError
    return names


def _model_names(value: object) -> tuple[str, ...]:
    return _texts(list(value) if isinstance(value, dict) else value)


def _variable(value: object) -> str:
    name = _text(value)
    if not name.isascii() or not name.isidentifier() or name != name.upper() or len(name) > 64:
        raise ValueError
    return name


def _variables(value: object) -> tuple[str, ...]:
    names = _texts(value)
    if not all(name.isascii() and name.isidentifier() for name in names):
        raise ValueError
    return names


def _address(value: object) -> str:
    text = _text(value).strip()
    if text.startswith("file:") and text.isprintable():
        return text  # a script for the scripted provider
    scheme, _, rest = text.partition("://")
    host = rest.partition("/")[0]
    if scheme.lower() not in ("http", "https") or not host or "@" in host or not text.isprintable() or " " in text:
        raise ValueError
    return text


def _proxy(value: object) -> str:
    """The address of a proxy; a password in it is never shown. `none` is for no proxy."""
    text = _text(value).strip()
    if not text or not text.isprintable() or " " in text:
        raise ValueError
    return text


def _below(value: object) -> str:
    path = _text(value).strip()
    if not path.startswith("/") or not path.isprintable():
        raise ValueError
    return path


def _dollars(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise ValueError
    return float(value)


def _fields(value: object) -> dict[str, object]:
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


def _headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in value.items():
        if not name.isascii() or not name.isprintable() or not name.strip() or ":" in name:
            raise ValueError
        if not _text(text).isprintable():
            raise ValueError
    return dict(value)


def _sources(value: object) -> tuple[str, ...]:
    names = _texts(value)
    for number, name in enumerate(names):
        if name in names[:number]:
            raise Unfit(f"names {printable(name)!r} twice; remove one of them")
        if name not in SOURCES and not is_file_name(name):
            near = did_you_mean(nearest(name, SOURCES))
            raise Unfit(
                f"holds {printable(name)!r}, which is no source{near or '; sources are ' + ', '.join(SOURCES)} "
                "(a file has an ending or a slash: 'CLAUDE.md', 'docs/rules/*.md', './RULES')"
            )
    return names


def _line(value: object) -> str:
    text = _text(value).strip()
    if not text.isprintable():
        raise ValueError
    return text


def _patterns(value: object) -> tuple[str, ...]:
    names = _texts(value)
    if address := next((name for name in names if "://" in name), ""):
        raise Unfit(f"takes files and patterns, not addresses such as {printable(address)!r}; save it as a file")
    return names


def _allowed(value: object) -> tuple[str, ...]:
    return read_allowed(_texts(value))


def _log_files(value: object) -> int:
    count = _whole(value)
    if count > 100:
        raise ValueError
    return count


def _one_of(choices: dict[str, str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        text = _text(value)
        if text not in choices:
            raise ValueError
        return choices[text]

    return read


def _choice(*choices: str, also: dict[str, str] | None = None) -> Check:
    names = dict.fromkeys(choices)
    shown = ", ".join(f"'{name}'" for name in names)
    accepted = {name: name for name in choices} | (also or {})
    return Check(f"one of {shown}", _one_of(accepted), choices=tuple(accepted))


TEXT = Check("a text", _text)
FLAG = Check("true or false", _flag)
WHOLE = Check("a whole number above 0", _whole)
RESULTS = Check("a whole number above 0, or 0 to let the context window decide", _whole_or_zero)
STEPS = Check("a whole number above 0, or 0 for no limit", _whole_or_zero)
SECONDS = Check("a number of seconds above 0", _seconds)
TEXTS = Check("a list of texts", _texts)
TOOLS = Check("a list of tool names", _tools)
ADDRESS = Check("an address that begins with http:// or https:// and holds no password", _address, secret=True)

CALLS = _choice(*get_args(Calls))
DOLLARS = Check("a number of dollars, 0 or more", _dollars)

TIMEOUTS = ("connect", "headers", "between", "total", "notice")

CHECKS: dict[str, Check] = {
    "default_model": TEXT,
    "small_model": TEXT,
    "language": _choice("auto", "en", "zh"),
    "offline": FLAG,
    "agent.system_prompt": TEXT,
    "agent.append_system_prompt": TEXT,
    "agent.max_steps": STEPS,
    "permissions.mode": _choice("review", "auto", "plan", "yolo", also=MODES),
    "permissions.fallback": _choice(*ACTIONS),
    "permissions.dangerous_policy": _choice("reach", "always"),
    "permissions.dangerous": Check("a list of names of programs", _programs),
    "sandbox.mode": _choice(*SANDBOXES),
    "sandbox.network": FLAG,
    "sandbox.write": FLAG,
    "tools.enabled": TOOLS,
    "tools.disabled": TOOLS,
    "limits.max_parallel": WHOLE,
    "limits.result_bytes": RESULTS,
    "limits.result_tokens": RESULTS,
    "limits.budget_usd": Check("a number of dollars above 0, or 0 for no bound", _dollars),
    "compaction.auto": FLAG,
    "compaction.threshold": Check("a share of the window from 0.1 to 0.95, or 0 for never", _share),
    "compaction.prune": FLAG,
    **{f"timeouts.{name}": SECONDS for name in TIMEOUTS},
    "context.context_window": Check("a whole number of tokens, or 0 to leave it to the server", _whole_or_zero),
    "context.sources": Check("a list of sources and files", _sources),
    "context.instructions": Check("a list of files and patterns", _patterns),
    "context.strict": FLAG,
    "context.foreign": FLAG,
    **{f"context.caps.{name}": WHOLE for name in CAPS},
    "env.pass": Check("a list of names of variables", _variables),
    "workspace.allow_read": TEXTS,
    "workspace.allow_write": TEXTS,
    "cache.max_age": Check(AGE_OR_NEVER_FORM, read_age_or_never, unit="days"),
    "cache.models_max_age": Check(AGE_OR_NEVER_FORM, read_age_or_never, unit="days"),
    "redact.allow": Check("a list of patterns and paths", _allowed),
    **{
        f"ui.{name}": _choice(*get_args(Interface.__annotations__[name]))
        for name in ("theme", "keys", "face", "notify", "links")
    },
    "ui.notify_after": Check("a number of seconds, 0 or more", _dollars),
    "ui.status": Check("a line of text with placeholders", lambda value: read_template(_text(value))),
    "ui.mouse": FLAG,
    "ui.editor": Check("a command in one line", _line),
    "ui.history": FLAG,
    "ui.titles": FLAG,
    "undo.enabled": FLAG,
    "undo.max_size": Check(SIZE_FORM, read_store_size, unit="bytes"),
    "undo.max_age": Check(AGE_FORM, read_age, unit="days"),
    "undo.max_file": Check(SIZE_FORM, read_file_size, unit="bytes"),
    "logs.level": _choice(*get_args(Logs.__annotations__["level"])),
    "logs.max_size": Check(SIZE_FORM, read_log_size, unit="bytes"),
    "logs.keep": Check("a whole number of files from 1 to 100", _log_files),
}

QUIRKS: dict[str, Check] = {
    **{
        name: _choice(*get_args(Quirks.__annotations__[name]))
        for name in ("limit", "system", "reasoning", "effort", "thinking")
    },
    **dict.fromkeys(("usage", "temperature", "cache_marks", "flatten"), FLAG),
    "balance": Check("a path below the address, as in '/user/balance'", _below),
    "extra": Check("a table of fields for every request", _fields, secret=True),
}

FACTS: dict[str, Check] = {
    "window": WHOLE,
    "output": WHOLE,
    "images": FLAG,
    "documents": FLAG,
    "reasons": FLAG,
    "efforts": TEXTS,
    "calls": CALLS,
    "compact": FLAG,
}
"""What a person may say of one model, its price and quirks apart."""

PROVIDER: dict[str, Check] = {
    "kind": _choice(*KINDS),
    "base_url": ADDRESS,
    "model": TEXT,
    "models": Check("a list of texts", _model_names),
    "default": TEXT,
    "api_key_env": Check("the NAME of the variable that holds the key, never the key", _variable, secret=True),
    "context_window": WHOLE,
    "max_tokens": WHOLE,
    "headers": Check("a table of texts", _headers, secret=True),
    "attempts": WHOLE,
    "max_answer": WHOLE,
    "max_event": WHOLE,
    "calls": CALLS,
    "compact": FLAG,
    "effort": TEXT,
    "thinking": FLAG,
    "proxy": Check("an address like http://host:3128 or socks5://host:1080, or 'none'", _proxy, secret=True),
    **{name: Check("the path of a file", _text) for name in FILES},
    **{f"quirks.{name}": check for name, check in QUIRKS.items()},
    **{f"timeouts.{name}": SECONDS for name in TIMEOUTS},
}

OUTSIDE: dict[str, Check] = {"base_url": ADDRESS, "kind": _choice(*KINDS)}
"""Keys that only a variable or a flag may set."""


def read_value(check: Check, value: object, *, name: str, place: str) -> Any:
    try:
        return check.read(value)
    except Unfit as unfit:
        raise ConfigError(f"{place}: `{name}` {unfit}") from None
    except ValueError:
        got = "" if check.secret else f", got {described(value)}"
        raise ConfigError(f"{place}: `{name}` must be {check.expected}{got}") from None
