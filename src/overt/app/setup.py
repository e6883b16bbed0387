"""`overt setup`: from nothing to a model that answers, in a few questions, and a configuration that says so.

Everything is asked line by line, through an `Asking` that any terminal can give. Nothing is written before the last
answer; a key goes into the keyring or nowhere, and never into a file, a message or an error.
"""

from msgspec import Struct

from overt.app._setup_asking import Asking, Given, Settled
from overt.app._setup_walk import Walk
from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.core.errors import ConfigError, OvertError
from overt.lib.catalogue import say
from overt.providers.fetching import choose
from overt.providers.local import runnable

__all__ = ["Asking", "Given", "Missing", "Settled", "missing", "set_up"]


class Missing(Struct, frozen=True, kw_only=True):
    """Why a chat cannot begin: what was looked for. `embedded` and `size` tell of the model that can be fetched."""

    told: str
    embedded: str = ""
    size: str = ""


def missing(setting: Setting, problem: ConfigError) -> Missing:
    """Return what to tell a person who has no model: what was looked for, according to the error."""
    told = "\n".join(f"- {line}" for line in problem.details) or problem.message
    if setting.config.offline or not runnable():
        return Missing(told=told)
    weights = choose("")
    size = f"{weights.size / 1e9:.2f} GB"
    what = say("setup.embedded", title=weights.title, size=size, licence=weights.licence)
    return Missing(told=told, embedded=f"{what} {say('fetch.limits')}", size=size)


def set_up(asking: Asking, directory: str = "", given: Given | None = None) -> Settled:
    """Walk a person through it. Whoever leaves in between finds everything as it was."""
    walk = Walk(asking, read_setting(Options(directory=directory)), given or Given())
    try:
        return walk.run()
    except (EOFError, KeyboardInterrupt) as end:
        asking.tell("\n" + say("setup.left"))
        return Settled(interrupted=isinstance(end, KeyboardInterrupt))
    except OvertError as error:
        error.message = walk.without_key(error.message)
        raise
