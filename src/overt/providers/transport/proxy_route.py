"""How a request gets to its server: straight, or through a proxy that an entry or the environment names.

Servers on this machine are always reached straight. What an entry names holds for all of it (`none` for no proxy);
the environment's NO_PROXY makes exceptions from the environment's proxies only.
"""

import os
from collections.abc import Mapping

from overt.core.errors import ConfigError
from overt.core.settings import ProviderEntry
from overt.providers.transport.address import Address, Proxy, split_port
from overt.providers.transport.client import Client, Transport
from overt.providers.transport.tls import Tls

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
STRAIGHT = ("none", "direct")
NOT_IN_HOSTS = frozenset('"#/<>?@[\\]^`{|}\x7f')


def transport_for(entry: ProviderEntry, address: Address, environ: Mapping[str, str]) -> Transport:
    """Our own client, or the one that can speak to proxies, which is loaded only then."""
    tls = _tls(entry, address, environ)
    proxy = proxy_for(entry, address, environ)
    if proxy is None:
        return Client(address, tls)
    from overt.providers.transport.proxy_transport import Proxied  # late: 39 ms

    transport: Transport = Proxied(address, proxy, tls)
    return transport


def proxy_for(entry: ProviderEntry, address: Address, environ: Mapping[str, str]) -> Proxy | None:
    if address.loopback:
        return None
    if entry.proxy:
        place = f"provider {entry.name}: proxy"
        return None if entry.proxy.lower() in STRAIGHT else parse_proxy(entry.proxy, place=place)
    for variable in _variables(address, environ):
        url = environ.get(variable, "").strip()
        if url:
            return None if _excepted(address, environ) else parse_proxy(url, place=variable)
    return None


def parse_proxy(url: str, *, place: str) -> Proxy:
    """No message quotes any of the URL: whatever is wrong with it may be a piece of its password.

    A password is often written as it is, with `/`, `#` or `://` in it: the login ends at the last `@`.
    """
    scheme, separator, rest = url.strip().partition("://")
    if not separator or ":" in scheme or "@" in scheme:
        scheme, rest = "http", url.strip()
    scheme = {"socks": "socks5"}.get(scheme.lower(), scheme.lower())
    login, _, place_of_it = rest.rpartition("@")
    if scheme not in PORTS:
        raise ConfigError(f"{place}: a proxy is one of {', '.join(PORTS)}, as in http://host:3128")
    try:
        host, port = split_port(place_of_it.partition("/")[0], PORTS[scheme], place=place)
    except ConfigError:
        raise ConfigError(f"{place}: the port of a proxy is a number from 1 to 65535, as in http://host:3128") from None
    if not host or any(character <= " " or character in NOT_IN_HOSTS for character in host):
        raise ConfigError(f"{place}: expected a URL like http://host:3128 or socks5://host:1080")
    return Proxy(scheme=scheme, host=host, port=port, login=login, origin=place)


def _variables(address: Address, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Small letters go first. Under CGI, HTTP_PROXY is a header of somebody's request."""
    if address.secure:
        return ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    own = ("http_proxy",) if "REQUEST_METHOD" in environ else ("http_proxy", "HTTP_PROXY")
    return (*own, "all_proxy", "ALL_PROXY")


def _excepted(address: Address, environ: Mapping[str, str]) -> bool:
    listed = environ.get("no_proxy", "") or environ.get("NO_PROXY", "")
    return any(_covers(item, address) for item in listed.replace(",", " ").lower().split())


def _covers(item: str, address: Address) -> bool:
    """`*`, a name and all below it, an address, a range of addresses; each but a range with or without a port."""
    if item == "*":
        return True
    if "/" in item:
        return _in_range(item, address.host)
    bare = item.count(":") > 1 and not item.startswith("[")
    try:
        host, port = (item, 0) if bare else split_port(item, 0, place="NO_PROXY")
    except ConfigError:
        return False
    if port and port != address.port:
        return False
    name = host.removeprefix("*").removeprefix(".")
    return bool(name) and (address.host == name or address.host.endswith(f".{name}"))


def _in_range(item: str, host: str) -> bool:
    import ipaddress  # late: 0.9 ms

    try:
        return bool(ipaddress.ip_address(host) in ipaddress.ip_network(item, strict=False))
    except ValueError:
        return False


def _tls(entry: ProviderEntry, address: Address, environ: Mapping[str, str]) -> Tls:
    if not address.secure:
        return Tls()
    here = f"provider {entry.name}"
    _readable(environ.get("SSL_CERT_FILE", ""), environ, place="SSL_CERT_FILE")
    if entry.client_key and not entry.client_cert:
        raise ConfigError(f"{here}: client_key needs client_cert, the certificate that it belongs to")
    return Tls(
        ca_file=_readable(entry.ca_file, environ, place=f"{here}: ca_file"),
        client_cert=_readable(entry.client_cert, environ, place=f"{here}: client_cert"),
        client_key=_readable(entry.client_key, environ, place=f"{here}: client_key"),
    )


def _readable(path: str, environ: Mapping[str, str], *, place: str) -> str:
    if path.startswith("~/"):
        path = f"{environ.get('HOME', '')}{path[1:]}"
    if path and not os.access(path, os.R_OK):
        raise ConfigError(f"{place}: {path} cannot be read; expected a file in PEM form")
    return path
