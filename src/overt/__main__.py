"""The entry point: looks for `--version` before anything of ours is loaded."""

import os
import sys

from overt import __version__


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-v"]):
        print(f"overt {__version__}")
        return 0
    from overt.frontends.tui import first_paint  # late: 0.7 ms

    try:
        if first_paint.opens_chat(sys.argv[1:], os.environ):
            first_paint.paint()
        import gc  # late: 0.0 ms

        gc.set_threshold(80_000, 20, 20)  # importing makes no garbage; looking for it costs a tenth
        from overt.cli.main import main as run_program  # late: 30 ms

        code = run_program(sys.argv[1:])
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        code = end.code  # terminated: threads that still work on something end with us
    finally:
        first_paint.undo()
    _leave(code)
    return code


def _leave(code: int) -> None:
    """Everything of ours is closed by now: taking the interpreter apart would only cost the user time."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = code or 1  # whoever read the output is gone
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
