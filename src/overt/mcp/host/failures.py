"""What can go wrong with a server, as the host tells Overt."""

from collections.abc import Iterator
from typing import Literal

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from overt.core.settings import ServerEntry

FailureKind = Literal["start", "unreachable", "timeout", "protocol", "error", "login", "cut"]
MAX_MESSAGE_CHARACTERS = 2000


class CommandFailed(Exception):
    """Ends a command. Its fields become those of a `Failed` report."""

    def __init__(self, kind: FailureKind, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message[:MAX_MESSAGE_CHARACTERS]
        self.may_have_run = may_have_run


def login_needed(server: ServerEntry, reason: str = "it asks for a login") -> CommandFailed:
    return CommandFailed("login", f"{server.name}: {reason}. Log in with `overt mcp login {server.name}`.")


def explain_failure(server: ServerEntry, error: BaseException) -> CommandFailed:
    """Return the failure that an exception of the SDK, of HTTP or of a server stands for."""
    cause = root_cause(error)
    match cause:
        case CommandFailed():
            return cause
        case MCPError():
            return _explain_answer(server, cause)
        case ValidationError():
            return CommandFailed("protocol", f"{server.name}: its answer is not valid MCP: {_first_problem(cause)}")
        case OAuthFlowError():
            return login_needed(server, f"the login failed: {str(cause)[:300]}")
        case httpx2.HTTPStatusError() if cause.response.status_code == 401:
            return login_needed(server)
        case httpx2.HTTPStatusError():
            text = f"{server.name}: {shown_url(server.url)} answered with status {cause.response.status_code}"
            return CommandFailed("unreachable", text)
        case httpx2.TransportError() | httpx2.InvalidURL() | OSError():
            reason = " ".join(str(cause).split()) or type(cause).__name__
            return CommandFailed("unreachable", f"{server.name}: cannot reach {shown_url(server.url)}: {reason}")
        case _:
            return CommandFailed("protocol", f"{server.name}: {type(cause).__name__}: {cause}")


def root_cause(error: BaseException) -> BaseException:
    """Return the exception that says most in a group of exceptions."""
    causes = list(_flatten(error))
    return next((cause for cause in causes if isinstance(cause, CommandFailed)), causes[0])


def was_sent(error: BaseException) -> bool:
    """True unless the exception shows that no connection came about, so that nothing was sent."""
    unsent = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.InvalidURL | CommandFailed
    return not any(isinstance(cause, unsent) for cause in _flatten(error))


def shown_url(url: str) -> str:
    """Return a URL without its user, password, query and fragment, which may hold secrets."""
    try:
        return str(httpx2.URL(url).copy_with(userinfo=b"", query=None, fragment=None))
    except httpx2.InvalidURL:
        return "its URL, which is not valid"


def _explain_answer(server: ServerEntry, error: MCPError) -> CommandFailed:
    if error.code == CONNECTION_CLOSED:
        return CommandFailed("cut", f"{server.name}: the connection was lost: {error.message}")
    if error.code == REQUEST_TIMEOUT:
        return CommandFailed("timeout", f"{server.name}: {error.message}")
    if error.code == PARSE_ERROR:
        return CommandFailed("protocol", f"{server.name}: {error.message}")
    return CommandFailed("error", f"{server.name}: {error.message} (code {error.code})")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _flatten(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _flatten(inner)
    else:
        yield error
