"""`overt auth`: which keys there are and where, and keeping one in the system's keyring. No value is ever shown."""

import sys

from overt.app.models.credentials import check_name, key_rows, remove_key, store_key
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.parse import CommandLine, Flag, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.catalogue import say
from overt.lib.text import visible

COMMAND = CommandLine(
    name="overt auth",
    about="Show which keys were found and where; `set NAME` keeps one in the system's keyring, `remove NAME` drops it.",
    words="[set NAME | remove NAME]",
    most=2,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    match given.words:
        case () | ("list",):
            return _list(read_setting_for(given, registries), machine=given.switch("json"))
        case ("set", name):
            store_key(check_name(name), _typed(name))
            print(say("auth.stored", name=name))
            return 0
        case ("remove", name):
            print(say("auth.removed" if remove_key(check_name(name)) else "auth.absent", name=name))
            return 0
        case _:
            raise UsageError("overt auth: expected nothing, `set NAME` or `remove NAME`")


def _list(setting: Setting, *, machine: bool) -> int:
    rows = key_rows(setting)
    if machine:
        print(printable(rows))
        return 0
    found = [row for row in rows if row.where]
    width = max((len(row.name) for row in found), default=0)
    for row in found:
        print(visible(f"{row.name:<{width}}  {say(f'auth.in.{row.where}'):<12}  {', '.join(row.wanted_by)}".rstrip()))
    missing = [row.name for row in rows if not row.where]
    print(say("auth.missing" if found else "auth.none", names=visible(", ".join(missing))))
    return 0


def _typed(name: str) -> str:
    """Without an echo on a terminal; else the first line that is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    import getpass  # late: 0.3 ms

    typed: str = getpass.getpass(say("auth.ask", name=name))
    return typed
