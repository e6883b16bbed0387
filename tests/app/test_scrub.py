"""Secrets leave every event before it is recorded, and nothing else changes."""

import pytest

from overt.app.redaction.redact_events import Scrub, redact_event
from overt.core.events import (
    Event,
    GitMoved,
    Noticed,
    PartialSaved,
    PermissionAsked,
    PermissionDecided,
    ReasoningStreamed,
    Repaired,
    Replied,
    RequestSent,
    Retried,
    TextStreamed,
    TodoSet,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.file_states import GitState, StashEntry
from overt.core.messages import Call, Message, Reasoning, Result, Text, said
from overt.core.requests import Params
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER
from overt.core.views import Checklist, Diffs, Excerpt, Failure, FileDiff, Listing, Output, Plain, Todo, View
from overt.lib.redaction.redact import HIDDEN, Redactor

SECRET = 'hunter2-"secret'
REDACTOR = Redactor([SECRET])
REQUEST = RequestSent(
    digest="d", length=1, stable="s", stable_length=1, params=Params(model="m"), messages=1, encoder=1
)


def views(word: str) -> list[View]:
    return [
        Plain(text=word),
        Failure(text=word),
        Output(command=word, text=f"a {word}", note=word),
        Diffs(files=(FileDiff(path=word, diff=f"+{word}\n", change="updated"),)),
        Excerpt(path=word, first=1, last=2),
        Listing(what=word, count=1),
        Checklist(items=(Todo(content=word, active_form=word),)),
    ]


def called(word: str) -> Call:
    escaped = word.replace('"', '\\"')
    return Call(id="c1", name="bash", arguments=f'{{"command":"echo {escaped}","list":[1,"{escaped}",{{"a":null}}]}}')


def every(word: str) -> list[Event]:
    """Every event that can carry a word of a model, a tool, a person or a server."""
    call = called(word)
    always = "" if word == HIDDEN else word
    parts = (Text(text=word), Reasoning(text=word), call, Result(call_id="c0", parts=(Text(text=word),)))
    asked = PermissionAsked(
        id="q", call=call, headline=word, why=word, view=Plain(text=word), always=always, affects=("x", word)
    )
    return [
        UserSpoke(message=said(word, origin=HARNESS)),
        Replied(message=Message(role="assistant", parts=parts, origin=MODEL), finish="stop", usage=Usage()),
        ToolStarted(call=call, headline=word),
        asked,
        PermissionDecided(
            call_id="c1", verdict="allow", rule=word, origin="o", by="person", reason=word, remembered=word
        ),
        *(ToolFinished(result=Result(call_id="c1", parts=(Text(text=word),)), view=view) for view in views(word)),
        TodoSet(items=(Todo(content=word), Todo(content="other"))),
        Repaired(call_id="c1", note=word),
        Retried(attempt=1, attempts=4, wait=1.0, reason=word),
        Noticed(text=word),
        PartialSaved(text=word),
        GitMoved(
            call_id="c1",
            git_dir=".git",
            before=GitState(stash=(StashEntry(commit="a", message=word),)),
            after=GitState(stash=(StashEntry(commit="b", message=f"WIP {word}"),)),
        ),
        TurnEnded(reason="done", text=word),
        ToolProgressed(call_id="c1", text=word),
    ]


@pytest.mark.parametrize("number", range(len(every(""))), ids=[type(event).__name__ for event in every("")])
def test_a_secret_leaves_an_event_and_the_rest_stays(number: int) -> None:
    assert redact_event(every(SECRET)[number], REDACTOR.clean) == every(HIDDEN)[number]
    harmless = every("ordinary words")[number]
    assert redact_event(harmless, REDACTOR.clean) is harmless


def test_arguments_that_are_no_json_are_scrubbed_as_text() -> None:
    call = Call(id="c1", name="bash", arguments=f'{{"command": "{SECRET}')
    event = redact_event(ToolStarted(call=call), REDACTOR.clean)
    assert isinstance(event, ToolStarted) and event.call.arguments == f'{{"command": "{HIDDEN}'


def test_a_name_that_holds_a_secret_becomes_one_that_servers_take() -> None:
    event = redact_event(ToolStarted(call=Call(id="c1", name=f"x{SECRET}", arguments="{}")), REDACTOR.clean)
    assert event == ToolStarted(call=Call(id="c1", name="redacted", arguments="{}"))


def test_a_rule_that_holds_a_secret_is_not_offered_for_keeping() -> None:
    call = Call(id="c1", name="bash", arguments="{}")
    asked = PermissionAsked(id="q", call=call, headline="", why="", view=Plain(text=""), always=f"bash(echo {SECRET})")
    event = redact_event(asked, REDACTOR.clean)
    assert isinstance(event, PermissionAsked) and event.always == ""


def test_a_signature_does_not_vouch_for_what_was_changed() -> None:
    thoughts = (Reasoning(text=SECRET, signature="s", opaque="o"), Reasoning(text="x", signature="s", opaque="o"))
    message = Message(role="assistant", parts=thoughts, origin=MODEL)
    event = redact_event(Replied(message=message, finish="stop", usage=Usage()), REDACTOR.clean)
    assert isinstance(event, Replied)
    assert event.message.parts == (Reasoning(text=HIDDEN), thoughts[1])


def test_what_waits_of_a_stream_comes_before_its_reply() -> None:
    scrub = Scrub(REDACTOR)
    reply = Replied(
        message=Message(role="assistant", parts=(Text(text="hi hunt"),), origin=MODEL), finish="stop", usage=Usage()
    )
    assert scrub.events(TextStreamed(text="hi hunt")) == [TextStreamed(text="hi ")]
    assert scrub.events(ReasoningStreamed(text="hunt")) == []
    assert scrub.events(Noticed(text="still waiting")) == [Noticed(text="still waiting")]
    assert scrub.events(reply) == [ReasoningStreamed(text="hunt"), TextStreamed(text="hunt"), reply]
    assert scrub.events(REQUEST) == [REQUEST]


def test_a_secret_that_streams_around_a_notice_does_not_slip_through() -> None:
    scrub = Scrub(REDACTOR)
    events: list[Event] = [TextStreamed(text=SECRET[:9]), Noticed(text="wait"), TextStreamed(text=SECRET[9:] + ".")]
    assert [shown for event in events for shown in scrub.events(event)] == [
        Noticed(text="wait"),
        TextStreamed(text=f"{HIDDEN}."),
    ]


def test_a_person_is_told_what_happened_to_a_secret_in_a_prompt() -> None:
    scrub = Scrub(REDACTOR)
    spoken, told = scrub.events(UserSpoke(message=said(f"use {SECRET}", origin=USER)))
    assert spoken == UserSpoke(message=said(f"use {HIDDEN}", origin=USER))
    assert isinstance(told, Noticed) and told.level == "warning" and HIDDEN in told.text
    assert scrub.events(UserSpoke(message=said("use it", origin=USER))) == [
        UserSpoke(message=said("use it", origin=USER))
    ]
