"""`overt undo`: put back from the shell what a session did to files."""

import sys
from collections.abc import Iterable

from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.app.undo.closed_session import UndoRequest, Where, turns_of, undo_session
from overt.cli.parse import CommandLine, Flag, Given, parse
from overt.cli.setting import read_setting_for
from overt.core.errors import UsageError
from overt.lib.catalogue import say
from overt.lib.text import visible

EXIT_INCOMPLETE = 3
"""Some files were left as they are, because somebody else may have changed them or undo does not cover them."""

COMMAND = CommandLine(
    name="overt undo",
    about="Put back the files that the last turn changed, in the newest session of this project or in SESSION.",
    words="[SESSION]",
    most=1,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--turn",), key="turn", value="N", help="back to before turn N, not only the last one"),
        Flag(names=("--redo",), key="redo", help="take the last undo back"),
        Flag(names=("--yes",), key="yes", help="also put back files that changed while a command ran and may be yours"),
        Flag(names=("--force",), key="force", help="also put back files that changed after the turn (includes --yes)"),
        Flag(names=("--git",), key="git", help="also put back HEAD, branches, stash and index; refused if pushed"),
        Flag(names=("--list",), key="list", help="change nothing; list the turns and what they changed"),
        Flag(names=("--usage",), key="usage", help="change nothing; say how much disk the snapshots here take"),
        Flag(names=("--prune",), key="prune", help="remove snapshots that no session needs or that exceed the limits"),
        Flag(names=("--all",), key="all", help="with --prune: remove all snapshots of this project"),
        Flag(
            names=("--retry",),
            key="retry",
            help="let the next run try the first snapshot again, after one took too long",
        ),
        Flag(
            names=("--add-dir",), key="add_dirs", value="DIR", many=True, help="a further folder the session wrote to"
        ),
    ),
)


STORE = ("usage", "prune", "retry")


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    setting = read_setting_for(given, registries)
    where = Where(
        setting=setting,
        reference=given.words[0] if given.words else "",
        directory=given.text("directory"),
        add_dirs=given.texts("add_dirs"),
    )
    complete = True
    if any(given.switch(name) for name in (*STORE, "all")):
        lines = _maintain(given, setting)
    elif given.switch("list"):
        lines = turns_of(where)
    else:
        if given.switch("redo") and given.switch("turn"):
            raise UsageError("--redo takes the last undo back; it goes with no --turn")
        if given.switch("redo") and given.switch("git"):
            raise UsageError("--redo puts back files only and cannot be used with --git")
        turn = _turn(given.text("turn")) if given.switch("turn") else 0
        request = UndoRequest(
            turn=turn,
            redo=given.switch("redo"),
            yes=given.switch("yes"),
            force=given.switch("force"),
            git=given.switch("git"),
        )
        done = undo_session(where, request)
        if done.asks and sys.stdin.isatty() and sys.stdout.isatty():
            _print(done.lines)
            if not _confirmed():
                return EXIT_INCOMPLETE
            done = undo_session(where, UndoRequest(yes=True))
        lines, complete = done.lines, done.complete
    _print(lines)
    return 0 if complete else EXIT_INCOMPLETE


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(visible(line))


def _confirmed() -> bool:
    try:
        return input(say("undo.question") + " ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _maintain(given: Given, setting: Setting) -> tuple[str, ...]:
    """The flags that concern the stores and no session."""
    chosen = [name for name in STORE if given.switch(name)]
    others = [name for name in ("turn", "redo", "yes", "force", "git", "list", "add_dirs") if given.switch(name)]
    if given.switch("all") and chosen != ["prune"]:
        raise UsageError("--all needs --prune: overt undo --prune --all")
    if len(chosen) > 1 or others or given.words:
        raise UsageError(f"--{chosen[0]} takes no session and no other flag than -C (--prune also takes --all)")
    from overt.app.undo import usage as undo_usage  # late: 5 ms

    if chosen == ["usage"]:
        return undo_usage.describe_usage(setting)
    if chosen == ["retry"]:
        return undo_usage.retry(setting)
    return undo_usage.prune(setting, everything=given.switch("all"))


def _turn(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise UsageError(f"--turn must be a whole number above 0, got {text!r}")
    return number
