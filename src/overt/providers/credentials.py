"""Which key goes with which endpoint. Pure: the environment is a parameter, and no key leaves for another host."""

from collections.abc import Callable, Mapping

from overt.core.settings import ProviderEntry
from overt.lib.redaction.secret_values import says_secret
from overt.providers.transport.address import host_of, is_loopback, parse_address

GENERAL = ("OVERT_API_KEY", "AGENT_API_KEY")
"""Variables whose owner means whatever endpoint is in use."""

VENDOR_KEYS: dict[str, tuple[str, ...]] = {
    "api.openai.com": ("OPENAI_API_KEY",),
    "api.deepseek.com": ("DEEPSEEK_API_KEY",),
    "api.anthropic.com": ("ANTHROPIC_API_KEY",),
    "dashscope.aliyuncs.com": ("DASHSCOPE_API_KEY",),
    "dashscope-intl.aliyuncs.com": ("DASHSCOPE_API_KEY",),
    "dashscope-us.aliyuncs.com": ("DASHSCOPE_API_KEY",),
    "api.xiaomimimo.com": ("MIMO_API_KEY", "XIAOMI_API_KEY"),
    "api.z.ai": ("ZAI_API_KEY", "ZHIPU_API_KEY", "ZHIPUAI_API_KEY"),
    "open.bigmodel.cn": ("ZAI_API_KEY", "ZHIPU_API_KEY", "ZHIPUAI_API_KEY"),
    "api.moonshot.ai": ("MOONSHOT_API_KEY",),
    "api.moonshot.cn": ("MOONSHOT_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "api.mistral.ai": ("MISTRAL_API_KEY",),
    "api.groq.com": ("GROQ_API_KEY",),
    "api.x.ai": ("XAI_API_KEY",),
    "openrouter.ai": ("OPENROUTER_API_KEY",),
}
"""Host → the variables that belong to it, in the order of `models.toml`: the catalogue is not read for a key."""

SHORTEST_PIECE = 8
"""Shorter words of a header's value, as `Bearer`, stand in other texts as well."""

Lookup = Callable[[str], str | None]
"""A place that holds secrets under the names of variables, as the keyring of the system does."""


def find_key(
    entry: ProviderEntry, environ: Mapping[str, str], dotenv: Mapping[str, str], keyring: Lookup | None = None
) -> str | None:
    """The variable the entry names, also from `.env`; then the general ones and those of its host; then the keyring.

    A vendor's key never goes to that vendor in the clear, for everybody on the way could read it.
    """
    belonging = vendor_variables(entry.base_url)
    named = entry.api_key_env
    if not belonging and named in VENDOR_KEYS.get(host_of(entry.base_url), ()):
        named = ""
    if named and (found := environ.get(named, "").strip() or dotenv.get(named, "").strip()):
        return found
    for variable in (*GENERAL, *belonging):
        if found := environ.get(variable, "").strip():
            return found
    for variable in belonging:
        if found := dotenv.get(variable, "").strip():
            return found
    own = () if named in ("", *GENERAL) else (named,)
    return _kept(entry, (*own, *belonging), keyring) if keyring else None


def _kept(entry: ProviderEntry, own: tuple[str, ...], keyring: Lookup) -> str | None:
    """A keyring is slow to ask, and a server on this machine mostly wants no key: it is asked for a named one only."""
    local = is_loopback(host_of(entry.base_url) or "localhost")
    for variable in dict.fromkeys((*own, *(() if local else GENERAL))):
        if found := (keyring(variable) or "").strip():
            return found
    return None


def vendor_variables(base_url: str) -> tuple[str, ...]:
    """The variables that belong to the host of this URL; none when it is nobody's we know, or not behind TLS."""
    host = host_of(base_url)
    return VENDOR_KEYS[host] if host in VENDOR_KEYS and parse_address(base_url).secure else ()


def secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be shown of the headers a person set: the values of those that say so, whole and in pieces."""
    found: list[str] = []
    for name, value in headers.items():
        if not (says_secret(name) or "auth" in name.lower() or name.lower() == "cookie"):
            continue
        pieces = value.replace(";", " ").replace(",", " ").split()
        pieces += [piece.partition("=")[2] for piece in pieces]
        found += [value.strip(), *(piece for piece in pieces if len(piece) >= SHORTEST_PIECE)]
    return tuple(filter(None, dict.fromkeys(found)))
