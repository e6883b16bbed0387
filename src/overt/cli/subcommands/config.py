"""`overt config`: every setting with its value and where it was set; with KEY, what the setting means."""

import sys

from msgspec import to_builtins

from overt.app.inspect.settings import explain_all, explain_setting, lines_of, schema_text, value_text
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.text import visible

COMMAND = CommandLine(
    name="overt config",
    about="Show every setting with the file and line it came from. With KEY, a setting such as compaction.auto or a\n"
    "table such as providers, show its type, its default and what it does as well.",
    words="[KEY]",
    most=1,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable: key, value, origin, type, default, description"),
        Flag(names=("--schema",), key="schema", help="print the JSON schema of configuration files"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    name = given.words[0] if given.words else ""
    if given.switch("schema"):
        if name:
            raise UsageError("--schema takes no KEY. Try: overt config --schema")
        print(schema_text(), end="")
        return 0
    setting = read_setting_for(given, registries)
    settings, warnings = explain_setting(setting, name) if name else explain_all(setting)
    if given.switch("json"):
        print(printable(to_builtins(settings)))
    elif name:
        for line in lines_of(settings):
            print(visible(line))
    else:
        texts = [(each.key, value_text(each), each.origin) for each in settings]
        wide = [max(len(text[column]) for text in texts) for column in (0, 1)]
        for key, value, origin in texts:
            print(visible(f"{key:{wide[0]}}  {value:{min(wide[1], 40)}}  {origin}"))
    for warning in warnings:
        print(f"overt: {visible(warning)}", file=sys.stderr)
    return 0
