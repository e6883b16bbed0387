"""A server with 80 tools in plain JSON lines, without the SDK, so that five of them start quickly.

Arguments: its subject, the seconds before it answers, a file that counts its starts, and `shuffles`, `announces` or
nothing. A server that shuffles lists its tools in another order at each start and dies after its third call; one that
announces says twice that its list has changed.
"""

import json
import random
import sys
import time

VERBS = ("create", "list", "update", "delete", "search", "archive", "export", "assign")
THINGS = ("ticket", "board", "comment", "label", "sprint", "report", "invoice", "contact", "file", "event")


def tools(subject: str) -> list[dict[str, object]]:
    return [
        {
            "name": f"{verb}_{thing}",
            "description": f"{verb.capitalize()} a {thing} in {subject}. Returns the {thing} with its id and state.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    f"{thing}_id": {"type": "string", "description": f"Id of the {thing}"},
                    "title": {"type": "string", "description": "A short title"},
                    "filters": {
                        "type": "object",
                        "properties": {"state": {"type": "string"}, "since": {"type": "string"}},
                    },
                },
            },
        }
        for verb in VERBS
        for thing in THINGS
    ]


def main() -> None:
    subject, delay, starts, manner = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
    with open(starts, "a") as file:
        file.write(f"{subject}\n")
    with open(starts) as file:
        seed = file.read().count(subject)
    calls = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": number}
        if method == "initialize":
            time.sleep(delay)
            version = message["params"]["protocolVersion"]
            info = {"name": subject, "version": "1"}
            answer["result"] = {
                "protocolVersion": version,
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": info,
            }
        elif method == "tools/list":
            listed = tools(subject)
            if manner == "shuffles":
                random.Random(seed).shuffle(listed)
            answer["result"] = {"tools": listed}
        elif method == "tools/call":
            calls += 1
            if manner == "shuffles" and calls == 3:
                sys.exit(1)
            name, arguments = message["params"]["name"], message["params"].get("arguments")
            answer["result"] = {"content": [{"type": "text", "text": f"{subject} {name} {json.dumps(arguments)}"}]}
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        print(json.dumps(answer), flush=True)
        if manner == "announces" and calls in (1, 2) and method == "tools/call":
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)


main()
