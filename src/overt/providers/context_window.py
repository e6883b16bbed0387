"""How much a model holds, asked of the server that runs it: for a model of which nobody has said it."""

import asyncio
from collections.abc import Mapping

from overt.core.errors import OvertError
from overt.providers.credentials import vendor_variables
from overt.providers.discover import Found
from overt.providers.http_provider import make
from overt.providers.probing.server_window import Side

WITHIN = 10.0


async def told_window(found: Found, environ: Mapping[str, str]) -> int:
    """The tokens that the server says its model holds; 0 when it says nothing, or not in time."""
    entry = found.entry
    if not entry.base_url.startswith("http"):
        return 0
    try:
        provider = make(entry, found.key, environ=environ)
        side = Side(entry, provider.wire, key=found.key, environ=environ)
        provider.close()
        async with asyncio.timeout(WITHIN):
            size, _ = await side.window(found.model, ways="list" if vendor_variables(entry.base_url) else "quiet")
            return size
    except (OvertError, TimeoutError):
        return 0
