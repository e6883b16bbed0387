"""Read a shell command: what it does, how dangerous that is, and which files it would touch."""

from collections.abc import Callable

from overt.safety.danger import CommandReading


def assume(path: str) -> bool:
    """Whatever is written to exists already, unless somebody knows better."""
    return True


def read_command(
    command: str, exists: Callable[[str], bool] = assume, *, also: frozenset[str] = frozenset()
) -> CommandReading:
    """`exists` tells whether a path, counted from the workspace, is there already; `also` are names of programs
    that count as dangerous besides those of the table."""
    from overt.safety.classify import read  # late: 22 ms

    return read(command, exists, also)
