"""Searches through each service, as its public API answers."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.providers.web_kit import PageReply, PageServer

from overt.core.capabilities import SearchHit
from overt.core.codec import encode
from overt.core.errors import ToolError
from overt.providers.web.search import SearchQuery, search_web

KEY = "sk-search-1b2c3d4e5f"
HITS = (
    SearchHit(title="Overt & docs", url="https://docs.example.org/a", snippet="All about overt"),
    SearchHit(title="Blog", url="https://blog.example.com/b", snippet="A post"),
)


def listed(snippet: str) -> list[dict[str, object]]:
    return [
        {"title": "<strong>Overt</strong> &amp; docs", "url": HITS[0].url, snippet: "All about <b>overt</b>\n"},
        {"title": "Blog", "url": HITS[1].url, snippet: "A post"},
        {"title": "Twice", "url": HITS[1].url, snippet: "again"},
        {"title": "No page", "url": "javascript:alert(1)"},
        {"no": "url"},
    ]


ANSWERS: dict[str, dict[str, object]] = {
    "searxng": {"query": "x", "results": listed("content")},
    "brave": {"type": "search", "web": {"results": listed("description")}},
    "mojeek": {"response": {"status": "OK", "results": listed("desc")}},
}


def search(
    name: str, query: SearchQuery, *, answer: object = None, status: int = 200, below: str = ""
) -> tuple[tuple[SearchHit, ...], str, Mapping[str, list[str]], str]:
    """Search, and return the hits with the path, the fields and the head of the request."""
    body = answer if isinstance(answer, bytes) else encode(ANSWERS[name] if answer is None else answer)

    class AnyPath(dict[str, PageReply]):
        def get(self, *_: object) -> PageReply:
            return PageReply(body, status, {"Content-Type": "application/json"})

    with PageServer({}) as server:
        server.pages = AnyPath()
        hits = asyncio.run(search_web(name, query, url=f"http://127.0.0.1:{server.port}{below}", key=KEY))
    parts = urlsplit(server.paths[0])
    return hits, parts.path, parse_qs(parts.query), server.heads[0]


@pytest.mark.parametrize("name", ANSWERS)
def test_every_service_gives_its_hits_as_plain_text_each_page_once(name: str) -> None:
    hits, _, fields, _ = search(name, SearchQuery(words="how & why"))
    assert hits == HITS and fields["q"] == ["how & why"]


def test_each_service_gets_its_key_and_path_as_its_documentation_says() -> None:
    query = SearchQuery(words="x", limit=5)
    _, path, fields, head = search("brave", query)
    assert path == "/res/v1/web/search" and f"X-Subscription-Token: {KEY}" in head and fields["count"] == ["10"]
    _, path, fields, head = search("mojeek", query)
    assert path == "/search" and fields["api_key"] == [KEY] and fields["fmt"] == ["json"] and fields["t"] == ["10"]
    for below in ("", "/searx", "/searx/search"):
        _, path, fields, head = search("searxng", query, below=below)
        assert path == f"{below.removesuffix('/search')}/search" and fields["format"] == ["json"] and KEY not in head


def test_domains_are_filtered_here_and_named_in_the_query() -> None:
    only, _, fields, _ = search("searxng", SearchQuery(words="x", allowed=("Example.ORG", "other.example")))
    assert only == HITS[:1] and fields["q"] == ["x site:Example.ORG OR site:other.example"]
    rest, _, fields, _ = search("searxng", SearchQuery(words="x", blocked=("docs.example.org",)))
    assert rest == HITS[1:] and fields["q"] == ["x -site:docs.example.org"]
    assert search("searxng", SearchQuery(words="x", allowed=("ample.org",)))[0] == ()


def test_no_more_hits_than_asked_for_are_returned() -> None:
    assert search("brave", SearchQuery(words="x", limit=1))[0] == HITS[:1]


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (401, {}, "Check the key"),
        (429, {}, "limit of requests"),
        (500, {}, "answered with status 500"),
        (200, b"<html>login</html>", "did not answer with JSON"),
    ],
)
def test_a_failure_says_what_to_do_and_never_shows_the_key(status: int, answer: object, words: str) -> None:
    with pytest.raises(ToolError, match=words) as error:
        search("mojeek", SearchQuery(words="x"), answer=answer, status=status)
    assert KEY not in error.value.message


def test_an_answer_without_results_is_no_error() -> None:
    assert search("brave", SearchQuery(words="x"), answer={"type": "search"})[0] == ()


def test_a_searxng_server_that_does_not_give_json_is_explained() -> None:
    with pytest.raises(ToolError, match=r"search\.formats"):
        search("searxng", SearchQuery(words="x"), answer={}, status=403)
