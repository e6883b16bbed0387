"""The counts in the data for tests are those of the embedded model's own vocabulary."""

import subprocess
import sys

from msgspec import json
from tests.lib.token_kit import TEXTS
from tests.providers.local_kit import FETCHED, SMALL, needs_small

from overt.providers.embedded.weights import find_weights

SERVED = """
import json, sys
from http.client import HTTPConnection
import xllamacpp

told = json.load(sys.stdin)
wanted = xllamacpp.CommonParams()
wanted.model.path, wanted.hostname, wanted.port = told["path"], "127.0.0.1", 0
wanted.n_ctx, wanted.n_parallel, wanted.warmup, wanted.webui = 256, 1, False, False
server = xllamacpp.Server(wanted)
counts = []
for text in told["texts"]:
    asked = HTTPConnection("127.0.0.1", int(server.listening_address.rpartition(":")[2]), timeout=60)
    asked.request("POST", "/tokenize", json.dumps({"content": text}), {"Content-Type": "application/json"})
    counts.append(len(json.loads(asked.getresponse().read())["tokens"]))
    asked.close()
print(json.dumps(counts), flush=True)
"""


@needs_small
def test_the_recorded_counts_are_those_of_the_vocabulary() -> None:
    weights = find_weights(SMALL)
    assert weights is not None
    told = json.encode({"path": weights.path(FETCHED), "texts": [each.text for each in TEXTS]})
    done = subprocess.run([sys.executable, "-c", SERVED], input=told, capture_output=True, timeout=100, check=True)

    assert json.decode(done.stdout.splitlines()[-1]) == [each.tokens for each in TEXTS]
