"""The loop with real tools in a real folder, and a model played from memory."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from tests.fakes.played import Played, Player, call, says
from tests.fakes.services import plain_services

from overt.agent.agent import Agent, AgentSpec, Runtime
from overt.agent.permission_gate import Gate
from overt.agent.permission_settings import PermissionState, Terms
from overt.app.agent_capabilities import Capabilities
from overt.app.conversation import Conversation
from overt.app.session import Session, follow
from overt.app.session_record import NoLog, SessionRecord
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting
from overt.app.workspace_services import WorkspaceServices
from overt.config.paths import Environment, Roots
from overt.config.schema import Config
from overt.config.trust import Trusted
from overt.context.assemble import Assembler
from overt.core.capabilities import Effect
from overt.core.errors import ConfigError, ProviderError
from overt.core.events import (
    Event,
    Noticed,
    PermissionAsked,
    PermissionDecided,
    PrefixReset,
    PrefixSet,
    Repaired,
    Replied,
    TextStreamed,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.history import INTERRUPTED, open_calls
from overt.core.messages import Call, Result, Text
from overt.core.protocols import Answer
from overt.core.requests import Params, Prefix
from overt.core.settings import Limits, Mode, Rule
from overt.lib.redaction.redact import Redactor
from overt.safety.policy import PathFacts
from overt.tools.registry import BUILT_IN

EFFECTS: frozenset[Effect] = frozenset({"read", "write", "run", "notes"})


class Bench:
    """A conversation in a folder, and everything that happened in it."""

    def __init__(
        self,
        folder: Path,
        replies: list[Played],
        *,
        mode: Mode = "yolo",
        steps: int = 0,
        hang: bool = False,
        asked: bool = False,
        remember: Callable[[Rule], None] | None = None,
    ) -> None:
        self.player = Player(replies, hang=hang)
        self.troubles: deque[Noticed] = deque()
        self.remembered: list[Rule] = []
        setting = Setting(
            environment=Environment(
                home=f"{folder}-home",
                config_dir=f"{folder}-home/config",
                data_dir=f"{folder}-home/data",
                cache_dir=f"{folder}-home/cache",
                cwd="/",
                variables={"PATH": "/usr/bin:/bin"},
            ),
            roots=Roots(workspace=str(folder), project=str(folder)),
            trust=Trusted(),
            config=Config(),
        )
        workspace = SessionWorkspace(setting, WorkspaceServices(setting))
        self.hands = Capabilities(workspace, history=lambda: self.conversation.history, effects=EFFECTS)
        tools = BUILT_IN.for_effects(EFFECTS)
        session = Session(
            SessionRecord(log=NoLog(), id="test"), setting, redactor=Redactor(), log_notices=self.troubles
        )
        services = plain_services(workspace, session)
        gate = Gate(
            PermissionState(Terms(rules=()), mode=mode, remember=remember or self.remembered.append),
            sight=PathFacts(root=str(folder), exists=lambda path: (folder / path).exists(), look=self.hands.look),
            hands=self.hands,
            asker=services.mailbox if asked else None,
        )
        spec = AgentSpec(
            path="main",
            params=Params(model="m"),
            prefix=Prefix(system=(), tools=tuple(tool.spec for tool in tools.values())),
            tools=tools,
            effects=EFFECTS,
            limits=Limits(max_steps=steps),
        )
        runtime = Runtime(
            provider=self.player,
            gate=gate,
            hands=self.hands,
            assembler=Assembler(self.player.wire),
            hide=lambda text: text.replace("the-key", "[redacted]"),
            find_tool=BUILT_IN.find,
        )
        agent = Agent(spec, runtime)
        opening = PrefixSet(
            prefix=agent.spec.prefix, provider="played", model="m", wire="openai", encoder=1, fingerprint="f"
        )
        self.conversation = Conversation(agent, opening, session=session, services=services)
        self.events: list[Event] = []
        self.answers: list[Answer] = []

    async def prompt(self, text: str = "go", *, on: Any = None) -> TurnEnded:
        async with asyncio.timeout(60):
            async for event in follow(self.conversation.session, self.conversation.prompt(text)):
                self.events.append(event)
                if isinstance(event, PermissionAsked):
                    self.conversation.answer(event.id, self.answers.pop(0))
                if on:
                    on(event)
        assert isinstance(self.events[-1], TurnEnded)
        return self.events[-1]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def results(self) -> list[str]:
        return [text_of(event.result) for event in self.of(ToolFinished)]

    def play(self, coroutine: Any) -> Any:
        async def whole() -> Any:
            try:
                return await coroutine
            finally:
                await self.conversation.close()

        return asyncio.run(whole())


def text_of(result: Result) -> str:
    return "".join(part.text for part in result.parts if isinstance(part, Text))


def test_a_task_is_read_changed_and_answered(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    bench = Bench(
        tmp_path,
        [
            says("", call("read", path="a.txt")),
            says("", call("edit", path="a.txt", old_string="one", new_string="two")),
            says("Done."),
        ],
    )
    end = bench.play(bench.prompt())
    assert (end.reason, end.text, end.steps, end.usage.input) == ("done", "Done.", 3, 30)
    assert (tmp_path / "a.txt").read_text() == "two\n"
    roles = [message.role for message in bench.conversation.history.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


def test_readers_run_together_and_their_results_keep_the_order_of_the_calls(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").write_text("B")
    bench = Bench(tmp_path, [says("", call("read", "1", path="b"), call("read", "2", path="a")), says("ok")])
    bench.play(bench.prompt())
    kinds = [type(event) for event in bench.events if isinstance(event, ToolStarted | ToolFinished)]
    assert kinds == [ToolStarted, ToolStarted, ToolFinished, ToolFinished]
    tool_message = bench.conversation.history.messages[2]
    assert [part.call_id for part in tool_message.parts if isinstance(part, Result)] == ["1", "2"]


def test_writers_run_one_after_another_in_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    edits = [call("edit", str(n), path="a", old_string=str(n), new_string=str(n + 1)) for n in range(1, 5)]
    bench = Bench(tmp_path, [says("", *edits), says("ok")])
    bench.play(bench.prompt())
    assert (tmp_path / "a").read_text() == "5"


def test_an_approval_shows_the_diff_and_always_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    bench = Bench(
        tmp_path,
        [
            says("", call("edit", "1", path="a", old_string="1", new_string="2")),
            says("", call("edit", "2", path="a", old_string="2", new_string="3")),
            says("ok"),
        ],
        mode="review",
        asked=True,
    )
    bench.answers = [Answer(choice="always")]
    bench.play(bench.prompt())
    (question,) = bench.of(PermissionAsked)
    assert question.view.files[0].diff.splitlines()[-2:] == ["-1", "+2"]
    assert question.always == "edit"
    assert [(rule.action, rule.tool) for rule in bench.remembered] == [("allow", "edit")]
    assert (tmp_path / "a").read_text() == "3\n"


def test_a_denial_with_its_reason_reaches_the_model_and_nothing_is_written(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("write", path="a", content="x")), says("ok")], mode="review", asked=True)
    bench.answers = [Answer(choice="deny", reason="use b instead")]
    bench.play(bench.prompt())
    assert bench.results() == ["[overt] The user denied this call: use b instead"]
    assert not (tmp_path / "a").exists()
    assert bench.conversation.session.last_call_denied


def test_an_edit_that_cannot_work_is_answered_without_asking(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    edit = call("edit", path="a", old_string="nowhere", new_string="2")
    bench = Bench(tmp_path, [says("", edit), says("ok")], mode="review", asked=True)
    bench.play(bench.prompt())
    assert bench.of(PermissionAsked) == []
    assert bench.of(ToolFinished)[0].result.error


@pytest.mark.parametrize("mode", ["review", "auto", "yolo"])
def test_a_final_command_is_denied_where_nobody_can_be_asked(tmp_path: Path, mode: Mode) -> None:
    (tmp_path / ".gitignore").write_text("keep\n")
    (tmp_path / "keep").write_text("x")
    bench = Bench(tmp_path, [says("", call("bash", command="rm keep")), says("ok")], mode=mode)
    bench.play(bench.prompt())
    assert (tmp_path / "keep").exists()
    (decided,) = bench.of(PermissionDecided)
    assert (decided.verdict, decided.rule, decided.by) == ("deny", "final", "guard")


def test_plan_mode_keeps_the_tools_and_refuses_to_write(tmp_path: Path) -> None:
    calls = (call("write", path="a", content="x"), call("bash", command="ls"))
    bench = Bench(tmp_path, [says("", *calls), says("ok")], mode="plan")
    bench.play(bench.prompt())
    assert not (tmp_path / "a").exists()
    assert [event.result.error for event in bench.of(ToolFinished)] == [True, False]
    tools = json.decode(bench.player.requests[0].body())["tools"]
    assert "write" in {tool["function"]["name"] for tool in tools}


def test_the_step_limit_ends_in_a_forced_summary_with_the_same_tools(tmp_path: Path) -> None:
    calls = [says("", call("bash", str(n), command=f"echo {n}")) for n in range(3)]
    bench = Bench(tmp_path, [*calls, says("summary", call("bash", command="echo no"))], steps=3)
    end = bench.play(bench.prompt())
    assert (end.reason, end.text) == ("limit", "summary")
    bodies = [json.decode(request.body()) for request in bench.player.requests]
    assert [body.get("tool_choice") for body in bodies] == [None, None, None, "none"]
    assert bodies[0]["tools"] == bodies[3]["tools"]
    assert [event.forced for event in bench.of(Replied)] == [False, False, False, True]
    assert len(bench.results()) == 3
    assert bench.conversation.history.messages[-1].origin.kind == "harness"


@pytest.mark.parametrize(("limit", "used"), [(50, 40), (5, 4), (7, 6), (10, 8)])
def test_the_model_is_told_once_when_80_percent_of_the_step_limit_are_used(
    tmp_path: Path, limit: int, used: int
) -> None:
    calls = [says("", call("bash", str(n), command=f"echo {n}")) for n in range(limit)]
    bench = Bench(tmp_path, [*calls, says("summary")], steps=limit)
    bench.play(bench.prompt())
    notices = [event for event in bench.of(UserSpoke) if "steps that this turn may take" in event.message.text()]
    assert [event.message.text().split(" are used")[0] for event in notices] == [
        f"[overt] {used} of the {limit} steps that this turn may take"
    ]
    assert [(event.message.origin.kind, "\n" in event.message.text()) for event in notices] == [("harness", False)]
    told = [f"{used} of the {limit} steps" in request.body().decode() for request in bench.player.requests]
    assert told == [False] * used + [True] * (limit + 1 - used)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_step_limit_too_short_for_a_notice_is_told_at_its_end_only(tmp_path: Path, limit: int) -> None:
    calls = [says("", call("bash", str(n), command=f"echo {n}")) for n in range(limit)]
    bench = Bench(tmp_path, [*calls, says("summary")], steps=limit)
    bench.play(bench.prompt())
    assert [event.message.text()[:44] for event in bench.of(UserSpoke)] == [
        "go",
        "[overt] This turn has reached its step limit",
    ]


def test_without_a_step_limit_a_turn_takes_three_hundred_steps(tmp_path: Path) -> None:
    calls = [says("", call("glob", str(n), pattern=f"*.{n}")) for n in range(300)]
    bench = Bench(tmp_path, [*calls, says("done")])
    end = bench.play(bench.prompt())
    assert (end.reason, end.text, end.steps, len(bench.results())) == ("done", "done", 301, 300)
    assert [event.message.text() for event in bench.of(UserSpoke)] == ["go"]


def test_a_turn_after_a_forced_summary_still_extends_the_requests_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("bash", command="echo")), says("summary"), says("on")], steps=1)

    async def two() -> None:
        await bench.prompt("one")
        await bench.prompt("two")

    bench.play(two())
    assert bench.of(PrefixReset) == []
    stables = [b"".join(request.stable) for request in bench.player.requests]
    assert all(after.startswith(before) for before, after in pairwise(stables))


def test_text_typed_during_a_turn_steers_the_next_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("bash", command="echo")), says("ok")])

    def steer(event: Event) -> None:
        if isinstance(event, ToolStarted):
            bench.conversation.inbox.steer("in French")

    bench.play(bench.prompt(on=steer))
    assert [event.message.text() for event in bench.of(UserSpoke)] == ["go", "in French"]
    last = json.decode(bench.player.requests[1].body())["messages"]
    assert last[-1] == {"role": "user", "content": "in French"}


def test_text_typed_before_the_first_step_is_said_after_the_first_reply(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("first"), says("second")])
    bench.conversation.inbox.steer("in French")
    assert bench.play(bench.prompt()).text == "second"
    first, second = (json.decode(request.body())["messages"] for request in bench.player.requests)
    assert [message["content"] for message in first] == ["go"]
    assert [message["content"] for message in second] == ["go", "first", "in French"]


def test_steering_that_comes_with_the_last_answer_makes_one_more_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("first"), says("second")])

    def steer(event: Event) -> None:
        if isinstance(event, TextStreamed) and event.text == "first":
            bench.conversation.inbox.steer("more")

    assert bench.play(bench.prompt(on=steer)).text == "second"


def test_an_answer_at_the_step_limit_ends_the_turn_and_late_steering_opens_the_next(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("first"), says("second")], steps=1)

    def steer(event: Event) -> None:
        if isinstance(event, TextStreamed) and event.text == "first":
            bench.conversation.inbox.steer("more")

    end = bench.play(bench.prompt(on=steer))
    assert (end.reason, end.text, end.steps) == ("done", "first", 1)
    assert asyncio.run(bench.conversation.next_prompt()) == "more"


def test_an_abort_in_a_stream_keeps_what_came_and_the_next_turn_works(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("half an answer"), says("whole")], hang=True)

    def stop(event: Event) -> None:
        if isinstance(event, TextStreamed):
            bench.conversation.interrupt()

    async def two() -> None:
        end = await bench.prompt(on=stop)
        assert end.reason == "interrupted"
        bench.player._hang = False
        assert (await bench.prompt("again")).text == "whole"

    bench.play(two())
    texts = [message.text() for message in bench.conversation.history.messages]
    assert texts == ["go", "half an answer", "again", "whole"]


def test_an_abort_in_a_command_kills_it_and_answers_its_call(tmp_path: Path) -> None:
    calls = (call("read", "r", path="nothing"), call("bash", "b", command="sleep 60; echo late > late"))
    bench = Bench(tmp_path, [says("", *calls), says("ok")])

    def stop(event: Event) -> None:
        if isinstance(event, PermissionDecided) and event.call_id == "b":
            asyncio.get_running_loop().call_later(0.2, bench.conversation.interrupt)

    async def two() -> None:
        assert (await bench.prompt(on=stop)).reason == "interrupted"
        assert open_calls(bench.conversation.history) == ()
        assert (await bench.prompt("again")).reason == "done"

    bench.play(two())
    assert bench.results()[1] == INTERRUPTED
    sent = json.decode(bench.player.requests[-1].body())["messages"]
    assert [m.get("tool_call_id") for m in sent if m["role"] == "tool"] == ["r", "b"]


def test_a_broken_stream_is_one_request_a_named_error_and_a_valid_history(tmp_path: Path) -> None:
    broken = ProviderError("the stream was cut", kind="cut")
    bench = Bench(tmp_path, [broken, says("fine")])

    async def two() -> None:
        end = await bench.prompt()
        assert (end.reason, end.text, end.kind) == ("error", "the stream was cut", "cut")
        assert (await bench.prompt("again")).text == "fine"

    bench.play(two())
    assert len(bench.player.requests) == 2
    assert [m.text() for m in bench.conversation.history.messages] == ["go", "half a ", "again", "fine"]


def test_retry_drops_the_last_exchange_and_is_a_recorded_reset(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("bad"), says("good")])

    async def two() -> None:
        await bench.prompt("question")
        async for event in follow(bench.conversation.session, bench.conversation.retry()):
            bench.events.append(event)

    bench.play(two())
    assert [m.text() for m in bench.conversation.history.messages] == ["question", "good"]
    assert [event.cause for event in bench.of(PrefixReset)] == ["retry"]
    assert bench.player.requests[1].body() == bench.player.requests[0].body()


def test_the_same_failing_call_for_ever_ends_the_turn(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("read", path="nothing"))])
    end = bench.play(bench.prompt())
    assert end.reason == "storm"
    assert len(bench.player.requests) == 5


def test_empty_answers_are_nudged_and_then_end_the_turn(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("")])
    end = bench.play(bench.prompt())
    assert (end.reason, len(bench.player.requests)) == ("storm", 3)
    nudges = [event.message.origin.kind for event in bench.of(UserSpoke)]
    assert nudges == ["user", "harness", "harness"]


def test_calls_of_other_agents_are_repaired_and_the_repair_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    bench = Bench(tmp_path, [says("", call("Read", file_path="a")), says("ok")])
    bench.play(bench.prompt())
    assert [event.note for event in bench.of(Repaired)] == ["Read → read; file_path → path"]
    assert bench.results() == ["     1\tx"]


def test_a_cut_write_is_never_executed(tmp_path: Path) -> None:
    cut = Call(id="1", name="write", arguments='{"path":"a","content":"half of it')
    bench = Bench(tmp_path, [says("", cut, finish="length"), says("ok")])
    bench.play(bench.prompt())
    assert not (tmp_path / "a").exists()
    assert "cut at its token limit" in bench.results()[0]


def test_todos_are_folded_and_readable(tmp_path: Path) -> None:
    todos = [{"content": "one", "status": "in_progress"}, {"content": "two"}]
    bench = Bench(tmp_path, [says("", call("todowrite", todos=todos)), says("", call("todoread")), says("ok")])
    bench.play(bench.prompt())
    assert [(item.content, item.status) for item in bench.conversation.history.todos] == [
        ("one", "in_progress"),
        ("two", "pending"),
    ]
    assert "two" in bench.results()[1]


def test_a_tool_that_breaks_becomes_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, [says("", call("glob", pattern="*")), says("ok")])

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("boom")

    monkeypatch.setattr("overt.workspace.files.Files.find", broken)
    assert bench.play(bench.prompt()).reason == "done"
    assert "glob broke: RuntimeError: boom" in bench.results()[0]


def test_always_for_another_tool_does_not_open_edits(tmp_path: Path) -> None:
    calls = (
        Call(id="1", name="jobs", arguments='{"action":"stop","id":"1"}'),
        call("write", "2", path="a", content="x"),
    )
    bench = Bench(tmp_path, [says("", *calls), says("ok")], mode="review", asked=True)
    bench.answers = [Answer(choice="always"), Answer(choice="deny")]
    bench.play(bench.prompt())
    assert [question.always for question in bench.of(PermissionAsked)] == ["jobs", "edit"]
    assert not (tmp_path / "a").exists()


def test_a_key_in_what_a_tool_brings_back_is_hidden_from_model_and_person(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("bash", command="echo the-key")), says("ok")])
    bench.play(bench.prompt())
    (finished,) = bench.of(ToolFinished)
    assert (text_of(finished.result), finished.view.text) == ("[redacted]", "[redacted]")


def test_a_rule_that_cannot_be_stored_is_told_and_holds_for_now(tmp_path: Path) -> None:
    def refuse(_: Rule) -> None:
        raise ConfigError("cannot be written")

    replies: list[Played] = [says("", call("write", path="a", content="x")), says("ok")]
    bench = Bench(tmp_path, replies, mode="review", asked=True, remember=refuse)
    bench.answers = [Answer(choice="always")]
    assert bench.play(bench.prompt()).reason == "done"
    assert [event.text for event in bench.of(Noticed)] == ["cannot be written"]
    assert (tmp_path / "a").exists()


def test_a_patch_that_breaks_its_parser_ends_no_turn(tmp_path: Path) -> None:
    broken = [
        '--- "a/x\\8"\n+++ "b/x\\8"\n@@ -1 +1 @@\n-a\n+b\n',
        "--- a/x\n+++ b/x\n@@ -" + "9" * 5000 + " +1 @@\n-a\n+b\n",
    ]
    calls = [call("patch", str(number), patch=text) for number, text in enumerate(broken)]
    bench = Bench(tmp_path, [says("", *calls), says("ok")])
    assert bench.play(bench.prompt()).reason == "done"
    assert [event.result.error for event in bench.of(ToolFinished)] == [True, True]


def test_an_answer_cut_at_the_token_limit_is_said_to_be_cut(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("half an", finish="length")])
    bench.play(bench.prompt())
    assert [event.level for event in bench.of(Noticed)] == ["warning"]


def test_retry_after_steering_begins_at_the_prompt(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("", call("bash", command="echo")), says("bad"), says("good")])

    def steer(event: Event) -> None:
        if isinstance(event, ToolStarted):
            bench.conversation.inbox.steer("in French")

    async def two() -> None:
        await bench.prompt("task", on=steer)
        async for event in follow(bench.conversation.session, bench.conversation.retry()):
            bench.events.append(event)

    bench.play(two())
    assert [m.text() for m in bench.conversation.history.messages] == ["task", "good"]


def test_what_was_said_to_an_interrupted_turn_is_no_prompt_of_its_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [says("half")], hang=True)

    def stop(event: Event) -> None:
        if isinstance(event, TextStreamed):
            bench.conversation.inbox.steer("more")
            bench.conversation.interrupt()

    bench.play(bench.prompt(on=stop))
    assert bench.conversation.inbox.next_prompt() is None
