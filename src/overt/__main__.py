"""The entry point: looks for `--version` before anything of ours is loaded."""

import sys

from overt import __version__


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-v"]):
        print(f"overt {__version__}")
        return 0
    run = __import__("overt.cli.main", fromlist=["main"]).main
    code: int = run(sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
