"""No walls: programs run with the rights of the person who started Overt, and this says so."""

from overt.core.ports import Profile

NOTICE = "no sandbox: commands run with your own rights"


def walls(profile: Profile) -> tuple[str, ...]:
    """The words to put before the supervisor's command line; a sandbox gives its launcher here."""
    return ()
