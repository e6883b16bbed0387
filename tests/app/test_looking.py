"""What inspectors look up in a conversation that was really held: requests, jobs, sessions, turns, rules."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.app.test_conversation import Opener, turn
from tests.fakes.commands import look, slash
from tests.fakes.model_server import Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import (
    Changes,
    Contents,
    Decisions,
    JobListing,
    ModelChoices,
    PermissionRules,
    Preview,
    RequestBody,
    RevokedRule,
    SessionPage,
    Todos,
    Turns,
)
from overt.app.inspect.sessions import PAGE, SEARCHED
from overt.app.options import Options
from overt.app.setting import read_setting
from overt.config.saved_rules import add_always
from overt.core.capabilities import JobOutput, JobState
from overt.core.errors import OvertError
from overt.core.settings import Rule
from overt.core.views import FileDiff
from overt.lib.diff import file_diff

DONE = Turn(text="done")
T = TypeVar("T")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def opened(work: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(work, monkeypatch)


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def yolo(work: Path) -> Options:
    return Options(directory=str(work), mode="yolo")


async def looked(answer: type[T], conversation: Conversation, kind: str, text: str = "", number: int = 0) -> T:
    value = await look(conversation, kind, text, number)
    assert isinstance(value, answer)
    return value


async def refused(conversation: Conversation, kind: str, text: str = "", number: int = 0) -> str:
    with pytest.raises(OvertError) as caught:
        await look(conversation, kind, text, number)
    return caught.value.message


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_the_next_request_and_every_one_that_was_sent_are_shown_as_they_are(opened: Opener) -> None:
    async with opened([Turn(text="one 世界"), DONE]) as (conversation, server):
        fresh = await looked(Contents, conversation, "context")
        assert (fresh.request.number, fresh.sent, fresh.request.reported) == (0, 0, False)
        assert {"tool:bash", "tool:read", "environment"} <= {each.key for each in fresh.pieces}
        await turn(conversation, "first")
        await turn(conversation, "second")
        following = await looked(Contents, conversation, "context")
        assert (following.request.number, following.sent, following.request.turn) == (0, 2, 3)
        assert [each.text for each in following.pieces[-4:]] == ["first", "one 世界", "second", "done"]
        assert round(sum(each.share for each in following.pieces), 1) == 1.0
        for number, said in ((1, ["first"]), (2, ["first", "one 世界", "second"])):
            sent = await looked(Contents, conversation, "context", number=number)
            assert (sent.request.number, sent.sent, sent.request.turn) == (number, 2, number)
            spoken = [each.text for each in sent.pieces if each.key in ("user", "assistant", "model")]
            assert spoken[-len(said) :] == said
            shown = await looked(RequestBody, conversation, "request", number=number)
            assert json.loads(shown.text) == json.loads(server.requests[number - 1].body)
        raw = json.loads((await looked(RequestBody, conversation, "request")).text)
        assert [each["content"] for each in raw["messages"][-2:]] == ["second", "done"]


@awaited
async def test_a_changed_file_is_never_shown_as_what_was_sent(opened: Opener) -> None:
    async with opened([DONE]) as (conversation, _):
        await turn(conversation, "first words")
        path = Path(conversation.path)
        path.write_bytes(path.read_bytes().replace(b"first words", b"other words"))
        assert "entry" in await refused(conversation, "context", number=1)
        assert "entry" in await refused(conversation, "request", number=1)
        assert (await looked(Contents, conversation, "context")).pieces[-2].text == "first words"


# ── jobs and todos ───────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_a_job_is_listed_read_and_stopped(opened: Opener, work: Path) -> None:
    start = calls(call("bash", command="echo ready to go; sleep 60", background=True))
    async with opened([start, DONE], yolo(work)) as (conversation, _):
        assert await looked(JobListing, conversation, "jobs") == JobListing(())
        await turn(conversation, "go")
        jobs = (await looked(JobListing, conversation, "jobs")).jobs
        assert [(job.state, job.command) for job in jobs] == [("running", "echo ready to go; sleep 60")]
        assert (await looked(JobOutput, conversation, "job", jobs[0].id)).text == "ready to go"
        assert (await looked(JobState, conversation, "stop", jobs[0].id)).state == "stopped"
        assert [job.state for job in (await looked(JobListing, conversation, "jobs")).jobs] == ["stopped"]
        assert "no job is called" in await refused(conversation, "job", "nobody")


@awaited
async def test_todos_are_as_the_history_has_them(opened: Opener) -> None:
    items = [{"content": "one", "status": "in_progress"}, {"content": "two", "status": "pending"}]
    async with opened([calls(call("todowrite", todos=items)), DONE]) as (conversation, _):
        assert await looked(Todos, conversation, "todos") == Todos(())
        await turn(conversation, "go")
        assert [item.content for item in (await looked(Todos, conversation, "todos")).items] == ["one", "two"]


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_sessions_are_read_in_pieces_the_newest_first(opened: Opener) -> None:
    async with opened([Turn(text="an answer\nof two lines")]) as (conversation, _):
        await turn(conversation, "a question")
        path = Path(conversation.path)
        raw = path.read_bytes()
        for number in range(PAGE + 20):
            copy = path.with_name(f"20200101T000000Z-{number:08}.jsonl")
            copy.write_bytes(raw)
            os.utime(copy, (1_000_000 + number, 1_000_000 + number))
        first = await looked(SessionPage, conversation, "sessions")
        second = await looked(SessionPage, conversation, "sessions", number=first.following)
        assert (len(first.rows), first.following, first.total) == (PAGE, PAGE, PAGE + 21)
        assert (len(second.rows), second.following) == (21, 0)
        rows = [*first.rows, *second.rows]
        assert [row.here for row in rows] == [True] + [False] * (PAGE + 20)
        assert [row.session.id for row in rows[1:]] == [f"{number:08}" for number in range(PAGE + 19, -1, -1)]
        assert (rows[0].session.title, rows[0].session.turns, rows[0].session.model) == ("a question", 1, "fake-model")
        assert await looked(Preview, conversation, "preview", rows[5].session.path) == Preview(
            "a question", "an answer\nof two lines"
        )


@awaited
async def test_a_session_that_cannot_be_read_hides_no_other(opened: Opener) -> None:
    async with opened([DONE]) as (conversation, _):
        await turn(conversation, "a question")
        path = Path(conversation.path)
        broken = path.with_name("20200101T000000Z-11111111.jsonl")
        broken.write_bytes(b"\xff\xfenothing\n" * 3)
        rows = (await looked(SessionPage, conversation, "sessions")).rows
        assert {row.session.id: row.session.title for row in rows} == {conversation.id: "a question", "11111111": ""}
        assert await looked(Preview, conversation, "preview", str(broken)) == Preview("", "")
        assert [row.session.id for row in (await looked(SessionPage, conversation, "search", "question")).rows] == [
            conversation.id
        ]
        broken.unlink()
        assert str(broken) in await refused(conversation, "preview", str(broken))


@awaited
async def test_a_preview_finds_the_last_prompt_behind_much_output(opened: Opener, work: Path) -> None:
    (work / "big.txt").write_text("x" * 60 + "\n")
    read = calls(call("read", path="big.txt"))
    async with opened([DONE, *[read] * 6, Turn(text="all read")]) as (conversation, _):
        await turn(conversation, "before")
        await turn(conversation, "read it often")
        path = Path(conversation.path)
        lines = path.read_bytes().split(b"\n")
        at = next(number for number, line in enumerate(lines) if b"read it often" in line)
        filler = [line for line in lines if b'"type":"outcome"' in line][:1] * 200
        path.write_bytes(b"\n".join([*lines[: at + 1], *filler, *lines[at + 1 :]]))
        assert path.stat().st_size > 64 * 1024
        assert await looked(Preview, conversation, "preview", conversation.path) == Preview("read it often", "all read")


@awaited
async def test_what_was_said_is_found_with_the_lines_that_say_it(opened: Opener) -> None:
    async with opened([Turn(text="the 解析器 works\nand more")]) as (conversation, _):
        await turn(conversation, "fix the parser")
        path = Path(conversation.path)
        for number in range(SEARCHED + 5):
            copy = path.with_name(f"20200101T000000Z-{number:08}.jsonl")
            copy.write_bytes(path.read_bytes().replace(b"parser", b"lexer "))
            os.utime(copy, (1_000_000 + number, 1_000_000 + number))
        found = await looked(SessionPage, conversation, "search", "PARSER")
        assert [(row.session.id, row.hits) for row in found.rows] == [(conversation.id, ("fix the parser",))]
        assert (found.following, found.total) == (SEARCHED, SEARCHED + 6)
        rest = await looked(SessionPage, conversation, "search", "解析器", SEARCHED)
        assert ([row.hits for row in rest.rows], rest.following) == ([("the 解析器 works",)] * 6, 0)


# ── turns and files ──────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_turns_are_told_with_what_going_back_would_do_to_files(opened: Opener, work: Path) -> None:
    (work / "a.txt").write_text("one\ntwo\n")
    turns = [
        calls(call("read", path="a.txt")),
        calls(call("edit", path="a.txt", old="two", new="deux")),
        DONE,
        calls(call("write", path="b.txt", content="新\n")),
        DONE,
        Turn(text="nothing done"),
    ]
    async with opened(turns, yolo(work)) as (conversation, _):
        assert await looked(Turns, conversation, "turns") == Turns(())
        for prompt in ("change it", "make b\nplease", "say something"):
            await turn(conversation, prompt)
        told = (await looked(Turns, conversation, "turns")).turns
        assert [(each.turn, each.text, each.files, each.undone, each.speaks) for each in told] == [
            (3, "say something", 0, False, True),
            (2, "make b", 1, False, True),
            (1, "change it", 1, False, True),
        ]
        assert all(each.when > 1_700_000_000 for each in told)
        b_goes = file_diff("b.txt", "新\n", None)
        assert await looked(Changes, conversation, "undone", number=3) == Changes((), ())
        assert await looked(Changes, conversation, "undone", number=2) == Changes((b_goes,), ())
        both = Changes((file_diff("a.txt", "one\ndeux\n", "one\ntwo\n"), b_goes), ())
        assert await looked(Changes, conversation, "undone", number=1) == both
        (work / "a.txt").write_text("mine\n")
        (work / "b.txt").write_bytes(b"\0binary")
        changed = await looked(Changes, conversation, "undone", number=1)
        assert changed == Changes((file_diff("a.txt", "mine\n", "one\ntwo\n"),), ("b.txt (not text, or large)",))
        session = await looked(Changes, conversation, "diff")
        assert [file.path for file in session.files] == ["a.txt", "b.txt"]
        assert all(isinstance(file, FileDiff) for file in session.files)


@awaited
async def test_a_command_is_taken_back_as_well_and_an_undone_turn_is_marked(opened: Opener, work: Path) -> None:
    turns = [calls(call("bash", command="echo 1 > made; mkdir d")), DONE]
    async with opened(turns, yolo(work)) as (conversation, _):
        await turn(conversation, "run it")
        assert await looked(Changes, conversation, "undone", number=1) == Changes(
            (file_diff("made", "1\n", None),), ("d/",)
        )
        await slash(conversation, "/undo")
        assert [each.undone for each in (await looked(Turns, conversation, "turns")).turns] == [True]
        assert await looked(Changes, conversation, "undone", number=1) == Changes((), ())


# ── rules and models ─────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_a_stored_rule_is_listed_and_taken_back(opened: Opener, work: Path) -> None:
    setting = read_setting(Options(directory=str(work)))
    for pattern in ("npm test *", "ls *"):
        add_always(setting.environment, setting.roots.project, Rule(action="allow", tool="bash", pattern=pattern))
    async with opened([calls(call("bash", command="rm -rf /tmp/x")), DONE]) as (conversation, _):
        found = await looked(PermissionRules, conversation, "permissions")
        assert (found.mode, found.problem) == ("review", "")
        assert [rule.text for rule in found.rules if rule.stored] == ["bash(npm test *)", "bash(ls *)"]
        gone = await looked(RevokedRule, conversation, "revoke", "bash(npm test *)")
        assert gone.text == "bash(npm test *)"
        left = await looked(PermissionRules, conversation, "permissions")
        assert [rule.text for rule in left.rules if rule.stored] == ["bash(ls *)"]
        assert "No stored rule" in await refused(conversation, "revoke", "bash(npm test *)")
        assert await looked(Decisions, conversation, "decisions") == Decisions(())


@awaited
async def test_decisions_are_told_the_newest_first(opened: Opener, work: Path) -> None:
    ran = [calls(call("bash", command=f"true {number}")) for number in (1, 2)]
    async with opened([*ran, DONE], yolo(work)) as (conversation, _):
        await turn(conversation, "go")
        found = (await looked(Decisions, conversation, "decisions")).decisions
        assert [(each.tool, each.what, each.verdict) for each in found] == [
            ("bash", "true 2", "allow"),
            ("bash", "true 1", "allow"),
        ]


@awaited
async def test_models_are_listed_with_the_one_in_use(opened: Opener) -> None:
    async with opened([]) as (conversation, _):
        found = await looked(ModelChoices, conversation, "models")
        assert found.current == (conversation.agent.runtime.provider.name, "fake-model")
        assert found.current in [(row.provider, row.model) for row in found.listing.rows]
