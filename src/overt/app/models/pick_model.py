"""Which model a command uses, by what was configured and found."""

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from overt.app.setting import Setting
from overt.config.profiles import ModelProfile, load_profile, with_profile
from overt.config.trust import dotenv
from overt.core.errors import OvertError
from overt.core.settings import ProviderEntry, Timeouts
from overt.lib.logs.log import LOG
from overt.lib.translations import say
from overt.providers.credentials import VENDOR_KEYS, secrets_in
from overt.providers.model_choice import ChosenModel, Surroundings, discover, with_vendor_facts
from overt.sessions.resume import ResumedSession

STRONGER = ("--model", "OVERT_MODEL")
"""Who may name a model of the server in OVERT_BASE_URL; what a file names belongs to another one."""


async def choose_model(setting: Setting, reference: str) -> ChosenModel:
    """The endpoint, model and key for a reference; the configured one for an empty reference."""
    config = setting.config
    if not reference and not (config.base_url and config.origin("default_model") not in STRONGER):
        reference = config.default_model
    found = await discover(surroundings(setting), reference)
    LOG.learn(found.key or "", *secrets_in(found.entry.headers))
    if found.entry.timeouts == Timeouts():
        found = replace(found, entry=replace(found.entry, timeouts=config.timeouts))
    return _as_tried(found, load_profile(setting.environment.data_dir, found.entry.base_url, found.model))


async def as_before(
    setting: Setting, found: ChosenModel, resumed: ResumedSession, tell: Callable[[str], None]
) -> ChosenModel:
    """The model that a session was led by last, unless a flag or a variable names one; `found` is the usual one."""
    config, provider, model = setting.config, resumed.provider, resumed.model
    if not model or (found.entry.name, found.model) == (provider, model) or config.origin("default_model") in STRONGER:
        return found
    if provider == found.entry.name:
        again = replace(found, model=model, about=found.entry.facts(model))
        return _as_tried(again, load_profile(setting.environment.data_dir, again.entry.base_url, model))
    if config.base_url:
        return found
    try:
        return await choose_model(setting, f"{provider}/{model}")
    except OvertError as error:
        tell(say("session.other_model", model=f"{provider}/{model}", why=error.message.partition("\n")[0]))
        return found


def _as_tried(found: ChosenModel, profile: ModelProfile | None) -> ChosenModel:
    """With what trying the server has shown, where nobody has said otherwise."""
    if profile is None:
        return found
    about = with_profile(found.about, profile)
    others = (each for each in found.entry.known if each.name != about.name)
    return replace(found, about=about, entry=replace(found.entry, known=(about, *others)))


def surroundings(setting: Setting) -> Surroundings:
    """What the search for a model may depend on, taken from a setting."""
    config = setting.config
    names = [entry.api_key_env for entry in config.providers if entry.api_key_env]
    names += [variable for variables in VENDOR_KEYS.values() for variable in variables]
    said = config.origin("offline")

    def embedded() -> ProviderEntry | None:
        from overt.providers.embedded import provider as local  # late: 2 ms

        return local.installed_weights(setting.environment.cache_dir)

    return Surroundings(
        environ=setting.environment.variables,
        entries=config.providers,
        dotenv=dotenv(setting.roots.project, names, trusted=setting.trust),
        keyring=_kept,
        stated=_stated(setting),
        embedded=embedded,
        offline=said if config.offline else "",
        online=said != "default" and not config.offline,
        also=tuple(filter(None, (config.small_model,))),
        wires=setting.registries.wires,
    )


def usable_entries(around: Surroundings) -> list[ProviderEntry]:
    """Configured entries with what is known of their vendors; those that cannot work as they stand are left out."""
    entries = []
    for entry in around.entries:
        with suppress(OvertError):  # `overt doctor` says why
            entries.append(with_vendor_facts(entry, around))
    return entries


def _kept(name: str) -> str | None:
    from overt.app.models.credentials import keyring_lookup  # late: 1.5 ms

    found: str | None = keyring_lookup(name)
    return found


def _stated(setting: Setting) -> dict[str, frozenset[str]]:
    """The fields a person set in each provider, by its name."""
    found: dict[str, set[str]] = {}
    for each in setting.config.settings:
        family, _, rest = each.key.partition(".")
        if family == "providers":
            name, _, field = rest.partition(".")
            found.setdefault(name, set()).add(field)
    return {name: frozenset(fields) for name, fields in found.items()}
