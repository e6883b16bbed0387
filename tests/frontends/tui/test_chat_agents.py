"""Sub-agents in a real chat on paper: their rows while they run, their questions, and the inspector."""

import re
from collections.abc import Callable
from threading import Event as Gate
from typing import Any

import pytest
from tests.app.subagents.test_delegation import first_prompt, last_text
from tests.fakes.model_server import FakeCall, Recorded, Turn
from tests.frontends.tui.chat_kit import Desk, Desks, Script, desks
from tests.journeys.journey_kit import call

__all__ = ["desks"]
TASKS = ("one", "two", "three")


class Agents(Script):
    """The main agent starts one agent for each task. The answers of all of them wait for the gate."""

    def __init__(self, profile: str = "explore", *first: FakeCall) -> None:
        super().__init__()
        self.gate = Gate()
        self._profile = profile
        self._first = first or (call("read", path="a.txt"),)

    def choose(self, request: Recorded, _number: int) -> Turn:
        prompt, last = first_prompt(request), last_text(request)
        name = next((name for name in TASKS if f"look at {name}" in prompt), "")
        if not name and "[main/" not in last:
            tasks = (
                {"prompt": f"look at {each}", "description": f"Task {each}", "agent": self._profile} for each in TASKS
            )
            return Turn(calls=tuple(FakeCall(name="task", arguments=each) for each in tasks))
        if not name:
            return Turn(text="all done")
        if last == f"look at {name}":
            return Turn(calls=self._first)
        assert self.gate.wait(30)
        return Turn(text=f"{name} is fine")

    def let(self, *_numbers: int) -> None:
        self.gate.set()


def rows_of(desk: Desk) -> list[str]:
    """What the live region says of each agent."""
    rows = [re.split(r" {2,}", line[2:].strip()) for line in desk.paper.display() if re.match(r"[⠋-⠿?] \w+-\d", line)]
    return [" | ".join(each) for each in rows]


def later(desk: Desk, true: Callable[[], Any]) -> None:
    """Until it is so, while time passes: what agents do is looked up every now and then."""

    def seen() -> Any:
        desk.wait(0.4)
        return true()

    desk.until(seen)


def test_running_agents_have_a_row_each_and_a_line_when_they_come_and_go(desks: Desks) -> None:
    (desks.folder / "a.txt").write_text("hello\n")
    script = Agents()
    with desks.open(script, mode="yolo") as desk:
        desk.send("go")
        later(desk, lambda: ["2 steps" in each for each in rows_of(desk)] == [True] * 3)
        figures = {re.sub(r"\$\S+ \| ", "", each) for each in rows_of(desk)}
        assert {each.split(" | ")[0] for each in figures} == {"explore-1", "explore-2", "explore-3"}
        assert {re.search(r"Task \w+", each)[0] for each in figures} == {f"Task {name}" for name in TASKS}  # type: ignore[index]
        assert "⠋ task" not in desk.screen
        desk.until("3 agents ↓")
        script.let()
        desk.rest()
        shown = desk.all
        assert len(re.findall(r"· main/explore-\d started: Task \w+", shown)) == 3
        assert len(re.findall(r"· main/explore-\d done · 2 steps · ", shown)) == 3
        assert rows_of(desk) == []
        assert "agents" not in desk.status


def test_down_opens_the_tree_and_an_agent_which_is_steered_stopped_and_forked(desks: Desks) -> None:
    (desks.folder / "a.txt").write_text("hello\n")
    script = Agents()
    with desks.open(script, mode="yolo") as desk:
        desk.send("go")
        later(desk, lambda: ["2 steps" in each for each in rows_of(desk)] == [True] * 3)
        desk.press("down")
        desk.until("3 of 3 running")
        desk.press("enter")
        desk.until("step 2")
        assert "look at" in desk.screen and "● read  a.txt" in desk.screen
        desk.type("s")
        desk.type("be brief")
        desk.until("Tell main/explore-1: be brief")
        desk.press("enter")
        desk.until("main/explore-1 reads it before its next request.")
        desk.type("c")
        desk.until("tool:read")
        desk.press("esc")
        desk.until("step 2")
        desk.press("esc")
        desk.until("3 of 3 running")
        desk.press("down")
        desk.type("x")
        desk.until("Stop main/explore-2 and everything below it?")
        desk.type("y")
        later(desk, lambda: "2 of 3 running" in desk.screen)
        desk.type("f")
        desk.until("Fork main/explore-2 at the end of step (1–2")
        desk.type("1")
        desk.press("enter")
        desk.until("Open it with `overt --resume")
        desk.press("esc")
        script.let()
        desk.rest()
        assert "· main/explore-2 stopped · " in desk.all or "! main/explore-2 stopped · " in desk.all
        assert any("be brief" in str(request.body) for request in desk.server.posts)


@pytest.mark.parametrize("way", ["answered", "stopped"])
def test_questions_of_agents_are_put_one_after_the_other_with_who_asks(desks: Desks, way: str) -> None:
    script = Agents("general", call("bash", command="touch made"))
    script.let()
    with desks.open(script, mode="review") as desk:
        desk.send("go")
        desk.question("of 3")
        asked = re.search(r"(main/general-\d) asks: Allow bash\?  1 of 3", desk.screen)
        assert asked, desk.screen
        if way == "stopped":
            desk.press("down")
            desk.until("3 ask: Esc, then answer")
            desk.type("xy")
            later(desk, lambda: "2 ask: Esc, then answer" in desk.screen)
            desk.press("esc")
            desk.question("asks: Allow bash?")
        else:
            desk.type("y")
            desk.question("2 of 3")
            desk.type("y")
            desk.question("3 of 3")
        desk.type("y")
        if way == "stopped":
            desk.question("asks: Allow bash?")
            desk.type("y")
        desk.rest()
        assert "asks: Allow bash?" not in desk.screen
        ends = sorted(re.findall(r"main/general-\d (done|stopped)", desk.all))
        assert ends == (["done", "done", "stopped"] if way == "stopped" else ["done"] * 3)


def test_many_agents_leave_room_for_the_composer_on_a_small_screen(desks: Desks) -> None:
    (desks.folder / "a.txt").write_text("hello\n")
    script = Agents()
    with desks.open(script, mode="yolo") as desk:
        desk.paper.resize(40, 12)
        desk.chat.resized()
        desk.send("go")
        later(desk, lambda: "3 agents" in desk.screen)
        desk.type("still here")
        assert "› still here" in desk.screen
        assert all(len(row) <= 40 for row in desk.paper.display())
