"""Results of servers as the parts that Overt shows to the model."""

from base64 import b64decode
from binascii import Error as Base64Error

import mcp_types as types

from overt.core.codec import compact, decode
from overt.mcp.messages import Content, PromptText, ResourceContents, ToolOutput


def tool_output(result: types.CallToolResult, notes: tuple[str, ...]) -> ToolOutput:
    parts = tuple(part for block in result.content for part in contents_of(block))
    structured = result.structured_content
    if structured is not None and not any(_says(part.text, structured) for part in parts):
        parts += (Content(text=compact(structured)),)
    return ToolOutput(parts=parts, error=result.is_error, notes=notes)


def prompt_text(result: types.GetPromptResult) -> PromptText:
    messages = ((message.role, part) for message in result.messages for part in contents_of(message.content))
    return PromptText(messages=tuple(messages))


def resource_contents(result: types.ReadResourceResult) -> ResourceContents:
    return ResourceContents(parts=tuple(part for item in result.contents for part in _resource(item)))


def contents_of(block: types.ContentBlock) -> tuple[Content, ...]:
    match block:
        case types.TextContent():
            return (Content(text=block.text),)
        case types.ImageContent() | types.AudioContent():
            return (_bytes(block.data, block.mime_type),)
        case types.ResourceLink():
            media = f" ({block.mime_type})" if block.mime_type else ""
            about = f": {block.description}" if block.description else ""
            return (Content(text=f"[resource {block.name}, {block.uri}{media}]{about}"),)
        case types.EmbeddedResource():
            if isinstance(block.resource, types.TextResourceContents):
                return (Content(text=f"[resource {block.resource.uri}]\n{block.resource.text}"),)
            return _resource(block.resource)


def _resource(item: types.TextResourceContents | types.BlobResourceContents) -> tuple[Content, ...]:
    if isinstance(item, types.TextResourceContents):
        return (Content(text=item.text),)
    data = _bytes(item.blob, item.mime_type or "application/octet-stream")
    return (Content(text=f"[resource {item.uri}]"), data)  # a part is a text or bytes, not both


def _bytes(data: str, media: str) -> Content:
    try:
        return Content(media=media, data=b64decode(data))
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
