"""`overt tools`: what the model can call, and what each call may touch."""

from overt.app.inspect.queries import tool_rows
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, parse
from overt.core.codec import printable

COMMAND = CommandLine(
    name="overt tools",
    about="List the tools with the effects they ask for.",
    words="",
    most=0,
    flags=(Flag(names=("--json",), key="json", help="machine-readable"),),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    rows = tool_rows()
    if given.switch("json"):
        print(printable(rows))
        return 0
    for row in rows:
        print(f"{row.name:10} {', '.join(row.effects) or '-':12} {row.bytes:4} B  {row.description[:90]}")
    return 0
