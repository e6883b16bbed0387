"""`overt commands`: the commands that Markdown files add to the chat."""

from collections.abc import Iterator

from overt.app.custom.command_files import list_commands
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import print_lines, print_result, setting_of, warn
from overt.cli.parse import FOLDER, CommandLine, Flag, parse
from overt.core.errors import UsageError
from overt.lib.text import cut_line
from overt.lib.translations import say

WIDEST = 160

ABOUT = """Commands of your own: a Markdown file in .overt/commands or ~/.config/overt/commands is one of the chat.

  overt commands                     list them, each with its file
  overt commands show NAME           what a command says and allows
  overt run "/NAME words"            run one without a chat"""

COMMAND = CommandLine(
    name="overt commands",
    about=ABOUT,
    words="[list | show NAME]",
    flags=(FOLDER, Flag("--json", "list: machine-readable")),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    match args.words:
        case () | ("list",):
            print_result(args, list_commands(setting), (cut_line(line, WIDEST) for line in _list(setting)))
            if not setting.trust.has(setting.roots.project):
                warn(say("commands.untrusted"))
        case ("show", name):
            print_lines(_details(setting, name.removeprefix("/")))
        case _:
            raise UsageError(say("commands.usage"))
    return 0


def _list(setting: Setting) -> Iterator[str]:
    files = list_commands(setting)
    if not files:
        yield say("commands.none")
    for file in files:
        name = f"/{file.name} {file.argument_hint}".rstrip()
        unused = say("commands.shadowed", why=file.unused) if file.unused else ""
        notes = "; ".join(filter(None, (unused, file.problem)))
        yield f"{name:24}  {file.where}  {file.description}{f'  [{notes}]' if notes else ''}"


def _details(setting: Setting, name: str) -> Iterator[str]:
    file = next((file for file in list_commands(setting) if file.name == name), None)
    if file is None:
        raise UsageError(say("commands.unknown", name=name))
    facts = {
        "description": file.description,
        "argument-hint": file.argument_hint,
        "allowed-tools": _listed(file.allowed_tools),
        "disallowed-tools": _listed(file.disallowed_tools),
        "model": file.model,
        "agent": file.agent,
        "disable-model-invocation": say("commands.only_user") if file.only_user else "",
        "unused": file.unused,
        "problem": file.problem,
    }
    yield f"/{file.name}  {file.where}"
    yield from (f"{key}: {value}" for key, value in facts.items() if value)
    yield ""
    yield from file.body.splitlines()


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
