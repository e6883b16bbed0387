"""What lies in `examples` works when it is installed as its own text says."""

import sys
from pathlib import Path

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, messages, results

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_example_of_an_mcp_server_is_added_inspected_and_used(place: Place) -> None:
    added = place.run("mcp", "add", "glossary", "--", sys.executable, str(EXAMPLES / "mcp-server" / "server.py"))
    assert added.code == 0, added.err
    shown = place.run("mcp", "inspect", "glossary")
    assert [line.split()[0] for line in shown.out.splitlines() if line.startswith("  ")] == [
        "mcp__glossary__define",
        "mcp__glossary__look_up",
        "/mcp__glossary__explain",
        "@glossary:glossary://words",
    ]
    turns = [
        calls(call("mcp__glossary__define", word="Turn", meaning="a prompt and what follows")),
        calls(call("mcp__glossary__look_up", word="turn")),
        Turn(text="A turn is a prompt and what follows."),
    ]
    with ModelServer(turns) as server:
        assert place.run("run", "/mcp__glossary__explain turn", server=server).code == 0
        assert "three sentences" in messages(server)[-5]["content"]
        assert results(server) == ["Turn is in the glossary, which has 1 entries.", "a prompt and what follows"]
    assert (place.work / "glossary.json").exists()
    assert place.run("mcp", "remove", "glossary").code == 0


def test_the_example_of_a_plugin_is_added_and_its_server_is_used(place: Place) -> None:
    added = place.run("plugin", "add", "--yes", str(EXAMPLES / "plugin"))
    assert added.code == 0, added.err
    assert 'hook PreToolUse(Bash): python3 "${CLAUDE_PLUGIN_ROOT}/hooks/no_tags.py"' in added.out
    assert "Unpinned" not in added.out and "Left out" not in added.out
    (place.work / "CHANGELOG.md").write_text("# Changes\n\n## 2.0.0\n\n## 1.9\n")
    turns = [
        calls(call("mcp__plugin_release_versions__list_versions")),
        calls(call("mcp__plugin_release_versions__list_versions")),
        Turn(text="2.0.0 is the newest."),
    ]
    with ModelServer(turns) as server:
        assert place.run("mcp", "inspect", "plugin_release_versions").code == 0
        words = ("--allowedTools", "mcp__plugin_release_versions__*")
        assert place.run("run", *words, "which version is the newest?", server=server).code == 0
        assert results(server) == ["2.0.0, 1.9 (call 1)", "2.0.0, 1.9 (call 2)"]
    shown = place.run("plugin")
    assert "skills 1, commands 1, hook files 1, MCP server plugin_release_versions" in shown.out
    assert place.run("plugin", "remove", "release").code == 0
