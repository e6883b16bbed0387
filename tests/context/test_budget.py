"""Counts of requests: near before the first report, right after it, and never spoilt by a report that cannot be."""

import struct
from collections.abc import Iterable

import pytest
from msgspec import Raw
from tests.lib.token_kit import TEXTS, Counted, of

from overt.context import budget as budget_module
from overt.context.budget import CALL, MESSAGE, PAGE, RESULT, Budget, image_tokens
from overt.core.messages import Call, Document, Image, Message, Reasoning, Result, Text, said
from overt.core.requests import Prefix, ToolSpec
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment
from overt.lib.tokens import FAMILIES

CODE = ("python", "javascript", "c", "json", "diff", "log", "listing")
LANGUAGES = ("german", "russian", "japanese", "korean", "arabic", "spanish", "french", "greek", "polish")
HEAD = of("english")[0]
PREFIX = Prefix(
    system=(Fragment(key="system", text=HEAD.text, origin=HARNESS),),
    tools=(ToolSpec(name="read", description="Read a file.", schema=Raw(b'{"type":"object","properties":{}}')),),
)
HEAD_TOKENS = HEAD.tokens + 150


def spoken(text: Counted) -> Message:
    return said(text.text, origin=USER)


def really(texts: Iterable[Counted]) -> Usage:
    """What a server with the reference vocabulary reports for a request with these texts as its messages."""
    return Usage(input=HEAD_TOKENS + sum(each.tokens + 5 for each in texts))


def counted(budget: Budget, texts: Iterable[Counted]) -> int:
    return budget.count(PREFIX, tuple(map(spoken, texts)))


def reported(budget: Budget, texts: Iterable[Counted], tokens: int | None = None) -> None:
    """As the server with the reference vocabulary reports it, or with another number of tokens."""
    texts = list(texts)
    usage = really(texts) if tokens is None else Usage(input=tokens)
    budget.observe(PREFIX, tuple(map(spoken, texts)), usage)


def off(budget: Budget, texts: list[Counted]) -> float:
    return counted(budget, texts) / really(texts).input - 1


def test_before_any_report_a_request_is_near() -> None:
    assert abs(off(Budget(window=100_000, family="qwen"), TEXTS)) <= 0.05


@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_reported_is_known_exactly_whatever_the_family(family: str) -> None:
    budget, texts = Budget(window=100_000, family=family), of("english", "python", "mixed")
    reported(budget, texts)

    assert counted(budget, texts) == really(texts).input


@pytest.mark.parametrize(
    "kinds", [("english",), ("chinese",), CODE, ("mixed",)], ids=lambda kinds: "+".join(kinds)[:30]
)
def test_after_the_first_reply_a_request_is_within_five_percent(kinds: tuple[str, ...]) -> None:
    budget, first = Budget(window=100_000, family="qwen"), of("english")[1:]
    reported(budget, first)

    assert abs(off(budget, [*first, *of(*kinds)])) <= 0.05


def test_a_mix_that_changes_at_every_step_stays_within_five_percent_of_the_whole() -> None:
    budget, texts = Budget(window=100_000, family="qwen"), of("english")[1:]
    errors = []
    for text in of("chinese", "mixed", *CODE, *LANGUAGES):
        reported(budget, texts)
        texts = [*texts, text]
        errors.append(abs(off(budget, texts)))

    assert max(errors) <= 0.05


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_that_was_not_seen_before_is_within_ten_percent(language: str) -> None:
    budget, texts = Budget(window=100_000, family="qwen"), of("mixed", *CODE)
    reported(budget, texts)

    assert abs(off(budget, [*texts, *of(language)])) <= 0.1


def test_what_a_server_adds_by_itself_is_known_from_the_first_report_on() -> None:
    budget, texts, added = Budget(window=100_000, family="qwen"), of("english")[1:], 700
    reported(budget, texts, really(texts).input + added)
    longer = [*texts, *TEXTS]

    assert counted(budget, longer) == pytest.approx(really(longer).input + added, rel=0.05)


@pytest.mark.parametrize("scale", [0.7, 1.4])
def test_a_vocabulary_that_is_unlike_its_family_is_learnt_from_what_is_new(scale: float) -> None:
    budget, texts = Budget(window=100_000, family="qwen"), list[Counted]()
    for _ in range(3):
        for text in of("english", "python", "chinese"):
            texts.append(text)
            reported(budget, texts, round(HEAD_TOKENS + scale * (really(texts).input - HEAD_TOKENS)))
    fresh = [*texts, *of("mixed")]
    expected = HEAD_TOKENS + scale * (really(fresh).input - HEAD_TOKENS)
    message = budget.message(spoken(of("mixed")[0]))

    assert counted(budget, fresh) == pytest.approx(expected, rel=0.02)
    assert message == pytest.approx(scale * (of("mixed")[0].tokens + 5), rel=0.15)


@pytest.mark.parametrize("tokens", [0, -5, 3, 10**9])
def test_a_report_that_cannot_be_changes_nothing(tokens: int) -> None:
    budget, texts = Budget(window=100_000, family="qwen"), of("english", "python")
    reported(budget, texts)
    longer = [*texts, *of("chinese")]
    before = counted(budget, longer)
    reported(budget, longer, tokens)

    assert counted(budget, longer) == before


def test_a_server_that_reports_only_what_is_new_is_not_believed_but_the_first_report_is() -> None:
    budget, texts = Budget(window=100_000, family="qwen"), of("english")
    reported(budget, texts)
    for text in of(*CODE):
        texts.append(text)
        reported(budget, texts, text.tokens)

    assert abs(off(budget, texts)) <= 0.05


def test_a_history_that_shrinks_grows_otherwise_or_comes_back_is_counted_as_it_is() -> None:
    budget = Budget(window=100_000, family="qwen")
    short, long = of("english"), of("english", "chinese", "python")
    other = [*of("english"), *of("log")]
    reported(budget, long)
    fresh = Budget(window=100_000, family="qwen")

    assert [abs(off(budget, each)) <= 0.05 for each in (short, other, other[:1], long)] == [True] * 4
    assert counted(budget, long) == really(long).input
    assert counted(fresh, other) == counted(fresh, other) == counted(Budget(window=1, family="qwen"), other)


def test_a_report_is_of_its_request_whatever_was_counted_meanwhile() -> None:
    """A person looks at the context while the model answers."""
    budget, texts = Budget(window=100_000, family="qwen"), of("english", "python", "chinese")
    counted(budget, texts)
    for shown in (texts[:1], [*texts, *of("mixed")]):
        counted(budget, shown)
        reported(budget, texts)

        assert counted(budget, texts) == really(texts).input


def test_what_was_counted_for_a_thought_is_forgotten_for_what_is_sent() -> None:
    budget, texts = Budget(window=100_000, family="qwen"), of("english", "python")
    reported(budget, texts)
    counted(budget, texts[:1])
    counted(budget, of("chinese"))

    assert counted(budget, texts) == really(texts).input


def test_only_new_messages_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def measure(text: str, family: str) -> tuple[float, ...]:
        measured.append(text)
        return (1.0,) * 5

    monkeypatch.setattr(budget_module, "measure", measure)
    budget = Budget(window=100_000)
    messages = tuple(said(f"message {number}", origin=USER) for number in range(50))
    for number in range(1, 51):
        budget.count(PREFIX, messages[:number])
    budget.count(PREFIX, messages[:10])
    budget.count(PREFIX, messages)
    budget.message(messages[7])

    assert len(measured) == 2 + 50


def test_another_head_is_counted_and_what_was_reported_for_the_old_one_does_not_hold() -> None:
    budget, texts = Budget(window=100_000, family="qwen"), of("english")
    reported(budget, texts, really(texts).input + 200)
    before = counted(budget, texts)
    bare = Prefix(system=(), tools=())

    assert budget.count(bare, tuple(map(spoken, texts))) < before - 300
    assert Budget(window=1).count(Prefix(system=PREFIX.system, tools=(), shots=(spoken(texts[0]),)), ()) > 500


def test_parts_that_are_no_text_count_too() -> None:
    budget = Budget(window=100_000)
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1000, 600)
    pdf = b"%PDF-1.4 /Type /Pages /Type /Page /Type/Page endobj"

    def size(*parts: Text | Image | Document | Reasoning | Call | Result) -> int:
        return budget.message(Message(role="user", parts=parts, origin=MODEL))

    assert size() == MESSAGE
    assert size(Image(media="image/png", data=png)) == MESSAGE + 800
    assert size(Document(media="application/pdf", data=pdf)) == MESSAGE + 2 * PAGE
    assert size(Document(media="text/plain", data=b"")) == MESSAGE
    assert size(Call(id="a", name="", arguments="")) == pytest.approx(MESSAGE + CALL, abs=3)
    assert size(Result(call_id="a", parts=(Image(media="image/png", data=png),))) == MESSAGE + RESULT + 800
    assert size(Reasoning(text="long thoughts about it")) > MESSAGE + 3
    assert size(Reasoning(text="", opaque="x" * 500)) == MESSAGE + 100


def test_thoughts_that_do_not_go_back_do_not_count() -> None:
    thought = Message(role="assistant", parts=(Reasoning(text="long thoughts about it"),), origin=MODEL)

    assert Budget(window=1, reasoning=False).message(thought) == MESSAGE


@pytest.mark.parametrize(
    ("data", "tokens"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 300, 500), 200),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 8000, 8000), 1600),
        (b"GIF89a" + struct.pack("<HH", 300, 250), 100),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + struct.pack(">HH", 250, 300) + b"\3" * 9, 100),
        (b"\xff\xd8\xff\xe0\0\0", 1200),
        (b"RIFF no size here", 1200),
        (b"", 1200),
    ],
)
def test_an_image_counts_by_its_size(data: bytes, tokens: int) -> None:
    assert image_tokens(data) == tokens


@pytest.mark.parametrize(
    ("settings", "cap", "due_above"),
    [
        ({"window": 100_000}, 100_000 - 8192, 80_000),
        ({"window": 8_000}, 7_000, 6_400),
        ({"window": 200_000, "reserve": 64_000}, 136_000, 136_000),
        ({"window": 100_000, "reserve": 90_000}, 50_000, 50_000),
        ({"window": 100_000, "threshold": 0.0}, 100_000 - 8192, 0),
        ({"window": 0}, 0, 0),
        ({"window": 0, "threshold": 0.0, "reserve": 10}, 0, 0),
    ],
)
def test_the_window_leaves_room_for_the_reply(settings: dict[str, float], cap: int, due_above: int) -> None:
    budget = Budget(**settings)  # type: ignore[arg-type]

    assert (budget.cap, budget.due_above) == (cap, due_above)


def test_a_window_that_is_told_late_keeps_what_was_learnt() -> None:
    budget, texts = Budget(window=0, family="qwen"), of("english")
    reported(budget, texts)
    budget.resize(10_000)

    assert (budget.window, budget.cap, budget.due_above) == (10_000, 8_750, 8_000)
    assert counted(budget, texts) == really(texts).input == budget.counted
