"""The vendors that ship with Overt, read only when someone refers to one."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from overt.core.settings import ProviderEntry, Quirks
from overt.lib.package_data import read_text
from overt.providers.transport.address import host_of, is_loopback, parse_address

ENDPOINT = ("kind", "base_url", "api_key_env", "context_window", "max_tokens", "headers")
CHOICE = frozenset({"model", "models", "default"})
"""Whoever states one of these has chosen; the vendor's own choice no longer stands."""


@cache
def vendors() -> tuple[ProviderEntry, ...]:
    import tomllib  # late: 2 ms

    return read_vendors(tomllib.loads(read_text("overt.providers", "models.toml"))["providers"])


def read_vendors(tables: Sequence[dict[str, Any]]) -> tuple[ProviderEntry, ...]:
    """Entries from the tables of `models.toml`, where `like`, `priced` and `every` save repeating oneself."""
    named = {table["name"]: table for table in tables}
    found: list[ProviderEntry] = []
    for table in tables:
        entry = {**named.get(table.get("like", ""), {}), **table}
        every, priced = entry.pop("every", {}), entry.pop("priced", True)
        entry.pop("like", None)
        known = [{**every, **facts} for facts in entry.get("known", ())]
        entry["known"] = [{key: facts[key] for key in facts if priced or key != "price"} for facts in known]
        entry["models"] = [facts["name"] for facts in known]
        found.append(convert(entry, ProviderEntry))
    return tuple(found)


def local_servers() -> tuple[ProviderEntry, ...]:
    """The servers people run on their own machine, at the ports they have unless told otherwise."""
    return tuple(entry for entry in vendors() if parse_address(entry.base_url).loopback)


def with_vendor_defaults(entry: ProviderEntry, stated: Collection[str]) -> ProviderEntry:
    """The entry with what is known of its vendor wherever the person stated nothing.

    `stated` are names of fields, of single quirks as `quirks.NAME`.
    """
    known = _vendor(entry, stated)
    if known is None:
        return entry
    same_wire = "kind" not in stated or entry.kind == known.kind
    fields = ENDPOINT if CHOICE.intersection(stated) else (*ENDPOINT, *CHOICE)
    found = {name: getattr(known, name) for name in fields if name not in stated}
    quirks = known.quirks if same_wire else Quirks()
    own_quirks = [name for name in Quirks.__struct_fields__ if f"quirks.{name}" in stated]
    quirks = replace(quirks, **{name: getattr(entry.quirks, name) for name in own_quirks})
    own = {facts.name for facts in entry.known}
    others = (facts for facts in known.known if facts.name not in own)
    # A person's quirks, and another wire, hold for every model of the entry.
    plain = bool(own_quirks) or not same_wire
    kept = tuple(replace(facts, quirks=None) if plain else facts for facts in others)
    return replace(entry, **found, quirks=quirks, known=(*entry.known, *kept))


def _vendor(entry: ProviderEntry, stated: Collection[str]) -> ProviderEntry | None:
    """The vendor an entry means, by name and host. A known name at a foreign host is not that vendor: its key
    must not go there. A program people run themselves is known by its name wherever it runs."""
    host = host_of(entry.base_url)
    named = next((each for each in vendors() if each.name == entry.name), None)
    if named is not None:
        here = host_of(named.base_url)
        if not entry.base_url or host == here or is_loopback(here):
            return named
    there = [each for each in vendors() if host_of(each.base_url) == host and not is_loopback(host)]
    fitting = [each for each in there if each.kind == entry.kind] if "kind" in stated else []
    return next(iter(fitting or there), None)
