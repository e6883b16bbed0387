"""Which model a command uses, by what was configured and found."""

from msgspec.structs import replace

from overt.app.setting import Setting
from overt.config.trust import dotenv
from overt.core.errors import ConfigError
from overt.core.settings import Timeouts
from overt.providers.discover import Found, discover, is_local


async def choose_model(setting: Setting, reference: str) -> Found:
    """The endpoint, model and key for a reference; the configured one for an empty reference."""
    config = setting.config
    names = [entry.api_key_env for entry in config.providers if entry.api_key_env]
    found = await discover(
        setting.environment.variables,
        config.providers,
        reference=reference or config.default_model,
        dotenv=dotenv(setting.roots.project, names, trusted=setting.trust),
    )
    if config.offline and not is_local(found.entry):
        raise ConfigError(
            f"{config.origin('offline')}: `offline` is set, and {found.entry.name} is at {found.entry.base_url}. "
            "Choose a server on this machine, or unset it."
        )
    if found.entry.timeouts == Timeouts():
        found = replace(found, entry=replace(found.entry, timeouts=config.timeouts))
    return found
