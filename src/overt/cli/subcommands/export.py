"""`overt export`: short for `overt sessions export`."""

from overt.cli.subcommands import sessions


def run(argv: list[str]) -> int:
    return sessions.run(["export", *argv])
