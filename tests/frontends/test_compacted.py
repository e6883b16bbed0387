"""A compaction as a person reads it, and as readers of stream-json do."""

from types import SimpleNamespace
from typing import Any

import pytest

from overt.app.chat.notices import short_count
from overt.core.events import Compacted, Replied
from overt.core.messages import Message, said
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL, Origin
from overt.frontends.headless.claude_output import claude_event
from overt.frontends.plain.draw import Ink
from overt.frontends.plain.screen import Screen

SUMMARY = said("[overt] Summary", origin=Origin(kind="summary", where="turns 1-3"))
CONVERSATION: Any = SimpleNamespace(id="s1")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            Compacted(cause="limit", start=1, end=120, summary=(SUMMARY,), before=150_400, after=21_300),
            "compacted: 150k → 21k tokens; 119 messages became a summary (read it: overt context --turn N)\n",
        ),
        (
            Compacted(cause="overflow", pruned=("a", "b"), text="x", before=9_940, after=812),
            "compacted: 9.9k → 812 tokens; 2 old results left (read it: overt context --turn N)\n",
        ),
    ],
)
def test_the_chat_tells_of_it_in_one_line(event: Compacted, line: str) -> None:
    assert Screen(Ink(colour=False)).feed(event) == line


@pytest.mark.parametrize(("cause", "trigger"), [("asked", "manual"), ("limit", "auto"), ("overflow", "auto")])
def test_stream_json_has_the_boundary_that_its_readers_know(cause: Any, trigger: str) -> None:
    line = claude_event(Compacted(cause=cause, before=150_000, after=20_000), CONVERSATION)
    assert line is not None
    assert len(str(line.pop("uuid"))) == 32
    assert line == {
        "type": "system",
        "subtype": "compact_boundary",
        "session_id": "s1",
        "compact_metadata": {"trigger": trigger, "pre_tokens": 150_000},
    }


def test_a_summary_that_came_to_nothing_is_no_answer_in_stream_json() -> None:
    nothing = Message(role="assistant", parts=(), origin=MODEL)
    assert claude_event(Replied(message=nothing, finish="stop", usage=Usage(), forced=True), CONVERSATION) is None


def test_numbers_are_short() -> None:
    assert [short_count(number) for number in (0, 999, 1_000, 9_949, 10_000, 1_500_000)] == [
        *("0", "999", "1.0k", "9.9k", "10k", "1500k"),
    ]
