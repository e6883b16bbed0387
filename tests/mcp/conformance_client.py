"""What the conformance suite runs as a client: it drives our host process. The suite adds the server's URL at the end.

The suite plays the authorization server, too, so that the page of a login can be fetched like any other.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import httpx2  # noqa: E402
from msgspec import json  # noqa: E402
from tests.fakes.mcp_host import running_host  # noqa: E402

from overt.core.settings import OAuthClient, ServerEntry  # noqa: E402
from overt.mcp.manifest import Era, ServerTool  # noqa: E402
from overt.mcp.messages import Failed, OpenPage  # noqa: E402

METADATA_URL = "https://conformance-test.local/client-metadata.json"


async def open_page(page: OpenPage) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(page.url)


def arguments_for(tool: ServerTool) -> dict[str, Any]:
    """Return arguments that fit the required fields of a tool."""
    schema = json.decode(tool.schema)
    samples = {"number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}
    return {
        name: samples.get(schema.get("properties", {}).get(name, {}).get("type"), "text")
        for name in schema.get("required", ())
    }


async def main(url: str) -> int:
    context = json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    era: Era = "modern" if os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] >= "2026" else "legacy"
    client = OAuthClient(
        client_id=context.get("client_id", ""),
        client_secret=context.get("client_secret", ""),
        metadata_url="" if context.get("client_id") else METADATA_URL,
    )
    entry = ServerEntry(name="judge", kind="http", url=url, oauth=client, elicitation="defaults")
    with tempfile.TemporaryDirectory() as folder:
        async with running_host(entry, eras={"judge": era}, token_folder=folder, interactive=True) as host:
            host.open_page = open_page
            manifest = await host.list_everything("judge", may_log_in=True)
            if isinstance(manifest, Failed):
                print(manifest)
                return 1
            calls = context.get("toolCalls") or [
                {"name": tool.name, "arguments": arguments_for(tool)} for tool in manifest.tools
            ]
            for call in calls:
                print(await host.call("judge", call["name"], call["arguments"], timeout_ms=15_000))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
