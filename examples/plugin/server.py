"""An MCP server without any dependency: one tool, which lists the versions in CHANGELOG.md.

It counts its calls in `${CLAUDE_PLUGIN_DATA}`, the one folder of a plugin that it may write to.
"""

import json
import os
import re
import sys
from typing import Any

TOOL = {
    "name": "list_versions",
    "description": "List the versions in CHANGELOG.md, newest first.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


def count_call() -> int:
    path = os.path.join(os.environ["CLAUDE_PLUGIN_DATA"], "calls")
    calls = int(open(path).read()) + 1 if os.path.exists(path) else 1
    with open(path, "w") as file:
        file.write(str(calls))
    return calls


def list_versions() -> str:
    with open("CHANGELOG.md", encoding="utf-8") as file:
        versions = re.findall(r"^## \[?v?(\d[\w.]*)", file.read(), re.M)
    return f"{', '.join(versions) or 'none'} (call {count_call()})"


def answer(method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        about = {"name": "versions", "version": "1.0.0"}
        version = parameters.get("protocolVersion", "2025-11-25")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": list_versions()}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message.get("method", ""), message.get("params") or {})
    error = {"code": -32601, "message": "this server does not know that method"}
    reply = {"jsonrpc": "2.0", "id": message["id"]} | ({"error": error} if result is None else {"result": result})
    print(json.dumps(reply), flush=True)
