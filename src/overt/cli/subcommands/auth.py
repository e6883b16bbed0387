"""`overt auth`: which keys there are and where, and keeping one in the system's keyring. No value is ever shown."""

import sys
from collections.abc import Iterator, Sequence

from overt.app.models.credentials import KeyRow, check_name, key_rows, remove_key, store_key
from overt.app.registries import Registries
from overt.cli.output import print_result, setting_of
from overt.cli.parse import FOLDER, JSON, CommandLine, parse
from overt.core.errors import UsageError
from overt.lib.translations import say

COMMAND = CommandLine(
    name="overt auth",
    about="Show which keys were found and where; `set NAME` keeps one in the system's keyring, `remove NAME` drops it.",
    words="[set NAME | remove NAME]",
    most=2,
    flags=(
        FOLDER,
        JSON,
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    match args.words:
        case () | ("list",):
            rows = key_rows(setting_of(args))
            print_result(args, rows, _lines(rows))
        case ("set", name):
            store_key(check_name(name), _typed(name))
            print(say("auth.stored", name=name))
        case ("remove", name):
            print(say("auth.removed" if remove_key(check_name(name)) else "auth.absent", name=name))
        case _:
            raise UsageError("overt auth: expected nothing, `set NAME` or `remove NAME`")
    return 0


def _lines(rows: Sequence[KeyRow]) -> Iterator[str]:
    stored = [row for row in rows if row.where]
    width = max((len(row.name) for row in stored), default=0)
    for row in stored:
        yield f"{row.name:<{width}}  {say(f'auth.in.{row.where}'):<12}  {', '.join(row.wanted_by)}".rstrip()
    missing = ", ".join(row.name for row in rows if not row.where)
    yield say("auth.missing" if stored else "auth.none", names=missing)


def _typed(name: str) -> str:
    """Read a key without an echo from a terminal, else the first line that is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    import getpass  # late: 0.3 ms

    typed: str = getpass.getpass(say("auth.ask", name=name))
    return typed
