"""Crash files: what an unexpected exception leaves on disk, and the one line that tells a person of it.

A crash file holds the tracebacks, versions, the settings that differ from the defaults and the last 50 events.
Of an event it has the type, numbers and short words such as a tool's name; of a text only the length, so no prompt,
reply, command or file content gets into it. Everything is redacted, and the home folder is written as `~`.
"""

import os
import sys
from collections.abc import Iterator
from importlib import metadata
from time import gmtime, strftime

from msgspec import Struct

from overt import __version__
from overt.app.diagnostics.recent_events import RECENT
from overt.config.origin import explain
from overt.config.paths import Environment, read_environment
from overt.config.schema import SettingValue
from overt.core.errors import InternalError, OvertError
from overt.core.events import Event
from overt.lib.logs.dated_files import write_dated
from overt.lib.logs.log import DEFAULT_KEEP, DEFAULT_LEVEL, DEFAULT_SIZE, LOG
from overt.lib.logs.tracebacks import describe_error, summarize
from overt.lib.redaction.secret_values import secret_values
from overt.lib.text import visible
from overt.lib.translations import say

FOLDER = "crashes"
MAX_FILES = 20
MAX_FILES_PER_RUN = 10
LIBRARIES = (
    "msgspec httpx2 json-repair markdown-it-py pathspec pygments tomlkit tree-sitter tree-sitter-bash keyring"
    " xllamacpp".split()
)
WORDS = frozenset(
    "agent id call_id name kind code reason verdict by origin mode model provider wire finish cause level purpose"
    " digest way fingerprint role".split()
)
"""Fields of events that hold a word, not a text; of every other text only the length is written."""
MAX_WORD_CHARACTERS = 80
MAX_VALUE_CHARACTERS = 200
REPORT = "_overt_report"

_written = 0


def report_crash(error: BaseException, *, where: str = "") -> InternalError:
    """Write a crash file and return the error to show. An exception that was reported before is not written again."""
    if isinstance(error, InternalError):
        return error
    before: InternalError | None = getattr(error, REPORT, None)
    if before is not None:
        return before
    RECENT.reporting = True
    environment = prepare_log()
    summary = visible(summarize(error, LOG.clean))
    path, problem = _write(summary, error, where, environment)
    if path:
        LOG.error("crash", f"{where + ': ' if where else ''}{summary} ({path})")
        message = say("crash.line", what=summary, path=path)
    else:
        LOG.error("crash", f"{where + ': ' if where else ''}{summary}", error)
        message = say("crash.unwritten", what=summary, why=problem)
    reported = InternalError(message, path=path, summary=summary)
    setattr(error, REPORT, reported)
    RECENT.reporting = False
    return reported


def report_uncaught(error: BaseException, where: str) -> None:
    """Report an exception that nothing awaits: print the line on stderr and let the run end with code 1."""
    RECENT.uncaught += 1
    print_report(report_crash(error, where=where))


def print_report(reported: InternalError) -> None:
    try:
        print(f"overt: {visible(reported.message)}", file=sys.stderr, flush=True)
    except OSError:
        return  # stderr is gone; the file is there


def report_callback(context: dict[str, object]) -> InternalError | None:
    """Report what an event loop hands to its exception handler; without an exception it only goes to the log."""
    error = context.get("exception")
    message = str(context.get("message", "event loop error"))
    if not isinstance(error, Exception):
        LOG.warning("event loop", message)
        return None
    return report_crash(error, where=f"event loop: {message}")


def prepare_log() -> Environment | None:
    """Learn the secrets of the environment, and find the folder if no configuration was read yet."""
    try:
        environment = read_environment()
    except OvertError:
        return None
    LOG.learn(*environment.secrets(), *secret_values(environment.variables))
    if not LOG.folder:
        LOG.configure(environment.state_dir, level=DEFAULT_LEVEL, max_size=DEFAULT_SIZE, keep=DEFAULT_KEEP)
    return environment


def _write(summary: str, error: BaseException, where: str, environment: Environment | None) -> tuple[str, str]:
    """Return the path, or an empty path and the reason."""
    global _written
    if not LOG.folder:
        return "", say("crash.no_folder")
    if _written >= MAX_FILES_PER_RUN:
        return "", say("crash.too_many")
    _written += 1
    text = "\n".join(_lines(summary, error, where)) + "\n"
    if environment and environment.home not in ("", "/"):
        text = text.replace(environment.home + "/", "~/")
    data = visible(LOG.clean(text)).encode("utf-8", "replace")
    try:
        return write_dated(os.path.join(LOG.folder, FOLDER), "crash.txt", data, keep=MAX_FILES), ""
    except OSError as problem:
        return "", problem.strerror or type(problem).__name__


def _lines(summary: str, error: BaseException, where: str) -> Iterator[str]:
    yield f"Overt crash: {summary}"
    yield f"where: {where or 'main'}"
    yield f"time: {strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())}"
    yield from version_lines()
    yield f"command: {_command()}"
    yield ""
    yield from describe_error(error, LOG.clean)
    yield ""
    yield "Settings that differ from the defaults:"
    yield from _changed_settings()
    yield ""
    yield f"Last {RECENT.events.maxlen} events (texts are left out):"
    for when, event, count in list(RECENT.events):
        yield f"  {strftime('%H:%M:%S', gmtime(when))} {describe_event(event)}{f' ×{count}' if count > 1 else ''}"
    if not RECENT.events:
        yield "  none"


def version_lines() -> Iterator[str]:
    system = os.uname()
    yield f"overt: {__version__}"
    yield f"python: {sys.version.split()[0]} ({sys.implementation.name})"
    yield f"platform: {system.sysname} {system.release} {system.machine}"
    yield f"libraries: {', '.join(f'{name} {_version(name)}' for name in LIBRARIES)}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "-"


def _command() -> str:
    """Subcommand and names of flags; their values and the prompt are left out."""
    names: list[str] = []
    for number, word in enumerate(sys.argv[1:]):
        if word.startswith("-"):
            names.append(word.partition("=")[0] if word.startswith("--") else word[:2])
        elif number == 0 and word in ("run", RECENT.subcommand):
            names.append(word)
    return " ".join(names)


def _changed_settings() -> Iterator[str]:
    """Yield a line for each setting that is not at its default."""
    if RECENT.setting is None:
        yield "  the configuration was not read"
        return
    rows = [row for row in explain(RECENT.setting.config) if row.origin != "default"]
    for row in rows:
        yield f"  {row.key} = {LOG.clean(str(hide_prompt(row)))[:MAX_VALUE_CHARACTERS]} ({row.origin})"
    if not rows:
        yield "  none"


def hide_prompt(row: SettingValue) -> object:
    """Return the value of a setting, or the length of a prompt text."""
    is_prompt = row.key.endswith("system_prompt") and isinstance(row.value, str)
    return f"<{len(row.value)} characters>" if is_prompt and row.value else row.value


def describe_event(event: Event) -> str:
    words = " ".join(_fields(event))
    return f"{type(event).__name__} {words}".rstrip()


def _fields(value: Struct, prefix: str = "", depth: int = 1) -> Iterator[str]:
    for name in value.__struct_fields__:
        field = getattr(value, name)
        label = f"{prefix}{name}"
        match field:
            case bool() | int() | float():
                if field:
                    yield f"{label}={field}"
            case str() if name in WORDS and field and len(field) <= MAX_WORD_CHARACTERS:
                if (name, field) != ("agent", "main"):
                    yield f"{label}={LOG.clean(field)}"
            case str():
                if field:
                    yield f"{label}=<{len(field)} characters>"
            case tuple() | dict():
                if field:
                    yield f"{label}=<{len(field)} items>"
            case Struct() if depth:
                yield from _fields(field, f"{label}.", depth - 1)
            case _:
                pass
