"""Results of servers as the parts that Overt shows to the model."""

from base64 import b64decode
from binascii import Error as Base64Error

import mcp_types as types

from overt.core.codec import compact, decode
from overt.mcp.messages import Content, PromptText, ResourceContents, ToolOutput


def tool_output(result: types.CallToolResult, notes: list[str]) -> ToolOutput:
    parts = tuple(content_of(block) for block in result.content)
    structured = result.structured_content
    if structured is not None and not any(_says(part.text, structured) for part in parts):
        parts += (Content(text=compact(structured)),)
    return ToolOutput(parts=parts, error=result.is_error, notes=tuple(notes))


def prompt_text(result: types.GetPromptResult) -> PromptText:
    return PromptText(messages=tuple((message.role, content_of(message.content)) for message in result.messages))


def resource_contents(result: types.ReadResourceResult) -> ResourceContents:
    return ResourceContents(parts=tuple(_resource(item) for item in result.contents))


def content_of(block: types.ContentBlock) -> Content:
    match block:
        case types.TextContent():
            return Content(text=block.text)
        case types.ImageContent() | types.AudioContent():
            return _bytes(block.data, block.mime_type, "")
        case types.ResourceLink():
            media = f" ({block.mime_type})" if block.mime_type else ""
            about = f": {block.description}" if block.description else ""
            return Content(text=f"[resource {block.name}, {block.uri}{media}]{about}")
        case types.EmbeddedResource():
            part = _resource(block.resource)
            return part if part.media else Content(text=f"[resource {block.resource.uri}]\n{part.text}")


def _resource(item: types.TextResourceContents | types.BlobResourceContents) -> Content:
    if isinstance(item, types.TextResourceContents):
        return Content(text=item.text)
    return _bytes(item.blob, item.mime_type or "application/octet-stream", str(item.uri))


def _bytes(data: str, media: str, name: str) -> Content:
    try:
        return Content(media=media, data=b64decode(data), text=name)
    except (Base64Error, ValueError):
        return Content(text=f"[{media} that is not valid base64]")


def _says(text: str, structured: object) -> bool:
    """True if the text is the structured content, or the only value in it: SDKs put a plain result into an object."""
    inner = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    if inner == text:
        return True
    try:
        return decode(text) in (structured, inner)
    except (ValueError, RecursionError):
        return False
