"""A server over HTTP that answers with JSON bodies: one tool tells headers of the request, one answers with 20 MB.

`/bomb` answers with 400 MB of spaces, compressed.
"""

import gzip
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

server = MCPServer("headers")


@server.tool(structured_output=False)
def headers(ctx: Context) -> str:
    request = ctx.request_context.request
    assert request is not None
    return f"{request.headers.get('x-key')} {request.headers.get('x-other')}"


@server.tool(structured_output=False)
def huge() -> str:
    return "x" * 20_000_000


BOMB = b"".join(gzip.compress(b" " * 10_000_000) for _ in range(40))
inner = server.streamable_http_app(json_response=True)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http" and scope["path"] == "/bomb":
        await Response(BOMB, headers={"Content-Encoding": "gzip"}, media_type="application/json")(scope, receive, send)
    else:
        await inner(scope, receive, send)


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
