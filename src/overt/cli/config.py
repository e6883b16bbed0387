"""`overt config`: every value, and the file and line it came from."""

import sys

from overt.app.queries import configuration
from overt.cli.parse import Command, Flag, parse
from overt.core.codec import printable
from overt.lib.text import visible

COMMAND = Command(
    name="overt config",
    about="Show every setting with the file and line it came from.",
    words="",
    most=0,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable"),
    ),
)


def run(argv: list[str]) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    rows, warnings = configuration(given.text("directory"))
    if given.switch("json"):
        print(printable([{"key": row.key, "value": row.value, "origin": row.origin} for row in rows]))
    else:
        texts = [(row.key, printable(row.value), row.origin) for row in rows]
        wide = [max(len(text[column]) for text in texts) for column in (0, 1)]
        for key, value, origin in texts:
            print(visible(f"{key:{wide[0]}}  {value:{min(wide[1], 40)}}  {origin}"))
    for warning in warnings:
        print(f"overt: {visible(warning)}", file=sys.stderr)
    return 0
