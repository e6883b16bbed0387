"""`overt tools`: what the model can call, and what each call may touch."""

from overt.app.inspect.queries import ToolRow, tool_rows
from overt.app.registries import Registries
from overt.cli.output import print_result, setting_or_defaults_of, warn
from overt.cli.parse import JSON, CommandLine, parse

COMMAND = CommandLine(
    name="overt tools",
    about="List the tools with the effects they ask for.",
    most=0,
    flags=(JSON,),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting, problem = setting_or_defaults_of(args)
    if problem:
        warn(problem)
    rows = tool_rows(setting.registries.tools)
    print_result(args, rows, map(_line, rows))
    return 0


def _line(row: ToolRow) -> str:
    return f"{row.name:10} {', '.join(row.effects) or '-':12} {row.bytes:4} B  {row.description[:90]}"
