"""Search the web through a service that the user has configured. Each service is one entry of a table.

The address comes from the user's own configuration, so it may be anywhere, this machine included.
"""

import asyncio
import html
import re
from urllib.parse import urlencode

from msgspec import Struct

from overt.core.capabilities import SearchHit
from overt.core.codec import decode
from overt.core.errors import ProviderError, ToolError
from overt.lib.web_url import host_of, normalize_host
from overt.providers.transport.address import parse_address
from overt.providers.transport.attempt import read_all
from overt.providers.transport.client import Client, Outgoing
from overt.providers.transport.tls import SYSTEM, Tls

SEARCH_WITHIN_S = 20.0
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_SNIPPET_CHARS = 400


class SearchService(Struct, frozen=True, kw_only=True):
    """How one service is asked. The key goes into `key_header` or the field `key_field`; `count` is the field for the
    number of results. `results` is the path to the list in the answer, `snippet` the field of a hit with its text."""

    results: tuple[str, ...]
    snippet: str
    url: str = ""
    path: str = "/search"
    fields: dict[str, str] = {}
    count: str = ""
    key_header: str = ""
    key_field: str = ""

    @property
    def needs_key(self) -> bool:
        return bool(self.key_header or self.key_field)


SERVICES = {
    "searxng": SearchService(results=("results",), snippet="content", fields={"format": "json"}),
    "brave": SearchService(
        url="https://api.search.brave.com",
        path="/res/v1/web/search",
        results=("web", "results"),
        snippet="description",
        count="count",
        key_header="X-Subscription-Token",
    ),
    "mojeek": SearchService(
        url="https://api.mojeek.com",
        results=("response", "results"),
        snippet="desc",
        fields={"fmt": "json"},
        count="t",
        key_field="api_key",
    ),
}


class SearchQuery(Struct, frozen=True, kw_only=True):
    """If domains are `allowed`, only hits on them and their subdomains count; hits on `blocked` ones never do."""

    words: str
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    limit: int = 10

    def text(self) -> str:
        """Return the words with the operators that most services understand, to get fewer hits that are dropped."""
        sites = " OR ".join(f"site:{domain}" for domain in self.allowed)
        return " ".join(filter(None, (self.words, sites, *(f"-site:{domain}" for domain in self.blocked))))

    def accepts(self, url: str) -> bool:
        host = host_of(url)
        return bool(host) and (not self.allowed or _lies_in(host, self.allowed)) and not _lies_in(host, self.blocked)


async def search_web(
    name: str, query: SearchQuery, *, url: str = "", key: str = "", tls: Tls = SYSTEM
) -> tuple[SearchHit, ...]:
    """Ask a service and return its hits in its order. `url` takes the place of the usual address of the service."""
    service = SERVICES[name]
    address = parse_address(url or service.url, place="web.search_url")
    fields = {"q": query.text(), **service.fields}
    fields |= {service.count: str(min(query.limit * 2, 20))} if service.count else {}
    fields |= {service.key_field: key} if service.key_field else {}
    headers = {"Accept": "application/json", "Connection": "close"}
    headers |= {service.key_header: key} if service.key_header else {}
    path = address.path.removesuffix(service.path) + service.path
    outgoing = Outgoing(method="GET", target=f"{path}?{urlencode(fields)}", headers=headers)
    until = asyncio.get_running_loop().time() + SEARCH_WITHIN_S
    client = Client(address, tls)
    try:
        exchange = await client.send(outgoing, connect_within=SEARCH_WITHIN_S, answer_within=SEARCH_WITHIN_S)
        try:
            body = await read_all(exchange, until, limit=MAX_ANSWER_BYTES)
        finally:
            exchange.close()
    except ProviderError as error:
        if error.kind == "stalled":
            raise ToolError(f"{name} did not answer within {SEARCH_WITHIN_S:g} s.", code="timeout") from error
        raise ToolError(f"{name}: {error.message}") from error
    finally:
        client.close()
    if exchange.status != 200:
        raise ToolError(
            f"{name} answered with status {exchange.status}.{_remedy(name, exchange.status)}", code="status"
        )
    return tuple(_hits(name, service, body, query))[: query.limit]


def _remedy(name: str, status: int) -> str:
    if status in (401, 403):
        at_home = (
            " A SearXNG server must list `json` under `search.formats` of its settings." if name == "searxng" else ""
        )
        return at_home or " Check the key in the variable that `web.api_key_env` names."
    return " Its limit of requests is reached; try later." if status == 429 else ""


def _hits(name: str, service: SearchService, body: bytes, query: SearchQuery) -> list[SearchHit]:
    try:
        listed: object = decode(body)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, dict):
        raise ToolError(f"{name} did not answer with JSON. Check `web.search_url`.")
    for step in service.results:
        listed = listed.get(step) if isinstance(listed, dict) else None
    items = listed if isinstance(listed, list) else []  # no list: nothing was found
    hits: dict[str, SearchHit] = {}
    for item in items:
        match item:
            case {"url": str(url), **rest} if query.accepts(url):
                title, snippet = _plain(rest.get("title")), _plain(rest.get(service.snippet))
                hits.setdefault(url, SearchHit(title=title, url=url, snippet=snippet))
            case _:
                pass
    return list(hits.values())


def _plain(value: object) -> str:
    """Return a text of a result without tags, in one line."""
    text = html.unescape(re.sub(r"<[^<>]{0,200}>", "", value)) if isinstance(value, str) else ""
    text = " ".join(text.split())
    return text if len(text) <= MAX_SNIPPET_CHARS else text[: MAX_SNIPPET_CHARS - 1] + "…"


def _lies_in(host: str, domains: tuple[str, ...]) -> bool:
    names = (normalize_host(domain) for domain in domains)
    return any(name and (host == name or host.endswith(f".{name}")) for name in names)
