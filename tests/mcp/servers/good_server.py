"""A server on the SDK with one of everything, over stdio, or with a port over HTTP (`http` or `sse`)."""

import asyncio
import os
import sys

import mcp_types as types
from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel, Field

server = MCPServer("good", version="4.5.6", instructions="Use it well.")


class Wish(BaseModel):
    colour: str = Field(default="blue", description="which colour")
    count: int = 3


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    return Image(data=b"\x89PNG fake", format="png")


@server.tool()
def fail() -> str:
    raise ValueError("it went wrong")


@server.tool()
def pid() -> str:
    return str(os.getpid())


@server.tool()
async def steps(ctx: Context, count: int = 3, pause: float = 0.0) -> str:
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
        await asyncio.sleep(pause)
    return "done"


@server.tool()
def save(path: str, text: str) -> str:
    """Write a file of the workspace."""
    with open(path, "w") as file:
        file.write(text)
    return f"saved {path}"


@server.tool()
async def sleep(seconds: float, mark: str = "") -> str:
    """Sleep. The file `mark` says that it has begun."""
    if mark:
        open(mark, "w").close()
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
async def ask(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.protocol_version == "2026-07-28":
        if not ctx.input_responses:
            form = types.ElicitRequestFormParams(message="Which one?", requested_schema=Wish.model_json_schema())
            return types.InputRequiredResult(input_requests={"wish": types.ElicitRequest(params=form)})
        answer = ctx.input_responses["wish"]
        assert isinstance(answer, types.ElicitResult)
        content = answer.content or {}
        return f"accept {content['colour']} {content['count']}" if answer.action == "accept" else answer.action
    result = await ctx.elicit("Which one?", Wish)
    return f"{result.action} {result.data.colour} {result.data.count}" if result.action == "accept" else result.action


@server.tool()
async def ask_often(ctx: Context, times: int) -> str:
    return " ".join([(await ctx.elicit(f"Number {number}?", Wish)).action for number in range(times)])


@server.tool()
def embedded() -> types.EmbeddedResource:
    picture = types.BlobResourceContents(uri="memo://picture", mime_type="image/png", blob="iVBORw==")
    return types.EmbeddedResource(type="resource", resource=picture)


@server.tool()
async def roots(ctx: Context) -> str:
    listed = await ctx.session.list_roots()
    return " ".join(str(root.uri) for root in listed.roots)


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(add, name="added")
    if ctx.protocol_version == "2026-07-28":
        await ctx.notify_tools_changed()
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
def die() -> str:
    os._exit(3)


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


@server.resource("memo://today", mime_type="text/plain")
def today() -> str:
    return "buy milk"


@server.resource("memo://{day}")
def memo(day: str) -> str:
    return f"memo of {day}"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        server.run()
    elif sys.argv[1] == "sse":
        server.run("sse", port=int(sys.argv[2]))
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
