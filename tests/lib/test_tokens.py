"""Estimated counts against those of a real vocabulary, on texts that the figures were not fitted to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lib.token_kit import TEXTS, Counted, of

from overt.lib import tokens
from overt.lib.tokens import CLASSES, FAMILIES, estimate, family_of, measure


def off(texts: list[Counted], family: str = "qwen") -> float:
    return sum(estimate(each.text, family) for each in texts) / sum(each.tokens for each in texts) - 1


CODE = ("python", "javascript", "c", "json", "diff", "log", "listing", "arguments")
LANGUAGES = tuple(dict.fromkeys(each.kind for each in TEXTS if each.kind not in (*CODE, "mixed")))


@pytest.mark.parametrize(
    "kinds",
    [("english",), ("chinese",), ("mixed",), CODE, LANGUAGES],
    ids=("english", "chinese", "mixed", "code", "all"),
)
def test_what_is_met_every_day_is_within_five_percent_before_any_report(kinds: tuple[str, ...]) -> None:
    assert abs(off(of(*kinds))) <= 0.05


@pytest.mark.parametrize("language", LANGUAGES)
def test_any_text_in_any_language_is_within_ten_percent(language: str) -> None:
    assert [text.text for text in of(language) if abs(off([text])) > 0.1] == []


@pytest.mark.parametrize("kind", [*CODE, "mixed"])
def test_a_single_program_or_record_is_not_far_off(kind: str) -> None:
    assert abs(off(of(kind))) <= 0.12


def test_a_script_that_no_text_was_fitted_to_is_not_taken_for_a_cheap_one() -> None:
    said = "આ એક નાનું વાક્ય છે અને તે ફક્ત ગણતરી માટે લખાયું છે"

    assert estimate(said, "qwen") > len(said)


def test_rare_words_cost_more_than_common_ones_of_their_length() -> None:
    assert estimate("people would think about their house " * 9, "qwen") * 1.4 < estimate(
        "zwqkle vrphjd tmuxkq oblgz htqry jkvsw " * 9, "qwen"
    )


def test_words_that_never_come_back_do_not_fill_the_memory() -> None:
    for start in range(0, 60_000, 600):
        estimate(
            " ".join(
                f"{chr(97 + at % 26)}{''.join(chr(97 + int(d)) for d in str(at))}" for at in range(start, start + 600)
            )
        )

    assert len(tokens._costs()) < 30_000


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_counts_english_and_programs_alike(family: str) -> None:
    assert abs(off(of("english", "python", "c", "diff"), family)) <= 0.2


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("The quick brown fox jumps over the lazy dog.", 9, 15),
        ('{"name":"read","arguments":{"path":"src/a.py","limit":200}}', 16, 32),
        ("👍👍", 2, 6),
        ("1234567890", 3, 10),
        ("=" * 400, 1, 40),
        (" " * 400, 1, 10),
        ("\ud800 half", 1, 8),
        ("\x00\x01\x02", 1, 4),
    ],
)
def test_small_and_odd_texts_are_sensible(text: str, low: int, high: int) -> None:
    assert low <= estimate(text) <= high


def test_a_long_text_is_the_sum_of_its_parts_though_its_language_is_sampled() -> None:
    whole = "".join(each.text for each in TEXTS)
    parts = sum(sum(measure(each.text, "qwen")) for each in TEXTS) * 20

    assert sum(measure(whole * 20, "qwen")) == pytest.approx(parts, rel=0.03)


def test_each_class_holds_what_is_its_own() -> None:
    found = {each.kind: dict(zip(CLASSES, measure(each.text, "qwen"), strict=True)) for each in TEXTS}

    assert found["chinese"]["east"] > 0.8 * sum(found["chinese"].values())
    assert found["russian"]["scripts"] > 0.8 * sum(found["russian"].values())
    assert found["log"]["numbers"] > found["english"]["numbers"] == 0
    assert found["c"]["marks"] > found["english"]["marks"]
    assert (found["python"]["scripts"], found["python"]["east"]) == (0, 0)


@given(st.text())
def test_an_estimate_is_never_negative_and_never_more_than_twice_the_bytes(text: str) -> None:
    assert 0 <= estimate(text) <= 2 * len(text.encode("utf-8", "surrogatepass")) + 1


@given(st.text(min_size=1), st.sampled_from(FAMILIES))
def test_a_text_is_at_least_a_token_and_many_of_it_are_no_fewer(text: str, family: str) -> None:
    once = estimate(text, family)

    assert 1 <= once <= estimate(text * 100, family) + 3


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("qwen3-coder-plus", "qwen"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen"),
        ("mimo-v2.6-pro", "qwen"),
        ("gpt-5.6", "gpt"),
        ("openai/gpt-oss-120b", "gpt"),
        ("o3-mini", "gpt"),
        ("openai/o4-mini", "gpt"),
        ("claude-sonnet-5", "claude"),
        ("anthropic/claude-opus-5", "claude"),
        ("deepseek-v4-pro", "deepseek"),
        ("deepseek-r1-distill-qwen-14b", "qwen"),
        ("DeepSeek-R1-Distill-Llama-70B", "llama"),
        ("glm-5", "deepseek"),
        ("kimi-k3", "deepseek"),
        ("llama3.3:70b", "llama"),
        ("devstral-small", "mistral"),
        ("mixtral-8x7b", "mistral"),
        ("gemini-3-pro", "gemma"),
        ("model-of-my-own", "default"),
        ("", "default"),
    ],
)
def test_a_name_tells_the_family(model: str, family: str) -> None:
    assert family_of(model) == family


def test_a_family_that_nobody_knows_is_counted_as_the_usual_one() -> None:
    assert estimate("some words", "no such family") == estimate("some words")
