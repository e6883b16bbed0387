"""Where a model may come from: what is configured, found on this machine, known, or a server of one's own."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from overt.app.models.credentials import Where
from overt.app.models.pick_model import usable_entries
from overt.app.setting import Setting
from overt.core.errors import ConfigError
from overt.core.settings import ProviderEntry
from overt.lib.redaction.secret_values import says_secret
from overt.providers.credentials import GENERAL, vendor_variables
from overt.providers.model_choice import ALIKE, EMBEDDED, ENVIRONMENT, Surroundings, is_local, list_local_servers

Source = Literal["configured", "here", "known", "own", "embedded"]
BETWEEN = frozenset({"openai-chat"})
"""Second ways to a vendor, for programs that stand between; a person who needs one can name it."""
LONGEST_NAME = 64


class ProviderOption(Struct, frozen=True, kw_only=True):
    """`holds` is the variable of its key that is at hand; empty: none is."""

    entry: ProviderEntry
    source: Source
    holds: str = ""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def usable(self) -> bool:
        """Whether nothing is missing as far as it can be told without asking the server."""
        return self.source in ("configured", "here") or bool(self.holds)


async def list_options(setting: Setting, around: Surroundings) -> tuple[ProviderOption, ...]:
    """What a person can choose from, the likeliest first. Offline, only what is on this machine."""
    configured = [_make_option(entry, "configured", around) for entry in usable_entries(around)]
    here = [ProviderOption(entry=entry, source="here") for entry in await list_local_servers(around) if entry.models]
    from overt.providers import catalog  # late: 0.2 ms

    known = [
        _make_option(entry, "known", around)
        for entry in catalog.vendors()
        if not is_local(entry) and entry.name not in BETWEEN and not setting.config.offline
    ]
    known.sort(key=lambda option: not option.holds)
    own = ProviderOption(entry=ProviderEntry(name=""), source="own")
    embedded = ProviderOption(entry=around.weights() or ProviderEntry(name=EMBEDDED, kind=EMBEDDED), source="embedded")
    first: dict[str, ProviderOption] = {}
    for option in (*configured, *here, *known, own, embedded):
        first.setdefault(option.name, option)
    return tuple(first.values())


def _make_option(entry: ProviderEntry, source: Source, around: Surroundings) -> ProviderOption:
    """A key for whatever is in use says nothing about one vendor, and the keyring is too slow to ask for all."""
    names = (entry.api_key_env, *vendor_variables(entry.base_url))
    return ProviderOption(
        entry=entry, source=source, holds=next((name for name in names if name and around.holds(name)), "")
    )


def key_at(entry: ProviderEntry, around: Surroundings) -> tuple[str, Where]:
    """The variable that the key for this entry stands under, and what holds it."""
    key = around.key(entry)
    if key is None:
        return "", ""
    for name in filter(None, (entry.api_key_env, *GENERAL, *vendor_variables(entry.base_url))):
        if around.get(name) == key:
            return name, "environment"
        if around.dotenv.get(name, "").strip() == key:
            return name, ".env"
    return entry.api_key_env, "keyring"


def variable_for(name: str) -> str:
    """The variable for the key of a server of one's own."""
    letters = "".join(char if char.isalnum() else "_" for char in name.upper())
    made = f"{letters}_API_KEY"
    return made if made.isidentifier() and says_secret(made) else f"OVERT_{made}"


def check_provider_name(name: str, taken: Iterable[str]) -> str:
    """A name for a server of one's own: one that nothing else goes by."""
    from overt.providers import catalog  # late: 0.2 ms

    others = {*taken, *ALIKE, EMBEDDED, ENVIRONMENT, *(entry.name for entry in catalog.vendors())}
    if name in others:
        raise ConfigError(f"{name} is the name of another provider; take one that is free")
    plain = name.replace("-", "").replace("_", "")
    if not (name.isascii() and plain.isalnum() and len(name) <= LONGEST_NAME):
        raise ConfigError("a name has letters, digits, `-` and `_` only, as in: my-server")
    return name
