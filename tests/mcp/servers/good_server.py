"""A server on the SDK with one of everything, over stdio, or with a port over HTTP (`http` or `sse`)."""

import asyncio
import os
import sys
from typing import Annotated

import mcp_types as types
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Image, MCPServer, Resolve
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
async def sleep(seconds: float, mark: str = "") -> str:
    """Sleep. The file `mark` says that it has begun."""
    if mark:
        open(mark, "w").close()
    await asyncio.sleep(seconds)
    return "awake"


def which_one() -> Elicit[Wish]:
    return Elicit("Which one?", Wish)


@server.tool()
async def ask(wish: Annotated[ElicitationResult[Wish], Resolve(which_one)]) -> str:
    return f"{wish.action} {wish.data.colour} {wish.data.count}" if wish.action == "accept" else wish.action


@server.tool()
async def roots(ctx: Context) -> str:
    listed = await ctx.session.list_roots()
    return " ".join(str(root.uri) for root in listed.roots)


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(add, name="added")
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
