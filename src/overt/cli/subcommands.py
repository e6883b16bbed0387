"""The subcommands of `overt`. Each is a module that is loaded when it is called."""

from collections.abc import Callable


def load_subcommand(name: str) -> Callable[[list[str]], int]:
    """Return the function that runs a subcommand with its arguments and returns the exit code."""
    match name:
        case "auth":
            from overt.cli import auth  # late: 82 ms

            return auth.run
        case "config":
            from overt.cli import config  # late: 128 ms

            return config.run
        case "context":
            from overt.cli import context  # late: 123 ms

            return context.run
        case "diff":
            from overt.cli import diff  # late: 81 ms

            return diff.run
        case "doctor":
            from overt.cli import doctor  # late: 261 ms

            return doctor.run
        case "export":
            from overt.cli.sessions import export  # late: 85 ms

            return export
        case "memory":
            from overt.cli import memory  # late: 77 ms

            return memory.run
        case "models":
            from overt.cli import models  # late: 144 ms

            return models.run
        case "permissions":
            from overt.cli import permissions  # late: 127 ms

            return permissions.run
        case "replay":
            from overt.cli import replay  # late: 197 ms

            return replay.run
        case "sessions":
            from overt.cli import sessions  # late: 85 ms

            return sessions.run
        case "setup":
            from overt.cli import setup  # late: 138 ms

            return setup.run
        case "stats":
            from overt.cli import stats  # late: 106 ms

            return stats.run
        case "tools":
            from overt.cli import tools  # late: 84 ms

            return tools.run
        case "trust":
            from overt.cli import trust  # late: 47 ms

            return trust.run
        case "undo":
            from overt.cli import undo  # late: 224 ms

            return undo.run
        case _:
            raise KeyError(name)
