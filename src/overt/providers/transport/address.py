"""A base URL taken apart by hand: `urllib` costs more at start-up than the whole request."""

from msgspec import Struct

from overt.core.errors import ConfigError


class Address(Struct, frozen=True, kw_only=True):
    """`path` has no closing slash; `query` (with its `?`) follows whatever is added to the path."""

    secure: bool
    host: str
    port: int
    path: str = ""
    query: str = ""

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    def target(self, below: str) -> str:
        return f"{self.path}{below}{self.query}"


class Proxy(Struct, frozen=True, kw_only=True):
    """`login` is name and password as the URL had them, and never shown; `origin` is who named the proxy."""

    scheme: str
    host: str
    port: int
    login: str = ""
    origin: str = "proxy"

    @property
    def shown(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self.shown})"


def is_loopback(host: str) -> bool:
    octets = host.split(".")
    if len(octets) == 4 and all(octet.isdigit() for octet in octets):
        return octets[0] == "127"
    return host in ("localhost", "::1") or host.endswith(".localhost")


def parse_address(url: str, *, place: str = "base_url") -> Address:
    """The address of a server, or a ConfigError that says what is wrong with the URL."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise ConfigError(f"{place}: expected a URL that begins with http:// or https://, got {url!r}")
    secure = scheme.lower() == "https"
    rest, _, _ = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    if "@" in authority:
        raise ConfigError(f"{place}: a URL may not carry a user or a password; put the key in a variable instead")
    host, port = split_port(authority, 443 if secure else 80, place=place)
    path = "/" + path.strip("/") if path.strip("/") else ""
    if not host or any(character <= " " or character == "\x7f" for character in host + path + query):
        raise ConfigError(f"{place}: {url!r} is not a usable URL; expected something like https://host/v1")
    return Address(secure=secure, host=host, port=port, path=path, query=f"?{query}" if query else "")


def host_of(url: str) -> str:
    """The host of a URL, empty when there is none to be found."""
    try:
        return parse_address(url).host
    except ConfigError:
        return ""


def split_port(authority: str, default: int, *, place: str) -> tuple[str, int]:
    """Host, without the brackets of IPv6 and in small letters, and port."""
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    if not port:
        return host.lower(), default
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ConfigError(f"{place}: the port of a URL is a number from 1 to 65535, got {port!r}")
    return host.lower(), int(port)
