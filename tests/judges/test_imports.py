"""What a run imports: the one wire it speaks, no SDK, and no HTTP library."""

import re
import sys

import pytest
from tests.fakes.odd_server import Odd, OddServer
from tests.journeys.journey_kit import Place

TIMED = re.compile(r"^import time: *\d+ \| *\d+ \|\s*(\S+)$", re.MULTILINE)
NAMED = re.compile(r"^import '([^']+)' #", re.MULTILINE)
"""`-X importtime` is silent about a module that importlib was asked for; `-v` names that one too."""

FOREIGN = {"openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "pydantic", "requests", "aiohttp"}
WIRES = {
    "openai": {"openai", "_openai_decoder", "_openai_values"},
    "responses": {"responses", "_responses_decoder", "_responses_items"},
    "anthropic": {"anthropic", "_anthropic_decoder"},
}


@pytest.mark.parametrize("kind", WIRES)
def test_a_run_imports_the_wire_in_use_and_nothing_of_the_others(place: Place, kind: str) -> None:
    with OddServer(Odd(tools="ignored")) as server:
        settings = {"OVERT_BASE_URL": server.url, "OVERT_MODEL": "odd-model", "OVERT_KIND": kind}
        ran = place.run("run", "Count to three", env=settings, under=(sys.executable, "-X", "importtime", "-v"))
        assert (ran.code, len(server.bodies)) == (0, 1)
    imported = {*TIMED.findall(ran.err), *NAMED.findall(ran.err)}
    wires = {name for name in set().union(*WIRES.values()) if f"overt.providers.wires.{name}" in imported}
    assert wires == WIRES[kind]
    assert {name.partition(".")[0] for name in imported} & FOREIGN == set()
    assert {"overt.providers.http_provider", "overt.providers.transport.sse"} <= set(TIMED.findall(ran.err))
