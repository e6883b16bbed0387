"""Errors in words a person can act on, with the key in none of them."""

import errno
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.providers.provider_kit import KEY, ask, failure, request, run

from overt.core.errors import ProviderError
from overt.core.settings import ProviderEntry
from overt.providers.http_provider import HttpProvider
from overt.providers.transport.address import parse_address
from overt.providers.transport.errors import RequestPlace, from_event, from_status, redact_error, unreachable
from overt.providers.wires.openai import OpenAIChat

CASES: dict[str, tuple[int, Any, str, tuple[str, ...]]] = {
    "a wrong key": (401, {"error": {"message": f"bad key {KEY}"}}, "key", ("rejected the API key", "FAKE_API_KEY")),
    "a forbidden model": (
        403,
        {"error": {"message": "not in your region"}},
        "key",
        ("not in your region", "FAKE_API_KEY"),
    ),
    "no balance": (
        402,
        {"error": {"message": "Insufficient Balance"}},
        "balance",
        ("no balance", "Insufficient Balance"),
    ),
    "no quota": (429, {"error": {"code": "insufficient_quota", "message": "quota"}}, "balance", ("no balance",)),
    "no credit in the words of a vendor": (
        400,
        {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}},
        "balance",
        ("credit balance",),
    ),
    "too long": (
        400,
        {"error": {"code": "context_length_exceeded", "message": "maximum context length is 8192 tokens"}},
        "overflow",
        ("too long for fake-model", "8192", "new session"),
    ),
    "too long for llama.cpp": (400, {"error": {"type": "exceed_context_size_error", "message": "x"}}, "overflow", ()),
    "too long for vLLM": (
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400},
        "overflow",
        ("4096",),
    ),
    "a parameter by name": (
        400,
        {"error": {"message": "must be below 2", "param": "temperature"}},
        "parameter",
        ("`temperature`", "must be below 2"),
    ),
    "a parameter in the form of FastAPI": (
        422,
        {"detail": [{"loc": ["body", "tools", 0, "type"], "msg": "field required"}]},
        "parameter",
        ("`tools.0.type`", "field required"),
    ),
    "a list around the error": (400, [{"error": {"message": "odd shape"}}], "parameter", ("odd shape",)),
    "a plain string": (400, "just words", "parameter", ("just words",)),
    "nothing at all": (400, "", "parameter", ("rejected the request (400)",)),
    "the wrong path": (404, {"detail": "Not Found"}, "not_api", ("not an API endpoint", "Check base_url")),
    "a redirect": (307, "", "redirect", ("redirects", "base_url")),
}


LINES = (Path(__file__).parent.parent / "data" / "refusals.jsonl").read_text().splitlines()
VENDORS: dict[str, tuple[int, Any, str]] = {
    each["name"]: (each["status"], each["body"], each["kind"]) for each in map(json.loads, LINES)
}
"""What servers say when they refuse, and the kind of refusal that it is."""


@pytest.mark.parametrize("name", VENDORS)
def test_each_vendor_is_understood_in_its_own_words(name: str) -> None:
    status, body, kind = VENDORS[name]
    place = RequestPlace(provider="v", url="http://h/v1", model="m-1", key_env="V_KEY", has_key=True)
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    error = from_status(status, {}, raw, place=place)
    assert (error.kind, error.status) == (kind, status)
    assert error.retryable is (kind in ("rate", "server"))
    assert error.message.isprintable() and "  " not in error.message


def test_a_wrong_key_is_one_clear_line() -> None:
    for name in ("OpenAI: key", "Anthropic: key", "Gemini: key", "GLM: key", "xAI: key"):
        status, body, _ = VENDORS[name]
        place = RequestPlace(provider="v", url="http://h/v1", model="m-1", key_env="V_KEY", has_key=True)
        error = from_status(status, {}, json.dumps(body).encode(), place=place)
        assert error.message == "v rejected the API key. Check V_KEY."


def test_a_parameter_is_named_where_the_vendor_names_it_in_its_words_only() -> None:
    status, body, _ = VENDORS["Anthropic: parameter"]
    place = RequestPlace(provider="v", url="http://h/v1", model="m-1")
    error = from_status(status, {}, json.dumps(body).encode(), place=place)
    assert "rejected the parameter `max_tokens` (400)" in error.message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "rate"),
        ({"type": "rate_limit_error", "message": "slow"}, "rate"),
        ({"code": 429, "message": "slow"}, "rate"),
        ({"type": "authentication_error", "message": "no"}, "key"),
        ({"message": "prompt is too long"}, "overflow"),
        ({"code": "1113", "message": "x"}, "balance"),
        ({"type": "api_error", "message": "Internal server error"}, "server"),
        ("model does not support tools", "tools"),
    ],
)
def test_an_error_in_the_stream_has_the_same_kinds(error: Any, kind: str) -> None:
    assert from_event(error).kind == kind


REASONS: list[tuple[OSError | UnicodeError, str, tuple[str, ...], bool]] = [
    (socket.gaierror(-2, "Name or service not known"), "v", ("host name is unknown", "slip"), True),
    (socket.gaierror(-3, "Temporary failure in name resolution"), "v", ("no name server answered", "network"), True),
    (OSError(errno.ENETUNREACH, "Network is unreachable"), "v", ("no network that leads to it",), True),
    (OSError(errno.EHOSTUNREACH, "No route to host"), "v", ("no route to host",), True),
    (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "v", ("connection refused",), True),
]


@pytest.mark.parametrize(("reason", "host", "words", "passing"), REASONS)
def test_why_a_server_cannot_be_reached_is_said(
    reason: OSError, host: str, words: tuple[str, ...], passing: bool
) -> None:
    error = unreachable(parse_address(f"https://{host}/v1"), reason)
    assert (error.kind, error.retryable) == ("down", passing)
    assert [word for word in words if word not in error.message] == []


@pytest.mark.parametrize("name", CASES)
def test_each_refusal_says_what_to_do(name: str) -> None:
    status, body, kind, words = CASES[name]
    text = body if isinstance(body, str) else json.dumps(body)
    with ModelServer([Turn(fault=Fault(status=status, body=text))]) as server:
        _, error = failure(server.url)
        assert len(server.posts) == 1
    assert (error.kind, error.status) == (kind, status)
    assert [word for word in words if word not in error.message] == []
    assert "Traceback" not in error.message and "\n" not in error.message


@pytest.mark.parametrize(
    "body",
    [
        (404, {"error": {"code": "model_not_found", "message": "The model `gpt-x` does not exist"}}),
        (404, {"error": {"message": "model 'gpt-x' not found, try pulling it first"}}),
        (400, {"error": {"message": "Model Not Exist"}}),
    ],
)
def test_a_missing_model_is_answered_with_those_that_exist(body: tuple[int, Any]) -> None:
    turn = Turn(fault=Fault(status=body[0], body=json.dumps(body[1])))
    with ModelServer([turn], models=("qwen3-coder", "llama-4")) as server:
        _, error = failure(server.url, request(model="qwen-coder"))
        assert len(server.posts) == 1
    assert error.kind == "model"
    assert "'qwen-coder'" in error.message and "qwen3-coder, llama-4" in error.message
    assert "Did you mean qwen3-coder?" in error.message


def test_a_missing_key_is_asked_for_by_name() -> None:
    async def main(url: str) -> ProviderError | None:
        entry = ProviderEntry(name="vendor", base_url=url, api_key_env="VENDOR_API_KEY")
        return (await ask(HttpProvider(entry, OpenAIChat(), key=None)))[1]

    with ModelServer([Turn(fault=Fault(status=401))]) as server:
        error = run(main(server.url))
    assert error is not None
    assert error.message == "vendor wants an API key, and none was found. Set VENDOR_API_KEY."


@pytest.mark.parametrize("status", [400, 403, 404, 422, 429, 500])
def test_a_key_that_the_server_echoes_is_not_shown(status: int) -> None:
    text = json.dumps({"error": {"message": f"key {KEY} and {KEY[:12]}*** are wrong", "param": KEY}})
    with ModelServer([Turn(fault=Fault(status=status, body=text))], after="repeat") as server:
        deltas, error = failure(server.url, attempts=2)
    shown = error.message + repr(deltas) + repr(error)
    assert (KEY in shown, KEY[:12] in shown) == (False, False)


def test_a_secret_of_the_entrys_headers_that_the_server_echoes_is_not_shown() -> None:
    own = {
        "Authorization": "Bearer gate-way-5f0c2e7a91",
        "X-Gateway-Token": "tok-88231-abcdefghijkl",
        "Cookie": "theme=dark; session=c00kie-4711-zz",
        "CF-Access-Client-Secret": "short7",
        "X-Feature": "context-1m-2025",
    }
    echoed = " and ".join(own.values())
    again = "gate-way-5f0c2e7a91, tok-88231-abc***, c00kie-4711-zz"
    text = json.dumps({"error": {"message": f"{echoed}; {again}"}})
    with ModelServer([Turn(fault=Fault(status=400, body=text))], after="repeat") as server:
        _, error = failure(server.url, headers=own)
    for secret in ("gate-way-5", "tok-88231-", "c00kie", "short7"):
        assert secret not in error.message, error.message
    assert "context-1m-2025" in error.message


def test_a_key_that_the_server_echoes_into_the_stream_is_not_shown() -> None:
    event = json.dumps({"error": {"message": f"bad {KEY}"}})
    with ModelServer([Turn(events=(event,))]) as server:
        _, error = failure(server.url)
    assert (error.kind, KEY in error.message) == ("server", False)


def test_an_error_inside_the_stream_comes_after_what_was_said_and_is_not_repeated() -> None:
    said = json.dumps({"choices": [{"delta": {"content": "half"}}]})
    event = json.dumps({"error": {"message": "GPU\u001b[31m lost"}})
    with ModelServer([Turn(events=(said, event))], after="repeat") as server:
        deltas, error = failure(server.url)
        assert len(server.posts) == 1
    assert [getattr(delta, "text", "") for delta in deltas] == ["half"]
    assert error.message.endswith("GPU [31m lost")


def test_a_long_body_is_cut_and_control_characters_are_gone() -> None:
    with ModelServer([Turn(fault=Fault(status=400, body="\x1b[2J" + "word " * 5000))]) as server:
        _, error = failure(server.url)
    assert len(error.message) < 600 and error.message.isprintable()


def test_redaction_keeps_everything_else_about_the_error() -> None:
    before = ProviderError(f"a {KEY} b", kind="rate", retryable=True, status=429, retry_after=2.0)
    after = redact_error(before, KEY)
    assert (after.message, after.kind, after.retryable, after.status, after.retry_after) == (
        "a [key] b",
        "rate",
        True,
        429,
        2.0,
    )


def test_an_unknown_host_and_a_refused_connection_are_told_apart() -> None:
    address = parse_address("https://api.example.test/v1")
    name = unreachable(address, UnicodeError("label too long"))
    refused = unreachable(address, ConnectionRefusedError(111, "Connection refused"))
    assert "host name is unknown" in name.message and not name.retryable
    assert refused.message == (
        "No answer from https://api.example.test: connection refused. Check the address and the network."
    )


@pytest.mark.parametrize("error", [None, 5, [], {}, {"message": None}, {"message": {"deep": 1}}])
def test_an_error_without_words_is_still_an_error(error: Any) -> None:
    assert from_event(error).message == "The server broke off its reply with an error: no reason given"
