"""What goes along with a prompt without having been typed, without a screen and in stream-json."""

from types import SimpleNamespace
from typing import Any

import pytest

from overt.core.events import Event, Noticed, UserSpoke
from overt.core.messages import said
from overt.core.text_fragments import HARNESS, STEERED, USER, Origin
from overt.frontends.headless.claude_output import claude_event
from overt.frontends.headless.narrate import Narrator
from overt.frontends.headless.run import tell

FILE = said("[overt] The user refers to a.py:\n1\tx", origin=Origin(kind="file", where="a.py", lines="1-1"))
CONVERSATION: Any = SimpleNamespace(id="s1")


def test_stream_json_has_it_as_a_message_that_no_person_wrote() -> None:
    line = claude_event(UserSpoke(message=FILE), CONVERSATION)
    assert line is not None
    assert len(str(line.pop("uuid"))) == 32
    assert line == {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": "[overt] The user refers to a.py:\n1\tx"}]},
        "isSynthetic": True,
        "parent_tool_use_id": None,
        "session_id": "s1",
    }


@pytest.mark.parametrize("origin", [USER, STEERED])
def test_what_the_person_said_is_not_repeated_in_stream_json(origin: Origin) -> None:
    assert claude_event(UserSpoke(message=said("hi", origin=origin)), CONVERSATION) is None


@pytest.mark.parametrize(
    ("event", "plain", "verbose"),
    [
        (UserSpoke(message=FILE), "", "+ a.py:1\n"),
        (UserSpoke(message=said("[overt] go on", origin=HARNESS)), "", ""),
        (Noticed(text="by the way"), "", "by the way\n"),
        (Noticed(text="take care", level="warning"), "take care\n", "take care\n"),
    ],
)
def test_without_a_screen_only_warnings_are_told_unless_more_is_asked_for(
    event: Event, plain: str, verbose: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(event)
    assert capsys.readouterr() == ("", plain)
    tell(event, Narrator())
    assert capsys.readouterr() == ("", verbose)
