"""Every byte of a request has one origin, on every wire and for every shape of a conversation."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace
from tests.context.test_assemble import grown

from overt.context.assemble import Assembler
from overt.context.provenance import RequestSpan, key_of, mark_cached, scale_tokens, trace_spans
from overt.context.text_calls import TextCallWire, call_label, result_text
from overt.core.codec import encode
from overt.core.history import INTERRUPTED, History
from overt.core.messages import Call, Document, Image, Message, Result, Text, said
from overt.core.protocols import Wire
from overt.core.requests import Params, Prefix, Request, ToolSpec
from overt.core.settings import ModelFacts, Quirks
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment, Origin
from overt.providers.wires.anthropic import Anthropic
from overt.providers.wires.openai import OpenAIChat
from overt.providers.wires.responses import OpenAIResponses

RULES = Origin(kind="file", where="AGENTS.md", lines="1-2", hash="ab" * 32)
PREFIX = Prefix(
    system=(
        Fragment(key="system", text='You are "a test".\n你好', origin=Origin(kind="harness", where="system.md")),
        Fragment(key="empty", text="", origin=HARNESS),
        Fragment(key="rules", text="model\nread", origin=RULES),
        Fragment(key="blank", text=" \n", origin=HARNESS),
        Fragment(key="environment", text="Half \ud800 of it ]}", origin=HARNESS),
    ),
    tools=(
        ToolSpec(name="read", description="Read.", schema=Raw(b'{"type":"object","properties":{}}')),
        ToolSpec(name="grep", description='Find "it" [{', schema=Raw(b'{"type":"object","properties":{"a":{}}}')),
    ),
    shots=(said("an example", origin=HARNESS), said("like this", role="assistant", origin=HARNESS)),
)
BARE = Prefix(system=(), tools=())
PARAMS = Params(model="m", temperature=0.5)
FORM = replace(PARAMS, tool_choice="none", form=Raw(b'{"type":"object"}'))


def quirky(**changed: object) -> ModelFacts:
    return ModelFacts(name="m", images=False, quirks=replace(Quirks(), **changed))


WIRES: dict[str, Callable[[], Wire]] = {
    "chat": OpenAIChat,
    "chat without a system role": lambda: OpenAIChat(quirky(system="user")),
    "responses": OpenAIResponses,
    "responses without instructions": lambda: OpenAIResponses(quirky(system="developer")),
    "messages with marks": lambda: Anthropic(quirky(cache_marks=True)),
    "messages without marks": lambda: Anthropic(quirky(cache_marks=False)),
    "chat, calls by schema": lambda: TextCallWire(OpenAIChat(), "schema"),
    "chat, calls in text": lambda: TextCallWire(OpenAIChat(), "text"),
    "messages, calls in text": lambda: TextCallWire(Anthropic(quirky(cache_marks=True)), "text"),
    "responses, calls in text": lambda: TextCallWire(OpenAIResponses(), "text"),
}


def traced(
    make: Callable[[], Wire], messages: tuple[Message, ...], *, prefix: Prefix = PREFIX, params: Params = PARAMS
) -> tuple[Request, tuple[RequestSpan, ...]]:
    request = Assembler(make(), vendor="here").assemble(prefix, messages, params).request
    return request, trace_spans(make(), request, vendor="here")


def escaped(text: str) -> bytes:
    return encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))[1:-1]


def assert_whole(request: Request, spans: tuple[RequestSpan, ...], *, spoken: bool = False) -> None:
    """Every byte once; each fragment, tool, message and result inside of the span that claims it, in order."""
    body = request.body()
    assert [spans[0].start, *(span.end for span in spans)][-1] == len(body) and spans[0].start == 0
    assert all(one.end == other.start and one.start < one.end for one, other in pairwise(spans))
    assert all(span.key and span.origin.kind for span in spans)
    for one, other in pairwise(spans):
        if one.origin.kind == other.origin.kind == "tool":  # where one result ends, a value or a label begins
            assert body[other.start : other.start + 1] in ((b"[",) if spoken else (b"{", b","))
    sent = [fragment for fragment in request.prefix.system if fragment.text.strip()]
    for fragment in sent:
        (span,) = [span for span in spans if (span.key, span.origin) == (fragment.key, fragment.origin)]
        assert body[span.start : span.end] == escaped(fragment.text)
    for tool in () if spoken else request.prefix.tools:
        (span,) = [span for span in spans if span.origin == Origin(kind="harness", where=f"tools/{tool.name}")]
        assert bytes(tool.schema) in body[span.start : span.end] and span.key == f"tool:{tool.name}"
    _assert_messages(request, spans, spoken=spoken)


def _assert_messages(request: Request, spans: tuple[RequestSpan, ...], *, spoken: bool) -> None:
    body = request.body()
    labels: dict[str, str] = {}
    names: dict[str, str] = {}
    at = 0
    for message in (*request.prefix.shots, *request.messages):
        labels |= {call.id: call_label(call) for call in message.calls()}
        names |= {call.id: call.name for call in message.calls()}
        for part in message.parts:
            if isinstance(part, Result):
                span = next(span for span in spans if span.origin.where == part.call_id)
                assert span.key == f"tool:{names[part.call_id]}"
                assert escaped(_words(part, labels, spoken=spoken).strip()) in body[span.start : span.end]
        written = message.text() if not (spoken and message.role == "assistant") else ""
        if written.strip():
            key = "example" if message in request.prefix.shots else key_of(message)
            at += 1 + next(
                number
                for number, span in enumerate(spans[at:])
                if span.key == key and all(escaped(t.strip()) in body[span.start : span.end] for t in _texts(message))
            )


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]


def _words(result: Result, labels: dict[str, str], *, spoken: bool) -> str:
    if spoken:
        return result_text(result, labels)
    return "".join(part.text for part in result.parts if isinstance(part, Text))


@pytest.mark.parametrize("name", WIRES)
def test_every_byte_of_random_conversations_has_an_origin(name: str) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        history = History()
        for step in range(rng.randint(1, 8)):
            history = grown(rng, history, step)
        prefix, params = rng.choice([PREFIX, BARE, replace(PREFIX, shots=())]), rng.choice([PARAMS, FORM])
        request, spans = traced(WIRES[name], history.messages, prefix=prefix, params=params)
        assert_whole(request, spans, spoken="calls" in name)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(WIRES)),
    system=st.lists(st.text(max_size=40), max_size=4),
    results=st.lists(st.text(max_size=60), min_size=1, max_size=4),
    prompt=st.text(max_size=60),
)
def test_no_text_can_claim_the_bytes_of_another(name: str, system: list[str], results: list[str], prompt: str) -> None:
    """Whatever the texts are, the same as names of the wire included."""
    fragments = tuple(Fragment(key=f"f{n}", text=text, origin=HARNESS) for n, text in enumerate(system))
    made = tuple(Call(id=f"c{n}", name="read", arguments="{}") for n in range(len(results)))
    answers = tuple(Result(call_id=f"c{n}", parts=(Text(text=text),)) for n, text in enumerate(results))
    messages = (
        said(prompt + ".", origin=USER),
        Message(role="assistant", parts=made, origin=MODEL),
        Message(role="tool", parts=answers, origin=Origin(kind="tool")),
    )
    request, spans = traced(WIRES[name], messages, prefix=Prefix(system=fragments, tools=PREFIX.tools))
    assert_whole(request, spans, spoken="calls" in name)
    assert [span.origin.where for span in spans if span.origin.kind == "tool"] == [call.id for call in made]


CONVERSATION = (
    said("[overt] Files were put back.", origin=HARNESS),
    said("[a.py]\nx = 1", origin=Origin(kind="file", where="a.py", hash="cd" * 32)),
    said("fix a.py\nplease", origin=USER),
    Message(
        role="assistant",
        parts=(
            Text(text="I look."),
            Call(id="c1", name="read", arguments='{"path":"src/a.py"}'),
            Call(id="c2", name="bash", arguments='{"command":"make test"}'),
        ),
        origin=MODEL,
    ),
    Message(
        role="tool",
        parts=(
            Result(call_id="c1", parts=(Text(text="x = 1"), Image(media="image/png", data=b"\x89PNG" * 3000))),
            Result(call_id="c2", parts=(Text(text=INTERRUPTED),), error=True, harness=True),
        ),
        origin=Origin(kind="tool", where="c1,c2"),
    ),
    said("[overt] Summary of turns 1 to 3", origin=Origin(kind="summary", where="turns 1-3")),
    said("$ ls\na.py", role="assistant", origin=Origin(kind="tool", where="!")),
)
ROWS = [
    ("tool:read", "harness", "tools/read", ""),
    ("tool:grep", "harness", "tools/grep", ""),
    ("system", "harness", "system.md", ""),
    ("rules", "file", "AGENTS.md", ""),
    ("environment", "harness", "", ""),
    ("example", "harness", "", "an example"),
    ("example", "harness", "", "like this"),
    ("harness", "harness", "", "[overt] Files were put back."),
    ("file", "file", "a.py", ""),
    ("user", "user", "", "fix a.py"),
    ("assistant", "model", "", "I look. → read src/a.py, bash make test"),
    ("tool:read", "tool", "c1", "src/a.py"),
    ("tool:bash", "harness", "c2", "make test"),
    ("summary", "summary", "turns 1-3", "[overt] Summary of turns 1 to 3"),
    ("command", "tool", "!", "$ ls"),
]


@pytest.mark.parametrize("make", [OpenAIChat, Anthropic, OpenAIResponses])
def test_each_piece_is_known_by_its_key_its_origin_and_what_it_is_about(make: Callable[[], Wire]) -> None:
    request, spans = traced(make, CONVERSATION)
    rows = [
        (span.key, span.origin.kind, span.origin.where, span.label)
        for span in spans
        if span.key not in ("wire", "blank") and not span.label.endswith("(shown)")
    ]
    assert sorted(rows[:5]) == sorted(ROWS[:5]) and rows[5:] == ROWS[5:]
    assert_whole(request, spans)


def test_what_a_result_showed_belongs_to_it_where_the_wire_puts_it_elsewhere() -> None:
    _, spans = traced(OpenAIChat, CONVERSATION)
    (shown,) = [span for span in spans if span.label.endswith("(shown)")]
    assert (shown.key, shown.origin.where, shown.label) == ("tool:read", "c1", "src/a.py (shown)")
    assert 1000 <= shown.tokens < 1100


def test_a_document_is_not_counted_by_its_letters() -> None:
    message = Message(
        role="user", parts=(Text(text="read it"), Document(media="application/pdf", data=b"x" * 90_000)), origin=USER
    )
    _, spans = traced(Anthropic, (message,))
    (span,) = [span for span in spans if span.key == "user"]
    assert 1000 <= span.tokens < 1100


def test_a_body_that_the_wire_would_not_make_is_refused() -> None:
    request = Assembler(OpenAIChat()).assemble(PREFIX, CONVERSATION, PARAMS).request
    with pytest.raises(ValueError, match="not what this wire makes"):
        trace_spans(OpenAIChat(), replace(request, messages=CONVERSATION[1:]))


def test_measured_tokens_add_up_to_what_was_reported() -> None:
    _, spans = traced(OpenAIChat, CONVERSATION)
    for total in (1, 7, 1000, 123_457):
        counted = scale_tokens(spans, total)
        assert sum(span.tokens for span in counted) == total
        assert all(span.tokens >= 0 for span in counted)
    assert scale_tokens(spans, 0) == spans


def test_what_a_server_had_is_a_beginning() -> None:
    counts = enumerate((5, 0, 5, 5))
    spans = tuple(
        RequestSpan(start=n * 10, end=n * 10 + 10, key="user", origin=USER, tokens=tokens) for n, tokens in counts
    )
    assert [span.cached for span in mark_cached(spans, tokens=7)] == ["yes", "", "part", "no"]
    assert [span.cached for span in mark_cached(spans, upto=30)] == ["yes", "", "yes", "no"]
    assert [span.cached for span in mark_cached(spans, tokens=0)] == ["no", "", "no", "no"]
