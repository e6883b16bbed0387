"""`overt undo`: put back from the shell what a session did to files."""

from overt.app.undo_session import Where, turns_of, undo_session
from overt.cli.parse import Command, Flag, parse
from overt.core.errors import UsageError
from overt.lib.text import visible

COMMAND = Command(
    name="overt undo",
    about="Put the files back that the last turn of the newest session here changed, or of the session with this id.",
    words="[SESSION]",
    most=1,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--turn",), key="turn", value="N", help="back to before turn N, not only the last one"),
        Flag(names=("--redo",), key="redo", help="take the last undo back"),
        Flag(names=("--force",), key="force", help="over changes that somebody else made since"),
        Flag(names=("--list",), key="list", help="change nothing; list the turns and what they changed"),
        Flag(
            names=("--add-dir",), key="add_dirs", value="DIR", many=True, help="a further folder the session wrote to"
        ),
    ),
)


def run(argv: list[str]) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    where = Where(
        reference=given.words[0] if given.words else "",
        directory=given.text("directory"),
        add_dirs=given.texts("add_dirs"),
    )
    if given.switch("list"):
        lines = turns_of(where)
    else:
        if given.switch("redo") and given.switch("turn"):
            raise UsageError("--redo takes the last undo back; it goes with no --turn")
        turn = _turn(given.text("turn")) if given.switch("turn") else 0
        lines = undo_session(where, turn=turn, redo=given.switch("redo"), force=given.switch("force"))
    for line in lines:
        print(visible(line))
    return 0


def _turn(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise UsageError(f"--turn must be a whole number above 0, got {text!r}")
    return number
