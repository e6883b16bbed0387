"""Five servers with eighty tools each: they cost little in the first request and never change what follows."""

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn
from tests.fakes.wire_turns import reply
from tests.journeys.journey_kit import Place

from overt.core.events import PrefixReset, RequestSent, ToolFinished
from overt.lib.tokens import estimate
from overt.sessions.load import load

MANY = str(Path(__file__).parent.parent / "mcp" / "servers" / "many_tools.py")
SUBJECTS = {"tracker": "", "crm": "shuffles", "billing": "", "calendar": "announces", "wiki": "shuffles"}
USED = [
    ("tracker", "create_ticket"),
    ("crm", "list_contact"),
    ("billing", "export_invoice"),
    ("calendar", "update_event"),
    ("wiki", "search_file"),
    ("tracker", "assign_label"),
    ("crm", "archive_report"),
    ("calendar", "delete_comment"),
]
STEPS = 30


def servers(starts: Path) -> dict[str, Any]:
    return {
        subject: {
            "command": sys.executable,
            "args": [MANY, subject, str(0.3 * at), str(starts), manner or "-"],
            "environment": {},
        }
        for at, (subject, manner) in enumerate(SUBJECTS.items())
    }


def play(request: Recorded, number: int) -> Turn:
    """Look each tool up, call it, and go on calling until thirty requests were made."""
    if number >= STEPS - 1:
        return reply(request, "Done.")
    subject, tool = USED[(number // 2) % len(USED)]
    if number % 2 == 0 and number < 2 * len(USED):
        return reply(
            request, "", FakeCall(name="toolsearch", arguments={"query": f"{tool} {subject}"}, id=f"s{number}")
        )
    arguments = {"name": f"mcp__{subject}__{tool}", "arguments": {"title": f"step {number}"}}
    return reply(request, "", FakeCall(name="toolcall", arguments=arguments, id=f"c{number}"))


@pytest.mark.parametrize("kind", ["openai", "responses", "anthropic"])
def test_400_tools_cost_little_and_every_request_extends_the_one_before(place: Place, kind: str) -> None:
    starts = place.work.parent / "starts"
    starts.touch()
    config = ("--mcp-config", json.dumps({"mcpServers": servers(starts)}), "--add-dir", str(place.work.parent))
    env = {"OVERT_KIND": kind}
    with ModelServer(choose=lambda request, number: reply(request, "Hello.")) as server:
        assert place.run("run", "hi", "--add-dir", str(place.work.parent), server=server, env=env).code == 0
        bare = server.posts[0].body
    with ModelServer(choose=lambda request, number: reply(request, "Hello.")) as server:
        assert place.run("run", "hi", *config, server=server, env=env).code == 0
        cost = estimate(server.posts[0].body.decode()) - estimate(bare.decode())
        assert cost <= 600
    assert starts.read_text() == ""  # nothing was started
    with ModelServer(choose=play) as server:
        ran = place.run("run", "work", *config, server=server, env=env)
        assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
        assert len(server.posts) == STEPS
        lists = {json.dumps(post.json()["tools"]) for post in server.posts}
        assert len(lists) == 1
    entries = [entry.data for entry in load(str(place.sessions()[-1])).entries]
    requests = [event for event in entries if isinstance(event, RequestSent)]
    assert [event for event in entries if isinstance(event, PrefixReset)] == []
    bodies = [post.body for post in server.posts]
    stable = [body[: request.stable_length] for body, request in zip(bodies, requests, strict=True)]
    assert [len(sooner) for sooner, later in pairwise(stable) if not later.startswith(sooner)] == []
    outcomes = [event for event in entries if isinstance(event, ToolFinished)]
    texts = [outcome.result.text() for outcome in outcomes]
    for subject, tool in USED:
        assert any(text.startswith(f"{subject} {tool} ") for text in texts)
    cut = [text for text in texts if "may have run" in text]
    assert cut, "two servers died in the middle of a call"
