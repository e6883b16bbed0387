"""One vendor endpoint over HTTP: attempts follow each other here, and errors get their last words.

Until its first event a failed attempt may be followed by another; from then on the request is the only one, and
whatever breaks it is reported after what has already been shown.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from os import urandom

from msgspec.structs import replace

from overt import __version__
from overt.core.errors import ConfigError, OvertError, ProviderError
from overt.core.requests import Delta, Request, RetryDelta
from overt.core.settings import ModelFacts, ProviderEntry
from overt.lib.logs.log import LOG
from overt.providers.credentials import secrets_in
from overt.providers.suggest_names import exists_instead
from overt.providers.transport.address import parse_address
from overt.providers.transport.attempt import AttemptServer, HttpWire, RequestAttempt, limits_of, read_all
from overt.providers.transport.client import Exchange, Outgoing, Transport
from overt.providers.transport.errors import RequestPlace, from_status, not_api, redact_error
from overt.providers.transport.proxy_route import transport_for
from overt.providers.transport.retry import Patience, RetryHistory, final_error, next_wait
from overt.providers.wires import WireKind, make_wire

MAX_LIST = 8 * 1024 * 1024


class HttpProvider:
    """A Provider over HTTP. `key` goes out as the wire wants it and is never shown; `watch` is given every event."""

    def __init__(
        self,
        entry: ProviderEntry,
        wire: HttpWire,
        *,
        key: str | None,
        transport: Transport | None = None,
        patience: Patience | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.name = entry.name
        self.wire: HttpWire = wire
        self.watch: Callable[[bytes], None] | None = None
        self._entry = entry
        self._key = key.strip() if key else None
        self.address = parse_address(entry.base_url, place=f"provider {entry.name}: base_url")
        self._transport: Transport = transport or transport_for(entry, self.address, environ or {})
        self._patience = patience or Patience()
        self._headers = _headers(entry, self._key, wire)
        self._secrets = (*((self._key,) if self._key else ()), *secrets_in(entry.headers))

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        loop = asyncio.get_running_loop()
        model = request.params.model
        until = loop.time() + self._entry.timeouts.total
        outgoing = Outgoing(
            method="POST", target=self.address.target(self.wire.path), headers=self._headers, body=request.pieces()
        )
        history = RetryHistory()
        while True:
            attempt = self._attempt(outgoing, model=model, until=until)
            before = self._transport.resent
            began = loop.time()
            try:
                async with aclosing(attempt.run()) as deltas:
                    async for delta in deltas:
                        yield delta
                self._log_request(request, f"answered in {loop.time() - began:.3f} s")
                return
            except ProviderError as error:
                problem = redact_error(error, *self._secrets)
            history = replace(history, made=history.made + self._transport.resent - before)
            wait = None if attempt.heard else self._wait(problem, history)
            if wait is None or loop.time() + wait >= until:
                LOG.warning("provider", f"{self.name}/{model}: {problem.kind}: {problem.message}")
                raise await self._explained(problem, attempt, history, model=model) from None
            LOG.info("provider", f"{self.name}/{model}: {problem.message} Retrying in {wait:.1f} s.")
            yield RetryDelta(attempt=history.made + 1, attempts=self._entry.attempts, wait=wait, reason=problem.message)
            await asyncio.sleep(wait)
            own = 0.0 if problem.retry_after else wait
            history = RetryHistory(made=history.made + 1, waited=history.waited + own)

    def _log_request(self, request: Request, outcome: str) -> None:
        if LOG.enabled("debug"):
            target = self.address.target(self.wire.path)
            LOG.debug("provider", f"POST {target} {request.params.model}, {request.length} bytes: {outcome}")

    async def models(self) -> tuple[str, ...]:
        """The models the server offers; empty when it does not say."""
        return await self._names(within=5.0)

    async def _names(self, *, within: float) -> tuple[str, ...]:
        try:
            return tuple(facts.name for facts in await self.listed(within=within))
        except OvertError:
            return ()

    async def listed(self, *, within: float) -> tuple[ModelFacts, ...]:
        """The models the server offers and what it tells of them, or the error that stands in the way."""
        try:
            exchange, body = await self.fetch(self.address.target("/models"), within=within)
            place = self._place("", "/models")
            if exchange.status != 200:
                raise from_status(exchange.status, exchange.headers, body, place=place)
            from overt.providers.server_models import read_models  # late: 0.1 ms

            models: tuple[ModelFacts, ...] | None = read_models(body)
            if models is None:
                raise not_api(exchange.status, exchange.headers.get("content-type", ""), place=place)
            return models
        except ProviderError as error:
            raise redact_error(error, *self._secrets) from None

    async def balance(self) -> str:
        """What is left on the account, as its vendor words it; empty where nobody tells, or something fails."""
        path, _, currency = self._entry.quirks.balance.partition(" ")
        if not path:
            return ""
        try:
            exchange, body = await self.fetch(self.address.target(path), within=5.0)
        except OvertError:
            return ""
        if exchange.status != 200:
            return ""
        from overt.providers.balance import read_balance  # late: 0.5 ms

        return read_balance(body, currency)

    async def fetch(self, target: str, *, within: float, body: bytes = b"") -> tuple[Exchange, bytes]:
        """Return the answer to a question about the account or the server, whatever its status."""
        until = asyncio.get_running_loop().time() + within
        pieces = (body,) if body else ()
        outgoing = Outgoing(method="POST" if body else "GET", target=target, headers=self._headers, body=pieces)
        exchange = await self._transport.send(outgoing, connect_within=within, answer_within=within)
        try:
            content = await read_all(exchange, until, limit=MAX_LIST)
        except BaseException:
            exchange.close()
            raise
        exchange.finish()
        return exchange, content

    def warm(self, head: bytes = b"") -> None:
        """A server elsewhere is ready."""

    def close(self) -> None:
        """Let go of the connection that waits for the next request."""
        self._transport.close()

    def _attempt(self, outgoing: Outgoing, *, model: str, until: float) -> RequestAttempt:
        server = AttemptServer(
            transport=self._transport,
            address=self.address,
            place=self._place(model, self.wire.path),
            max_event=self._entry.max_event,
        )
        limits = limits_of(self._entry.timeouts, self._patience, loopback=self.address.loopback, until=until)
        return RequestAttempt(server, outgoing, wire=self.wire, limits=limits, watch=self.watch)

    def _wait(self, problem: ProviderError, history: RetryHistory) -> float | None:
        chance = urandom(1)[0] / 255
        return next_wait(problem, history, attempts=self._entry.attempts, chance=chance, patience=self._patience)

    def _place(self, model: str, below: str) -> RequestPlace:
        scheme = "https" if self.address.secure else "http"
        return RequestPlace(
            provider=self.name,
            url=f"{scheme}://{self.address.authority}{self.address.path}{below}",
            model=model,
            key_env=self._entry.api_key_env,
            has_key=self._key is not None,
        )

    async def _explained(
        self, problem: ProviderError, attempt: RequestAttempt, history: RetryHistory, *, model: str
    ) -> ProviderError:
        """The error with its last words: how often it was tried, and which models exist when one does not."""
        if attempt.heard:
            return problem
        problem = final_error(problem, history, patience=self._patience)
        if problem.kind != "model":
            return problem
        words = f"{problem.message} {exists_instead(model, await self._names(within=2.0))}"
        return ProviderError(words, kind=problem.kind, status=problem.status)


def make(
    entry: ProviderEntry,
    key: str | None,
    model: str = "",
    environ: Mapping[str, str] | None = None,
    wires: Sequence[WireKind] = (),
) -> HttpProvider:
    """A provider that speaks the wire of the entry's kind, as this model wants it; `environ` may name a proxy."""
    wire = make_wire(entry.kind, entry.facts(model), max_answer=entry.max_answer, extra=wires)
    return HttpProvider(entry, wire, key=key, environ=environ)


def _headers(entry: ProviderEntry, key: str | None, wire: HttpWire) -> dict[str, str]:
    headers = {
        "User-Agent": f"overt/{__version__}",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
    }
    if key and not _fits_header(key):
        where = entry.api_key_env or "the environment"
        raise ConfigError(f"{where}: the API key holds characters that no key has (line break, accent, space)")
    headers |= wire.headers(key)
    for name, value in entry.headers.items():
        if not (_fits_header(name) and ":" not in name and _fits_header(value.replace(" ", "_"))):
            raise ConfigError(f"provider {entry.name}: the header {name!r} has characters that HTTP does not allow")
        headers[name] = value
    return headers


def _fits_header(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
