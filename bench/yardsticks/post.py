"""The least a client can be: post a body (argv: port, file), read the streamed reply, decode its events."""

import asyncio  # noqa: F401
import http.client
import ssl  # noqa: F401
import sys

import msgspec

with open(sys.argv[2], "rb") as file:
    body = file.read()
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
for line in connection.getresponse():
    if line.startswith(b"data: {"):
        msgspec.json.decode(line[6:])
