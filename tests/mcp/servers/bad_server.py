"""A stdio server of the older era that misbehaves in the way its first argument names. It uses no SDK."""

import json
import os
import sys
import time

FAULT = sys.argv[1]
RING = [{"name": "ping", "inputSchema": {"type": "object"}}]
SLOPPY = [
    {"name": "zeta", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": 7, "inputSchema": {"type": "object"}},
    {"description": "no name"},
    "not even an object",
    {"name": "alpha", "description": "no type", "inputSchema": {"properties": {"a": {}}}},
    {"name": "alpha", "description": "again", "inputSchema": {"type": "object"}},
    {"name": "no schema"},
]


def send(message: object) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer_discover(id: int) -> None:
    if FAULT == "dies at discover":
        os._exit(1)
    if FAULT in ("silent at discover", "hangs"):
        return
    send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})


def big_schema() -> dict[str, object]:
    fields = {f"field{n}": {"type": "string", "description": "long " * 100} for n in range(200)}
    return {"type": "object", "properties": fields}


def list_tools(id: int, params: dict[str, object]) -> None:
    tools: list[object] = list(RING)
    result: dict[str, object] = {"tools": tools}
    if FAULT == "sloppy":
        result["tools"] = SLOPPY
    elif FAULT == "large schema":
        result["tools"] = [{"name": "wide", "inputSchema": big_schema()}]
    elif FAULT == "endless pages":
        page = int(str(params.get("cursor") or 0))
        result = {"tools": [{"name": f"t{page:04}", "inputSchema": {"type": "object"}}], "nextCursor": str(page + 1)}
    elif FAULT == "reorders":
        names = ["c", "a", "b"] if os.getpid() % 2 else ["b", "c", "a"]
        result["tools"] = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    send({"jsonrpc": "2.0", "id": id, "result": result})


def huge(id: int, *, id_first: bool) -> None:
    """100 MB of text in one line, with the id before or after it."""
    head = b'{"jsonrpc":"2.0","id":%d,"result":' % id if id_first else b'{"result":'
    tail = b"}" if id_first else b',"jsonrpc":"2.0","id":%d}' % id
    raw(head + b'{"content":[{"type":"text","text":"')
    for _ in range(100):
        raw(b"x" * 1_000_000)
    raw(b'"}]}' + tail + b"\n")


def call(id: int, name: str) -> None:
    text = "pong"
    if FAULT == "garbage":
        raw(b"this is not JSON\n\n{broken\n[1,2]\n\x00\xff\xfe\n")
    elif FAULT == "invalid byte":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}\n' % id)
        return
    elif FAULT in ("100 MB", "100 MB, id last") and name == "huge":
        huge(id, id_first=FAULT == "100 MB")
        return
    elif FAULT == "100 MB notification":
        raw(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"')
        for _ in range(30):
            raw(b"x" * 1_000_000)
        raw(b'"}}\n')
    elif FAULT == "wrong result":
        send({"jsonrpc": "2.0", "id": id, "result": {"content": "just text"}})
        return
    elif FAULT == "stops reading":
        time.sleep(3600)
    elif FAULT == "other id":
        send({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}})
    elif FAULT == "deep":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":' % id + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}\n")
        return
    send({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})


def main() -> None:
    if FAULT == "dies at once":
        os._exit(7)
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "server/discover":
            answer_discover(id)
        elif FAULT == "hangs":
            continue
        elif method == "initialize":
            info = {"name": "bad", "version": "0"}
            version = message["params"]["protocolVersion"]
            result: dict[str, object] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            if FAULT == "wrong handshake":
                result = {"hello": "world"}
            send({"jsonrpc": "2.0", "id": id, "result": result})
        elif method == "tools/list":
            list_tools(id, message.get("params") or {})
        elif method == "tools/call":
            call(id, message["params"]["name"])


main()
