"""Which addresses a login may lead to. A server names them, and it must not reach into the user's own network."""

import asyncio
import socket
from ipaddress import ip_address

from overt.lib.web_url import WebUrl
from overt.providers.web.addresses import explain_reserved


async def explain_refused(server: WebUrl, target: WebUrl) -> str:
    """Return why a login to a server must not send a request to a target, as a clause, or an empty string if it may.

    The origin of the server itself is allowed, and https on public addresses. A server on loopback may name others
    there.
    """
    if (target.secure, target.host, target.port) == (server.secure, server.host, server.port):
        return ""
    addresses = await _resolve(target)
    if not addresses:
        return "its name cannot be looked up"
    if all(_is_loopback(address) for address in addresses):
        on_loopback = [_is_loopback(address) for address in await _resolve(server)]
        if on_loopback and all(on_loopback):
            return ""
    elif not target.secure:
        return "it is not https"
    return next((why for address in addresses if (why := explain_reserved(address))), "")


async def _resolve(url: WebUrl) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(place[0]) for *_, place in found]


def _is_loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback
