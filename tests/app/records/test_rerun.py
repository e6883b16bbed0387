"""A session run again in memory: what the loop would do otherwise is found, and what it cannot do is said."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import call, calls

from overt.agent.loop import NUDGE as NUDGE_TEXT
from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.records.rebuild import rebuild
from overt.app.records.replay import ReplayDifference, ReplayedRequest, replay_entries
from overt.app.session import follow as follow_turn
from overt.app.start import open_conversation
from overt.core.events import (
    Event,
    PrefixReset,
    PrefixSet,
    Replied,
    RequestSent,
    SessionOpened,
    TextStreamed,
    TitleSet,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.messages import said
from overt.core.text_fragments import HARNESS, MODEL
from overt.sessions.entries import Entry
from overt.sessions.load import load

Entries = tuple[Entry[Event], ...]
Follow = Callable[[Conversation, Event], None]
NUDGE = f"[overt] {NUDGE_TEXT}"


class Rerun(NamedTuple):
    checks: tuple[ReplayedRequest, ...]
    unlike: tuple[ReplayDifference, ...]


class Recorder:
    """Sessions recorded against a server that plays these turns."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("HOME", str(folder / "home"))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        self._monkeypatch = monkeypatch
        self.work = folder / "work"
        self.work.mkdir()
        (self.work / "a.txt").write_text("one\n")
        self.bodies: list[bytes] = []

    def __call__(
        self,
        turns: Sequence[Turn],
        *prompts: str,
        options: Options | None = None,
        follow: Follow | None = None,
        between: Callable[[Conversation], Awaitable[None]] | None = None,
    ) -> Entries:
        async def main() -> str:
            conversation = await open_conversation(options or Options(directory=str(self.work), mode="yolo"))
            try:
                async with asyncio.timeout(30):
                    for text in prompts:
                        async with aclosing(follow_turn(conversation.session, conversation.prompt(text))) as events:
                            async for event in events:
                                if follow:
                                    follow(conversation, event)
                        if between:
                            await between(conversation)
                    if task := conversation._titling._task:
                        await asyncio.wait([task])
            finally:
                await conversation.close()
            return conversation.path

        with ModelServer(turns) as server:
            self._monkeypatch.setenv("OVERT_BASE_URL", server.url)
            self._monkeypatch.setenv("OVERT_MODEL", "fake-model")
            path = asyncio.run(main())
            self.bodies = [post.body for post in server.posts]
        return load(path).entries


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(tmp_path, monkeypatch)


def run(entries: Entries) -> Rerun:
    return Rerun(*asyncio.run(replay_entries(entries)))


def states(found: Rerun) -> list[tuple[int, int, str]]:
    return [(check.turn, check.step, check.state) for check in found.checks]


def changed(entries: Entries, change: Callable[[Event], Event]) -> Entries:
    """The entries with some facts changed, and each request recorded as they now give it: a record that is at one
    with itself, as another version of the loop would have left it."""
    made = tuple(replace(entry, data=change(entry.data)) for entry in entries)
    return sound(made)


def sound(entries: Entries) -> Entries:
    made = {found.seq: found for found in rebuild(entries)}
    return tuple(
        replace(entry, data=_sent(entry.data, made[entry.seq].request.digest, made[entry.seq].request.length))
        if entry.seq in made
        else entry
        for entry in entries
    )


def _sent(event: Event, digest: str, length: int) -> Event:
    assert isinstance(event, RequestSent)
    return replace(event, digest=digest, length=length)


def test_what_steered_a_turn_is_said_again_at_its_step(record: Recorder) -> None:
    def steer(conversation: Conversation, event: Event) -> None:
        if isinstance(event, ToolStarted):
            conversation.inbox.steer("the other way")
        if isinstance(event, TextStreamed) and event.text.startswith("as"):
            conversation.inbox.steer("and back")

    slow = calls(call("bash", command="sleep 0.2"))
    entries = record([slow, Turn(text="as you wish", chunk=4, delay=0.1), Turn(text="back")], "go", follow=steer)
    found = run(entries)
    steered = [entry.data for entry in entries if isinstance(entry.data, UserSpoke) and entry.data.steered]
    assert [event.message.text() for event in steered] == ["the other way", "and back"]
    assert (states(found), found.unlike) == ([(1, 1, "same"), (1, 2, "same"), (1, 3, "same")], ())


def test_the_request_for_a_title_is_made_again_from_the_prompt_without_its_secret(record: Recorder) -> None:
    key = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1w"
    config = record.folder / "home/.config/overt"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('small_model = "fake-model"\n')
    options = Options(directory=str(record.work), interactive=True)
    entries = record([Turn(text="done"), Turn(text="A title")] * 2, f"use {key}, 请", options=options)
    assert all(key.encode() not in body for body in record.bodies) and len(record.bodies) == 2
    found = run(entries)
    assert sorted(check.why for check in found.checks) == ["", "it asked for a title"]
    assert found.unlike == ()
    (sent,) = [entry for entry in entries if isinstance(entry.data, RequestSent) and entry.agent == "title"]
    wrong = tuple(
        replace(entry, data=replace(entry.data, digest="00")) if isinstance(entry.data, RequestSent) else entry
        for entry in entries
        if entry.agent == "title"
    )
    assert [unlike.seq for unlike in run(wrong).unlike] == [sent.seq]


def test_the_title_request_of_an_older_session_is_made_again_from_its_first_prompt(record: Recorder) -> None:
    config = record.folder / "home/.config/overt"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('small_model = "fake-model"\n')
    options = Options(directory=str(record.work), interactive=True)
    entries = record([Turn(text="done"), Turn(text="A title")], "hello", options=options)
    opening, sent = (
        next(entry.data for entry in entries if entry.agent == "title" and isinstance(entry.data, kind))
        for kind in (PrefixSet, RequestSent)
    )
    assert isinstance(opening, PrefixSet) and isinstance(sent, RequestSent)
    request = {"wire": opening.wire, "about": opening.about, "digest": sent.digest, "length": sent.length}
    older = tuple(
        replace(entry, data=replace(entry.data, **request)) if isinstance(entry.data, TitleSet) else entry
        for entry in entries
        if entry.agent == "main"
    )
    found = run(older)
    assert sorted(check.why for check in found.checks) == ["", "it asked for a title"]
    assert found.unlike == ()


def test_other_words_of_the_loop_are_found_although_the_entries_agree(record: Recorder) -> None:
    """An answer was empty: the loop has words for that, and they were others then."""
    entries = record([Turn(text=""), Turn(text="done")], "go")

    def older(event: Event) -> Event:
        spoken = isinstance(event, UserSpoke) and event.message.text() == NUDGE
        return UserSpoke(message=said("[overt] Go on.", origin=HARNESS)) if spoken else event

    assert run(entries).unlike == ()
    found = run(changed(entries, older))
    assert states(found) == [(1, 1, "same"), (1, 2, "folded")]
    assert [unlike.what for unlike in found.unlike] == [f"the loop says something else before step 2: {NUDGE}"]


def test_a_reply_that_the_loop_reads_another_way_is_found(record: Recorder) -> None:
    """Once a call stood in the text, and nobody took it for one."""
    entries = record([Turn(text="done"), Turn(text="well")], "go", "on")
    written = said(
        '<tool_call>{"name": "read", "arguments": {"path": "a.txt"}}</tool_call>', role="assistant", origin=MODEL
    )

    def older(event: Event) -> Event:
        if not isinstance(event, Replied) or event.message.text() != "done":
            return event
        return replace(event, message=replace(written, origin=event.message.origin))

    found = run(changed(entries, older))
    assert [unlike.what for unlike in found.unlike] == ["the loop reads the reply of step 1 another way"]
    assert states(found) == [(1, 1, "same"), (2, 1, "same")]


def test_a_message_the_loop_would_not_send_is_found_with_its_byte(record: Recorder) -> None:
    entries = record([calls(call("read", path="a.txt")), Turn(text="done")], "go")
    second = [entry for entry in entries if isinstance(entry.data, RequestSent)][1]
    slipped = UserSpoke(message=said("psst", origin=HARNESS))
    at = entries.index(second)
    more = replace(second, seq=second.seq, data=replace(second.data, messages=4))
    tampered = sound((*entries[:at], replace(second, seq=1000, type="user", data=slipped), more, *entries[at + 1 :]))
    found = run(tampered)
    honest = next(each for each in rebuild(entries) if each.seq == second.seq).request.body()
    (only,) = found.unlike
    assert only == ReplayDifference(
        agent="main",
        turn=1,
        step=2,
        seq=second.seq,
        what="it had 4 messages, and the loop makes 3",
        byte=honest.rindex(b"]"),
    )


def test_an_end_the_loop_would_not_have_come_to_is_found(record: Recorder) -> None:
    entries = record([Turn(text="done")], "go")

    def ended(event: Event) -> Event:
        return replace(event, reason="storm") if isinstance(event, TurnEnded) else event

    assert [each.what for each in run(changed(entries, ended)).unlike] == [
        "the turn ended (storm), and the loop ends it with done"
    ]


def test_a_tool_that_this_version_does_not_have_is_replayed_by_its_schema(record: Recorder) -> None:
    entries = record([calls(call("read", path="a.txt")), Turn(text="one"), Turn(text="two")], "go", "go on")

    def renamed(event: Event) -> Event:
        match event:
            case PrefixSet(prefix=prefix):
                tools = tuple(replace(spec, name=spec.name.replace("read", "view")) for spec in prefix.tools)
                return replace(event, prefix=replace(prefix, tools=tools))
            case Replied(message=message):
                parts = tuple(replace(part, name="view") if hasattr(part, "name") else part for part in message.parts)
                return replace(event, message=replace(message, parts=parts))
            case ToolStarted(call=started):
                return replace(event, call=replace(started, name="view"))
            case _:
                return event

    found = run(changed(entries, renamed))
    assert [(check.state, check.why) for check in found.checks] == [("same", "")] * 3
    assert found.unlike == ()


def test_a_session_that_went_back_is_run_as_it_went(record: Recorder) -> None:
    entries = record([Turn(text="one"), Turn(text="two")], "first", "second")
    opened = next(entry.data for entry in entries if isinstance(entry.data, SessionOpened))

    def back(conversation: Conversation, event: Event) -> None:
        if isinstance(event, TurnEnded) and conversation.session.turn == 3:
            asyncio.get_running_loop().call_soon(conversation.rewind, conversation.session.marks[1])

    options = Options(directory=str(record.work), mode="yolo", resume=opened.id)
    entries = record(
        [Turn(text="three"), Turn(text="two again")], "third", "second once more", options=options, follow=back
    )
    resets = [entry.data.cause for entry in entries if isinstance(entry.data, PrefixReset)]
    assert "rewind to before turn 2" in resets
    found = run(entries)
    assert (states(found), found.unlike) == ([(turn, 1, "same") for turn in (1, 2, 3, 4)], ())


def test_a_summary_of_no_use_is_not_taken_for_the_answer_to_the_request_that_was_too_long(record: Recorder) -> None:
    (record.work / "a.txt").write_text("a line of words\n" * 200)
    overflow = Turn(fault=Fault(status=400, body='{"error": {"message": "prompt is too long"}}'))
    talk = [Turn(text="so it is " * 80)] * 6
    turns = [calls(call("read", path="a.txt")), *talk, overflow, Turn(text=""), Turn(text="at last")]
    entries = record(turns, *(f"prompt {number}" for number in range(7)))
    purposes = [entry.data.purpose for entry in entries if isinstance(entry.data, RequestSent)]
    assert purposes == [*["step"] * 8, "summary", "step"]
    found = run(entries)
    assert found.unlike == ()
    assert [check.state for check in found.checks] == [*["same"] * 8, "folded", "same"]


def test_a_turn_that_ended_because_nothing_was_said_ends_again_and_nobody_was_told_to_go_on(record: Recorder) -> None:
    entries = record([Turn(text="")] * 3, "go")
    spoken = [entry.data.message.text() for entry in entries if isinstance(entry.data, UserSpoke)]
    assert spoken == ["go", NUDGE, NUDGE]
    found = run(entries)
    assert (states(found), found.unlike) == ([(1, 1, "same"), (1, 2, "same"), (1, 3, "same")], ())


def test_a_session_that_goes_on_calls_tools_as_its_server_had_wanted_it(record: Recorder) -> None:
    """Else every resume, and every way back to the model, would be refused once and read all of it anew twice."""

    async def back(conversation: Conversation) -> None:
        await conversation.set_model("fake-model")

    refused = Turn(fault=Fault(status=400, body='{"error": {"message": "fake-model does not support tools"}}'))
    answer = Turn(text='{"tool": "final", "text": "so"}')
    first = record([refused, answer, answer], "one", "two", between=back)
    (opened,) = [entry.data for entry in first if isinstance(entry.data, SessionOpened)]
    options = Options(directory=str(record.work), mode="yolo", resume=opened.id)
    entries = record([answer], "three", options=options)
    assert [entry.data.calls for entry in entries if isinstance(entry.data, PrefixSet)] == ["native", "schema"]
    assert len([entry for entry in entries if isinstance(entry.data, PrefixReset)]) == 1
    found = run(entries)
    assert (states(found), found.unlike) == ([(1, 1, "same"), (1, 2, "same"), (2, 1, "same"), (3, 1, "same")], ())


def test_each_agent_of_a_session_is_run_by_itself(record: Recorder) -> None:
    entries = record([calls(call("read", path="a.txt")), Turn(text="done")], "go")
    beside = tuple(
        replace(entry, seq=entry.seq + 100, agent="main/explore-1", data=replace(entry.data, agent="main/explore-1"))
        for entry in entries
    )
    found = run((*entries, *beside))
    assert [(check.agent, check.state) for check in found.checks] == [
        *[("main", "same")] * 2,
        *[("main/explore-1", "same")] * 2,
    ]


def test_requests_without_a_recorded_prefix_are_not_vouched_for(record: Recorder) -> None:
    entries = record([calls(call("read", path="a.txt")), Turn(text="done")], "go")
    headless = tuple(entry for entry in entries if not isinstance(entry.data, PrefixSet))
    assert [check.state for check in run(headless).checks] == ["differs", "differs"]


def test_an_empty_session_has_nothing_to_run() -> None:
    assert run(()) == Rerun(checks=(), unlike=())
