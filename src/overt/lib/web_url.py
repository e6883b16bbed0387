"""Parse the URL of a web page into one spelling, so that rules and the connection always mean the same host."""

import re

from msgspec import Struct

from overt.core.errors import ToolError

MAX_URL, MAX_HOST = 8192, 253
DOTS = str.maketrans("\u3002\uff0e\uff61", "...")
"""Full stops of other scripts, which resolvers take for a dot."""
LABELS = r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*"
NUMBER = r"0x[0-9a-f]*|[0-9]+"
UNSAFE = r"[^A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]"
"""Compiled at their first use, because most starts do not need them."""


class WebUrl(Struct, frozen=True, kw_only=True):
    """`host` is in lower case and ASCII, without a closing dot; an IP address has its usual spelling and no brackets.

    `target` is the path with the query, percent-encoded.
    """

    secure: bool
    host: str
    port: int
    target: str = "/"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    def text(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.target}"


def parse_web_url(text: str) -> WebUrl:
    """Return the parts of a URL, or raise a ToolError that says what is wrong with it."""
    text = text.strip()
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise _invalid(text, "only URLs that begin with http:// or https:// are fetched")
    if len(text) > MAX_URL or "\\" in text or any(character <= " " or character == "\x7f" for character in text):
        raise _invalid(text, "a URL has no spaces, backslashes or control characters and is not that long")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        raise _invalid(text.replace(authority, "…@…", 1), "a URL may not carry a user name or a password")
    secure = scheme.lower() == "https"
    name, port = _split_port(text, authority, 443 if secure else 80)
    host = normalize_host(name)
    if not host:
        raise _invalid(text, "its host is neither a name nor an address")
    target = rest[len(authority) :].partition("#")[0]
    target = target if target.startswith("/") else f"/{target}"
    return WebUrl(secure=secure, host=host, port=port, target=re.sub(UNSAFE, _percent, target))


def percent_decoded(text: str) -> str:
    """Return a text with `%74` and the like as the characters that they stand for."""
    data = re.sub(
        rb"%([0-9a-fA-F]{2})", lambda match: bytes.fromhex(match[1].decode()), text.encode("utf-8", "replace")
    )
    return data.decode("utf-8", "replace")


def host_of(text: str) -> str:
    """Return the host of a URL, or an empty string if it is none."""
    try:
        return parse_web_url(text).host
    except ToolError:
        return ""


def normalize_host(name: str) -> str:
    """Return the one spelling of a host name or an IP address, or an empty string if it is neither.

    Numbers are read as browsers and the C library read them: 2130706433, 0x7f.1 and 0177.0.0.1 are all 127.0.0.1.
    """
    if name.startswith("[") and name.endswith("]"):
        return _normal_ipv6(name[1:-1])
    import unicodedata  # late: 0.3 ms

    name = unicodedata.normalize("NFKC", name.translate(DOTS)).translate(DOTS).lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return ""
    name = name.removesuffix(".")
    if len(name) > MAX_HOST or not re.fullmatch(LABELS, name):
        return ""
    last = name.rpartition(".")[2]
    return _normal_ipv4(name) if last.isdigit() or re.fullmatch(NUMBER, last) else name


def _split_port(text: str, authority: str, usual: int) -> tuple[str, int]:
    name, colon, port = authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    if not colon:
        return authority, usual
    if not port:
        return name, usual
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise _invalid(text, "its port is not a number from 1 to 65535")
    return name, int(port)


def _normal_ipv4(name: str) -> str:
    """Return four numbers with dots for any spelling of an IPv4 address, or an empty string."""
    parts = name.split(".")
    if len(parts) > 4 or not all(re.fullmatch(NUMBER, part) for part in parts):
        return ""
    try:
        numbers = [_read_number(part) for part in parts]
    except ValueError:
        return ""
    *heads, tail = numbers
    if any(number > 255 for number in heads) or tail >= 256 ** (5 - len(parts)):
        return ""
    value = tail + sum(number << (24 - 8 * place) for place, number in enumerate(heads))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _read_number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part.startswith("0") else int(part)


def _normal_ipv6(name: str) -> str:
    import ipaddress  # late: 1.3 ms

    try:
        return "" if "%" in name else str(ipaddress.IPv6Address(name))
    except ValueError:
        return ""


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _invalid(text: str, why: str) -> ToolError:
    shown = "".join(character if character.isprintable() else "?" for character in text[:200])
    return ToolError(f"{shown!r} cannot be fetched: {why}.", code="invalid")
