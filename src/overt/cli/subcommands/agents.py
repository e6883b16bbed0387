"""`overt agents`: list agents, and show the tools, rules and ignored fields of one."""

from overt.app.registries import Registries
from overt.app.subagents.describe import agent_rows, detail_lines, row_lines
from overt.app.subagents.profiles import AgentLibrary
from overt.cli.output import print_result, setting_of
from overt.cli.parse import FOLDER, JSON, CommandLine, Flag, parse
from overt.core.errors import UsageError
from overt.lib.translations import say

COMMAND = CommandLine(
    name="overt agents",
    about="""Agents: built-in ones, Markdown files (.overt/agents, .claude/agents) and tables [agent.NAME].

  overt agents                      list them with mode, origin and model
  overt agents show NAME            print one with its tools, rules and prompt""",
    words="[list | show NAME]",
    flags=(FOLDER, JSON, Flag("--all", "include hidden agents and internal requests of Overt")),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    library = AgentLibrary(setting)
    match args.words:
        case () | ("list",):
            rows = agent_rows(library, setting, internal=args.switch("all"))
            print_result(args, rows, row_lines(rows))
        case ("show", name):
            row = next((each for each in agent_rows(library, setting, internal=True) if each.name == name), None)
            if row is None:
                raise UsageError(say("agents.unknown", name=name))
            print_result(args, row, detail_lines(row))
        case _:
            raise UsageError(say("agents.usage"))
    return 0
