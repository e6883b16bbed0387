"""Logs in to remote servers with OAuth, and keeps their access tokens fresh.

The SDK's provider makes the login itself: discovery, registration, PKCE and the exchange of the code. Its handling of
tokens is not used, because it lets one request of a connection run at a time, never refreshes before expiry or after a
401, and knows of no other process.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import nullcontext

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from msgspec import Raw, structs
from pydantic import AnyUrl, ValidationError

from overt.core.settings import ServerEntry
from overt.lib.web_url import WebUrl
from overt.mcp.host.failures import CommandFailed, login_needed
from overt.mcp.host.http_transport import open_client
from overt.mcp.host.link import OvertLink
from overt.mcp.host.redirect_listener import LoginRefused, RedirectListener
from overt.mcp.host.running_command import CURRENT, RunningCommand
from overt.mcp.host.token_store import StoredLogin, TokenStore
from overt.mcp.login_addresses import explain_refused
from overt.mcp.messages import OpenPage

LOGIN_LIMIT_S = 300.0
REFRESH_LIMIT_S = 30.0


class _LoginStorage:
    """What the SDK's provider reads before a login, and where it puts the result.

    It gets no refresh token: refreshing is done here, by one process of all.
    """

    def __init__(self, login: StoredLogin | None, client: OAuthClientInformationFull | None) -> None:
        self._login = login
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken(access_token=self._login.access_token, scope=self._login.scope) if self._login else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class ServerLogin(httpx2.Auth):
    """Puts the access token into the requests to one server; refreshes it, or lets the user log in, where needed.

    `may_ask`: a user can be asked to log in. `command` is the one for which a connection is being made.
    """

    def __init__(self, server: ServerEntry, link: OvertLink, *, token_folder: str, may_ask: bool) -> None:
        self.command: RunningCommand | None = None
        self.may_ask = may_ask
        self._server = server
        self._link = link
        self._store = TokenStore(token_folder, server.url)
        self._login: StoredLogin | None = None
        self._loaded = False
        self._busy = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        login = await self._current()
        if login:
            request.headers["Authorization"] = f"Bearer {login.access_token}"
        response = yield request
        if response.status_code == 401 and login and login.refresh_token:
            login = await self._refresh(login)
            if login:
                request.headers["Authorization"] = f"Bearer {login.access_token}"
                response = yield request
        if not _wants_login(response):
            return
        async with self._busy:
            newer = self._login
            if newer and login and newer.access_token != login.access_token:
                request.headers["Authorization"] = f"Bearer {newer.access_token}"
                response = yield request  # another request of this connection has logged in meanwhile
                if not _wants_login(response):
                    return
            command = CURRENT.get() or self.command
            if not (self.may_ask and command and command.may_log_in):
                raise login_needed(self._server)
            flow = self._log_in(request, response)
            outgoing: httpx2.Request | None = await anext(flow)
            while outgoing:
                outgoing = await _send_response(flow, (yield outgoing))

    async def log_in(self, headers: dict[str, str], command: RunningCommand) -> str:
        """Let the user log in, whatever is stored. Return the issuer of the new tokens."""
        self.command = command
        self._login, self._loaded = await self._store.load(), True
        body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
        accepted = headers | {"Accept": "application/json, text/event-stream"}
        async with self._busy, open_client(accepted, REFRESH_LIMIT_S) as client:
            method = "GET" if self._server.kind == "sse" else "POST"
            request = client.build_request(method, self._server.url, json=body if method == "POST" else None)
            response = await client.send(request, stream=True)
            if not _wants_login(response):
                await response.aclose()
                raise CommandFailed("login", f"{self._server.name}: the server does not ask for a login.")
            flow = self._log_in(request, response)
            outgoing: httpx2.Request | None = await anext(flow)
            while outgoing:
                await response.aclose()
                response = await client.send(outgoing, stream=True)
                outgoing = await _send_response(flow, response)
            await response.aclose()
        assert self._login
        return self._login.issuer

    async def _current(self) -> StoredLogin | None:
        if not self._loaded:
            self._login, self._loaded = await self._store.load(), True
        if self._login and self._login.needs_refresh() and self._login.refresh_token:
            return await self._refresh(self._login)
        return self._login

    async def _refresh(self, stale: StoredLogin) -> StoredLogin | None:
        """Return newer tokens than `stale`, or None if only a login helps. One process of all asks the issuer."""
        async with self._busy, self._store.locked():
            stored = await self._store.load()
            if stored is None or stored.access_token == stale.access_token or stored.needs_refresh():
                stored = await self._ask_for_tokens(stored or stale)
            if stored:
                self._login = stored
            return stored

    async def _ask_for_tokens(self, login: StoredLogin) -> StoredLogin | None:
        client = OAuthClientInformationFull.model_validate_json(bytes(login.client))
        data = {"grant_type": "refresh_token", "refresh_token": login.refresh_token, "client_id": client.client_id}
        if login.resource:
            data["resource"] = login.resource
        context = self._context(client)
        data, headers = context.prepare_token_auth(data, {})
        async with open_client({}, REFRESH_LIMIT_S) as http:
            response = await http.post(login.token_endpoint, data=data, headers=headers)
        if response.status_code >= 500 or response.status_code == 429:
            text = f"{self._server.name}: its login server answered with status {response.status_code}"
            raise CommandFailed("unreachable", text)
        try:
            tokens = OAuthToken.model_validate_json(response.content) if response.status_code == 200 else None
        except ValidationError:
            tokens = None
        if tokens is None:
            return None
        refreshed = structs.replace(_with_tokens(login, tokens), scope=tokens.scope or login.scope)
        await self._store.save(refreshed)
        return refreshed

    async def _log_in(
        self, request: httpx2.Request, response: httpx2.Response
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Go on from the answer that asks for a login, with the SDK's provider, until the request is answered."""
        options = self._server.oauth
        listener = RedirectListener()
        client = _registered_client(self._server) or _stored_client(self._login)
        try:
            known = client.redirect_uris if client else None
            port = options.callback_port or (known[0].port if known else None) or 0
            redirect = await listener.start(port, strict=bool(options.callback_port))
            if client and options.client_id:
                client.redirect_uris = [AnyUrl(redirect)]
            elif known and str(known[0]) != redirect:
                client = None  # its port is taken; register again with another
            storage = _LoginStorage(self._login, client)
            provider = OAuthClientProvider(
                self._server.url,
                _client_metadata(redirect),
                storage,
                self._open_page,
                lambda: self._wait_for(listener),
                options.metadata_url or None,
            )
            flow = provider.async_auth_flow(request)
            await anext(flow)  # the request that `response` has answered
            outgoing = await _send_response(flow, response)
            while outgoing:
                if storage.tokens:
                    await self._keep(provider.context, storage)
                await self._check_address(outgoing.url)
                outgoing = await _send_response(flow, (yield outgoing))
        except LoginRefused as error:
            raise login_needed(self._server, f"the login was refused: {error}") from None
        except TimeoutError:
            raise login_needed(self._server, f"nobody logged in within {LOGIN_LIMIT_S:.0f} s") from None
        finally:
            listener.close()

    async def _check_address(self, url: httpx2.URL) -> None:
        target = _web_url(url)
        if why := await explain_refused(_web_url(httpx2.URL(self._server.url)), target):
            shown = target.text().removesuffix("/")
            text = f"{self._server.name}: the login was stopped: the server leads it to {shown}, and {why}."
            raise CommandFailed("login", text)

    async def _keep(self, context: OAuthContext, storage: _LoginStorage) -> None:
        tokens, storage.tokens = storage.tokens, None
        assert tokens and storage.client
        metadata = context.oauth_metadata
        base = context.get_authorization_base_url(self._server.url)
        with_resource = context.should_include_resource_param(context.protocol_version)
        login = StoredLogin(
            issuer=str(metadata.issuer) if metadata else base,
            token_endpoint=str(metadata.token_endpoint) if metadata else f"{base}/token",
            client=Raw(storage.client.model_dump_json(exclude_none=True).encode()),
            resource=context.get_resource_url() if with_resource else "",
            access_token="",
        )
        self._login = structs.replace(_with_tokens(login, tokens), scope=tokens.scope or "")
        async with self._store.locked():
            await self._store.save(self._login)

    async def _open_page(self, url: str) -> None:
        command = CURRENT.get() or self.command
        self._link.send(OpenPage(id=command.id if command else 0, server=self._server.name, url=url))

    async def _wait_for(self, listener: RedirectListener) -> AuthorizationCodeResult:
        command = CURRENT.get() or self.command
        with command.waiting_for_user() if command else nullcontext():
            return await asyncio.wait_for(listener.wait(), LOGIN_LIMIT_S)

    def _context(self, client: OAuthClientInformationFull) -> OAuthContext:
        storage = _LoginStorage(None, client)
        metadata = _client_metadata("http://127.0.0.1/callback")
        return OAuthContext(self._server.url, metadata, storage, None, None, client_info=client)


async def _send_response(
    flow: AsyncGenerator[httpx2.Request, httpx2.Response], response: httpx2.Response
) -> httpx2.Request | None:
    """Return the next request of an authentication flow, or None at its end."""
    try:
        return await flow.asend(response)
    except StopAsyncIteration:
        return None


def _web_url(url: httpx2.URL) -> WebUrl:
    """Return where a URL leads to, without its path."""
    secure = url.scheme == "https"
    return WebUrl(secure=secure, host=url.host, port=url.port or (443 if secure else 80))


def _wants_login(response: httpx2.Response) -> bool:
    step_up = response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    return response.status_code == 401 or step_up


def _with_tokens(login: StoredLogin, tokens: OAuthToken) -> StoredLogin:
    """A refresh may leave out the refresh token if it stays the same."""
    lifetime = float(tokens.expires_in or 0)
    return structs.replace(
        login,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or login.refresh_token,
        expires_at=time.time() + lifetime if lifetime else 0.0,
        lifetime_s=lifetime,
    )


def _client_metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="Overt", redirect_uris=[AnyUrl(redirect)])


def _registered_client(server: ServerEntry) -> OAuthClientInformationFull | None:
    """Return the client that the user has registered by hand, if any."""
    options = server.oauth
    if not options.client_id:
        return None
    method = "client_secret_basic" if options.client_secret else "none"
    return OAuthClientInformationFull(
        client_id=options.client_id,
        client_secret=options.client_secret or None,
        token_endpoint_auth_method=method,
    )


def _stored_client(login: StoredLogin | None) -> OAuthClientInformationFull | None:
    try:
        return OAuthClientInformationFull.model_validate_json(bytes(login.client)) if login else None
    except ValidationError:
        return None
