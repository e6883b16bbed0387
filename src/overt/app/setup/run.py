"""Run `overt setup`, and tell a chat that has no model what is missing."""

from msgspec import Struct

from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.app.setup.answers import Answers, Asking, SetupResult
from overt.app.setup.dialog import Dialog
from overt.core.errors import ConfigError, OvertError
from overt.lib.translations import say
from overt.providers.embedded.provider import is_runnable
from overt.providers.embedded.weights import find_weights

__all__ = ["Answers", "Asking", "MissingModel", "SetupResult", "explain_missing_model", "set_up"]


class MissingModel(Struct, frozen=True, kw_only=True):
    """Why a chat cannot begin: what was looked for. `embedded` and `size` tell of the model that can be fetched."""

    told: str
    embedded: str = ""
    size: str = ""


def explain_missing_model(setting: Setting, problem: ConfigError) -> MissingModel:
    """Return what to tell a person who has no model: what was looked for, according to the error."""
    told = "\n".join(f"- {line}" for line in problem.details) or problem.message
    if setting.config.offline or not is_runnable():
        return MissingModel(told=told)
    weights = find_weights("")
    size = f"{weights.size / 1e9:.2f} GB"
    what = say("setup.embedded", title=weights.title, size=size, licence=weights.licence)
    return MissingModel(told=told, embedded=f"{what} {say('fetch.limits')}", size=size)


def set_up(asking: Asking, options: Options, answers: Answers | None = None) -> SetupResult:
    """Lead a person through the dialog. One who leaves it early finds everything as it was."""
    setting = read_setting(Options(directory=options.directory, registries=options.registries))
    dialog = Dialog(asking, setting, answers or Answers())
    try:
        return dialog.run()
    except (EOFError, KeyboardInterrupt) as end:
        asking.tell("\n" + say("setup.left"))
        return SetupResult(interrupted=isinstance(end, KeyboardInterrupt))
    except OvertError as error:
        error.message = dialog.without_key(error.message)
        raise
