"""Tools of MCP servers as `Tool` values."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Raw, json

from overt.core.capabilities import CallServers, ServerResult
from overt.core.codec import encode
from overt.core.errors import ToolError
from overt.core.messages import Document, Image
from overt.core.requests import ToolSpec
from overt.core.settings import ServerEntry
from overt.core.tool import JsonArguments, Outcome, Tool
from overt.core.views import Plain
from overt.lib.text import shorten
from overt.mcp.manifest import Manifest, ServerTool, plain_name
from overt.mcp.messages import Content

LONGEST_NAME = 64
"""Characters of a tool's name that every vendor takes."""
LONGEST_DESCRIPTION = 2000
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def server_tools(entry: ServerEntry, manifest: Manifest) -> dict[str, Tool]:
    """Return the tools of a server by their names for the model, `mcp__SERVER__TOOL`."""
    tools = (make_tool(entry, described) for described in manifest.tools)
    return {tool.name: tool for tool in tools}


def make_tool(entry: ServerEntry, described: ServerTool) -> Tool:
    async def run(args: JsonArguments, servers: CallServers) -> Outcome:
        result = await servers.call(entry.name, described.name, args.values)
        if result.error:
            raise ToolError(result.text or "The tool failed and did not say why.")
        outside = entry.url.partition("?")[0] if entry.url else ""
        return Outcome(text=result.text, view=Plain(text=result.text), parts=result.parts, outside=outside)

    says_it_writes = described.destructive is True or described.read_only is False
    return Tool(
        name=tool_name(entry.name, described.name),
        args=JsonArguments,
        needs={"servers": "mcp"},
        run=run,
        spec=ToolSpec(
            name=tool_name(entry.name, described.name),
            description=shorten(" ".join(described.description.split()) or described.title, LONGEST_DESCRIPTION),
            schema=Raw(encode(_object_schema(described.schema))),
        ),
        permission="mcp",
        harmless=("*",) if entry.read_only and not says_it_writes else (),
        remote=entry.kind != "stdio" or entry.network,
    )


def tool_name(server: str, tool: str) -> str:
    """Return a name that every vendor takes: other characters become `_`, and one that is too long ends with a hash."""
    name = f"mcp__{plain_name(server)}__{plain_name(tool)}"
    if len(name) <= LONGEST_NAME:
        return name
    digest = sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{digest}"


def _object_schema(schema: Raw) -> dict[str, object]:
    """Return the schema as an object with properties, which some vendors insist on."""
    decoded = json.decode(schema)
    if not isinstance(decoded, dict):
        return {"type": "object", "properties": {}}
    kept = {key: value for key, value in decoded.items() if key not in ("$schema", "$id")}
    return {"type": "object", "properties": {}} | kept


def read_contents(parts: Iterable[Content], notes: Iterable[str] = (), *, error: bool = False) -> ServerResult:
    """Return contents as text for the model, with images and documents beside it."""
    texts: list[str] = []
    files: list[Image | Document] = []
    for part in parts:
        if part.text:
            texts.append(part.text)
        elif part.media in IMAGES:
            files.append(Image(media=part.media, data=part.data))
        elif part.media == "application/pdf":
            files.append(Document(media=part.media, data=part.data))
        elif part.media:
            texts.append(f"[{part.media}, {len(part.data)} bytes, not shown]")
    texts += [f"[overt] {note}" for note in notes]
    return ServerResult(text="\n".join(texts), parts=tuple(files), error=error)
