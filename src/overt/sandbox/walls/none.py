"""No walls: programs run with the rights of the person who started Overt."""

from overt.core.ports import Profile


def walls(profile: Profile) -> tuple[str, ...]:
    """The words to put before the supervisor's command line; a sandbox gives its launcher here."""
    return ()
