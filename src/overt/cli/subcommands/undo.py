"""`overt undo`: put back from the shell what a session did to files."""

import sys

from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.app.undo.closed_session import ClosedSession, turns_of, undo_session
from overt.app.undo.session_undo import UndoRequest
from overt.cli.output import print_lines, setting_of
from overt.cli.parse import FOLDER, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.errors import UsageError
from overt.lib.translations import say

EXIT_INCOMPLETE = 3
"""Some files were left as they are, because somebody else may have changed them or undo does not cover them."""

COMMAND = CommandLine(
    name="overt undo",
    about="Put back the files that the last turn changed, in the newest session of this project or in SESSION.",
    words="[SESSION]",
    most=1,
    flags=(
        FOLDER,
        Flag("--turn N", "back to before turn N, not only the last one"),
        Flag("--redo", "take the last undo back"),
        Flag("--yes", "also put back files that changed while a command ran and may be yours"),
        Flag("--force", "also put back files that changed after the turn (includes --yes)"),
        Flag("--git", "also put back HEAD, branches, stash and index; refused if pushed"),
        Flag("--list", "change nothing; list the turns and what they changed"),
        Flag("--usage", "change nothing; say how much disk the snapshots here take"),
        Flag("--prune", "remove snapshots that no session needs or that exceed the limits"),
        Flag("--all", "with --prune: remove all snapshots of this project"),
        Flag("--retry", "let the next run try the first snapshot again, after one took too long"),
        Flag("--add-dir DIR", "a further folder the session wrote to", is_list=True),
    ),
)


STORE = ("usage", "prune", "retry")


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    where = ClosedSession(
        setting=setting,
        reference=args.word(),
        directory=args.text("cd"),
        add_dirs=args.texts("add-dir"),
    )
    complete = True
    if any(args.switch(name) for name in (*STORE, "all")):
        lines = _maintain(args, setting)
    elif args.switch("list"):
        lines = turns_of(where)
    else:
        if args.switch("redo") and args.switch("turn"):
            raise UsageError("--redo takes the last undo back; it goes with no --turn")
        if args.switch("redo") and args.switch("git"):
            raise UsageError("--redo puts back files only and cannot be used with --git")
        request = UndoRequest(
            turn=args.number("turn") or 0,
            redo=args.switch("redo"),
            yes=args.switch("yes"),
            force=args.switch("force"),
            git=args.switch("git"),
        )
        done = undo_session(where, request)
        if done.asks and sys.stdin.isatty() and sys.stdout.isatty():
            print_lines(done.lines)
            if not _confirmed():
                return EXIT_INCOMPLETE
            done = undo_session(where, UndoRequest(yes=True))
        lines, complete = done.lines, done.complete
    print_lines(lines)
    return 0 if complete else EXIT_INCOMPLETE


def _confirmed() -> bool:
    try:
        return input(say("undo.question") + " ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _maintain(args: ParsedCommandLine, setting: Setting) -> tuple[str, ...]:
    """Run one of the flags that concern the snapshots and no session."""
    chosen = [name for name in STORE if args.switch(name)]
    others = [name for name in ("turn", "redo", "yes", "force", "git", "list", "add-dir") if args.switch(name)]
    if args.switch("all") and chosen != ["prune"]:
        raise UsageError("--all needs --prune: overt undo --prune --all")
    if len(chosen) > 1 or others or args.words:
        raise UsageError(f"--{chosen[0]} takes no session and no other flag than -C (--prune also takes --all)")
    from overt.app.undo import usage as undo_usage  # late: 4 ms

    if chosen == ["usage"]:
        return undo_usage.describe_usage(setting)
    if chosen == ["retry"]:
        return undo_usage.retry(setting)
    return undo_usage.prune(setting, everything=args.switch("all"))
