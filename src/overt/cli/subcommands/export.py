"""`overt export`: short for `overt sessions export`."""

from overt.app.registries import Registries
from overt.cli.subcommands import sessions


def run(argv: list[str], registries: Registries) -> int:
    return sessions.run(["export", *argv], registries)
