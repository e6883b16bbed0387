"""Which terminal the program runs in."""

from overt.config.paths import read_environment


def terminal_type() -> str:
    """Return the value of TERM."""
    return read_environment().get("TERM")
