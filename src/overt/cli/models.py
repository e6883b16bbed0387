"""`overt models`: the model that would be used, and what else is there."""

import asyncio

from overt.app.queries import model_rows
from overt.cli.flags import Parser
from overt.core.codec import encode
from overt.lib.text import visible


def run(argv: list[str]) -> int:
    parser = Parser(prog="overt models", description="List the models of the configured or discovered server.")
    parser.add_argument("-C", "--cd", dest="directory", default="", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(argv)
    rows = asyncio.run(model_rows(given.directory))
    if given.json:
        print(encode(rows).decode())
        return 0
    for row in rows:
        print(visible(f"{'*' if row.chosen else ' '} {row.provider}/{row.model}"))
    return 0
