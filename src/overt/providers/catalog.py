"""The vendors that ship with Overt, read only when someone refers to one."""

from msgspec import convert

from overt.core.late import late
from overt.core.settings import ProviderEntry
from overt.lib.data import read_text

_loaded: list[tuple[ProviderEntry, ...]] = []


def vendors() -> tuple[ProviderEntry, ...]:
    if not _loaded:
        table = late("tomllib").loads(read_text("overt.providers", "models.toml"))
        _loaded.append(convert(table["providers"], tuple[ProviderEntry, ...]))
    return _loaded[0]
