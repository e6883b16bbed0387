"""Which model a command uses, by what was configured and found."""

from msgspec.structs import replace

from overt.app.setting import Setting
from overt.config.trust import dotenv
from overt.core.settings import Timeouts
from overt.providers.discover import Found, discover

STRONGER = ("--model", "OVERT_MODEL")
"""Who may name a model of the server in OVERT_BASE_URL; what a file names belongs to another one."""


async def choose_model(setting: Setting, reference: str) -> Found:
    """The endpoint, model and key for a reference; the configured one for an empty reference."""
    config = setting.config
    names = [entry.api_key_env for entry in config.providers if entry.api_key_env]
    if not reference and not (config.base_url and config.origin("default_model") not in STRONGER):
        reference = config.default_model
    found = await discover(
        setting.environment.variables,
        config.providers,
        reference=reference,
        dotenv=dotenv(setting.roots.project, names, trusted=setting.trust),
        offline=config.origin("offline") if config.offline else "",
    )
    if found.entry.timeouts == Timeouts():
        found = replace(found, entry=replace(found.entry, timeouts=config.timeouts))
    return found
