"""Ask a server how much context its model has. A request that is too long is never sent to find out."""

import asyncio
from collections.abc import Mapping, Sequence

from overt.core.codec import decode, encode
from overt.core.errors import OvertError, ProviderError
from overt.providers.credentials import vendor_variables
from overt.providers.http_provider import HttpProvider, make
from overt.providers.model_choice import ChosenModel
from overt.providers.server_models import is_size, read_models
from overt.providers.wires import WireKind

EACH_WITHIN, ALL_WITHIN = 5.0, 10.0


async def ask_window(chosen: ChosenModel, environ: Mapping[str, str], wires: Sequence[WireKind] = ()) -> int:
    """Return the tokens that the server says its model holds; 0 when it says nothing, or not in time."""
    entry = chosen.entry
    if not entry.base_url.startswith("http"):
        return 0
    try:
        provider = make(entry, chosen.key, environ=environ, wires=wires)
    except OvertError:
        return 0
    try:
        async with asyncio.timeout(ALL_WITHIN):
            size, _ = await find_window(provider, chosen.model, vendor=bool(vendor_variables(entry.base_url)))
            return size
    except TimeoutError:
        return 0
    finally:
        provider.close()


async def find_window(
    provider: HttpProvider, model: str, *, vendor: bool = False, post: bool = False
) -> tuple[int, str]:
    """Return the tokens a model holds and the path that told, or (0, "").

    A `vendor` is asked for its list of models only. Without `post`, nothing is posted to a server that does not look
    like Ollama.
    """
    base = provider.address.path
    root = base.removesuffix("/v1")
    if (size := _listed(await _get(provider, f"{base}/models"), model)) or vendor:
        return (size, f"{base}/models") if size else (0, "")
    if size := _of_llama_cpp(await _get(provider, f"{root}/props")):
        return size, f"{root}/props"
    running = await _get(provider, f"{root}/api/ps")
    if size := _of_ollama_running(running, model):
        return size, "/api/ps"
    if size := _listed(await _get(provider, f"{root}/api/v0/models"), model):
        return size, f"{root}/api/v0/models"
    if not (post or running):
        return 0, ""
    size = _of_ollama(await _get(provider, f"{root}/api/show", encode({"model": model})))
    return (size, "/api/show") if size else (0, "")


async def _get(provider: HttpProvider, path: str, body: bytes = b"") -> bytes:
    """Return what a path answers with status 200, or nothing."""
    try:
        exchange, content = await provider.fetch(path, within=EACH_WITHIN, body=body)
    except ProviderError:
        return b""
    return content if exchange.status == 200 else b""


def _table(content: object) -> dict[str, object]:
    if isinstance(content, bytes):
        try:
            content = decode(content)
        except (ValueError, RecursionError):
            return {}
    return content if isinstance(content, dict) else {}


def _listed(content: bytes, model: str) -> int:
    return next((facts.window for facts in read_models(content) or () if facts.name == model), 0)


def _of_llama_cpp(content: bytes) -> int:
    """What one conversation gets, which is less than the model was made for."""
    size = _table(_table(content).get("default_generation_settings")).get("n_ctx")
    return size if is_size(size) else 0


def _of_ollama_running(content: bytes, model: str) -> int:
    """A loaded model runs with the window it was loaded with, whatever it was made for."""
    loaded = _table(content).get("models")
    for item in map(_table, loaded if isinstance(loaded, list) else ()):
        size = item.get("context_length")
        if {item.get("name"), item.get("model")} & {model, f"{model}:latest"} and is_size(size):
            return size
    return 0


def _of_ollama(content: bytes) -> int:
    """A setting of the model wins over what it was made for."""
    about = _table(content)
    for line in str(about.get("parameters", "")).splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdecimal() and len(value.strip()) < 10:
            return int(value)
    facts = _table(about.get("model_info")).items()
    return next((size for name, size in facts if name.endswith(".context_length") and is_size(size)), 0)
