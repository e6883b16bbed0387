"""`overt memory`: the notes that join at the start of a session."""

from overt.app.context.notes import Notebook, NoteRow, listed
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.catalogue import say
from overt.lib.text import cut_line, visible

WIDEST = 160

ABOUT = """Private notes that the model is given at the start of every session, here or everywhere.

  overt memory                       list them, with OVERT.md of the project
  overt memory add "use pnpm"        for this project
  overt memory add --global "…"      for every project
  overt memory remove NAME           as the list names it"""

COMMAND = CommandLine(
    name="overt memory",
    about=ABOUT,
    words="[list | add TEXT | remove NAME]",
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--global",), key="global", help="add: for every project"),
        Flag(names=("--json",), key="json", help="list: machine-readable, a note a line"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    book = Notebook(read_setting_for(given, registries))
    match given.words:
        case () | ("list",) if given.switch("json"):
            for row in book.rows():
                print(printable(_told(row)))
        case () | ("list",):
            for line in listed(book, how="overt memory"):
                print(visible(cut_line(line, WIDEST)))
        case ("add", *words) if words:
            print(visible(say("memory.added", name=book.add(" ".join(words), everywhere=given.switch("global")))))
        case ("remove" | "rm", name):
            print(visible(say("memory.removed", name=book.remove(name))))
        case _:
            raise UsageError(say("memory.usage", how="overt memory"))
    return 0


def _told(row: NoteRow) -> dict[str, object]:
    return {"name": row.name, "first": row.first, "size": row.size, "path": row.path}
