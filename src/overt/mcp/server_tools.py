"""Tools of MCP servers as `Tool` values."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Raw, json

from overt.core.capabilities import CallServers, ServerResult
from overt.core.codec import encode
from overt.core.errors import ToolError
from overt.core.messages import Document, Image
from overt.core.requests import ServerTarget, ToolSpec
from overt.core.settings import ServerEntry
from overt.core.tool import JsonArguments, Outcome, Tool
from overt.core.views import Plain
from overt.lib.text import plain_name, shorten
from overt.mcp.manifest import Manifest, ServerTool
from overt.mcp.messages import Content

LONGEST_NAME = 64
"""Characters of a tool's name that every vendor takes."""
LONGEST_DESCRIPTION = 2000
DEEPEST_SCHEMA = 30
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def server_tools(entry: ServerEntry, manifest: Manifest) -> dict[str, Tool]:
    """Return the tools of a server by their names for the model, `mcp__SERVER__TOOL`."""
    tools: dict[str, Tool] = {}
    for offered in manifest.tools:
        name = tool_name(entry.name, offered.name)
        if name in tools:  # two names that differ only in characters which vendors do not take
            name = tool_name(entry.name, offered.name, hashed=True)
        tools[name] = make_tool(entry, offered, name)
    return tools


def make_tool(entry: ServerEntry, tool: ServerTool, name: str) -> Tool:
    async def run(args: JsonArguments, servers: CallServers) -> Outcome:
        result = await servers.call(entry.name, tool.name, args.values)
        if result.error:
            raise ToolError(result.text or "The tool failed and did not say why.")
        outside = entry.url.partition("?")[0] if entry.url else ""
        return Outcome(text=result.text, view=Plain(text=result.text), parts=result.parts, outside=outside)

    says_it_writes = tool.destructive is True or tool.read_only is False
    return Tool(
        name=name,
        args=JsonArguments,
        needs={"servers": "mcp"},
        run=run,
        spec=ToolSpec(
            name=name,
            description=shorten(" ".join(tool.description.split()) or tool.title, LONGEST_DESCRIPTION),
            schema=Raw(encode(_object_schema(tool.schema))),
        ),
        permission="mcp",
        harmless=("*",) if entry.read_only and not says_it_writes else (),
        server=ServerTarget(
            server=entry.name,
            tool=tool.name,
            remote=entry.kind != "stdio",
            sends=entry.kind != "stdio" or entry.network,
        ),
    )


def tool_name(server: str, tool: str, *, hashed: bool = False) -> str:
    """Return a name that every vendor takes: other characters become `_`, and one that is too long ends with a hash."""
    name = f"mcp__{plain_name(server)}__{plain_name(tool)}"
    if len(name) <= LONGEST_NAME and not hashed:
        return name
    digest = sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{digest}"


def _object_schema(schema: Raw) -> dict[str, object]:
    """Return the schema as an object with properties, which some vendors insist on, without what is malformed."""
    decoded = _well_formed(json.decode(schema), DEEPEST_SCHEMA)
    kept = {key: value for key, value in decoded.items() if key not in ("$schema", "$id")}
    return {"type": "object", "properties": {}} | kept


def _well_formed(schema: object, depth: int) -> dict[str, object]:
    """Return a schema in which `properties`, `required`, `type`, `enum` and `items` are what they should be.

    The rest of the program, and vendors, look at these without asking what they are.
    """
    if not isinstance(schema, dict) or depth == 0:
        return {}
    part = dict(schema)
    if "properties" in part:
        properties = part["properties"] if isinstance(part["properties"], dict) else {}
        part["properties"] = {str(name): _well_formed(value, depth - 1) for name, value in properties.items()}
    if "items" in part:
        part["items"] = _well_formed(part["items"], depth - 1)
    for key in ("required", "enum"):
        if key in part and not isinstance(part[key], list):
            del part[key]
    if "required" in part:
        part["required"] = [name for name in part["required"] if isinstance(name, str)]
    kinds = part.get("type") if isinstance(part.get("type"), list) else [part.get("type")]
    if "type" in part and not all(isinstance(kind, str) for kind in kinds or ()):
        del part["type"]
    return part


def read_contents(parts: Iterable[Content], notes: Iterable[str] = (), *, error: bool = False) -> ServerResult:
    """Return contents as text for the model, with images and documents beside it."""
    texts: list[str] = []
    files: list[Image | Document] = []
    for part in parts:
        if part.text:
            texts.append(part.text)
        if part.media in IMAGES:
            files.append(Image(media=part.media, data=part.data))
        elif part.media == "application/pdf":
            files.append(Document(media=part.media, data=part.data))
        elif part.data:
            texts.append(f"[{part.media}, {len(part.data)} bytes, not shown]")
    texts += [f"[overt] {note}" for note in notes]
    return ServerResult(text="\n".join(texts), parts=tuple(files), error=error)
