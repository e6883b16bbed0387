"""A server over HTTP that answers with JSON bodies: one tool tells headers of the request, one answers with 20 MB."""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("headers")


@server.tool(structured_output=False)
def headers(ctx: Context) -> str:
    request = ctx.request_context.request
    assert request is not None
    return f"{request.headers.get('x-key')} {request.headers.get('x-other')}"


@server.tool(structured_output=False)
def huge() -> str:
    return "x" * 20_000_000


server.run("streamable-http", port=int(sys.argv[1]), json_response=True)
