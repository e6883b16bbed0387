"""Kinds of providers. A vendor is an entry of the configuration; only a new wire is code."""

from collections.abc import Mapping, Sequence

from overt.core.errors import ConfigError
from overt.core.protocols import Provider
from overt.core.settings import ProviderEntry
from overt.providers.wires import WireKind, has_wire, wire_names

OTHERS = ("local", "scripted")
"""Kinds that are no wires: the embedded model and a script."""


def kinds(wires: Sequence[WireKind] = ()) -> tuple[str, ...]:
    """Return the names that `kind` of a provider may have."""
    return (*wire_names(wires), *OTHERS)


def is_kind(name: str, wires: Sequence[WireKind] = ()) -> bool:
    return name in OTHERS or has_wire(name, wires)


def make(
    entry: ProviderEntry,
    key: str | None,
    model: str = "",
    environ: Mapping[str, str] | None = None,
    wires: Sequence[WireKind] = (),
) -> Provider:
    """Return the provider for an entry. `environ` may name a proxy; `wires` are those that another package adds."""
    match entry.kind:
        case "local":
            from overt.providers.embedded import provider as local  # late: 37 ms

            return local.make(entry, key, model)
        case "scripted":
            from overt.providers import scripted_provider  # late: 21 ms

            return scripted_provider.make(entry, key, model)
        case _ if not has_wire(entry.kind, wires):
            known = ", ".join(sorted(kinds(wires)))
            raise ConfigError(
                f"provider {entry.name}: this version knows the kinds {known}, not {entry.kind!r}. "
                "Most servers also speak `openai`."
            )
        case _:
            from overt.providers import http_provider  # late: 29 ms

            return http_provider.make(entry, key, model, environ=environ, wires=wires)
