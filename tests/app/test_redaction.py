"""Redaction searches every string of every event; only what is listed here is left as it is."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from msgspec import Raw, Struct
from msgspec.structs import fields
from tests.fakes.model_server import ModelServer, Turn

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.redaction.redact_events import Scrub, redact_event
from overt.app.session import follow
from overt.app.start import open_conversation
from overt.core import events as event_module
from overt.core import questions as question_module
from overt.core.agents import agent_events as agent_event_module
from overt.core.events import Event, Noticed, TextStreamed, ToolStarted
from overt.core.messages import Call
from overt.lib.redaction.redact import HIDDEN, Redactor
from overt.sessions.entry_types import ENTRY_TYPES, TYPE_OF
from overt.sessions.load import load

SECRET = "hunter2-deploy-token-42"
ESCAPED = "\\u0068" + SECRET[1:]
REDACTOR = Redactor([SECRET])

EXACT_FIELDS = """
    AgentCharged.model AgentCharged.provider AgentCharged.purpose AgentStarted.call_id AgentStarted.model
    AgentStarted.session Call.id Compacted.pruned Event.agent FieldOption.value FormAsked.call_id FormAsked.id
    FormClosed.call_id FormClosed.id FormField.default FormField.name GitMoved.call_id GitMoved.git_dir
    GitState.commit GitState.head GitState.index GitState.index_copy GitState.refs ModelFacts.name ModelSet.model
    ModelSet.provider Origin.hash Origin.where Params.model PermissionAsked.id PermissionDecided.call_id
    PrefixSet.fingerprint PrefixSet.model PrefixSet.profile PrefixSet.provider PrefixSet.wire QuestionForm.url
    Repaired.call_id RequestSent.digest RequestSent.stable Restored.left Result.call_id SessionOpened.agent_path
    SessionOpened.id SessionOpened.parent SessionOpened.project SessionOpened.workspace SnapshotTaken.after
    SnapshotTaken.call_id SnapshotTaken.hash SnapshotTaken.path StashEntry.commit TitleSet.digest TitleSet.model
    TitleSet.provider TitleSet.wire ToolFinished.seen ToolProgressed.call_id TreeTaken.after TreeTaken.before
    TreeTaken.call_id TreeTaken.others TreeTaken.shared Unknown.type
""".split()
"""Ids, hashes, paths that undo and the guard against blind overwriting look up, configured names of models, and what
of a form goes back to who asked it."""

EVENT_TYPES = [
    kind
    for module in (event_module, question_module, agent_event_module)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Event) and kind != Event
]


class Note(Struct, frozen=True):
    text: str
    page: int = 1


class Published(Event, frozen=True, kw_only=True):
    """An event that redaction has never heard of."""

    pages: dict[str, tuple[Note, ...]]


def samples(hint: Any, word: str) -> list[Any]:
    """Values of a type, one for each member of a union, with the word in every string there is."""
    origin, arguments, escaped = get_origin(hint), get_args(hint), f"\\u{ord(word[0]):04x}{word[1:]}"
    if origin is Annotated:
        return [f'{{"a":["{escaped}"],"{escaped}":1}}' if arguments[1].kind == "json" else word]
    if origin in (Union, UnionType):
        return [value for argument in arguments if argument is not NoneType for value in samples(argument, word)]
    if origin is Literal:
        return [arguments[0]]
    if origin is tuple:
        return [tuple(samples(arguments[0], word))]
    if origin is dict:
        return [dict(zip(samples(arguments[0], word), samples(arguments[1], word), strict=True))]
    if isinstance(hint, type) and issubclass(hint, Struct):
        choices = {field.name: samples(field.type, word) for field in fields(hint)}
        number = max(map(len, choices.values()))
        return [hint(**{name: values[at % len(values)] for name, values in choices.items()}) for at in range(number)]
    known = {str: word, int: 1, float: 1.0, bool: True, bytes: b"data", Raw: Raw(f'{{"{escaped}":[]}}'.encode())}
    return [{word: [word, 1, None, {"b": word}]} if hint is Any else known[hint]]


def leaks(value: Any, place: str = "") -> Iterator[str]:
    """The fields, as `Class.field`, that hold the secret."""
    match value:
        case Struct():
            for name in value.__struct_fields__:
                owner = next(
                    base for base in reversed(type(value).__mro__) if name in getattr(base, "__annotations__", ())
                )
                yield from leaks(getattr(value, name), f"{owner.__name__}.{name}")
        case tuple() | list():
            for item in value:
                yield from leaks(item, place)
        case dict():
            yield from leaks([*value, *value.values()], place)
        case Raw():
            yield from leaks(bytes(value).decode(), place)
        case str() if SECRET in value or ESCAPED in value:
            yield place
        case _:
            pass


@asynccontextmanager
async def opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    """A conversation in an environment that holds the secret."""
    with ModelServer([Turn(text="hello")]) as server:
        monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        conversation = await open_conversation(Options(directory=str(folder)))
        try:
            async with asyncio.timeout(30):
                yield conversation, server
        finally:
            await conversation.close()


async def prompt(conversation: Conversation, text: str) -> list[Event]:
    async with aclosing(follow(conversation.session, conversation.prompt(text))) as events:
        return [event async for event in events]


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_a_secret_survives_only_in_the_exact_fields_of_an_event(kind: type[Event]) -> None:
    for event in samples(kind, SECRET):
        assert set(leaks(event)) >= {f"{kind.__name__}.{field.name}" for field in fields(kind) if field.type is str}
        assert set(leaks(redact_event(event, REDACTOR.clean))) <= set(EXACT_FIELDS)
    for event in samples(kind, "ordinary words"):
        assert redact_event(event, REDACTOR.clean) is event


def test_the_exact_fields_are_these() -> None:
    assert set(ENTRY_TYPES.values()) <= set(EVENT_TYPES)
    redacted = [redact_event(event, REDACTOR.clean) for kind in EVENT_TYPES for event in samples(kind, SECRET)]
    assert sorted({place for event in redacted for place in leaks(event)}) == EXACT_FIELDS


def test_a_new_event_type_leaks_nothing_to_the_file_the_history_the_screen_or_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: type[Event] = Published
    monkeypatch.setitem(ENTRY_TYPES, "published", kind)
    monkeypatch.setitem(TYPE_OF, kind, "published")
    published = Published(pages={SECRET: (Note(f"the token is {SECRET}"), Note("ordinary", 2))})
    redacted = Published(pages={HIDDEN: (Note(f"the token is {HIDDEN}"), Note("ordinary", 2))})

    async def main() -> None:
        async with opened(tmp_path, monkeypatch) as (conversation, server):
            shown: list[Event] = []
            conversation.session.subscribe(shown.append, name="test")
            conversation.record(published)
            await conversation.prompt("go")
            assert [event for event in shown if isinstance(event, Published)] == [redacted]
            recorded = load(conversation.path).entries
            assert [entry.data for entry in recorded if isinstance(entry.data, Published)] == [redacted]
            for place in (shown, conversation.history, server.posts, Path(conversation.path).read_text()):
                assert SECRET not in str(place)

    asyncio.run(main())


def test_a_notice_that_is_only_shown_is_redacted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path, monkeypatch) as (conversation, _):
            shown = await prompt(conversation, f"explain @src/{SECRET}.py")
            assert f"@src/{HIDDEN}.py" in str([event for event in shown if isinstance(event, Noticed)])
            assert SECRET not in str(shown)

    asyncio.run(main())


def test_a_secret_in_arguments_is_found_behind_a_repeated_key_in_a_number_and_beside_its_name() -> None:
    def recorded(arguments: str) -> str:
        event = redact_event(ToolStarted(call=Call(id="c", name="bash", arguments=arguments)), redactor.clean)
        assert isinstance(event, ToolStarted)
        return event.call.arguments

    redactor = Redactor([SECRET, "4929123412341234"])
    aws = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzE0aMpLeKy"
    assert recorded(f'{{"a": "{SECRET}", "a": "x"}}') == '{"a":"x"}'
    assert recorded('{"a": 4929123412341234, "b": 1}') == f'{{"a":"{HIDDEN}","b":1}}'
    assert recorded(f'{{"aws_secret_access_key": "{aws}"}}') == f'{{"aws_secret_access_key":"{HIDDEN}"}}'
    deep = "[" * 5000 + f'"\\n{SECRET}"' + "]" * 5000
    assert recorded(deep) == deep.replace(SECRET, HIDDEN)
    spaced = '{"command": "echo\\u0020hello"}'
    assert recorded(spaced) is spaced


def test_a_value_of_an_unforeseen_type_is_replaced_by_its_text() -> None:
    event = event_module.Unknown(type="x", data={"set": {SECRET}, "path": Path("a/b")})
    assert redact_event(event, REDACTOR.clean) == event_module.Unknown(
        type="x", data={"set": f"{{'{HIDDEN}'}}", "path": Path("a/b")}
    )


def test_streamed_text_without_a_secret_is_passed_on_as_the_same_event() -> None:
    event = TextStreamed(text="ordinary words. ")
    assert Scrub(REDACTOR).events(event)[0] is event
