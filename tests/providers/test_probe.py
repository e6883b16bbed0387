"""What a server can do is found out by asking it: on all three wires, and on servers that are odd in one way each."""

import asyncio
from typing import Any

import pytest
from tests.fakes.odd_server import LEAKED, Odd, OddServer

from overt.core.settings import ModelFacts, ProviderEntry
from overt.lib.translations import set_language
from overt.providers.probing.probe import NAMES, ProbeRow, decide, probe
from overt.providers.registry import make

KEY = "sk-probe-0123456789abcdef"
EVERYTHING = dict.fromkeys(NAMES, "yes") | {"reasoning": "no", "window": "unknown"}


def probed(
    server: OddServer, *, told: list[str] | None = None, key: str = KEY, **settings: Any
) -> tuple[ProbeRow, ...]:
    entry = ProviderEntry(name="odd", base_url=server.url, attempts=1, **settings)
    tell: Any = [].append if told is None else told.append

    async def main() -> tuple[ProbeRow, ...]:
        async with asyncio.timeout(60):
            provider = make(entry, key, "odd-model")
            try:
                return await probe(provider, "odd-model", entry=entry, tell=tell)
            finally:
                provider.close()

    return asyncio.run(main())


def states(rows: tuple[ProbeRow, ...]) -> dict[str, str]:
    assert [row.name for row in rows] == list(NAMES)
    assert KEY not in repr(rows)
    return {row.name: row.state for row in rows}


def row(rows: tuple[ProbeRow, ...], name: str) -> ProbeRow:
    return next(each for each in rows if each.name == name)


def with_odd(odd: Odd, **settings: Any) -> tuple[ProbeRow, ...]:
    with OddServer(odd) as server:
        return probed(server, **settings)


@pytest.mark.parametrize("kind", ["openai", "responses", "anthropic"])
def test_a_server_that_can_everything_is_found_so_on_every_wire(kind: str) -> None:
    rows = with_odd(Odd(key=KEY), kind=kind)
    developer = {"developer": "unknown"} if kind == "anthropic" else {}
    assert states(rows) == EVERYTHING | developer
    assert decide(rows) == "native"
    assert row(rows, "auto").words == 'get_weather({"city": "Paris"})'
    assert row(rows, "parallel").words == "2 calls in one reply"
    assert row(rows, "form").words == '{"tool":"read","path":"notes.txt","lines":5}'
    assert row(rows, "usage").words == "320 tokens in, 9 out"
    assert row(rows, "cache").value == 300 and row(rows, "cache").words.startswith("300 of 320 tokens kept")
    assert [each.broke for each in rows if each.broke] == []


def test_what_is_asked_is_small_and_leaves_the_temperature_alone() -> None:
    told: list[str] = []
    with OddServer(Odd()) as server:
        probed(server, told=told)
        sizes = [len(str(body)) for body in server.bodies]
        assert max(sizes) < 4000 and len(sizes) <= 11
        assert all("temperature" not in body and body["max_tokens"] <= 256 for body in server.bodies)
    assert told[:3] == ["reachable", "list of models", "native tools: auto"]


def test_calls_that_leak_as_text_are_not_native_and_the_schema_is_preferred() -> None:
    rows = with_odd(Odd(tools="leaks", required=False))
    auto = row(rows, "auto")
    assert (auto.state, auto.words) == ("no", f"leaked as text: {' '.join(LEAKED.split())[:59]}…")
    assert auto.broke == auto.words
    assert states(rows) == EVERYTHING | dict.fromkeys(("auto", "required"), "no") | dict.fromkeys(
        ("parallel", "streamed"), "unknown"
    )
    assert decide(rows) == "schema"


def test_a_server_that_refuses_tools_and_forms_is_left_with_text() -> None:
    rows = with_odd(Odd(tools="refused", form="refused"))
    assert decide(rows) == "text"
    assert row(rows, "auto") == ProbeRow(
        name="auto", state="no", words="this model does not support tools.", value=False
    )
    assert row(rows, "form").words == "response_format is not available."


def test_a_form_that_is_accepted_and_not_kept_to_is_no_form() -> None:
    rows = with_odd(Odd(tools="ignored", form="ignored"))
    assert row(rows, "auto").words == "it answered in words: It is sunny in Paris."
    form = row(rows, "form")
    assert (form.state, form.words) == (
        "no",
        "accepted but not kept to, it answered in words: Use head -5 notes.txt.",
    )
    assert form.broke == form.words
    assert decide(rows) == "text"


def test_a_model_that_was_slow_to_understand_is_asked_again() -> None:
    with OddServer(Odd(tools="ignored")) as server:
        probed(server)
        asked = [body["messages"][-1]["content"] for body in server.bodies if "tools" in body]
    assert asked == [
        "What is the weather in Paris right now?",
        "Call get_weather for the city Paris.",
        "Say hello to me.",
    ]


def test_arguments_that_do_not_fit_are_no_native_call() -> None:
    rows = with_odd(Odd(tools="misfit"))
    auto = row(rows, "auto")
    assert (auto.state, decide(rows)) == ("no", "schema")
    assert auto.broke == 'it calls with arguments that do not fit: get_weather({"town":"Paris"})'


def test_a_server_that_does_not_stream_and_counts_nothing_still_serves() -> None:
    rows = with_odd(Odd(stream=False, usage=False, cache=False))
    found = states(rows)
    assert {name: found[name] for name in ("streaming", "streamed", "usage", "cache")} == {
        "streaming": "no",
        "streamed": "no",
        "usage": "no",
        "cache": "unknown",
    }
    assert row(rows, "streaming").words == "everything comes at once, at the end"
    assert decide(rows) == "native"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_the_field_of_the_reasoning_is_named(field: str) -> None:
    found = row(with_odd(Odd(reasoning=field)), "reasoning")
    assert found == ProbeRow(name="reasoning", state="yes", words=f"in `{field}`", value=field)


def test_a_model_that_thinks_gets_room_to_think() -> None:
    with OddServer(Odd(reasoning="reasoning_content")) as server:
        probed(server)
        assert [body["max_tokens"] for body in server.bodies][:3] == [256, 2048, 2048]


@pytest.mark.parametrize(("kind", "field"), [("anthropic", "thinking"), ("responses", "reasoning")])
def test_reasoning_is_seen_on_the_other_wires(kind: str, field: str) -> None:
    assert row(with_odd(Odd(reasoning="yes"), kind=kind), "reasoning").value == field


def test_roles_that_are_ignored_or_refused_are_told_apart() -> None:
    rows = with_odd(Odd(system=False, developer="refused"))
    assert row(rows, "system").words == "taken, but not obeyed: I do not know it."
    assert row(rows, "developer").words == "unknown role developer."
    assert (row(rows, "system").state, row(rows, "developer").state) == ("no", "no")


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ("refused", "this model takes no images."),
        ("crash", "image input is not supported."),
        ("ignored", "taken, but not seen: Blue."),
    ],
)
def test_a_model_without_eyes_is_found_out_and_nothing_is_broken(images: Any, words: str) -> None:
    found = row(with_odd(Odd(images=images)), "images")
    assert found == ProbeRow(name="images", state="no", words=words, value=False)


def test_an_image_is_tried_even_where_it_was_known_to_be_of_no_use() -> None:
    known = (ModelFacts(name="odd-model", images=False),)
    assert row(with_odd(Odd(), known=known), "images").state == "yes"


WINDOWS: dict[str, tuple[dict[str, Any], int, str]] = {
    "vllm": ({"/v1/models": {"data": [{"id": "odd-model", "max_model_len": 32768}]}}, 32768, "/v1/models"),
    "openrouter": ({"/v1/models": {"data": [{"id": "odd-model", "context_length": 131072}]}}, 131072, "/v1/models"),
    "llama.cpp": ({"/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096, "/props"),
    "lm studio": (
        {"/api/v0/models": {"data": [{"id": "odd-model", "max_context_length": 9, "loaded_context_length": 8192}]}},
        8192,
        "/api/v0/models",
    ),
    "ollama, loaded": ({"/api/ps": {"models": [{"name": "odd-model:latest", "context_length": 99}]}}, 99, "/api/ps"),
    "ollama, set": ({"/api/show": {"parameters": "stop x\nnum_ctx   2048", "model_info": {}}}, 2048, "/api/show"),
    "ollama, made for": ({"/api/show": {"model_info": {"qwen2.context_length": 40960}}}, 40960, "/api/show"),
}


@pytest.mark.parametrize("case", WINDOWS)
def test_the_context_length_is_read_where_each_server_says_it(case: str) -> None:
    answers, size, where = WINDOWS[case]
    found = row(with_odd(Odd(window=answers)), "window")
    assert found == ProbeRow(name="window", state="yes", words=f"{size} tokens ({where})", value=size)


@pytest.mark.parametrize(
    "answers",
    [
        {"/props": [], "/api/ps": {"models": "x"}, "/api/show": {"parameters": 3, "model_info": []}},
        {"/props": {"default_generation_settings": {"n_ctx": -1}}, "/api/v0/models": {"data": [None, {"id": 3}]}},
        {"/props": {"default_generation_settings": {"n_ctx": True}}, "/api/show": {"parameters": "num_ctx many"}},
    ],
)
def test_nonsense_about_the_context_length_is_no_answer(answers: dict[str, Any]) -> None:
    assert row(with_odd(Odd(window=answers)), "window").state == "unknown"


def test_what_a_person_set_is_the_context_length_of_a_silent_server() -> None:
    found = row(with_odd(Odd(), context_window=16000), "window")
    assert (found.state, found.value) == ("yes", 16000)


def test_a_wrong_key_ends_the_matter_with_one_request() -> None:
    with OddServer(Odd(key="another-key-entirely")) as server:
        rows = probed(server)
        assert len(server.bodies) == 1
    assert states(rows) == {"reachable": "no"} | dict.fromkeys(NAMES[1:], "unknown")
    assert "rejected the API key" in row(rows, "reachable").words
    assert decide(rows) is None


def test_a_server_that_is_not_there_is_a_row_and_no_exception() -> None:
    with OddServer(Odd()) as server:
        pass
    rows = probed(server)
    assert states(rows) == {"reachable": "no"} | dict.fromkeys(NAMES[1:], "unknown")
    assert rows[0].words.startswith("No answer from http://127.0.0.1:")


def test_a_server_that_always_fails_is_unreachable_with_its_reason() -> None:
    rows = with_odd(Odd(status=503))
    assert decide(rows) is None and "out of order" in rows[0].words


def test_a_form_that_was_cut_is_asked_for_again_and_not_judged() -> None:
    with OddServer(Odd(tools="ignored", form="cut")) as server:
        rows = probed(server)
        assert sum("response_format" in body for body in server.bodies) == 2
    words = 'the reply was cut at its token limit: {"tool":"read","path":"aaaaaaaa'
    assert row(rows, "form") == ProbeRow(name="form", state="unknown", words=words)
    assert decide(rows) is None


@pytest.mark.parametrize("lasts", [1, 2, 4])
def test_a_server_that_gives_up_half_way_is_not_judged(lasts: int) -> None:
    with OddServer(Odd(lasts=lasts, tools="ignored")) as server:
        rows = probed(server)
        assert len(server.bodies) <= lasts + 3
    assert decide(rows) is None
    assert {name: state for name, state in states(rows).items() if state == "no"}.keys() <= {
        "auto",
        "required",
        "reasoning",
    }
    assert row(rows, "form").words in ("out of order.", "not tried")


def test_the_words_are_chinese_where_the_person_is() -> None:
    set_language("zh")
    try:
        assert row(with_odd(Odd(parallel=False)), "parallel").words == "每次回复一个调用"
    finally:
        set_language("en")
