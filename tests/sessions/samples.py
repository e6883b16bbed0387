"""Facts to fill sessions with, a way to run a writer in a process of its own, and what a valid history is."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from hypothesis import strategies as st
from msgspec import Raw

from overt.core.agents.agent_events import AgentCharged, AgentEnded, AgentStarted
from overt.core.events import (
    BudgetSet,
    Compacted,
    Event,
    GitMoved,
    ModelSet,
    ModeSet,
    Noticed,
    PartialSaved,
    PermissionDecided,
    Pinned,
    PrefixReset,
    PrefixSet,
    Repaired,
    Replied,
    RequestSent,
    Restored,
    SnapshotTaken,
    TitleSet,
    TodoSet,
    ToolFinished,
    ToolStarted,
    TreeTaken,
    TurnEnded,
    Unknown,
    UserSpoke,
)
from overt.core.file_states import GitState, StashEntry
from overt.core.history import History
from overt.core.messages import Call, Image, Message, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment, Origin
from overt.core.views import Diffs, Excerpt, FileDiff, Output, Plain, Todo
from overt.sessions.entries import Entry
from overt.sessions.log import SessionLog

ROOT = Path(__file__).parents[2]
PREFIX = PrefixSet(
    prefix=Prefix(
        system=(Fragment(key="system", text="Be brief.", origin=Origin(kind="file", where="system.md", lines="1-3")),),
        tools=(ToolSpec(name="read", description="Read a file.", schema=Raw(b'{"type":"object"}')),),
    ),
    provider="local",
    model="tiny",
    wire="openai",
    encoder=1,
    fingerprint="00ff",
)
CALLS = tuple(Call(id=f"c{n}", name="read", arguments='{"path":"a.py"}') for n in range(3))


def prompt(text: str) -> UserSpoke:
    return UserSpoke(message=said(text, origin=USER))


def reply(*parts: Text | Call | Reasoning) -> Replied:
    message = Message(role="assistant", parts=parts, origin=MODEL)
    calls = bool(message.calls())
    return Replied(message=message, finish="calls" if calls else "stop", usage=Usage(input=9, output=2), model="tiny")


def outcome(call_id: str, text: str = "ok") -> ToolFinished:
    return ToolFinished(
        result=Result(call_id=call_id, parts=(Text(text=text),)), view=Plain(text=text), seen={f"{call_id}.py": "aa"}
    )


def thirty() -> list[Event]:
    """A turn that holds every kind of fact."""
    events: list[Event] = [
        PREFIX,
        ModeSet(mode="review", by="default"),
        ModelSet(provider="local", model="tiny", by="flag"),
        prompt("Fix the naïve 名前 parser.\nThen run the tests."),
        RequestSent(
            digest="ab", length=10, stable="cd", stable_length=8, params=Params(model="tiny"), messages=1, encoder=1
        ),
        PartialSaved(text="I will"),
        reply(Reasoning(text="hm", signature="s", opaque="o"), Text(text="I will read."), *CALLS),
        Repaired(call_id="c0", note="`Read` is called `read` here"),
        ToolStarted(call=CALLS[0], effects=("read",), headline="read a.py"),
        PermissionDecided(call_id="c0", verdict="allow", rule="read", origin="default", by="rule"),
        outcome("c2"),
        outcome("c0"),
        ToolFinished(
            result=Result(call_id="c1", parts=(Image(media="image/png", data=b"\x89PNG\0"),), error=True),
            view=Excerpt(path="a.py", first=1, last=2),
            code="binary",
            ms=3,
        ),
        SnapshotTaken(call_id="c1", path="a.py", existed=True, hash="ff", mode=0o644, after="ee", after_mode=0o600),
        TreeTaken(call_id="c2", before="aa", after="bb", changed=2, uncovered=("big.bin: 80 MB",)),
        TodoSet(items=(Todo(content="test", status="in_progress", active_form="testing"),)),
        AgentStarted(agent="main/explore-1", session="0a1b2c3d", profile="explore", call_id="c2", model="tiny"),
        AgentCharged(agent="main/explore-1", provider="local", model="tiny", usage=Usage(input=9, output=2), cost=0.01),
        AgentEnded(agent="main/explore-1", reason="done", steps=1, usage=Usage(input=9, output=2), cost=0.01, ms=5),
        TitleSet(title="Fix the login test", model="tiny", usage=Usage(input=30, output=5)),
        UserSpoke(message=said("faster", origin=USER), steered=True),
        reply(Text(text="one more"), Call(id="d0", name="bash", arguments="{not json")),
        ToolStarted(call=Call(id="d0", name="bash", arguments='{"command":"ls"}'), effects=("run",)),
        ToolFinished(
            result=Result(call_id="d0", parts=(Text(text="x" * 500),)),
            view=Output(command="ls", text="x", code=0),
            agent="main",
        ),
        Noticed(text="a sub-agent looked around", agent="main/explore-1"),
        ToolFinished(
            result=Result(call_id="zz", parts=()),
            view=Diffs(files=(FileDiff(path="a", diff="+x", change="created", added=1),)),
        ),
        GitMoved(
            call_id="c2",
            git_dir="/tmp/project/.git",
            before=GitState(head="refs/heads/main", commit="aa", refs={"refs/heads/main": "aa"}, index="i"),
            after=GitState(commit="bb", stash=(StashEntry(commit="cc", message="WIP on main"),), operation="merge"),
        ),
        Pinned(text="faster"),
        BudgetSet(dollars=1.5),
        Compacted(
            cause="asked",
            pruned=("c0",),
            text="[left out]",
            start=0,
            end=1,
            summary=(said("A parser was to be fixed.", origin=Origin(kind="summary")),),
            before=900,
            after=200,
            usage=Usage(input=800, output=90),
            model="tiny",
        ),
        PrefixReset(cause="model changed"),
        Restored(way="undo", turn=1, paths=("a.py",)),
        reply(Text(text="Done.")),
        TurnEnded(reason="done", text="Done.", usage=Usage(input=18, output=4, cached=9), steps=3, ms=1200),
    ]
    assert len(events) == 34
    return events


def new_log(folder: Path, *, project: str = "/tmp/project") -> SessionLog:
    return SessionLog.create(str(folder), workspace=project, project=project, overt="0.1.0")


def write(folder: Path, events: Iterable[Event], *, project: str = "/tmp/project") -> str:
    """A closed session that holds these facts; gives its path."""
    log = new_log(folder, project=project)
    for step, event in enumerate(events):
        log.append(event, turn=1, step=step)
    log.close()
    return log.path


def facts(entries: Iterable[Entry[Event]]) -> list[Event]:
    """What was appended, without headers."""
    return [entry.data for entry in entries if entry.type != "session"]


def writer(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.sessions.writer", *arguments]


def run_writer(
    *arguments: str, under: Sequence[str] = (), env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*under, *writer(*arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def assert_valid(history: History) -> None:
    """Every call is answered once, by the message that follows it, in the order of the calls."""
    assert history.pending == ()
    for index, message in enumerate(history.messages):
        wanted = [call.id for call in message.calls()]
        follows = history.messages[index + 1 : index + 2]
        if wanted:
            assert [part.call_id for part in follows[0].parts if isinstance(part, Result)] == wanted
        if message.role == "tool":
            assert index and history.messages[index - 1].calls()
            assert len(message.parts) == len(history.messages[index - 1].calls())


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Turns with parallel calls answered in any order or not at all, steering, resets and strangers."""
    events: list[Event] = [PREFIX]
    number = 0
    for _ in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["user", "reply", "calls", "reset", "noise", "harness"])):
            case "user":
                events.append(UserSpoke(message=said("go", origin=USER), steered=draw(st.booleans())))
            case "harness":
                events.append(UserSpoke(message=said("remember", origin=HARNESS)))
            case "reply":
                events.append(reply(Text(text="yes")))
            case "calls":
                calls = [Call(id=f"k{number + n}", name="read", arguments="{}") for n in range(draw(st.integers(1, 4)))]
                number += len(calls)
                events.append(reply(*calls))
                answered = draw(st.permutations(calls))[: draw(st.integers(0, len(calls)))]
                events += [outcome(call.id) for call in answered]
                again = draw(st.booleans())
                if answered and again:
                    events.append(outcome(answered[0].id, "again"))
            case "reset":
                events.append(PrefixReset(cause="rewind", keep=draw(st.none() | st.integers(0, 8))))
            case _:
                events.append(draw(st.sampled_from([Unknown(type="later", data={"a": 1}), outcome("nobody")])))
    return events
