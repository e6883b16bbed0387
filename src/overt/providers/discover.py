"""Which endpoint, which model, which key: found without asking anyone, in an order a person can predict.

1. a reference (flag or configuration): `provider`, `model` or `provider/model`
2. OVERT_BASE_URL, with OVERT_MODEL, OVERT_KIND and OVERT_API_KEY
3. the first configured provider
4. a vendor whose key is in the environment
5. a server on this machine, asked only when nothing above exists

A reference is looked up in the configured providers, then taken as a model of OVERT_BASE_URL, then looked up in
the vendors that ship with Overt.
"""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import ConfigError, ProviderError
from overt.core.late import late
from overt.core.settings import ProviderEntry
from overt.providers._address import parse_address
from overt.providers.credentials import find_key, vendor_variable
from overt.providers.http_provider import HttpProvider
from overt.providers.suggest import nearest

VENDORS_BY_KEY = (
    ("OPENAI_API_KEY", "openai"),
    ("DEEPSEEK_API_KEY", "deepseek"),
    ("ANTHROPIC_API_KEY", "anthropic"),
    ("DASHSCOPE_API_KEY", "dashscope"),
    ("OPENROUTER_API_KEY", "openrouter"),
)


class LocalServer(Struct, frozen=True, kw_only=True):
    name: str
    port: int


LOCAL_SERVERS = (
    LocalServer(name="vllm", port=8000),
    LocalServer(name="llama.cpp", port=8080),
    LocalServer(name="ollama", port=11434),
    LocalServer(name="lm-studio", port=1234),
)
LOCAL_LIMIT = 0.3
REMEDIES = """Three ways to go on:
  1. export OPENAI_API_KEY=… (or DEEPSEEK_API_KEY, ANTHROPIC_API_KEY, DASHSCOPE_API_KEY)
  2. export OVERT_BASE_URL=http://host:port/v1 for any OpenAI-compatible server, OVERT_MODEL for its model
  3. start a local server, for example `ollama serve`"""


class Found(Struct, frozen=True, kw_only=True):
    """`tried` is what was looked at before, in words, for whoever asks why this one."""

    entry: ProviderEntry
    model: str
    key: str | None
    tried: tuple[str, ...] = ()


class Surroundings(Struct, frozen=True, kw_only=True):
    """Everything a decision may depend on."""

    environ: Mapping[str, str]
    entries: Sequence[ProviderEntry]
    dotenv: Mapping[str, str]
    servers: Sequence[LocalServer]
    offline: str = ""

    def holds(self, variable: str) -> bool:
        """Whether a key of this name is at hand, in the environment or a trusted `.env`."""
        return bool(self.get(variable) or self.dotenv.get(variable))

    def get(self, variable: str) -> str:
        return self.environ.get(variable, "").strip()

    def key(self, entry: ProviderEntry) -> str | None:
        return find_key(entry, self.environ, self.dotenv)


def is_local(entry: ProviderEntry) -> bool:
    """Whether nothing leaves this machine when this entry is used."""
    return entry.kind == "scripted" or parse_address(entry.base_url).loopback


async def discover(
    environ: Mapping[str, str],
    entries: Sequence[ProviderEntry],
    *,
    reference: str = "",
    dotenv: Mapping[str, str] | None = None,
    servers: Sequence[LocalServer] = LOCAL_SERVERS,
    offline: str = "",
) -> Found:
    """The endpoint to use, or a ConfigError that lists what was looked for and what to do.

    With `offline`, which names the place that set it, nothing beyond this machine is asked or chosen.
    """
    around = Surroundings(environ=environ, entries=entries, dotenv=dotenv or {}, servers=servers, offline=offline)
    reference = reference.strip() or ("" if around.get("OVERT_BASE_URL") else around.get("OVERT_MODEL"))
    if reference:
        return await _by_reference(reference, around)
    tried: list[str] = []
    base = around.get("OVERT_BASE_URL")
    if base:
        return await _complete(_from_environment(around), around.get("OVERT_MODEL"), around, tried)
    tried.append("OVERT_BASE_URL: not set")
    if entries:
        return await _complete(entries[0], "", around, tried)
    tried.append("providers in the configuration: none")
    for variable, name in VENDORS_BY_KEY:
        if around.holds(variable):
            return await _complete(_vendor(name), "", around, tried)
    tried.append("keys in the environment: none of " + ", ".join(variable for variable, _ in VENDORS_BY_KEY))
    found = await _on_this_machine(around, wanted="", tried=tried)
    if found is not None:
        return found
    looked = "\n".join(f"  - {line}" for line in tried)
    raise ConfigError(f"No model found. Looked for:\n{looked}\n{REMEDIES}")


async def _by_reference(reference: str, around: Surroundings) -> Found:
    found = _match(reference, around.entries)
    if found is not None:
        return await _complete(*found, around, [])
    if around.get("OVERT_BASE_URL"):
        return await _complete(_from_environment(around), reference, around, [])
    if around.entries and (spare := _takes_any_model(around.entries)):
        return await _complete(spare, reference, around, [])
    vendors: tuple[ProviderEntry, ...] = late("catalog")()
    found = _match(reference, vendors)
    if found is not None:
        entry, model = found
        if around.key(entry) is None:
            raise ConfigError(
                f"model {reference!r} is served by {entry.name}, which wants a key: set {entry.api_key_env}."
            )
        return await _complete(entry, model, around, [])
    for variable, name in VENDORS_BY_KEY:
        if around.holds(variable) and not _resembles(reference, vendors):
            return await _complete(_vendor(name), reference, around, [])
    tried: list[str] = []
    local = None if around.entries else await _on_this_machine(around, wanted=reference, tried=tried)
    if local is not None:
        return local
    raise _unknown(reference, (*around.entries, *vendors), tried)


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


def _takes_any_model(entries: Sequence[ProviderEntry]) -> ProviderEntry | None:
    """The first provider that does not say which models it has."""
    return next((entry for entry in entries if not entry.models and entry.kind != "scripted"), None)


def _resembles(reference: str, vendors: Sequence[ProviderEntry]) -> bool:
    """Whether it is a slip of the pen for a vendor's name rather than a model we have not heard of."""
    return bool(late("difflib").get_close_matches(reference, [entry.name for entry in vendors], n=1, cutoff=0.75))


def _unknown(reference: str, entries: Sequence[ProviderEntry], tried: Sequence[str]) -> ConfigError:
    known = [name for entry in entries for name in (entry.name, *entry.models, entry.model) if name]
    close = nearest(reference, list(dict.fromkeys(known)))
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    looked = "".join(f"\n  - {line}" for line in tried)
    return ConfigError(
        f"model {reference!r}: no provider has it; expected a provider, a model or provider/model.{hint}"
        + (f" Also looked for:{looked}" if looked else "")
        + f"\n{REMEDIES}"
    )


async def _complete(entry: ProviderEntry, model: str, around: Surroundings, tried: Sequence[str]) -> Found:
    """Fill in the model (the server is asked only when nobody named one) and the key."""
    if around.offline and not is_local(entry):
        raise ConfigError(
            f"{around.offline}: `offline` is set, and {entry.name} is at {entry.base_url}. "
            "Choose a server on this machine, or unset it."
        )
    key = around.key(entry)
    model = model or entry.default or entry.model or (entry.models[0] if entry.models else "")
    if not model and entry.kind == "scripted":
        model = "scripted"
    if not model:
        model = await _first_offered(entry, key)
    return Found(entry=entry, model=model, key=key, tried=tuple(tried))


async def _first_offered(entry: ProviderEntry, key: str | None) -> str:
    provider = HttpProvider(entry, late("wire.openai")(), key=key)
    try:
        offered = await provider.offered(within=10.0)
    except ProviderError as error:
        words = f"{error.message} No model was named either: set OVERT_MODEL or --model."
        raise ProviderError(words, kind=error.kind, status=error.status) from None
    finally:
        provider.close()
    if not offered:
        raise ConfigError(f"{entry.base_url} lists no models: set OVERT_MODEL or --model.")
    return offered[0]


async def _on_this_machine(around: Surroundings, *, wanted: str, tried: list[str]) -> Found | None:
    """The first well-known local server that answers (and has the wanted model), all asked at once."""
    entries = [
        ProviderEntry(name=server.name, base_url=f"http://127.0.0.1:{server.port}/v1") for server in around.servers
    ]
    answers = await asyncio.gather(*(_offers(entry) for entry in entries))
    for entry, offered in zip(entries, answers, strict=True):
        model = wanted if wanted in offered else "" if wanted else next(iter(offered), "")
        if model:
            return Found(entry=replace(entry, models=offered), model=model, key=None, tried=tuple(tried))
        state = f"has {', '.join(offered[:6])}" if offered else "no answer"
        tried.append(f"{entry.name} at {entry.base_url}: {state}")
    return None


async def _offers(entry: ProviderEntry) -> tuple[str, ...]:
    provider = HttpProvider(entry, late("wire.openai")(), key=None)
    try:
        return await asyncio.wait_for(provider.offered(within=LOCAL_LIMIT), LOCAL_LIMIT)
    except (ProviderError, TimeoutError):
        return ()
    finally:
        provider.close()


def _from_environment(around: Surroundings) -> ProviderEntry:
    base = around.get("OVERT_BASE_URL")
    kind = around.get("OVERT_KIND") or "openai"
    if kind != "scripted":
        parse_address(base, place="OVERT_BASE_URL")
    return ProviderEntry(
        name="environment",
        kind=kind,
        base_url=base,
        model=around.get("OVERT_MODEL"),
        api_key_env="OVERT_API_KEY" if around.get("OVERT_API_KEY") else vendor_variable(base) or "OVERT_API_KEY",
    )


def _vendor(name: str) -> ProviderEntry:
    vendors: tuple[ProviderEntry, ...] = late("catalog")()
    return next(entry for entry in vendors if entry.name == name)
