"""Resources of MCP servers that a prompt points at: `@SERVER:URI`."""

import re
from typing import TYPE_CHECKING

from overt.app.completion.choices import Choice
from overt.core.errors import ToolError
from overt.core.events import Noticed
from overt.core.messages import Message, Text
from overt.core.text_fragments import LABEL, Origin
from overt.lib.result_limit import ResultLimit
from overt.lib.text import first_line
from overt.lib.translations import say
from overt.mcp.server_tools import read_contents

if TYPE_CHECKING:
    from overt.mcp.manifest_cache import KnownServers
    from overt.mcp.servers import McpServers

MOST_REFERENCES = 12
MOST_OFFERED = 20
ENDS = r"\s\"'`<>|,;，。；！？、（）【】《》“”‘’「」…"


def resource_pattern(known: "KnownServers") -> str:
    """Return the pattern of references to resources: `@`, the name of a server, a colon and an address."""
    names = "|".join(re.escape(entry.name) for entry in known.enabled)
    return rf"(?<![A-Za-z0-9_.+\-@/])@({names}):([^{ENDS}]+)"


async def read_resources(
    text: str, known: "KnownServers", servers: "McpServers", limit: ResultLimit
) -> tuple[tuple[Message, ...], tuple[Noticed, ...]]:
    """Read the resources that a prompt points at. What could not be read is said in a notice."""
    messages: list[Message] = []
    notices: list[Noticed] = []
    matches = re.finditer(resource_pattern(known), text)
    for server, uri in list(dict.fromkeys((match[1], match[2].rstrip(".:!?")) for match in matches))[:MOST_REFERENCES]:
        try:
            contents = read_contents((await servers.read_resource(server, uri)).parts)
        except ToolError as error:
            notices.append(
                Noticed(text=say("refer.failed", path=f"{server}:{uri}", why=error.message), level="warning")
            )
            continue
        head = f"{LABEL}The user refers to the resource {uri} of the MCP server {server}:\n"
        body = limit.clip(contents.text)
        origin = Origin(kind="outside", where=f"{server}:{uri}", label=len(LABEL))
        messages.append(Message(role="user", parts=(Text(text=f"{head}{body}"), *contents.parts), origin=origin))
    return tuple(messages), tuple(notices)


def offer_resources(known: "KnownServers", word: str) -> list[Choice]:
    """Return the resources whose server, address or name contains what was typed behind the `@`."""
    offers: list[Choice] = []
    for entry in known.enabled:
        manifest = known.manifest(entry.name)
        for resource in manifest.resources if manifest else ():
            reference = f"{entry.name}:{resource.uri}"
            fits = word.lower() in f"{reference} {resource.name}".lower()
            if fits and not resource.template and not re.search(f"[{ENDS}]", resource.uri):
                offers.append(Choice(f"@{reference}", reference, first_line(resource.name or resource.description)))
    return offers[:MOST_OFFERED]
