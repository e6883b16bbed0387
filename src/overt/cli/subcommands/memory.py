"""`overt memory`: the notes that join at the start of a session."""

from overt.app.context.memory_notes import Notebook, note_lines
from overt.app.registries import Registries
from overt.cli.output import print_lines, setting_of
from overt.cli.parse import FOLDER, CommandLine, Flag, parse
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.text import cut_line
from overt.lib.translations import say

WIDEST = 160

ABOUT = """Private notes that the model is given at the start of every session, here or everywhere.

  overt memory                       list them, with OVERT.md of the project
  overt memory add "use pnpm"        for this project
  overt memory add --global "…"      for every project
  overt memory remove NAME           as the list names it
  overt memory keep NAME             it is right, although its files have changed
  overt memory undo                  take the last change back"""

COMMAND = CommandLine(
    name="overt memory",
    about=ABOUT,
    words="[list | add TEXT | remove NAME | keep NAME | undo]",
    flags=(
        FOLDER,
        Flag("--global", "add: for every project"),
        Flag("--json", "list: machine-readable, a note a line"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    book = Notebook(setting_of(args))
    match args.words:
        case () | ("list",) if args.switch("json"):
            for row in book.rows():
                print(printable(row))
        case () | ("list",):
            print_lines(cut_line(line, WIDEST) for line in note_lines(book, how="overt memory"))
        case ("add", *words) if words:
            name = book.add(" ".join(words), everywhere=args.switch("global"))
            print_lines([say("memory.added", name=name, how="overt memory")])
        case ("remove" | "rm", name):
            print_lines([say("memory.removed", name=book.remove(name))])
        case ("keep", name):
            print_lines([say("memory.kept", name=book.keep(name))])
        case ("undo",):
            print_lines([book.undo()])
        case _:
            raise UsageError(say("memory.usage", how="overt memory"))
    return 0
