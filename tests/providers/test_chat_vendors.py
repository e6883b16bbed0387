"""Chat completions as each vendor wants them asked and as each answers, with frames in the vendor's own shape."""

import json
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace
from tests.fakes.model_server import ModelServer, Turn
from tests.providers.provider_kit import KEY, reply, request, run

from overt.core.codec import compact
from overt.core.errors import ProviderError
from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text
from overt.core.requests import Params, Prefix, Reply
from overt.core.settings import ModelFacts, ProviderEntry, Quirks
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment
from overt.providers.catalog import vendors
from overt.providers.http_provider import HttpProvider, make
from overt.providers.wires.openai import OpenAIChat

PREFIX = Prefix(system=(Fragment(key="s", text="Be brief.", origin=HARNESS),), tools=())
CALL = Call(id="c", name="read", arguments="{}")
PICTURE = Image(media="image/png", data=b"png")
PAPER = Document(media="application/pdf", data=b"pdf!", name="a.pdf")


def wire(vendor: str = "", model: str = "", **facts: Any) -> OpenAIChat:
    if not vendor:
        return OpenAIChat(ModelFacts(name=model, **facts))
    entry = next(each for each in vendors() if each.name == vendor)
    return OpenAIChat(entry.facts(model or entry.default))


def sent(spoken: OpenAIChat, *messages: Message, **params: Any) -> Any:
    given = Params(model="m", **params)
    pieces = [spoken.head(PREFIX, given), *(b"," + spoken.message(message) for message in messages)]
    return json.loads(b"".join(pieces) + spoken.tail(given))


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts, origin=MODEL)


def parameters(spoken: OpenAIChat, **params: Any) -> Any:
    body = sent(spoken, **params)
    return {name: body[name] for name in body if name not in ("model", "stream", "stream_options", "messages")}


def answered(*chunks: dict[str, Any], done: bool = True) -> Reply:
    decoder = OpenAIChat().decoder()
    for chunk in chunks:
        decoder.feed(json.dumps(chunk).encode())
    if done:
        decoder.feed(b"[DONE]")
    return decoder.end()


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


# ── how each wants to be asked ───────────────────────────────────────────────────────────────────────────

ASKED: dict[str, tuple[OpenAIChat, dict[str, Any]]] = {
    "a server nobody knows": (OpenAIChat(), {"max_tokens": 9, "temperature": 0.5, "reasoning_effort": "high"}),
    "openai over chat": (wire("openai-chat", "gpt-5.5"), {"max_completion_tokens": 9, "reasoning_effort": "high"}),
    "deepseek": (
        wire("deepseek"),
        {"max_tokens": 9, "temperature": 0.5, "reasoning_effort": "high", "thinking": {"type": "enabled"}},
    ),
    "qwen": (wire("dashscope"), {"max_tokens": 9, "temperature": 0.5, "enable_thinking": True}),
    "glm": (wire("glm", "glm-4.7"), {"max_tokens": 9, "temperature": 0.5, "thinking": {"type": "enabled"}}),
    "glm with levels": (
        wire("glm", "glm-5.2"),
        {"max_tokens": 9, "temperature": 0.5, "reasoning_effort": "high", "thinking": {"type": "enabled"}},
    ),
    "kimi": (wire("kimi"), {"max_tokens": 9, "thinking": {"type": "enabled"}}),
    "mimo": (wire("mimo"), {"max_completion_tokens": 9, "temperature": 0.5, "thinking": {"type": "enabled"}}),
    "openrouter": (
        wire("openrouter"),
        {"max_tokens": 9, "temperature": 0.5, "reasoning": {"effort": "high", "enabled": True}},
    ),
    "vllm": (
        wire("vllm"),
        {
            "max_tokens": 9,
            "temperature": 0.5,
            "reasoning_effort": "high",
            "chat_template_kwargs": {"enable_thinking": True},
        },
    ),
    "ollama": (wire("ollama"), {"max_tokens": 9, "temperature": 0.5, "reasoning_effort": "high"}),
    "gemini": (wire("gemini"), {"max_tokens": 9, "temperature": 0.5, "reasoning_effort": "high"}),
    "mistral": (wire("mistral"), {"max_tokens": 9, "temperature": 0.5}),
    "groq": (wire("groq"), {"max_completion_tokens": 9, "temperature": 0.5, "reasoning_effort": "high"}),
    "xai": (wire("xai"), {"max_completion_tokens": 9, "temperature": 0.5, "reasoning_effort": "high"}),
}


@pytest.mark.parametrize("name", ASKED)
def test_each_vendor_is_asked_in_its_own_words(name: str) -> None:
    spoken, expected = ASKED[name]
    assert parameters(spoken, max_tokens=9, temperature=0.5, effort="high", thinking=True) == expected


def test_nothing_is_asked_for_that_nobody_set_or_the_model_does_not_know() -> None:
    assert parameters(wire("deepseek")) == {}
    known = wire(efforts=("low", "high"), quirks=Quirks())
    assert parameters(known, effort="medium") == {}
    assert parameters(known, effort="low") == {"reasoning_effort": "low"}
    assert parameters(wire(reasons=False, quirks=Quirks()), effort="low") == {}
    assert parameters(wire(quirks=Quirks(limit="", effort="", temperature=False)), max_tokens=1, effort="low") == {}


def test_thinking_is_switched_off_as_well() -> None:
    off = {name: parameters(wire(name), thinking=False) for name in ("glm", "dashscope", "vllm", "openrouter")}
    assert off == {
        "glm": {"thinking": {"type": "disabled"}},
        "dashscope": {"enable_thinking": False},
        "vllm": {"chat_template_kwargs": {"enable_thinking": False}},
        "openrouter": {"reasoning": {"enabled": False}},
    }


def test_further_fields_go_along_and_meet_ours_in_one_object_but_never_replace_what_we_live_by() -> None:
    extra = {"chat_template_kwargs": {"a": 1}, "top_k": 20, "stream": False, "messages": [], "tools": 7}
    spoken = wire(quirks=Quirks(thinking="chat_template_kwargs", extra=extra))
    assert parameters(spoken, thinking=False) == {
        "chat_template_kwargs": {"enable_thinking": False, "a": 1},
        "top_k": 20,
    }
    assert sent(spoken)["stream"] is True


def test_the_system_text_has_the_role_the_model_knows() -> None:
    text = "Be brief."
    assert sent(wire("openai-chat"))["messages"] == [{"role": "developer", "content": text}]
    assert sent(wire(quirks=Quirks(system="user")))["messages"] == [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "Understood."},
    ]


def test_usage_is_not_asked_for_where_the_field_is_refused() -> None:
    assert "stream_options" not in sent(wire("mistral"))
    assert sent(OpenAIChat())["stream_options"] == {"include_usage": True}


def test_the_tail_alone_holds_the_choice_and_the_form() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}
    form = Raw(json.dumps(schema).encode())
    plain, formed = Params(model="m"), Params(model="m", form=form, tool_choice="required")
    spoken = OpenAIChat()
    assert spoken.head(PREFIX, plain) == spoken.head(PREFIX, formed)
    body = sent(spoken, form=form, tool_choice="required")
    assert body["tool_choice"] == "required"
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, "strict": True},
    }
    assert spoken.tail(plain) == b"]}"


# ── reasoning that goes back ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("vendor", ["deepseek", "glm", "kimi", "mimo", "xai"])
def test_a_thinking_models_message_always_carries_its_reasoning_even_empty(vendor: str) -> None:
    spoken = wire(vendor)
    thought = json.loads(spoken.message(assistant(Reasoning(text="why"), CALL)))
    bare = json.loads(spoken.message(assistant(CALL)))
    assert (thought["reasoning_content"], bare["reasoning_content"]) == ("why", "")


def test_a_model_that_does_not_think_gets_no_field_for_it() -> None:
    assert "reasoning_content" not in json.loads(wire("dashscope").message(assistant(CALL)))
    assert "reasoning" not in json.loads(wire("ollama").message(assistant(Text(text="x"))))


def test_reasoning_goes_back_in_the_field_of_the_vendor_or_not_at_all() -> None:
    thought = assistant(Reasoning(text="why"), Text(text="ok"))
    fields = {name: json.loads(wire(name).message(thought)) for name in ("ollama", "groq", "gemini", "mistral")}
    said = {"role": "assistant", "content": "ok"}
    assert fields == {
        "ollama": said | {"reasoning": "why"},
        "groq": said | {"reasoning": "why"},
        "gemini": said,
        "mistral": said,
    }


def test_openrouters_blocks_of_reasoning_are_made_whole_and_go_back() -> None:
    form = {"format": "anthropic-claude-v1", "index": 0}
    found = answered(
        chunk({"reasoning": "let ", "reasoning_details": [{"type": "reasoning.text", "text": "let ", **form}]}),
        chunk({"reasoning": "me", "reasoning_details": [{"type": "reasoning.text", "text": "me", **form}]}),
        chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "sig", **form}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "index": 1}]}),
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    )
    details = [
        {"type": "reasoning.text", "text": "let me", **form, "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
    ]
    assert found.parts == (Reasoning(text="let me", opaque=compact({"reasoning_details": details})), CALL)
    back = json.loads(wire("openrouter").message(assistant(*found.parts)))
    assert (back["reasoning_details"], "reasoning" in back) == (details, False)
    plain = json.loads(wire("openrouter").message(assistant(Reasoning(text="why"), CALL)))
    assert (plain["reasoning"], "reasoning_details" in plain) == ("why", False)


def test_summaries_are_shown_where_nothing_else_tells_them() -> None:
    found = answered(
        chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "thought of it", "index": 0}]}),
        chunk({"content": "ok"}, "stop"),
    )
    assert [part.text for part in found.parts if isinstance(part, Reasoning)] == ["thought of it"]


def test_geminis_signatures_go_back_on_the_call_they_came_with() -> None:
    mark = {"google": {"thought_signature": "sig"}}
    calls = [
        {
            "index": 0,
            "id": "c",
            "type": "function",
            "function": {"name": "read", "arguments": "{}"},
            "extra_content": mark,
        },
        {"index": 1, "id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}},
    ]
    found = answered(chunk({"role": "assistant", "tool_calls": calls}, "stop"))
    assert [part.id for part in found.parts if isinstance(part, Call)] == ["c", "call_1"]
    back = json.loads(wire("gemini").message(assistant(*found.parts)))
    assert [call.get("extra_content") for call in back["tool_calls"]] == [mark, None]
    assert "reasoning_content" not in back


def test_what_another_wire_kept_is_not_sent() -> None:
    foreign = assistant(Reasoning(text="why", opaque='{"type":"reasoning","id":"rs_1"}'), CALL)
    assert json.loads(wire("openrouter").message(foreign))["reasoning"] == "why"
    assert "reasoning_details" not in json.loads(wire("openrouter").message(foreign))


# ── pictures and papers ──────────────────────────────────────────────────────────────────────────────────


def test_a_note_stands_in_for_what_a_model_cannot_take() -> None:
    blind = wire(images=False, documents=False)
    spoken = Message(role="user", parts=(Text(text="see"), PICTURE, PAPER), origin=USER)
    shown = Message(role="tool", parts=(Result(call_id="c", parts=(Text(text="ok"), PICTURE)),), origin=HARNESS)
    picture = "[image left out: this model does not take images]"
    paper = "[document a.pdf left out: this model does not take documents]"
    assert sent(blind, spoken, shown)["messages"][1:] == [
        {"role": "user", "content": f"see\n{picture}\n{paper}"},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "user", "content": f"Shown by the tool results above:\n{picture}"},
    ]


def test_a_picture_goes_along_where_it_is_taken_and_where_nobody_knows() -> None:
    message = Message(role="user", parts=(PICTURE, PAPER), origin=USER)
    for spoken in (wire(images=True, documents=False), wire(documents=False)):
        kinds = [part["type"] for part in sent(spoken, message)["messages"][1]["content"]]
        assert kinds == ["image_url", "text"]


# ── what each answers ────────────────────────────────────────────────────────────────────────────────────

TEXT = chunk({"role": "assistant", "content": "hi"})
COUNTED: dict[str, tuple[tuple[dict[str, Any], ...], Usage]] = {
    "deepseek's hits and misses": (
        (
            chunk({"content": "hi", "reasoning_content": None}, "stop"),
            chunk(usage={"completion_tokens": 5, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}),
        ),
        Usage(input=100, output=5, cached=64),
    ),
    "deepseek with all its counts": (
        (
            chunk(
                {"content": "hi"},
                "stop",
                usage={
                    "prompt_tokens": 339,
                    "completion_tokens": 83,
                    "total_tokens": 422,
                    "prompt_tokens_details": {"cached_tokens": 320},
                    "completion_tokens_details": {"reasoning_tokens": 39},
                    "prompt_cache_hit_tokens": 320,
                    "prompt_cache_miss_tokens": 19,
                },
            ),
        ),
        Usage(input=339, output=83, cached=320, reasoning=39),
    ),
    "moonshot's usage inside the choice": (
        (
            TEXT,
            {
                **chunk(),
                "choices": [
                    {
                        "index": 0,
                        "delta": {},
                        "finish_reason": "stop",
                        "usage": {"prompt_tokens": 40, "completion_tokens": 2, "cached_tokens": 30},
                    }
                ],
            },
        ),
        Usage(input=40, output=2, cached=30),
    ),
    "glm's usage with its last choice": (
        (
            TEXT,
            chunk(
                {"role": "assistant", "content": ""},
                "stop",
                usage={
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "prompt_tokens_details": {"cached_tokens": 8},
                    "completion_tokens_details": {"reasoning_tokens": 3},
                },
            ),
        ),
        Usage(input=10, output=4, cached=8, reasoning=3),
    ),
    "qwen's explicit cache": (
        (
            chunk({"content": "hi"}, "stop"),
            chunk(
                usage={
                    "prompt_tokens": 2000,
                    "completion_tokens": 9,
                    "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 1800},
                }
            ),
        ),
        Usage(input=2000, output=9, cache_write=1800),
    ),
    "groq's own place": (
        (TEXT, chunk({}, "stop", x_groq={"id": "r", "usage": {"prompt_tokens": 7, "completion_tokens": 2}})),
        Usage(input=7, output=2),
    ),
    "xai counts its reasoning beside the reply": (
        (
            TEXT,
            chunk(
                {},
                "stop",
                usage={
                    "prompt_tokens": 12,
                    "completion_tokens": 1,
                    "total_tokens": 303,
                    "completion_tokens_details": {"reasoning_tokens": 290},
                },
            ),
        ),
        Usage(input=12, output=291, reasoning=290),
    ),
    "llama.cpp's timings beside a usage without them": (
        (
            TEXT,
            chunk({}, "stop"),
            chunk(
                usage={"prompt_tokens": 50, "completion_tokens": 3},
                timings={"cache_n": 42, "prompt_n": 8, "predicted_n": 3},
            ),
        ),
        Usage(input=50, output=3, cached=42),
    ),
    "llama.cpp's timings alone": (
        (TEXT, chunk({}, "stop", timings={"cache_n": 42, "prompt_n": 8, "predicted_n": 3})),
        Usage(input=50, output=3, cached=42),
    ),
    "ollama": (
        (TEXT, chunk({"content": ""}, "stop"), chunk(usage={"prompt_tokens": 26, "completion_tokens": 2})),
        Usage(input=26, output=2),
    ),
    "openrouter, which writes comments and costs": (
        (
            chunk({"role": "assistant", "content": "hi"}, None, provider="Anthropic"),
            chunk(
                {"content": ""},
                "stop",
                usage={
                    "prompt_tokens": 30,
                    "completion_tokens": 3,
                    "cost": 0.001,
                    "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 5},
                },
            ),
        ),
        Usage(input=30, output=3, cached=20, cache_write=5),
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_counts_of_each_vendor_are_found(name: str) -> None:
    chunks, usage = COUNTED[name]
    found = answered(*chunks)
    assert (found.parts[-1], found.usage, found.finish) == (Text(text="hi"), usage, "stop")


def test_ollama_sends_whole_calls_that_all_have_index_0() -> None:
    one, two = (
        {"id": f"call_{name}", "index": 0, "type": "function", "function": {"name": name, "arguments": '{"a":1}'}}
        for name in ("read", "list")
    )
    found = answered(
        chunk({"role": "assistant", "content": "", "reasoning": "hm"}),
        chunk({"content": "", "tool_calls": [one]}),
        chunk({"content": "", "tool_calls": [two]}),
        chunk({"content": ""}, "tool_calls"),
    )
    assert found.parts == (
        Reasoning(text="hm"),
        Call(id="call_read", name="read", arguments='{"a":1}'),
        Call(id="call_list", name="list", arguments='{"a":1}'),
    )


def test_mimo_and_qwen_repeat_an_empty_name_and_id_in_every_piece() -> None:
    def piece(arguments: str, name: str = "", id: str = "") -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return chunk(
            {"content": None, "tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]}
        )

    found = answered(piece("", "read", "c"), piece('{"path"'), piece(': "a"}'), chunk({"content": ""}, "tool_calls"))
    assert found.parts == (Call(id="c", name="read", arguments='{"path": "a"}'),)


def test_mistrals_thinking_among_the_content_is_reasoning() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    found = answered(
        chunk({"role": "assistant", "content": [thinking]}),
        chunk({"content": [{"type": "text", "text": "o"}]}),
        chunk({"content": "k"}, "stop"),
    )
    assert found.parts == (Reasoning(text="hm"), Text(text="ok"))


def test_a_refusal_and_the_old_shape_of_a_call_are_heard() -> None:
    assert answered(chunk({"content": None, "refusal": "No."}), chunk({}, "stop")).parts == (Text(text="No."),)
    found = answered(
        chunk({"function_call": {"name": "read", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}, "function_call"),
    )
    assert (found.finish, [part.name for part in found.parts if isinstance(part, Call)]) == ("calls", ["read"])


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("sensitive", "filter"),
        ("SAFETY", "filter"),
        ("model_length", "length"),
        ("MAX_TOKENS", "length"),
        ("eos", "stop"),
    ],
)
def test_reasons_in_other_words_are_understood(reason: str, finish: str) -> None:
    assert answered(chunk({"content": "x"}, reason)).finish == finish


@pytest.mark.parametrize("reason", ["network_error", "abort", "error", "insufficient_system_resource"])
def test_a_server_that_gave_up_has_not_finished(reason: str) -> None:
    with pytest.raises(ProviderError) as caught:
        answered(TEXT, chunk({}, reason))
    assert caught.value.kind == "server"


def test_values_of_any_shape_are_survived() -> None:
    odd: list[Any] = [None, 1, "x", [], {}, [[]], [{}], [None], {"text": []}, [{"type": "thinking", "thinking": 7}]]
    for value in odd:
        found = answered(
            chunk({"content": "hi", "reasoning_details": value, "function_call": value or None, "refusal": value}),
            chunk({"content": value}),
            chunk({}, "stop", x_groq=value, timings=value, usage=value),
        )
        assert found.finish in ("stop", "calls")


# ── account and list ─────────────────────────────────────────────────────────────────────────────────────


def served(url: str, quirks: Quirks) -> HttpProvider:
    return make(ProviderEntry(name="fake", base_url=url, quirks=quirks), KEY)


BALANCES: list[tuple[str, Any, str]] = [
    (
        "/user/balance",
        {
            "is_available": True,
            "balance_infos": [
                {"currency": "CNY", "total_balance": "110.00", "granted_balance": "10.00"},
                {"currency": "USD", "total_balance": "12.345"},
            ],
        },
        "110.00 CNY, 12.35 USD",
    ),
    ("/users/me/balance CNY", {"code": 0, "data": {"available_balance": 49.58894, "cash_balance": 3.0}}, "49.59 CNY"),
    ("/credits", {"data": {"total_credits": 100.5, "total_usage": 25.75}}, "74.75 USD"),
    ("/credits", {"data": {"total_credits": 100.5}}, ""),
    ("/credits", {"data": []}, ""),
    ("/credits", [], ""),
    ("/credits", "<html>", ""),
    ("/elsewhere", None, ""),
    ("", None, ""),
]


@pytest.mark.parametrize(("path", "answer", "told"), BALANCES)
def test_what_is_left_is_told_in_a_few_words_or_not_at_all(path: str, answer: Any, told: str) -> None:
    async def main(url: str) -> str:
        source = served(url, Quirks(balance=path))
        left = await source.balance()
        source.close()
        return left

    with ModelServer(answers={path.partition(" ")[0]: answer} if answer is not None else {}) as server:
        assert run(main(server.url)) == told
        assert [KEY in request.headers["authorization"] for request in server.requests] == ([True] if path else [])


def test_no_server_no_balance() -> None:
    assert run(served("http://127.0.0.1:9/v1", Quirks(balance="/credits")).balance()) == ""


def test_what_openrouter_tells_of_its_models_is_read() -> None:
    pricing = {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002", "image": "0"}
    listing = [
        {
            "id": "a/b",
            "context_length": 200000,
            "pricing": pricing,
            "architecture": {"input_modalities": ["text", "image"]},
        },
        {"id": "free", "pricing": {"prompt": "-1", "completion": "-1"}, "architecture": None},
        {"id": ""},
        7,
        "plain",
    ]

    async def main(url: str) -> tuple[ModelFacts, ...]:
        source = served(url, Quirks())
        found = await source.listed(within=5)
        source.close()
        return found

    with ModelServer(listing=listing) as server:
        found = run(main(server.url))
    assert found[0].price is not None
    assert (found[0].window, found[0].images, found[0].price.input, found[0].price.cached) == (200000, True, 2.0, 0.2)
    assert found[1:] == (ModelFacts(name="free"), ModelFacts(name="plain"))


def test_a_provider_speaks_as_its_model_wants() -> None:
    async def main(url: str) -> Reply:
        entry = replace(next(each for each in vendors() if each.name == "kimi"), base_url=url)
        source = make(entry, KEY, "kimi-k2.6")
        assert json.loads(source.wire.message(assistant(CALL)))["reasoning_content"] == ""
        found = await reply(source, request())
        source.close()
        return found

    with ModelServer([Turn(text="hello", reasoning="hm")]) as server:
        assert run(main(server.url)).parts == (Reasoning(text="hm"), Text(text="hello"))
