"""The models there are: the one in use, those configured, found on this machine, and known, with what each can do."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.app.models.pick_model import choose_model, surroundings, usable_entries
from overt.app.setting import Setting
from overt.core.errors import OvertError, UsageError
from overt.core.settings import Price, ProviderEntry
from overt.providers.credentials import GENERAL, find_key
from overt.providers.model_choice import (
    ONLY_HERE,
    ChosenModel,
    Surroundings,
    ask_server,
    is_local,
    list_local_servers,
    offline_reason,
)
from overt.providers.suggest_names import nearest

Source = Literal["configured", "here", "embedded", "known"]


class ModelRow(Struct, frozen=True, kw_only=True):
    """`chosen` is the one that would be used now; None, 0 and no price mean that nobody told.

    `local`: it runs on this machine. `wants` is the variable of a key that is missing. `balance` is what is left
    on the account of the chosen one.
    """

    provider: str
    model: str
    chosen: bool
    source: Source
    local: bool
    window: int = 0
    price: Price | None = None
    tools: bool | None = None
    images: bool | None = None
    reasoning: bool | None = None
    wants: str = ""
    balance: str = ""


class ModelListing(Struct, frozen=True, kw_only=True):
    """`problem` is why no model can be used now, or a server was not asked; `fetched`: the embedded model is here."""

    rows: tuple[ModelRow, ...]
    problem: str = ""
    fetched: bool = False


class _Provider(Struct, frozen=True, kw_only=True):
    """A provider whose entry lists its models."""

    entry: ProviderEntry
    source: Source
    balance: str = ""


async def list_models(setting: Setting, only: str = "") -> ModelListing:
    """Every model, or those of one provider. Servers of this machine, the chosen one and the named one are asked."""
    around = surroundings(setting)
    chosen: ChosenModel | None = None
    problem = ""
    try:
        chosen = await choose_model(setting, "")
    except OvertError as error:
        problem = error.message
    weights = around.weights()
    providers = await _list_providers(around, chosen, weights)
    providers = _named(providers, only) if only else _apart(providers)
    why = offline_reason(around, chosen.entry if chosen else None)
    unasked = [provider.entry for provider in providers if provider.entry.name == only and not is_local(provider.entry)]
    if why and unasked and not _wants(unasked[0], around, chosen):
        problem = "\n".join(filter(None, (problem, _not_asked(only, around.offline))))
    around = replace(around, offline=why)
    curious = {only, chosen.entry.name if chosen else ""}
    providers = await asyncio.gather(
        *(_filled(provider, around, chosen=chosen, curious=curious) for provider in providers)
    )
    rows = [row for provider in providers for row in _rows(provider, around, chosen)]
    rows.sort(key=lambda row: not row.chosen)
    return ModelListing(rows=tuple(rows), problem=problem, fetched=weights is not None)


def _not_asked(provider: str, stated: str) -> str:
    why = f"`offline` is set ({stated})" if stated else ONLY_HERE
    return f"{provider} was not asked: {why}; this is what is known of it. `offline = false` lets it be asked."


async def _list_providers(
    around: Surroundings, chosen: ChosenModel | None, weights: ProviderEntry | None
) -> list[_Provider]:
    """One for each provider; what a person configured stands before what was found and what is merely known."""
    configured = usable_entries(around)
    from overt.providers import catalog  # late: 0.1 ms

    known = [entry for entry in catalog.vendors() if not is_local(entry)]
    here = [entry for entry in await list_local_servers(around) if entry.models]
    if chosen is not None and is_local(chosen.entry):
        here = [chosen.entry, *(entry for entry in here if entry.base_url != chosen.entry.base_url)]
    elif chosen is not None and chosen.entry.name not in {entry.name for entry in known}:
        configured.append(chosen.entry)
    taken = {entry.base_url for entry in configured}
    here = [entry for entry in here if entry.base_url not in taken]
    by_name: dict[str, _Provider] = {}
    sources: tuple[tuple[Source, Sequence[ProviderEntry]], ...] = (
        ("configured", configured),
        ("embedded", [weights] if weights else []),
        ("here", here),
        ("known", known),
    )
    for source, entries in sources:
        for entry in entries:
            by_name.setdefault(entry.name, _Provider(entry=entry, source=source))
    return list(by_name.values())


def _named(providers: Sequence[_Provider], only: str) -> list[_Provider]:
    found = [provider for provider in providers if provider.entry.name == only]
    if found:
        return found
    close = nearest(only, [provider.entry.name for provider in providers])
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise UsageError(f"overt models: no provider is called {only!r}{hint}")


def _apart(providers: Sequence[_Provider]) -> list[_Provider]:
    """Without the second way to a vendor that stands here already."""
    first: dict[str, _Provider] = {}
    for provider in providers:
        first.setdefault(provider.entry.base_url, provider)
    return [
        provider for provider in providers if provider.source != "known" or first[provider.entry.base_url] is provider
    ]


async def _filled(
    provider: _Provider, around: Surroundings, *, chosen: ChosenModel | None, curious: set[str]
) -> _Provider:
    """With what its server lists, for a provider one is curious about and may ask."""
    entry = provider.entry
    if entry.name not in curious or _wants(entry, around, chosen):
        return provider
    with suppress(OvertError):
        entry, balance = await ask_server(entry, around)
        return _Provider(entry=entry, source=provider.source, balance=balance)
    return provider


def _rows(provider: _Provider, around: Surroundings, chosen: ChosenModel | None) -> Iterator[ModelRow]:
    entry = provider.entry
    used = chosen.model if chosen and chosen.entry.name == entry.name else ""
    listed = entry.models or tuple(filter(None, (entry.model, entry.default)))
    wants = _wants(entry, around, chosen)
    for name in dict.fromkeys((*((used,) if used else ()), *listed)):
        about = chosen.about if chosen and name == used and name not in entry.models else entry.facts(name)
        yield ModelRow(
            provider=entry.name,
            model=name,
            chosen=bool(used) and name == used,
            source=provider.source,
            local=is_local(entry),
            window=about.window,
            price=about.price,
            tools=None if about.calls is None else True,
            images=about.images,
            reasoning=about.reasons,
            wants=wants,
            balance=provider.balance if name == used else "",
        )


def _wants(entry: ProviderEntry, around: Surroundings, chosen: ChosenModel | None) -> str:
    """The variable of a key that is missing. A key for whatever is in use is not one for every vendor there is."""
    if is_local(entry):
        return ""
    if chosen is not None and chosen.entry.name == entry.name:
        return "" if chosen.key else entry.api_key_env
    own = {name: value for name, value in around.environ.items() if name not in GENERAL}
    return "" if find_key(entry, own, around.dotenv, around.keyring) else entry.api_key_env
