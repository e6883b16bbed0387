"""Tell public IP addresses from all others. Pure: nothing is looked up."""

from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

RESERVED_IPV4 = {
    "0.0.0.0/8": "it means this machine",
    "10.0.0.0/8": "it is private",
    "100.64.0.0/10": "it is inside of a provider's network (carrier-grade NAT)",
    "127.0.0.0/8": "it is loopback",
    "169.254.0.0/16": "it is link-local",
    "172.16.0.0/12": "it is private",
    "192.0.0.0/24": "it is reserved",
    "192.0.2.0/24": "it is for documentation",
    "192.88.99.0/24": "it is a 6to4 relay",
    "192.168.0.0/16": "it is private",
    "198.18.0.0/15": "it is for benchmarks",
    "198.51.100.0/24": "it is for documentation",
    "203.0.113.0/24": "it is for documentation",
    "224.0.0.0/4": "it is multicast",
    "240.0.0.0/4": "it is reserved",
}
RESERVED_IPV6 = {
    "::/128": "it means this machine",
    "::1/128": "it is loopback",
    "::ffff:0:0/96": "it is an IPv4 address in disguise (v4-mapped)",
    "64:ff9b:1::/48": "it is a local NAT64 address",
    "2001::/32": "it is a Teredo tunnel",
    "2001::/23": "it is reserved",
    "2001:db8::/32": "it is for documentation",
    "2002::/16": "it is a 6to4 tunnel",
    "3fff::/20": "it is for documentation",
    "fc00::/7": "it is private (unique local)",
    "fe80::/10": "it is link-local",
    "fec0::/10": "it is private (site-local)",
    "ff00::/8": "it is multicast",
}
GLOBAL_IPV6 = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")
"""Networks without IPv4 reach public IPv4 servers through it, so the address inside decides."""


def explain_reserved(address: str) -> str:
    """Return why an address is not public, as a clause that follows it, or an empty string if it is public."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "it is not an IP address"
    if isinstance(parsed, IPv6Address) and parsed in NAT64:
        parsed = IPv4Address(int(parsed) & 0xFFFFFFFF)
    if isinstance(parsed, IPv4Address):
        return next((why for network, why in _ipv4() if parsed in network), "")
    why = next((why for network, why in _ipv6() if parsed in network), "")
    return why or ("" if parsed in GLOBAL_IPV6 else "it is reserved")


@cache
def _ipv4() -> tuple[tuple[IPv4Network, str], ...]:
    return tuple((IPv4Network(network), why) for network, why in RESERVED_IPV4.items())


@cache
def _ipv6() -> tuple[tuple[IPv6Network, str], ...]:
    return tuple((IPv6Network(network), why) for network, why in RESERVED_IPV6.items())
