"""Kinds of providers. A vendor is an entry of the configuration; only a new wire is code."""

from overt.core.errors import ConfigError
from overt.core.late import late
from overt.core.ports import Provider
from overt.core.settings import ProviderEntry

FACTORIES: dict[str, str] = {"openai": "provider.openai", "scripted": "provider.scripted"}
"""Kind → name in the late table of a function `(entry, key) -> Provider`."""


def make(entry: ProviderEntry, key: str | None) -> Provider:
    """The provider for an entry, or a ConfigError that says which kinds there are."""
    factory = FACTORIES.get(entry.kind)
    if factory is None:
        raise ConfigError(
            f"provider {entry.name}: this version knows the kinds {' and '.join(sorted(FACTORIES))}, "
            f"not {entry.kind!r}. Most servers also speak `openai`."
        )
    provider: Provider = late(factory)(entry, key)
    return provider
