"""`overt tools`: what the model can call, and what each call may touch."""

from overt.app.queries import tool_rows
from overt.cli.flags import Parser
from overt.core.codec import encode


def run(argv: list[str]) -> int:
    parser = Parser(prog="overt tools", description="List the tools with the effects they ask for.")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(argv)
    rows = tool_rows()
    if given.json:
        print(encode(rows).decode())
        return 0
    for row in rows:
        print(f"{row.name:10} {', '.join(row.effects) or '-':12} {row.bytes:4} B  {row.description[:90]}")
    return 0
