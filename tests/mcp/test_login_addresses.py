"""Where a login may lead to. Addresses are numbers, so that no name is looked up."""

import asyncio

import pytest

from overt.lib.web_url import parse_web_url
from overt.mcp.login_addresses import explain_refused


@pytest.mark.parametrize(
    ("server", "url", "why"),
    [
        ("https://8.8.8.8/mcp", "https://8.8.8.8/.well-known/x", ""),
        ("http://10.0.0.1:80/mcp", "http://10.0.0.1/register", ""),
        ("https://8.8.8.8/mcp", "https://1.1.1.1/register", ""),
        ("https://8.8.8.8/mcp", "http://1.1.1.1/register", "it is not https"),
        ("https://8.8.8.8/mcp", "http://127.0.0.1:6379/", "it is loopback"),
        ("https://8.8.8.8/mcp", "https://[::1]/", "it is loopback"),
        ("https://8.8.8.8/mcp", "https://169.254.169.254/latest", "it is link-local"),
        ("http://10.0.0.1/mcp", "https://10.0.0.2/", "it is private"),
        ("http://10.0.0.1/mcp", "http://127.0.0.1:8080/", "it is loopback"),
        ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/", ""),
        ("http://127.0.0.1:1/mcp", "https://1.1.1.1/", ""),
        ("http://127.0.0.1:1/mcp", "https://192.168.1.1/", "it is private"),
    ],
)
def test_a_login_stays_with_its_server_or_goes_to_public_ones(server: str, url: str, why: str) -> None:
    assert asyncio.run(explain_refused(parse_web_url(server), parse_web_url(url))) == why
