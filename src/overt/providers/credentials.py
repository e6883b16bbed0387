"""Which key goes with which endpoint. Pure: the environment is a parameter, and no key leaves for another host."""

from collections.abc import Mapping

from overt.core.settings import ProviderEntry
from overt.providers._address import host_of

GENERAL = ("OVERT_API_KEY", "AGENT_API_KEY")
"""Variables whose owner means whatever endpoint is in use."""

VENDOR_KEYS: dict[str, str] = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "dashscope.aliyuncs.com": "DASHSCOPE_API_KEY",
    "dashscope-intl.aliyuncs.com": "DASHSCOPE_API_KEY",
    "dashscope-us.aliyuncs.com": "DASHSCOPE_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
"""Host → the variable that belongs to it and to no other."""


def find_key(entry: ProviderEntry, environ: Mapping[str, str], dotenv: Mapping[str, str]) -> str | None:
    """The variable the entry names (also from `.env`), then the general ones, then the one of its host."""
    if entry.api_key_env:
        named = environ.get(entry.api_key_env, "").strip() or dotenv.get(entry.api_key_env, "").strip()
        if named:
            return named
    for variable in (*GENERAL, vendor_variable(entry.base_url)):
        found = environ.get(variable, "").strip() if variable else ""
        if found:
            return found
    return None


def vendor_variable(base_url: str) -> str:
    """The variable that belongs to the host of this URL; empty when it is nobody's we know."""
    return VENDOR_KEYS.get(host_of(base_url), "")
