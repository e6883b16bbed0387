"""From nothing to the first request, and what that request weighs."""

from collections.abc import Iterator
from typing import Any

from msgspec import json

from bench.runs import OVERT, PYTHON, Run, Site, interleaved
from bench.server import Server, text
from bench.table import Row, compared

TOKENS = 2000


def version(site: Site) -> Iterator[Row]:
    ours, bare = interleaved(
        site.times(60), lambda: site.run([OVERT, "--version"]), lambda: site.run([PYTHON, "-c", "pass"])
    )
    yield compared("overt --version, CPU (bare Python)", _cpu(ours), _cpu(bare), at_most=1.2)


def first_request(site: Site) -> Iterator[Row]:
    workspace = site.fresh("start")
    with Server(site, "start", [text()], record="bodies") as server:
        site.overt(server.port, workspace)
        server.arrivals()
        body = site.keep("start.body", server.body)

        def arrival(run: Run) -> tuple[float, float]:
            return server.arrivals()[0].at - run.began, run.cpu

        ours, script = interleaved(
            site.times(21),
            lambda: arrival(site.overt(server.port, workspace)),
            lambda: arrival(site.yardstick("post.py", server.port, body)),
        )
    yield compared(
        "start to first request, wall (script)", [at for at, _ in ours], [at for at, _ in script], at_most=1.7
    )
    yield compared(
        "one short exchange, whole CPU (script)", [cpu for _, cpu in ours], [cpu for _, cpu in script], at_most=1.7
    )


def servers(site: Site) -> Iterator[Row]:
    """Five MCP servers in the configuration, of which none is used: their tools are in the cache, or unknown."""
    workspace = site.fresh("servers")
    entries = {f"server{number}": {"command": "sleep", "args": [str(1000 + number)]} for number in range(5)}
    config = site.keep("servers.json", json.encode({"mcpServers": entries}))
    with Server(site, "servers", [text()], record="bodies") as server:

        def arrival(*words: str) -> float:
            run = site.overt(server.port, workspace, *words)
            return server.arrivals()[0].at - run.began

        arrival()
        with_servers, without = interleaved(
            site.times(41), lambda: arrival("--mcp-config", str(config)), lambda: arrival()
        )
    yield compared("first request with five MCP servers (none)", with_servers, without, at_most=1.05)


def prompt(site: Site) -> Iterator[Row]:
    with Server(site, "prompt", [text()], record="bodies") as server:
        site.overt(server.port, site.fresh("prompt"))
        server.arrivals()
    request: dict[str, Any] = json.decode(server.body)
    system = sum(len(m["content"].encode()) for m in request["messages"] if m["role"] == "system")
    tools = len(json.encode(request["tools"]))
    tokens = (system + tools) / 4
    yield Row(
        name="system prompt and schemas (bytes / 4)",
        ours=f"{tokens:.0f} tokens",
        ratio=tokens / TOKENS,
        yardstick=f"prompt {system / 4:.0f}, schemas {tools / 4:.0f}",
        budget=f"{TOKENS} tokens",
        ok=tokens <= TOKENS,
    )
    yield Row(
        name="first request (bytes / 4)", ours=f"{len(server.body) / 4:.0f} tokens", yardstick=f"{len(server.body)} B"
    )


def _cpu(runs: list[Run]) -> list[float]:
    return [run.cpu for run in runs]
