"""`overt config`: every value, and the file and line it came from."""

import sys

from overt.app.queries import configuration
from overt.cli.flags import Parser
from overt.core.codec import encode
from overt.lib.text import visible


def run(argv: list[str]) -> int:
    parser = Parser(prog="overt config", description="Show every setting with the file and line it came from.")
    parser.add_argument("-C", "--cd", dest="directory", default="", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(argv)
    rows, warnings = configuration(given.directory)
    if given.json:
        print(encode([{"key": row.key, "value": row.value, "origin": row.origin} for row in rows]).decode())
    else:
        texts = [(row.key, encode(row.value).decode(), row.origin) for row in rows]
        wide = [max(len(text[column]) for text in texts) for column in (0, 1)]
        for key, value, origin in texts:
            print(visible(f"{key:{wide[0]}}  {value:{min(wide[1], 40)}}  {origin}"))
    for warning in warnings:
        print(f"overt: {visible(warning)}", file=sys.stderr)
    return 0
