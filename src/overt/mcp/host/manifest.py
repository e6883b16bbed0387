"""Lists what a server offers, within limits, in an order that does not depend on the server."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, PaginatedRequestParams
from msgspec import Raw
from pydantic import ValidationError

from overt.core.codec import encode
from overt.mcp.host.shorten_schema import shorten_schema
from overt.mcp.manifest import Era, Manifest, PromptArgument, ServerPrompt, ServerResource, ServerTool

MAX_PAGES = 100
MAX_ENTRIES = 1000
MAX_SCHEMA_BYTES = 32 * 1024

Page = TypeVar("Page", bound=types.PaginatedResult)
Entry = TypeVar("Entry")


async def read_manifest(session: ClientSession, take_problems: Callable[[], tuple[str, ...]]) -> Manifest:
    """Ask the server for everything it offers. `take_problems` returns what was taken out of the lists."""
    declared = session.server_capabilities or types.ServerCapabilities()
    problems: list[str] = []
    tools: tuple[types.Tool, ...] = ()
    prompts: tuple[types.Prompt, ...] = ()
    resources: tuple[types.Resource, ...] = ()
    templates: tuple[types.ResourceTemplate, ...] = ()
    undeclared = not (declared.tools or declared.prompts or declared.resources)
    if declared.tools or undeclared:
        tools = await _all_entries(lambda at: session.list_tools(params=at), lambda page: page.tools, problems, "tools")
    if declared.prompts:
        prompts = await _optional_entries(
            lambda at: session.list_prompts(params=at), lambda page: page.prompts, problems, "prompts"
        )
    if declared.resources:
        resources = await _optional_entries(
            lambda at: session.list_resources(params=at), lambda page: page.resources, problems, "resources"
        )
        templates = await _optional_entries(
            lambda at: session.list_resource_templates(params=at),
            lambda page: page.resource_templates,
            problems,
            "resource templates",
        )
    unique = {tool.name: tool for tool in reversed(tools)}
    described = tuple(_describe(unique[name], problems) for name in sorted(unique))
    info = session.server_info
    era: Era = "modern" if session.discover_result else "legacy"
    return Manifest(
        era=era,
        server_name=info.name if info else "",
        server_version=info.version if info else "",
        instructions=session.instructions or "",
        tools=described,
        prompts=tuple(sorted(map(_prompt, {it.name: it for it in reversed(prompts)}.values()), key=lambda it: it.name)),
        resources=tuple(
            sorted((*map(_resource, resources), *map(_template, templates)), key=lambda it: (it.template, it.uri))
        ),
        problems=(*take_problems(), *problems),
    )


async def _all_entries(
    fetch: Callable[[PaginatedRequestParams | None], Awaitable[Page]],
    entries_of: Callable[[Page], list[Entry]],
    problems: list[str],
    what: str,
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await fetch(PaginatedRequestParams(cursor=cursor) if cursor is not None else None)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            return ()
        entries += entries_of(page)
        cursor = page.next_cursor
        if len(entries) >= MAX_ENTRIES or cursor is None:
            break
    if cursor is not None or len(entries) > MAX_ENTRIES:
        problems.append(f"{what}: only the first {min(len(entries), MAX_ENTRIES)} are read")
    return tuple(entries[:MAX_ENTRIES])


async def _optional_entries(
    fetch: Callable[[PaginatedRequestParams | None], Awaitable[Page]],
    entries_of: Callable[[Page], list[Entry]],
    problems: list[str],
    what: str,
) -> tuple[Entry, ...]:
    """A server whose prompts or resources cannot be listed may still have good tools."""
    try:
        return await _all_entries(fetch, entries_of, problems, what)
    except (MCPError, ValidationError) as error:
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            raise
        problems.append(f"{what}: cannot be listed: {str(error)[:200]}")
        return ()


def _describe(tool: types.Tool, problems: list[str]) -> ServerTool:
    schema: object = tool.input_schema
    try:
        if len(encode(schema)) > MAX_SCHEMA_BYTES:
            schema = shorten_schema(tool.input_schema, MAX_SCHEMA_BYTES)
            problems.append(f"tools: the schema of {tool.name!r} was shortened to {MAX_SCHEMA_BYTES >> 10} KB")
    except RecursionError:
        schema = {"type": "object"}
        problems.append(f"tools: the schema of {tool.name!r} is nested too deeply and was left out")
    hints = tool.annotations or types.ToolAnnotations()
    return ServerTool(
        name=tool.name,
        description=tool.description or "",
        title=tool.title or hints.title or "",
        schema=Raw(encode(schema)),
        read_only=hints.read_only_hint,
        destructive=hints.destructive_hint,
        idempotent=hints.idempotent_hint,
    )


def _prompt(prompt: types.Prompt) -> ServerPrompt:
    arguments = tuple(
        PromptArgument(name=it.name, description=it.description or "", required=bool(it.required))
        for it in prompt.arguments or ()
    )
    return ServerPrompt(name=prompt.name, description=prompt.description or "", arguments=arguments)


def _resource(resource: types.Resource) -> ServerResource:
    return ServerResource(
        uri=str(resource.uri),
        name=resource.name,
        description=resource.description or "",
        media=resource.mime_type or "",
    )


def _template(template: types.ResourceTemplate) -> ServerResource:
    return ServerResource(
        uri=template.uri_template,
        name=template.name,
        description=template.description or "",
        media=template.mime_type or "",
        template=True,
    )
