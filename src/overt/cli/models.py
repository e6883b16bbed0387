"""`overt models`: the model that would be used, and what else is there."""

import asyncio

from overt.app.queries import model_rows
from overt.cli.parse import Command, Flag, parse
from overt.core.codec import printable
from overt.lib.text import visible

COMMAND = Command(
    name="overt models",
    about="List the models of the configured or discovered server.",
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
    rows = asyncio.run(model_rows(given.text("directory")))
    if given.switch("json"):
        print(printable(rows))
        return 0
    for row in rows:
        print(visible(f"{'*' if row.chosen else ' '} {row.provider}/{row.model}"))
    return 0
