"""Sub-agents in a real terminal, by keys: seen as they work, opened, steered, stopped, and there again afterwards."""

import json
import re
import time
from threading import Event

import pytest
from tests.app.subagents.test_delegation import first_prompt, last_text
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place
from tests.journeys.pane_kit import needs_tmux, overt, pane

TASKS = ("one", "two", "three")


class Script:
    """Three agents; each reads a file, and its answer waits for the gate, which is tried again and again."""

    def __init__(self) -> None:
        self.gate = Event()

    def choose(self, request: Recorded, _: int) -> Turn:
        prompt, last = first_prompt(request), last_text(request)
        name = next((name for name in TASKS if f"look at {name}" in prompt), "")
        if not name:
            if "[main/" in last or "stopped by the user" in last:
                return Turn(text="All is done.")
            tasks = ({"prompt": f"look at {each}", "description": f"看 {each}", "agent": "explore"} for each in TASKS)
            return Turn(calls=tuple(FakeCall(name="task", arguments=each) for each in tasks))
        if last == f"look at {name}":
            return Turn(calls=(FakeCall(name="read", arguments={"path": "calc.py"}),))
        if not self.gate.wait(1.0):
            number = len(request.json()["messages"])
            return Turn(calls=(FakeCall(name="read", arguments={"path": "calc.py", "limit": number}),))
        return Turn(text=f"{name} is fine")


def columns(shown: str, word: str) -> set[int]:
    """Return where a word begins in the rows of the agents."""
    return {line.index(word) for line in shown.splitlines() if re.search(r"explore-\d", line) and word in line}


@needs_tmux
@pytest.mark.parametrize("size", [(80, 24), (40, 12)], ids=["80x24", "40x12"])
def test_agents_are_seen_opened_steered_and_stopped(place: Place, size: tuple[int, int]) -> None:
    (place.work / "calc.py").write_text("def total(xs):\n    return 0\n")
    place.distrust()
    script = Script()
    with ModelServer(choose=script.choose) as server:
        environment = place.environment(server)
        with pane(place, overt("--yolo"), env=environment, size=size) as chat:

            def see(wanted: str) -> str:
                """What moves on the screen does not come to rest."""
                deadline = time.monotonic() + 30
                while wanted not in (shown := chat.screen()):
                    assert time.monotonic() < deadline, f"{wanted!r} was not shown, but:\n{shown}"
                    time.sleep(0.05)
                return shown

            see("fake-model")
            chat.type("look at all")
            chat.press("Enter")
            see("3 agents")
            shown = see("explore-3 ")
            assert "› Ask or tell" in shown
            assert re.search(r"[⠋-⠿] explore-1 .*\n[⠋-⠿] explore-2 .*\n[⠋-⠿] explore-3 ", shown), shown

            chat.press("Down")
            shown = see("3 of 3 running")
            assert len(columns(shown, "running")) == 1
            chat.press("Enter")
            see("main/explore-1  running")
            see("── step")
            chat.type("s")
            chat.type("be brief 快")
            see("be brief 快")
            chat.press("Enter")
            see("› be brief 快")
            chat.press("Escape")
            see("3 of 3 running")

            chat.press("Down")
            chat.type("x")
            see("Stop main/explore-2" if size[0] > 60 else "Stop explore-2")
            chat.type("y")
            shown = see("2 of 3 running")
            assert re.search(r"explore-2 +stopped", shown)
            chat.type("f")
            see("Fork main/explore-2")
            chat.type("1")
            chat.press("Enter")
            see("overt --resume" if size[0] > 40 else "Copied main/explore-2")
            chat.press("Escape")
            see("2 agents")
            script.gate.set()
            see("All is done.")
            chat.type("/exit")
            chat.press("Enter")
            see("LEFT WITH 0")
            lines = chat.scrollback()
            assert len(re.findall(r"! main/explore-2 stopped · [2-9]", lines)) == 1
            assert len(re.findall(r"· main/explore-[13] done · ", lines)) == 2

        with pane(place, overt("--continue"), env=environment, size=size) as chat:
            chat.expect("All is done.")
            chat.type("/agents")
            chat.press("Enter")
            chat.expect(lambda shown: bool(re.search(r"explore-1 +done", shown) and re.search("-2 +stopped", shown)))
            chat.press("Enter")
            chat.expect("is fine")
            chat.type("c")
            chat.expect("tool:read")
            chat.press("Escape")
            chat.expect("is fine")
            chat.press("Escape", "Escape")
            chat.expect("› Ask or tell")

    listed = place.run("sessions", "list", "--agents", "--json")
    rows = [json.loads(line) for line in listed.out.splitlines()]
    main = next(row for row in rows if not row["parent"])
    assert [row["agent_path"] for row in rows if row["parent"] == main["id"]] == [
        f"main/explore-{n}" for n in (1, 2, 3)
    ]
    agents = [row["id"] for row in rows if row["agent_path"]]
    assert [row["parent"] for row in rows if row["parent"] and not row["agent_path"]] == [agents[1]]
    assert "explore" not in place.run("sessions", "list").out
    for words in (("sessions", "show"), ("context",), ("replay",), ("export",)):
        assert place.run(*words, agents[0]).code == 0, words


def test_the_plain_chat_lists_steers_shows_and_stops_agents_during_a_turn(place: Place) -> None:
    (place.work / "calc.py").write_text("def total(xs):\n    return 0\n")
    script = Script()
    with ModelServer(choose=script.choose) as server, place.chat("--yolo", server=server) as chat:
        chat.expect("› ")
        chat.line("look at all")
        chat.expect("main/explore-3 started: ")
        chat.line("/agents")
        chat.expect("main/explore-3  running · ")
        chat.expect("Agents that can be started:")
        chat.line("/agents steer explore-1 be brief")
        chat.expect("main/explore-1 reads it before its next request.")
        chat.line("/agents show explore-1")
        chat.expect("> look at ")
        chat.line("/agents stop explore-2")
        chat.expect("main/explore-2 stopped · ")
        chat.line("/agents steer explore-2 too late")
        chat.expect("main/explore-2 is not running any more.")
        chat.line("/agents stop nothing")
        chat.expect("No agent of this session has the path nothing.")
        script.gate.set()
        chat.expect("main/explore-1 done · ")
        chat.expect("All is done.")
        chat.expect("› ")
        chat.line("/exit")
        assert any(b"be brief" in request.body for request in server.posts)
        assert not any(b"/agents" in request.body for request in server.posts)


def test_questions_of_agents_name_who_asks_in_the_plain_chat(place: Place) -> None:
    def choose(request: Recorded, _: int) -> Turn:
        prompt, last = first_prompt(request), last_text(request)
        if "look at" not in prompt:
            tasks = ({"prompt": f"look at {each}", "agent": "general"} for each in TASKS)
            calls = tuple(FakeCall(name="task", arguments=each) for each in tasks)
            return Turn(text="All is done.") if "[main/" in last else Turn(calls=calls)
        name = prompt.removeprefix("look at ")
        edit = FakeCall(name="write", arguments={"path": f"{name}.txt", "content": f"{name}\n"})
        return Turn(calls=(edit,)) if last == prompt else Turn(text="written")

    with ModelServer(choose=choose) as server, place.chat("--permission-mode", "review", server=server) as chat:
        chat.expect("› ")
        chat.line("go")
        for _ in TASKS:
            chat.expect("asks: Create ")
            chat.expect("Allow? ")
            time.sleep(0.3)  # keys that were pressed before the question are no answer to it
            chat.line("y")
        chat.expect("All is done.")
        chat.expect("› ")
        chat.line("/exit")
        named = set(re.findall(r"(main/general-\d) asks: Create (\w+)\.txt\?", chat.text()))
        assert {path for path, _ in named} == {"main/general-1", "main/general-2", "main/general-3"}
        assert {name for _, name in named} == {*TASKS}
    assert [(place.work / f"{name}.txt").read_text() for name in TASKS] == [f"{name}\n" for name in TASKS]
