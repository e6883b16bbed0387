"""What a crash file says of events, and what it leaves out."""

from pathlib import Path

import pytest
from tests.sessions.samples import prompt, thirty

from overt.app.diagnostics.crash import describe_event, report_crash
from overt.app.diagnostics.recent_events import MAX_EVENTS, Recent
from overt.core.errors import InternalError
from overt.core.events import TextStreamed, ToolProgressed, TurnStarted
from overt.lib.logs.log import LOG


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(LOG, "folder", str(tmp_path / "state"))
    return tmp_path / "state"


def test_every_kind_of_event_is_described_without_its_texts() -> None:
    lines = [describe_event(event) for event in thirty()]
    text = "\n".join(lines)
    assert all(line.startswith(type(event).__name__) for line, event in zip(lines, thirty(), strict=True))
    for word in ("naïve", "Be brief", "I will", "a.py", "faster", "parser", "sub-agent looked"):
        assert word not in text, word
    assert "ToolStarted call.id=c0 call.name=read call.arguments=<15 characters>" in text
    assert "PermissionDecided call_id=c0 verdict=allow" in text


def test_streamed_pieces_in_a_row_count_as_one() -> None:
    recent = Recent()
    recent.add(prompt("x"))
    for _ in range(200):
        recent.add(TextStreamed(text="word"))
    recent.add(ToolProgressed(call_id="", text="line"))
    recent.add(ToolProgressed(call_id="", text="line"))
    assert [(type(event).__name__, count) for _, event, count in recent.events] == [
        ("UserSpoke", 1),
        ("TextStreamed", 200),
        ("ToolProgressed", 2),
    ]


def test_only_the_last_fifty_events_are_remembered() -> None:
    recent = Recent()
    for number in range(80):
        recent.add(TurnStarted(turn=number))
    assert (len(recent.events), recent.events[0][1]) == (MAX_EVENTS, TurnStarted(turn=30))


def test_an_exception_is_reported_once(state: Path) -> None:
    error = ValueError("twice")
    first = report_crash(error)
    assert report_crash(error) is first and report_crash(first) is first
    assert isinstance(first, InternalError) and first.summary == "ValueError: twice"
    assert [str(path) for path in (state / "crashes").iterdir()] == [first.path]
