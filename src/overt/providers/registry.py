"""Kinds of providers. A vendor is an entry of the configuration; only a new wire is code."""

from collections.abc import Mapping

from overt.core.errors import ConfigError
from overt.core.ports import Provider
from overt.core.settings import ProviderEntry

KINDS = ("anthropic", "local", "openai", "responses", "scripted")


def make(entry: ProviderEntry, key: str | None, model: str = "", environ: Mapping[str, str] | None = None) -> Provider:
    """The provider for an entry, or a ConfigError that says which kinds there are. `environ` may name a proxy."""
    match entry.kind:
        case "openai" | "responses" | "anthropic":
            from overt.providers import http_provider  # late: 29 ms

            return http_provider.make(entry, key, model, environ=environ)
        case "local":
            from overt.providers.embedded import provider as local  # late: 38 ms

            return local.make(entry, key, model)
        case "scripted":
            from overt.providers import scripted  # late: 22 ms

            return scripted.make(entry, key, model)
        case _:
            raise ConfigError(
                f"provider {entry.name}: this version knows the kinds {', '.join(KINDS)}, "
                f"not {entry.kind!r}. Most servers also speak `openai`."
            )
