"""URLs of web pages: one spelling for each host, however it was written."""

import pytest

from overt.core.errors import ToolError
from overt.lib.web_url import host_of, parse_web_url

LOOPBACK = "127.0.0.1"
SPELLINGS = {
    "http://127.0.0.1/": LOOPBACK,
    "http://2130706433/": LOOPBACK,
    "http://0x7f000001/": LOOPBACK,
    "http://0X7F.0.0.1/": LOOPBACK,
    "http://0177.0.0.1/": LOOPBACK,
    "http://017700000001/": LOOPBACK,
    "http://127.1/": LOOPBACK,
    "http://127.0.1/": LOOPBACK,
    "http://0x7f.1/": LOOPBACK,
    "http://127.0.0.1./": LOOPBACK,
    "http://１２７.０.０.１/": LOOPBACK,
    "http://127。0。0。1/": LOOPBACK,
    "http://①②⑦.⓪.⓪.①/": LOOPBACK,
    "http://LOCALHOST./": "localhost",
    "http://ｌｏｃａｌｈｏｓｔ/": "localhost",
    "http://[::1]/": "::1",
    "http://[0:0:0:0:0:0:0:1]/": "::1",
    "http://[::ffff:127.0.0.1]/": "::ffff:7f00:1",
    "http://Example.ORG:80/a": "example.org",
    "http://bücher.example/": "xn--bcher-kva.example",
    "http://xn--bcher-kva.example/": "xn--bcher-kva.example",
    "http://7f000001.example/": "7f000001.example",
}
NOT_URLS = (
    "example.org ftp://example.org/ file:///etc/passwd gopher://127.0.0.1:70/ data:text/plain,x javascript:alert(1) "
    "http:/example.org http:127.0.0.1 http:// http:///x http://user@example.org/ http://user:pass@example.org/ "
    "http://example.org@127.0.0.1/ http://example.org:99999/ http://example.org:0/ http://example.org:8a/ "
    "http://127.0.0.256/ http://0x7f.0.0.0.1/ http://4294967296/ http://09.0.0.1/ http://%31%32%37.0.0.1/ "
    "http://[fe80::1%25eth0]/ http://[::1/ http://[gg::1]/ http://a..b/ http://-a.example/ http://a\\@127.0.0.1/ "
    "http:\\\\127.0.0.1\\ http://exa<mple.org/ http://127.0.0.1\\@example.org/"
).split()


@pytest.mark.parametrize(("url", "host"), SPELLINGS.items())
def test_every_spelling_of_a_host_is_read_as_the_same_host(url: str, host: str) -> None:
    assert parse_web_url(url).host == host


@pytest.mark.parametrize("url", NOT_URLS)
def test_a_text_that_is_not_a_web_url_is_refused_with_a_reason(url: str) -> None:
    with pytest.raises(ToolError) as error:
        parse_web_url(url)
    assert error.value.code == "invalid" and "cannot be fetched: " in error.value.message
    assert host_of(url) == ""


def test_a_password_in_a_url_is_not_repeated_in_the_error() -> None:
    with pytest.raises(ToolError) as error:
        parse_web_url("https://me:hunter2@example.org/x")
    assert "hunter2" not in error.value.message


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("HTTPS://Example.org", "https://example.org/"),
        ("https://example.org:443/a b".replace(" ", "%20"), "https://example.org/a%20b"),
        ("http://example.org:8080?q=1#part", "http://example.org:8080/?q=1"),
        ("http://example.org/straße?q=ü", "http://example.org/stra%C3%9Fe?q=%C3%BC"),
        ("http://[2606:2800:21f::1]:81/x", "http://[2606:2800:21f::1]:81/x"),
        ("http://example.org/a@b:c", "http://example.org/a@b:c"),
    ],
)
def test_a_url_is_written_in_one_way(url: str, text: str) -> None:
    assert parse_web_url(url).text() == text
