"""How much a model can hold, as its server tells: never found out by sending it too much."""

import asyncio
from collections.abc import Mapping
from typing import Literal

from overt import __version__
from overt.core.codec import decode, encode
from overt.core.errors import ProviderError
from overt.core.settings import ProviderEntry
from overt.providers.server_models import is_size, window_in
from overt.providers.transport.address import parse_address
from overt.providers.transport.attempt import HttpWire, read_all
from overt.providers.transport.client import Outgoing
from overt.providers.transport.route import transport_for

WITHIN = 5.0
LARGEST = 8 * 1024 * 1024
Ways = Literal["all", "quiet", "list"]
"""`list` asks for the list of models only, as of a vendor; `quiet` posts nothing to who does not look like Ollama."""


class Side:
    """Small questions beside the model's own path, to the same server with the same key."""

    def __init__(self, entry: ProviderEntry, wire: HttpWire, *, key: str | None, environ: Mapping[str, str]) -> None:
        self._address = parse_address(entry.base_url)
        self._transport = transport_for(entry, self._address, environ)
        self._headers = {
            "User-Agent": f"overt/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **wire.headers(key.strip() if key else None),
            **entry.headers,
        }

    async def window(self, model: str, *, ways: Ways = "all") -> tuple[int, str]:
        """The tokens a model holds here and where that stands; (0, "") when nobody says."""
        base = self._address.path
        root = base.removesuffix("/v1")
        try:
            found = _listed(await self._get(f"{base}/models"), model, f"{base}/models")
            if found or ways == "list":
                return found or (0, "")
            found = _of_props(await self._get(f"{root}/props"), f"{root}/props")
            running = None if found else await self._get(f"{root}/api/ps")
            found = (
                found
                or _of_ollama_running(running, model)
                or _listed(await self._get(f"{root}/api/v0/models"), model, f"{root}/api/v0/models")
            )
            if not found and (ways == "all" or running is not None):
                found = _of_ollama(await self._get(f"{root}/api/show", encode({"model": model})))
            return found or (0, "")
        finally:
            self._transport.close()

    async def _get(self, path: str, body: bytes = b"") -> object:
        """What a path answers in JSON; None for anything else."""
        outgoing = Outgoing(
            method="POST" if body else "GET",
            target=f"{path}{self._address.query}",
            headers=self._headers,
            body=(body,) if body else (),
        )
        until = asyncio.get_running_loop().time() + WITHIN
        try:
            exchange = await self._transport.send(outgoing, connect_within=WITHIN, answer_within=WITHIN)
            try:
                content = await read_all(exchange, until, limit=LARGEST)
            except BaseException:
                exchange.close()
                raise
            exchange.finish()
            return decode(content) if exchange.status == 200 else None
        except (ProviderError, ValueError, RecursionError):
            return None


def _of_props(found: object, where: str) -> tuple[int, str] | None:
    """llama.cpp: what one conversation gets, which is less than the model was made for."""
    settings = found.get("default_generation_settings") if isinstance(found, dict) else None
    if isinstance(settings, dict) and is_size(settings.get("n_ctx")):
        return int(settings["n_ctx"]), where
    return None


def _of_ollama_running(found: object, model: str) -> tuple[int, str] | None:
    """A loaded model runs with the window it was loaded with, whatever it was made for."""
    for item in _items(found, "models"):
        names = (item.get("name"), item.get("model"))
        size = item.get("context_length")
        if (model in names or f"{model}:latest" in names) and is_size(size):
            return size, "/api/ps"
    return None


def _of_ollama(found: object) -> tuple[int, str] | None:
    """A setting of the model wins over what it was made for."""
    if not isinstance(found, dict):
        return None
    parameters = found.get("parameters")
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdecimal() and len(value.strip()) < 10:
            return int(value), "/api/show"
    about = found.get("model_info")
    for name, value in about.items() if isinstance(about, dict) else ():
        if name.endswith(".context_length") and is_size(value):
            return value, "/api/show"
    return None


def _listed(found: object, model: str, where: str) -> tuple[int, str] | None:
    for item in (*_items(found, "data"), *_items(found, "models")):
        if model not in (item.get("id"), item.get("name"), item.get("model")):
            continue
        if size := window_in(item):
            return size, where
    return None


def _items(found: object, key: str) -> list[dict[str, object]]:
    listed = found.get(key) if isinstance(found, dict) else found
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
