"""Flags choose a frontend or a subcommand; only that one is loaded."""

import errno
import os
import select
import sys
import threading
from types import TracebackType

from msgspec.structs import replace

from overt import __version__
from overt.app.diagnostics.recent_events import RECENT
from overt.app.registries import USE_PLAIN_CHAT, Frontend, Registries
from overt.cli.flags import PROMPT, about, options_of
from overt.cli.parse import HelpShown, ParsedCommandLine, parse
from overt.core.errors import OvertError, UsageError
from overt.frontends.tui import first_paint
from overt.lib.logs.log import LOG

PIPE_PATIENCE = 3.0
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of the place where output goes, not of the program."""
NO_EXTRAS = Registries()


def main(argv: list[str], registries: Registries = NO_EXTRAS) -> int:
    """Run Overt with the words of a command line. `registries` is what another package adds to it."""
    _open_closed_streams()
    sys.excepthook = _report_uncaught
    sys.unraisablehook = _log_unraisable
    threading.excepthook = _report_thread
    return _flush(_run(argv, registries) or int(RECENT.uncaught > 0))


def _run(argv: list[str], registries: Registries) -> int:
    try:
        return _dispatch(argv, registries)
    except HelpShown:
        return 0
    except KeyboardInterrupt:
        first_paint.undo()
        return 130
    except BrokenPipeError:
        return 1  # as `head` leaves: nobody is there to be told
    except OvertError as error:
        first_paint.undo()
        from overt.app.redaction.secrets import harmless  # late: 6 ms

        print(f"overt: {harmless(error.message)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except Exception as error:  # noqa: BLE001 - reported in a crash file
        first_paint.undo()
        if isinstance(error, OSError) and error.filename is None and error.errno in UNWRITTEN:
            return _report_unwritten(error)
        from overt.app.diagnostics.crash import print_report, report_crash  # late: 23 ms

        print_report(report_crash(error))
        return 1


def _report_uncaught(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """For what fails outside of `_run`: the default prints a traceback with whatever secrets its message holds."""
    first_paint.undo()
    if RECENT.reporting:  # messages may hold secrets, so only the type is shown
        print(f"overt: internal error: {type(error).__name__}; it could not be reported", file=sys.stderr)
    else:
        from overt.app.diagnostics.crash import report_uncaught  # late: 23 ms

        report_uncaught(error, "main")


def _report_thread(failed: threading.ExceptHookArgs) -> None:
    if isinstance(failed.exc_value, Exception):
        from overt.app.diagnostics.crash import report_uncaught  # late: 23 ms

        report_uncaught(failed.exc_value, f"thread {failed.thread.name if failed.thread else '?'}")


def _log_unraisable(failed: "sys.UnraisableHookArgs") -> None:
    """Log an exception in a finalizer: it changes nothing, so the screen stays clean."""
    LOG.warning("finalizer", failed.err_msg or "exception ignored", failed.exc_value)


def _report_unwritten(error: OSError) -> int:
    print(f"overt: the output could not be written: {error.strerror}", file=sys.stderr)
    return 1


def _open_closed_streams() -> None:
    """Open standard streams that were closed: the next file would get their number otherwise."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stands until the end


def _flush(code: int) -> int:
    """Flush stdout and drop what cannot be written: the interpreter would complain about it at its end otherwise."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or (_report_unwritten(error) if error.errno in UNWRITTEN else 1)
    return code


def _dispatch(argv: list[str], registries: Registries) -> int:
    name = argv[0] if argv else ""
    if name == "run":
        return _prompt(argv[1:], registries, headless=True)
    subcommand = registries.subcommands.get(name)
    if not subcommand and name.isidentifier():
        from overt.lib.module_discovery import find_module  # late: 0.1 ms

        if module := find_module("overt.cli.subcommands", name):
            subcommand = module.run
    if not subcommand:
        return _prompt(argv, registries, headless=False)
    RECENT.subcommand = name
    return subcommand(argv[1:], registries)


def _prompt(argv: list[str], registries: Registries, *, headless: bool) -> int:
    args = parse(replace(PROMPT, about=lambda: about(registries.subcommands)), argv, registries)
    if args.switch("version"):
        print(f"overt {__version__}")
        return 0
    words = args.words
    if not headless and words[:1] == ("run",) and "--" not in argv:
        headless, words = True, words[1:]  # flags may stand before the subcommand
    name = args.text("frontend") or _usual_frontend(args, headless=headless)
    prompt = " ".join(word for word in words if word != "-")
    if name == "headless":
        prompt = _with_stdin(prompt, demanded="-" in words)
        if not prompt.strip():
            raise UsageError('there is nothing to do: give a task, as in: overt run "fix the test"')
    options = options_of(args, interactive=name != "headless")
    if name != "tui":
        first_paint.undo()
    code = _frontend(name, registries)(options, prompt)
    if code == USE_PLAIN_CHAT:
        first_paint.undo()
        return _frontend("plain", registries)(options, prompt)
    return code


def _usual_frontend(args: ParsedCommandLine, *, headless: bool) -> str:
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if headless or args.switch("print") or not terminal or args.switch("output-format"):
        return "headless"
    return "plain" if args.switch("plain") or not _is_capable() else "tui"


def _frontend(name: str, registries: Registries) -> Frontend:
    """Return the frontend of that name: one of another package, or that of the folder `overt/frontends/NAME`."""
    if frontend := registries.frontends.get(name):
        return frontend
    from overt.lib.module_discovery import find_module  # late: 0.1 ms

    module = find_module("overt.frontends", name) and find_module(f"overt.frontends.{name}", "run")
    if module is None:
        known = ", ".join(("headless", "plain", "tui", *registries.frontends))
        raise UsageError(f"--frontend: there is no {name!r}; expected one of {known}")
    run: Frontend = module.run
    return run


def _is_capable() -> bool:
    """Return whether the terminal can show the full chat."""
    from overt.app.chat.terminal import terminal_type  # late: 0.6 ms

    return first_paint.capable(terminal_type())


def _with_stdin(prompt: str, *, demanded: bool) -> str:
    """Return the prompt with what is piped in, which may be all of it."""
    if sys.stdin.isatty():
        return prompt
    if prompt and not demanded and not select.select([sys.stdin], [], [], PIPE_PATIENCE)[0]:
        print("overt: nothing came through stdin; going on without it", file=sys.stderr)
        return prompt
    piped = sys.stdin.buffer.read().decode("utf-8", "replace")
    return f"{prompt}\n\n{piped}" if prompt and piped.strip() else prompt or piped
