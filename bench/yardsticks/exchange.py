"""Many requests over one connection (argv: port, longest body, sizes): the seconds of each exchange, as JSON.

A body is the beginning of the longest one, as it is when a conversation only grows.
"""

import http.client
import sys
from time import perf_counter

import msgspec

with open(sys.argv[2], "rb") as file:
    longest = file.read()
with open(sys.argv[3], "rb") as file:
    bodies = [longest[:size] for size in msgspec.json.decode(file.read(), type=list[int])]
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
seconds: list[float] = []
for body in bodies:
    begun = perf_counter()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    connection.getresponse().read()
    seconds.append(perf_counter() - begun)
sys.stdout.buffer.write(msgspec.json.encode(seconds))
