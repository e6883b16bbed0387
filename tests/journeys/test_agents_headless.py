"""A headless run with sub-agents: what a script sees of them, and what they leave behind."""

import json

from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, call, calls

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def nested_tasks(request: Recorded, _: int) -> Turn:
    """The main agent starts an agent that writes a file and starts another one, which reads it."""
    messages = request.json()["messages"]
    prompt = next(str(message["content"]) for message in messages if message["role"] == "user")
    answered = [message for message in messages if message["role"] == "tool"]
    if "read it" in prompt:
        turn = Turn(text="it says hello") if answered else calls(call("read", path="b.txt"))
    elif "write it" in prompt:
        steps = [
            calls(call("write", path="b.txt", content="hello\n")),
            calls(call("task", prompt="read it", agent="explore")),
            Turn(text="written and read"),
        ]
        turn = steps[len(answered)]
    else:
        turn = Turn(text="all done") if answered else calls(call("task", id="outer", prompt="write it"))
    return Turn(text=turn.text, calls=turn.calls, usage=USAGE)


def test_stream_json_shows_sub_agents_with_the_call_that_started_them(place: Place) -> None:
    with ModelServer(choose=nested_tasks) as server:
        run = place.run("run", "go", "--output-format", "stream-json", server=server)
    assert run.code == 0, run.err
    lines = [json.loads(line) for line in run.out.splitlines()]
    assert {"general", "explore"} <= {*lines[0]["agents"]}
    spoken = [line for line in lines if line["type"] == "assistant"]
    inner = next(
        block["id"]
        for line in spoken
        for block in line["message"]["content"]
        if block["type"] == "tool_use" and block["input"].get("prompt") == "read it"
    )
    texts = [
        (line["parent_tool_use_id"], block["text"])
        for line in spoken
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]
    assert texts == [(inner, "it says hello"), ("outer", "written and read"), (None, "all done")]
    assert {line["parent_tool_use_id"] for line in lines if line["type"] == "user"} == {None, "outer", inner}
    mine = [request.json() for request in server.posts if request.json()["messages"][1]["content"] == "go"]
    assert len(mine) == 2 and mine[0]["tools"] == mine[1]["tools"]
    assert mine[1]["messages"][: len(mine[0]["messages"])] == mine[0]["messages"]
    prompts = [request.json()["messages"][:2] for request in server.posts]
    system = next(str(messages[0]["content"]) for messages in prompts if "read it" in str(messages[1]))
    assert "read-only: change nothing." in system
    assert (lines[-1]["type"], lines[-1]["result"], lines[-1]["usage"]["input_tokens"]) == ("result", "all done", 700)


def test_the_closing_line_counts_what_sub_agents_have_written_and_undo_takes_it_back(place: Place) -> None:
    with ModelServer(choose=nested_tasks) as server:
        run = place.run("run", "go", "--verbose", server=server)
        assert (run.code, run.out) == (0, "all done\n")
        assert "→ general-1: write b.txt" in run.err
        assert "→ general-1/explore-1: read b.txt" in run.err
        assert "1 file changed (+1 -0)" in run.err
        assert (place.work / "b.txt").read_text() == "hello\n"
        undone = place.run("undo", "--yes", server=server)
        assert undone.code == 0, undone.err
        assert not (place.work / "b.txt").exists()
