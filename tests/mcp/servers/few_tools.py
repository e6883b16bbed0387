"""A server with two tools in plain JSON lines: `look` says that it only reads, `change` that it writes."""

import json
import sys


def main() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    tools = [
        {"name": "look", "description": "Look", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
        {"name": "change", "description": "Change", "inputSchema": schema, "annotations": {"readOnlyHint": False}},
    ]
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": number}
        if method == "initialize":
            answer["result"] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "few", "version": "1"},
            }
        elif method == "tools/list":
            answer["result"] = {"tools": tools}
        elif method == "tools/call":
            answer["result"] = {"content": [{"type": "text", "text": f"ran {message['params']['name']}"}]}
        else:
            answer["error"] = {"code": -32601, "message": "unknown method"}
        print(json.dumps(answer), flush=True)


main()
