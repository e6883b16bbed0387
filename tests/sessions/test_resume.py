"""A session cut anywhere resumes to a valid message list, and knows where it stood."""

import random
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sessions.samples import PREFIX, assert_valid, facts, histories, outcome, prompt, reply, thirty, write

from overt.core.events import Event, ModelSet, ModeSet, Noticed, SessionOpened, Unknown
from overt.core.history import History, fold, open_calls
from overt.core.messages import Call, Text
from overt.sessions.entries import Entry
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.resume import ResumedSession, resume


def entry(event: Event, *, turn: int = 1, step: int = 0, agent: str = "main") -> Entry[Event]:
    return Entry(v=1, seq=1, ts=0.0, agent=agent, turn=turn, step=step, type="x", data=event)


def record(path: str) -> ResumedSession:
    """Resume for good: what heals is recorded, and the file then folds to the same history with nothing open."""
    log, loaded = SessionLog.open(path)
    found = resume(loaded.entries)
    for event in found.healing:
        log.append(event, turn=found.turn, step=found.step)
    log.close()
    again = resume(load(path).entries)
    assert (again.history, again.healing) == (found.history, ())
    return found


def test_a_whole_session_folds_to_what_was_lived(tmp_path: Path) -> None:
    found = resume(load(write(tmp_path, thirty())).entries)
    assert found.history == reduce(fold, thirty(), History())
    assert (found.healing, found.turn, found.step) == ((), 1, 33)
    assert (found.mode, found.provider, found.model, found.prefix) == ("review", "local", "tiny", PREFIX)
    assert isinstance(found.opened, SessionOpened)


def test_an_empty_session_resumes_to_an_empty_history() -> None:
    assert resume(()) == ResumedSession(history=History())


def test_open_calls_are_answered_and_the_answers_are_given_back_to_be_recorded(tmp_path: Path) -> None:
    calls = [Call(id=f"k{n}", name="bash", arguments="{}") for n in range(3)]
    path = write(tmp_path, [prompt("go"), reply(Text(text="hm"), *calls), outcome("k1")])
    found = record(path)
    assert [event.result.call_id for event in found.healing] == ["k0", "k2"]
    assert open_calls(found.history) == ()
    assert_valid(found.history)


def test_the_last_mode_and_the_last_model_win() -> None:
    chosen = [
        PREFIX,
        ModeSet(mode="plan", by="x"),
        ModelSet(provider="p", model="m", by="x"),
        ModeSet(mode="auto", by="x"),
    ]
    found = resume([entry(event) for event in chosen])
    assert (found.mode, found.provider, found.model) == ("auto", "p", "m")


def test_turn_and_step_are_the_last_used_whatever_healed_late() -> None:
    found = resume([entry(prompt("a"), turn=1), entry(prompt("b"), turn=2, step=7), entry(Noticed(text="x"), turn=0)])
    assert (found.turn, found.step) == (2, 7)


def test_what_a_sub_agent_lived_is_not_the_main_history() -> None:
    entries = [
        entry(prompt("main")),
        entry(prompt("sub"), agent="main/explore-1", step=9),
        entry(Unknown(type="later")),
    ]
    assert [message.text() for message in resume(entries).history.messages] == ["main"]
    assert [message.text() for message in resume(entries, agent="main/explore-1").history.messages] == ["sub"]
    assert resume(entries).step == 0


@given(events=histories(), data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_cut_at_any_byte_resumes_to_a_valid_one(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event], data: st.DataObject
) -> None:
    cut_and_resume(tmp_path_factory.mktemp("cut"), events, [data.draw(st.integers(0, 1 << 20)) for _ in range(3)])


def cut_and_resume(folder: Path, events: list[Event], cuts: list[int]) -> None:
    path = Path(write(folder, events))
    whole = path.read_bytes()
    for cut in cuts:
        path.write_bytes(whole[: cut % (len(whole) + 1)])
        kept = facts(load(str(path)).entries)
        assert kept == events[: len(kept)]
        assert_valid(record(str(path)).history)


def cut_points(folder: Path, count: int) -> None:
    order = random.Random(3)
    events = [*thirty(), *thirty()[3:18], prompt("again"), *thirty()[6:12]]
    cut_and_resume(folder, events, [order.randrange(1 << 20) for _ in range(count)])


def test_random_cut_points_resume_to_a_valid_history(tmp_path: Path) -> None:
    cut_points(tmp_path, 150)


@pytest.mark.soak
def test_a_thousand_cut_points_resume_to_a_valid_history(tmp_path: Path) -> None:
    cut_points(tmp_path, 1000)
