"""Kinds of providers. A vendor is an entry of the configuration; only a new wire is code."""

from collections.abc import Mapping

from overt.core.errors import ConfigError
from overt.core.late import late
from overt.core.ports import Provider
from overt.core.settings import ProviderEntry

FACTORIES: dict[str, str] = {
    "openai": "provider.http",
    "responses": "provider.http",
    "anthropic": "provider.http",
    "local": "provider.local",
    "scripted": "provider.scripted",
}
"""Kind → name in the late table of a function `(entry, key, model) -> Provider`."""


def make(entry: ProviderEntry, key: str | None, model: str = "", environ: Mapping[str, str] | None = None) -> Provider:
    """The provider for an entry, or a ConfigError that says which kinds there are. `environ` may name a proxy."""
    factory = FACTORIES.get(entry.kind)
    if factory is None:
        raise ConfigError(
            f"provider {entry.name}: this version knows the kinds {', '.join(sorted(FACTORIES))}, "
            f"not {entry.kind!r}. Most servers also speak `openai`."
        )
    routed = {"environ": environ} if factory == "provider.http" else {}
    provider: Provider = late(factory)(entry, key, model, **routed)
    return provider
