"""A protected MCP server and its authorization server in one process. The second argument is the port.

Refresh tokens rotate: each works once. `/counts` says what was asked for; `/revoke` makes access tokens invalid.
The first access token lives as many seconds as the first argument says.
With a third one, the server says that its metadata is there.
"""

import base64
import hashlib
import secrets
import sys
from collections import Counter

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

LIFETIMES = [int(sys.argv[1])]
PORT = int(sys.argv[2])
ELSEWHERE = sys.argv[3] if len(sys.argv) > 3 else ""
HOME = f"http://127.0.0.1:{PORT}"
server = MCPServer("protected")
counts: Counter[str] = Counter()
codes: dict[str, str] = {}
access: set[str] = set()
refresh: set[str] = set()


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


def issue() -> Response:
    tokens = {"access_token": secrets.token_hex(16), "token_type": "Bearer", "refresh_token": secrets.token_hex(16)}
    access.add(tokens["access_token"])
    refresh.add(tokens["refresh_token"])
    return JSONResponse(tokens | {"expires_in": LIFETIMES.pop() if LIFETIMES else 3600})


def refuse(error: str) -> Response:
    counts[error] += 1
    return JSONResponse({"error": error}, status_code=400)


async def authorize(request: Request) -> Response:
    code = secrets.token_hex(8)
    codes[code] = request.query_params["code_challenge"]
    counts["logins"] += 1
    back = f"{request.query_params['redirect_uri']}?code={code}&state={request.query_params['state']}&iss={HOME}"
    return RedirectResponse(back)


async def token(request: Request) -> Response:
    form = await request.form()
    if form["grant_type"] == "refresh_token":
        counts["refreshes"] += 1
        if form["refresh_token"] not in refresh:
            return refuse("invalid_grant")
        refresh.remove(str(form["refresh_token"]))
        access.clear()
        return issue()
    digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
    if codes.pop(str(form["code"])) != base64.urlsafe_b64encode(digest).decode().rstrip("="):
        return refuse("invalid_grant")
    return issue()


async def register(request: Request) -> Response:
    counts["registrations"] += 1
    return JSONResponse(await request.json() | {"client_id": f"client-{counts['registrations']}"}, status_code=201)


async def answer(request: Request) -> Response | None:
    match request.url.path:
        case "/.well-known/oauth-protected-resource/mcp" | "/.well-known/oauth-protected-resource":
            return JSONResponse({"resource": f"{HOME}/mcp", "authorization_servers": [HOME]})
        case "/.well-known/oauth-authorization-server":
            return JSONResponse(
                {
                    "issuer": HOME,
                    "authorization_endpoint": f"{HOME}/authorize",
                    "token_endpoint": f"{HOME}/token",
                    "registration_endpoint": f"{HOME}/register",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": True,
                }
            )
        case "/authorize":
            return await authorize(request)
        case "/token":
            return await token(request)
        case "/register":
            return await register(request)
        case "/counts":
            return JSONResponse(counts)
        case "/revoke":
            access.clear()
            return JSONResponse({})
        case _:
            pass
    if request.headers.get("authorization", "").removeprefix("Bearer ") not in access:
        where = f'Bearer resource_metadata="{ELSEWHERE or HOME}/.well-known/oauth-protected-resource/mcp"'
        return Response(status_code=401, headers={"WWW-Authenticate": where})
    return None


inner = server.streamable_http_app()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http" and (response := await answer(Request(scope, receive))):
        await response(scope, receive, send)
    else:
        await inner(scope, receive, send)


uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="critical")
