"""Which endpoint, which model, which key: found without asking anyone, in an order a person can predict.

1. a reference (flag or configuration): `provider`, `model` or `provider/model`
2. OVERT_BASE_URL, with OVERT_MODEL, OVERT_KIND and OVERT_API_KEY
3. the first configured provider
4. a vendor whose key is in the environment
5. a server on this machine, asked only when nothing above exists
6. the embedded model, if its weights are here

A reference is looked up in the configured providers, then taken as a model of OVERT_BASE_URL, then looked up in
the vendors that ship with Overt and in what is on this machine. The catalogue of vendors is read only when an
endpoint is one of theirs: whoever names a server of their own does not wait for it.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import ConfigError, OvertError, ProviderError
from overt.core.settings import ModelFacts, ProviderEntry
from overt.providers.credentials import VENDOR_KEYS, Lookup, find_key, vendor_variables
from overt.providers.http_provider import make
from overt.providers.suggest_names import nearest, nearest_spelling
from overt.providers.transport.address import parse_address
from overt.providers.wires import WireKind

EMBEDDED, ENVIRONMENT = "local", "environment"
ALIKE = frozenset({"vllm", "llama-cpp", "ollama", "lm-studio"})
"""Programs people run themselves: a provider of this name is one, wherever it runs."""

LOCAL_LIMIT, ASKED_WITHIN = 0.3, 5.0
ONLY_HERE = "only servers on this machine are configured"
REMEDIES = """Ways to go on:
  1. `overt setup`: a few questions, and it is done
  2. export OPENAI_API_KEY=… (or DEEPSEEK_API_KEY, ANTHROPIC_API_KEY, DASHSCOPE_API_KEY, …)
  3. export OVERT_BASE_URL=http://host:port/v1 for any OpenAI-compatible server, OVERT_MODEL for its model
  4. start a local server, for example `ollama serve`
  5. `overt models fetch` gets a small model that runs inside Overt, without a key and without a server"""


class ChosenModel(Struct, frozen=True, kw_only=True):
    """The endpoint, model and key to use. `tried` is what was looked at before, in words.

    `offline` says why nothing may leave this machine; empty: it may.
    """

    entry: ProviderEntry
    model: str
    key: str | None
    tried: tuple[str, ...] = ()
    about: ModelFacts
    offline: str = ""


class Surroundings(Struct, frozen=True, kw_only=True):
    """Everything a decision may depend on.

    `stated` are the fields a person set in each entry, by its name. `offline` is the place that set it; with
    `online`, a person has said that requests may leave. `also` are further references in use. `embedded` tells
    whether a model is here to run without a server, `servers` who is asked on this machine. `wires` are extra ones.
    """

    environ: Mapping[str, str]
    entries: Sequence[ProviderEntry] = ()
    dotenv: Mapping[str, str] = {}
    keyring: Lookup | None = None
    stated: Mapping[str, Collection[str]] = {}
    servers: Sequence[ProviderEntry] | None = None
    embedded: Callable[[], ProviderEntry | None] | None = None
    offline: str = ""
    online: bool = False
    also: tuple[str, ...] = ()
    wires: tuple[WireKind, ...] = ()

    def holds(self, variable: str) -> bool:
        """Whether a key of this name is at hand, in the environment or a trusted `.env`."""
        return bool(self.get(variable) or self.dotenv.get(variable))

    def keeps(self, variable: str) -> bool:
        """Whether the keyring has one, which takes a while to tell."""
        return bool(self.keyring and self.keyring(variable))

    def get(self, variable: str) -> str:
        return self.environ.get(variable, "").strip()

    def key(self, entry: ProviderEntry) -> str | None:
        return find_key(entry, self.environ, self.dotenv, self.keyring)

    def weights(self) -> ProviderEntry | None:
        return self.embedded() if self.embedded else None


def is_local(entry: ProviderEntry) -> bool:
    """Whether nothing leaves this machine when this entry is used."""
    return entry.kind in ("scripted", EMBEDDED) or parse_address(entry.base_url).loopback


async def discover(around: Surroundings, reference: str = "") -> ChosenModel:
    """The endpoint to use, or a ConfigError that lists what was looked for and what to do.

    Offline, nothing beyond this machine is asked or chosen.
    """
    reference = reference.strip() or ("" if around.get("OVERT_BASE_URL") else around.get("OVERT_MODEL"))
    if reference:
        return await _by_reference(reference, around)
    tried: list[str] = []
    if around.get("OVERT_BASE_URL"):
        return await _complete(_from_environment(around), around.get("OVERT_MODEL"), around, tried)
    tried.append("OVERT_BASE_URL: not set")
    if around.entries:
        return await _complete(around.entries[0], "", around, tried)
    tried.append("providers in the configuration: none")
    if entry := _with_key(around):
        return await _complete(entry, "", around, tried)
    most_usual = dict.fromkeys(names[0] for names in VENDOR_KEYS.values())
    tried.append("keys in the environment: none of " + ", ".join(most_usual))
    found = await _on_this_machine(around, wanted="", tried=tried)
    if found is not None:
        return found
    if entry := around.weights():
        return await _complete(entry, "", around, tried)
    tried.append("embedded model: not fetched")
    looked = "\n".join(f"  - {line}" for line in tried)
    raise ConfigError(f"No model found. Looked for:\n{looked}\n{REMEDIES}", code="no_model", details=tuple(tried))


async def _by_reference(reference: str, around: Surroundings) -> ChosenModel:
    found = _match(reference, around.entries)
    if found is not None:
        return await _complete(*found, around)
    if reference == EMBEDDED or reference.startswith(f"{EMBEDDED}/"):
        return await _complete(_need_weights(around), reference.partition("/")[2], around)
    if around.get("OVERT_BASE_URL"):
        return await _complete(_from_environment(around), reference, around)
    from overt.providers import catalog  # late: 2 ms

    vendors = catalog.vendors()
    found = _match(reference, vendors)
    weights = around.weights()
    here = weights if weights is not None and reference in weights.models else None
    spare = await _takes_any_model(around)
    if spare and (reference in spare.models if spare.models else not (found or here)):
        return await _complete(spare, reference, around)
    if found is not None:
        return await _complete(*_with_its_key(reference, found, vendors, around), around)
    if here is not None:
        return await _complete(here, reference, around)
    slip = nearest_spelling(reference, [entry.name for entry in vendors])
    if not around.entries and not slip and (entry := _with_key(around)):
        return await _complete(entry, reference, around)
    tried: list[str] = []
    local = None if around.entries else await _on_this_machine(around, wanted=reference, tried=tried)
    if local is not None:
        return local
    entries = (spare, *around.entries) if spare else around.entries
    raise _unknown(reference, (*entries, *vendors, *((weights,) if weights else ())), tried)


def _match(reference: str, entries: Sequence[ProviderEntry]) -> tuple[ProviderEntry, str] | None:
    """Name of a provider, `provider/model`, or a model that an entry lists; in this order."""
    provider, _, model = reference.partition("/")
    for entry in entries:
        if entry.name == reference:
            return entry, ""
    for entry in entries:
        if model and entry.name == provider:
            return entry, model
    for entry in entries:
        if reference in (entry.model, entry.default, *entry.models):
            return entry, reference
    return None


def _with_its_key(
    reference: str, found: tuple[ProviderEntry, str], vendors: Sequence[ProviderEntry], around: Surroundings
) -> tuple[ProviderEntry, str]:
    """The vendor that was meant: of those with the model, the first whose key is at hand."""
    entry, model = found
    if not entry.api_key_env or around.key(entry) is not None:
        return found
    for other in vendors:
        also = next((name for name in (reference, model) if name in other.models), "")
        if also and around.key(other) is not None:
            return other, also
    raise ConfigError(f"model {reference!r} is served by {entry.name}, which wants a key: set {entry.api_key_env}.")


async def _takes_any_model(around: Surroundings) -> ProviderEntry | None:
    """The first provider of which nobody has said which models it has, with those its server lists."""
    for entry in around.entries:
        if not entry.models and entry.kind not in ("scripted", EMBEDDED):
            entry = with_vendor_facts(entry, around)
            return (await ask_server(entry, around, balance=False))[0]
    return None


def _unknown(reference: str, entries: Sequence[ProviderEntry], tried: Sequence[str]) -> ConfigError:
    pairs = [f"{entry.name}/{model}" for entry in entries for model in (*entry.models, entry.model) if model]
    known = [name for entry in entries for name in (entry.name, *entry.models, entry.model) if name]
    spelled = nearest_spelling(reference, pairs) if "/" in reference else ()
    close = spelled or nearest(reference, list(dict.fromkeys(known)))
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    looked = "".join(f"\n  - {line}" for line in tried)
    return ConfigError(
        f"model {reference!r}: no provider has it; expected a provider, a model or provider/model.{hint}"
        + (f" Also looked for:{looked}" if looked else "")
        + f"\n{REMEDIES}"
    )


async def _complete(entry: ProviderEntry, model: str, around: Surroundings, tried: Sequence[str] = ()) -> ChosenModel:
    """Fill in what is known of the vendor, the key, and the model: the server is asked only when nobody named one."""
    entry = with_vendor_facts(entry, around)
    if around.offline and not is_local(entry):
        provider = f"{entry.name} is at {entry.base_url}"
        raise ConfigError(
            f"{around.offline}: `offline` is set, and {provider}. Choose a server on this machine, or unset it.",
            code="offline",
            details=(provider,),
        )
    key = around.key(entry)
    model = model or entry.default or entry.model or (entry.models[0] if entry.models else "")
    if not model and entry.kind == "scripted":
        model = "scripted"
    if not model:
        try:
            entry = with_models(entry, await list_models(entry, key, around, within=10.0))
        except ProviderError as error:
            words = f"{error.message} No model was named either: set OVERT_MODEL or --model."
            raise error.reworded(words, server_text=error.server_text) from None
        if not entry.models:
            raise ConfigError(f"{entry.base_url} lists no models: set OVERT_MODEL or --model.")
        model = entry.models[0]
    return _chosen(entry, model, key, around=around, tried=tried)


def _chosen(
    entry: ProviderEntry, model: str, key: str | None, *, around: Surroundings, tried: Sequence[str]
) -> ChosenModel:
    offline = offline_reason(around, entry)
    return ChosenModel(entry=entry, model=model, key=key, tried=tuple(tried), about=entry.facts(model), offline=offline)


def offline_reason(around: Surroundings, chosen: ProviderEntry | None) -> str:
    """Why nothing may leave this machine; empty: it may.

    It may not when everything a person has configured is here; keys that merely lie about are not configured.
    """
    if around.offline or around.online:
        return around.offline
    base = around.get("OVERT_BASE_URL")
    entries = (*((chosen,) if chosen else ()), *around.entries)
    stated = ProviderEntry(name=ENVIRONMENT, kind=around.get("OVERT_KIND") or "openai", base_url=base)
    configured = (*entries, stated) if base else entries
    if not configured or not all(map(_stays, configured)):
        return ""
    here = bool(base) or all(_match(each, entries) is not None for each in around.also)
    return ONLY_HERE if here else ""


def _stays(entry: ProviderEntry) -> bool:
    try:
        return is_local(entry) if entry.base_url or entry.kind == EMBEDDED else entry.name in ALIKE
    except ConfigError:
        return True  # what has no usable address sends nothing


def with_vendor_facts(entry: ProviderEntry, around: Surroundings) -> ProviderEntry:
    """The entry with what the catalogue knows of its vendor, or the weights that are here."""
    if entry.kind == EMBEDDED and not entry.base_url:
        weights = _need_weights(around)
        models = entry.models or ((entry.model,) if entry.model else weights.models)
        return replace(entry, base_url=weights.base_url, models=models, known=(*entry.known, *weights.known))
    shipped = bool(entry.known) and entry.name not in around.stated
    if entry.kind in (EMBEDDED, "scripted") or shipped:
        return entry
    if not entry.base_url or entry.name in ALIKE or vendor_variables(entry.base_url):
        from overt.providers import catalog  # late: 2 ms

        entry = catalog.with_vendor_defaults(entry, around.stated.get(entry.name) or _differing(entry))
    if not entry.base_url:
        raise ConfigError(
            f"provider {entry.name}: `base_url` is missing, and no vendor of this name is known; "
            "set it, or take a name that `overt models` lists"
        )
    return entry


def _differing(entry: ProviderEntry) -> frozenset[str]:
    """What an entry states, as far as it shows. The environment always says which wire it means."""
    usual = ProviderEntry(name=entry.name)
    found = {name for name in entry.__struct_fields__ if getattr(entry, name) != getattr(usual, name)}
    return frozenset(found | {"kind"} if entry.name == ENVIRONMENT else found)


def _need_weights(around: Surroundings) -> ProviderEntry:
    if weights := around.weights():
        return weights
    raise ConfigError("the embedded model is not here yet: `overt models fetch` gets it (it asks first)")


async def list_models(
    entry: ProviderEntry, key: str | None, around: Surroundings, *, within: float
) -> tuple[ModelFacts, ...]:
    """Ask a server which models it has. Raise what stands in the way."""
    provider = make(entry, key, environ=around.environ, wires=around.wires)
    try:
        return await provider.listed(within=within)
    finally:
        provider.close()


async def ask_server(entry: ProviderEntry, around: Surroundings, *, balance: bool = True) -> tuple[ProviderEntry, str]:
    """Return the entry with the models its server lists, and the balance; as it was if the server does not answer."""
    if entry.kind in (EMBEDDED, "scripted") or (around.offline and not is_local(entry)):
        return entry, ""
    provider = make(entry, around.key(entry), environ=around.environ, wires=around.wires)
    left = ""
    try:
        async with asyncio.timeout(ASKED_WITHIN):
            with suppress(OvertError):
                entry = with_models(entry, await provider.listed(within=ASKED_WITHIN))
            left = await provider.balance() if balance else ""  # after the list: a transport is for one reply at a time
    except TimeoutError:
        pass
    finally:
        provider.close()
    return entry, left


def with_models(entry: ProviderEntry, listed: Sequence[ModelFacts]) -> ProviderEntry:
    """Add the models a server listed, and what it told of them where nothing else is known. An empty list adds none."""
    if not listed:
        return entry
    own = {facts.name for facts in entry.known}
    told = tuple(facts for facts in listed if facts.name not in own)
    return replace(entry, models=tuple(facts.name for facts in listed), known=(*entry.known, *told))


async def _on_this_machine(around: Surroundings, *, wanted: str, tried: list[str]) -> ChosenModel | None:
    """The first well-known local server that answers (and has the wanted model), all asked at once."""
    for entry in await list_local_servers(around):
        model = wanted if wanted in entry.models else "" if wanted else next(iter(entry.models), "")
        if model:
            return _chosen(entry, model, None, around=around, tried=tried)
        state = f"has {', '.join(entry.models[:6])}" if entry.models else "no answer"
        tried.append(f"{entry.name} at {entry.base_url}: {state}")
    return None


async def list_local_servers(around: Surroundings) -> tuple[ProviderEntry, ...]:
    """The well-known servers of this machine with the models each lists; none from one that does not answer."""
    servers = around.servers
    if servers is None:
        from overt.providers import catalog  # late: 2 ms

        servers = catalog.local_servers()
    return tuple(await asyncio.gather(*(_with_local_models(entry) for entry in servers)))


async def _with_local_models(entry: ProviderEntry) -> ProviderEntry:
    entry = replace(entry, models=())
    with suppress(OvertError, TimeoutError):
        async with asyncio.timeout(LOCAL_LIMIT):
            return with_models(entry, await list_models(entry, None, Surroundings(environ={}), within=LOCAL_LIMIT))
    return entry


def _from_environment(around: Surroundings) -> ProviderEntry:
    base = around.get("OVERT_BASE_URL")
    kind = around.get("OVERT_KIND") or "openai"
    if kind != "scripted":
        parse_address(base, place="OVERT_BASE_URL")
    own = sorted(vendor_variables(base), key=lambda name: not around.holds(name))
    return ProviderEntry(
        name=ENVIRONMENT,
        kind=kind,
        base_url=base,
        model=around.get("OVERT_MODEL"),
        api_key_env=own[0] if own and not around.get("OVERT_API_KEY") else "OVERT_API_KEY",
    )


def _with_key(around: Surroundings) -> ProviderEntry | None:
    """The first vendor whose key is at hand; the keyring is asked only when no variable holds one."""
    for has in (around.holds, around.keeps) if around.keyring else (around.holds,):
        host = next((host for host, names in VENDOR_KEYS.items() if any(map(has, names))), "")
        if host:
            from overt.providers import catalog  # late: 2 ms

            return next(entry for entry in catalog.vendors() if parse_address(entry.base_url).host == host)
    return None
