"""Which endpoint, model and key are found, in which order, and what is asked of whom."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import ModelServer
from tests.providers.provider_kit import run
from tests.providers.proxy_kit import FakeProxy

from overt.core.errors import ConfigError, ProviderError
from overt.core.settings import ProviderEntry
from overt.lib.package_data import read_text
from overt.providers.catalog import local_servers, vendors
from overt.providers.credentials import VENDOR_KEYS, find_key
from overt.providers.model_choice import (
    ALIKE,
    ONLY_HERE,
    ChosenModel,
    Surroundings,
    ask_server,
    discover,
    is_local,
    offline_reason,
)
from overt.providers.registry import make
from overt.providers.transport.address import host_of

MINE = ProviderEntry(name="mine", base_url="http://mine.test/v1", models=("small", "big"), default="big")
OTHER = ProviderEntry(name="other", base_url="http://127.0.0.1:9/v1", api_key_env="OTHER_KEY", model="huge")
BASE = {"OVERT_BASE_URL": "http://env.test/v1"}


def find(
    environ: Mapping[str, str], entries: Sequence[ProviderEntry] = (), reference: str = "", **more: Any
) -> ChosenModel:
    around = Surroundings(environ=environ, entries=entries, **{"servers": (), **more})
    return run(discover(around, reference))


def server_at(port: int, name: str = "here") -> ProviderEntry:
    return ProviderEntry(name=name, base_url=f"http://127.0.0.1:{port}/v1")


Case = tuple[dict[str, str], tuple[ProviderEntry, ...], str, tuple[str, str, str | None]]
CASES: dict[str, Case] = {
    "a provider by name": ({}, (MINE, OTHER), "other", ("other", "huge", None)),
    "its default model": ({}, (MINE,), "mine", ("mine", "big", None)),
    "provider and model": ({}, (MINE,), "mine/anything", ("mine", "anything", None)),
    "a model that an entry lists": ({}, (OTHER, MINE), "small", ("mine", "small", None)),
    "the key the entry names": ({"OTHER_KEY": "k"}, (OTHER,), "other", ("other", "huge", "k")),
    "the first entry without a reference": ({"OPENAI_API_KEY": "k"}, (MINE, OTHER), "", ("mine", "big", None)),
    "an unlisted model of an entry that lists none": ({}, (MINE, OTHER), "new-model", ("other", "new-model", None)),
    "the environment before the entries": ({**BASE, "OVERT_MODEL": "m"}, (MINE,), "", ("environment", "m", None)),
    "a reference to an entry before the environment": (BASE, (MINE,), "small", ("mine", "small", None)),
    "any other reference is a model of the environment": (BASE, (MINE,), "a/b", ("environment", "a/b", None)),
    "OVERT_MODEL alone is a reference": ({"OVERT_MODEL": "mine/x"}, (MINE,), "", ("mine", "x", None)),
    "the general key": ({**BASE, "OVERT_MODEL": "m", "OVERT_API_KEY": "k"}, (), "", ("environment", "m", "k")),
    "the other general key": ({**BASE, "OVERT_MODEL": "m", "AGENT_API_KEY": "k"}, (), "", ("environment", "m", "k")),
    "a vendor's key makes the vendor": ({"DEEPSEEK_API_KEY": "k"}, (), "", ("deepseek", "deepseek-flash", "k")),
    "vendors have an order": ({"DEEPSEEK_API_KEY": "k", "OPENAI_API_KEY": "o"}, (), "", ("openai", "gpt-5.6", "o")),
    "a vendor by name": ({"ANTHROPIC_API_KEY": "k"}, (), "anthropic", ("anthropic", "claude-sonnet-5", "k")),
    "a vendor's model by name": (
        {"DEEPSEEK_API_KEY": "k"},
        (),
        "deepseek-v4-pro",
        ("deepseek", "deepseek-v4-pro", "k"),
    ),
    "a vendor's model not in the list": ({"OPENAI_API_KEY": "k"}, (), "openai/gpt-99", ("openai", "gpt-99", "k")),
    "a model nobody lists goes to the vendor with a key": (
        {"OPENAI_API_KEY": "k"},
        (),
        "gpt-99",
        ("openai", "gpt-99", "k"),
    ),
    "a region by name": ({"DASHSCOPE_API_KEY": "k"}, (), "dashscope-intl", ("dashscope-intl", "qwen3-coder-plus", "k")),
}


@pytest.mark.parametrize("name", CASES)
def test_the_endpoint_is_found(name: str) -> None:
    environ, entries, reference, expected = CASES[name]
    found = find(environ, entries, reference)
    assert (found.entry.name, found.model, found.key) == expected


def test_a_base_url_without_a_model_takes_the_first_the_server_has() -> None:
    with ModelServer(models=("first", "second")) as server:
        found = find({"OVERT_BASE_URL": server.url})
        assert (found.model, [request.path for request in server.requests]) == ("first", ["/v1/models"])


def test_a_base_url_with_a_model_asks_nobody_and_loads_no_catalog() -> None:
    program = """
import asyncio, sys
from overt.providers.model_choice import Surroundings, discover
environ = {"OVERT_BASE_URL": "http://127.0.0.1:9/v1", "OVERT_MODEL": "m"}
found = asyncio.run(discover(Surroundings(environ=environ, keyring=lambda name: 1 / 0, embedded=lambda: 1 / 0)))
assert found.model == "m"
heavy = {"tomllib", "difflib", "http.client", "urllib.parse", "email", "json", "dataclasses", "overt.providers.catalog"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_server_of_ones_own_does_not_take_what_is_another_ones() -> None:
    with ModelServer([], models=("its-own", "openai/gpt-oss")) as server:
        lab = ProviderEntry(name="lab", base_url=server.url)

        def chosen(reference: str) -> tuple[str, str]:
            found = find({"OPENAI_API_KEY": "k"}, (lab,), reference)
            return found.entry.name, found.model

        assert chosen("its-own") == ("lab", "its-own")
        assert chosen("openai/gpt-oss") == ("lab", "openai/gpt-oss")
        assert chosen("openai/gpt-99") == ("openai", "gpt-99")
        assert chosen("lab/whatever") == ("lab", "whatever")
        with pytest.raises(ConfigError, match="its-own"):
            chosen("its-owm")
        with pytest.raises(ConfigError, match="anthropic, which wants a key: set ANTHROPIC_API_KEY"):
            chosen("anthropic/claude-sonnet-5")


def test_a_server_on_this_machine_is_found_only_when_nothing_is_configured() -> None:
    with ModelServer(models=("local-model",)) as server:
        places = (server_at(9, "nobody"), server_at(server.port))
        found = find({}, servers=places)
        assert (found.entry.name, found.entry.base_url, found.model) == ("here", server.url, "local-model")
        assert "nobody at http://127.0.0.1:9/v1: no answer" in found.tried
        asked = len(server.requests)
        find({}, (MINE,), servers=places)
        find({"OPENAI_API_KEY": "k"}, servers=places)
        find(BASE | {"OVERT_MODEL": "m"}, servers=places)
        assert (asked, len(server.requests)) == (1, 1)


def test_a_reference_may_name_a_model_of_a_server_on_this_machine() -> None:
    with ModelServer(models=("a", "wanted")) as server:
        found = find({}, (), "wanted", servers=(server_at(server.port),))
    assert (found.entry.name, found.model, found.key) == ("here", "wanted", None)


def test_nothing_found_lists_what_was_looked_for_and_every_remedy() -> None:
    with pytest.raises(ConfigError) as caught:
        find({}, servers=(server_at(9, "ollama"),))
    expected = (
        "OVERT_BASE_URL",
        "OPENAI_API_KEY",
        "DASHSCOPE_API_KEY",
        "ollama at http://127.0.0.1:9/v1: no answer",
        "1. ",
        "2. ",
        "3. ",
        "embedded model: not fetched",
        "5. `overt models fetch`",
    )
    assert [words for words in expected if words not in caught.value.message] == []


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("deepsek-v4-pro", "deepseek-v4-pro"),
        ("claude-sonet-4-5", "claude-sonnet-4-5"),
        ("opnai", "openai"),
        ("smal", "small"),
        ("opnai/gpt-5.5", "openai/gpt-5.5"),
        ("mine2/small", "mine/small"),
    ],
)
def test_a_near_miss_is_answered_with_what_exists(reference: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find({}, (MINE,), reference)
    assert f"Did you mean {hint}" in caught.value.message


def test_a_vendor_without_its_key_names_the_variable() -> None:
    with pytest.raises(ConfigError, match="set DEEPSEEK_API_KEY"):
        find({}, (), "deepseek-v4-pro")


def test_a_base_url_that_cannot_work_names_the_variable() -> None:
    with pytest.raises(ConfigError, match=r"^OVERT_BASE_URL: "):
        find({"OVERT_BASE_URL": "localhost:8000", "OVERT_MODEL": "m"})


def test_a_base_url_without_a_model_and_without_a_server_says_both() -> None:
    with pytest.raises(ProviderError, match="No model was named either"):
        find({"OVERT_BASE_URL": "http://127.0.0.1:9/v1"})


OPENAI = ProviderEntry(name="o", base_url="https://api.openai.com/v1")
KEYS: list[tuple[ProviderEntry, dict[str, str], dict[str, str], str | None]] = [
    (OPENAI, {"OPENAI_API_KEY": "o"}, {}, "o"),
    (OPENAI, {"DASHSCOPE_API_KEY": "d", "DEEPSEEK_API_KEY": "x"}, {}, None),
    (OPENAI, {"OVERT_API_KEY": "v", "OPENAI_API_KEY": "o"}, {}, "v"),
    (MINE, {"OPENAI_API_KEY": "o", "DASHSCOPE_API_KEY": "d", "ANTHROPIC_API_KEY": "a"}, {}, None),
    (MINE, {"AGENT_API_KEY": " a "}, {}, "a"),
    (OTHER, {"OTHER_KEY": "k", "OVERT_API_KEY": "v"}, {"OTHER_KEY": "file"}, "k"),
    (OTHER, {"OVERT_API_KEY": "v"}, {"OTHER_KEY": "file"}, "file"),
    (MINE, {}, {"OVERT_API_KEY": "file", "OTHER_KEY": "file"}, None),
    (ProviderEntry(name="d", base_url="https://dashscope-us.aliyuncs.com/x"), {"DASHSCOPE_API_KEY": "d"}, {}, "d"),
    (ProviderEntry(name="d", base_url="https://evil.aliyuncs.com/x"), {"DASHSCOPE_API_KEY": "d"}, {}, None),
    (ProviderEntry(name="d", base_url="https://api.openai.com.evil.test/v1"), {"OPENAI_API_KEY": "o"}, {}, None),
    (ProviderEntry(name="d", base_url="https://api.openai.com@evil.test/v1"), {"OPENAI_API_KEY": "o"}, {}, None),
    (OPENAI, {"OPENAI_API_KEY": "  "}, {}, None),
]


@pytest.mark.parametrize(("entry", "environ", "dotenv", "key"), KEYS)
def test_no_key_leaves_for_another_host(
    entry: ProviderEntry, environ: dict[str, str], dotenv: dict[str, str], key: str | None
) -> None:
    assert find_key(entry, environ, dotenv) == key


def test_every_vendor_can_be_made_and_names_its_key_and_a_model_it_has() -> None:
    for entry in vendors():
        assert make(entry, "k").name == entry.name
        if not is_local(entry):
            assert entry.api_key_env and entry.default in entry.models and entry.base_url.startswith("https://")
            assert all(facts.window or facts.name.startswith(("qwen", "qwen/")) for facts in entry.known)
            assert not any(
                facts.price and (facts.price.input is None or facts.price.input == 0) for facts in entry.known
            )
    names = [entry.name for entry in vendors()]
    assert len(set(names)) == len(names)
    assert {"openai", "anthropic", "deepseek", "dashscope", "dashscope-intl", "dashscope-us", "mimo"} < set(names)
    assert {"glm", "glm-cn", "kimi", "kimi-cn", "openrouter", "mistral", "groq", "xai", "gemini"} < set(names)
    assert [entry.name for entry in local_servers()] == ["vllm", "llama-cpp", "ollama", "lm-studio"]


def test_the_light_tables_say_what_the_catalogue_says() -> None:
    remote = [entry for entry in vendors() if not is_local(entry)]
    assert {host_of(entry.base_url): entry.api_key_env for entry in remote} == {
        host: names[0] for host, names in VENDOR_KEYS.items()
    }
    assert list(dict.fromkeys(host_of(entry.base_url) for entry in remote)) == list(VENDOR_KEYS)
    assert {entry.name for entry in local_servers()} == ALIKE


def answered(entry: ProviderEntry, **more: Any) -> tuple[tuple[str, ...], list[str]]:
    """The models an entry has after it was asked through a proxy, and what the proxy saw."""
    with ModelServer(models=("new",)) as server, FakeProxy(server.port) as proxy:
        entry = replace(entry, proxy=f"http://127.0.0.1:{proxy.port}")
        found, _ = run(ask_server(entry, Surroundings(environ={}, **more)))
        return found.models, proxy.asked


def test_offline_a_server_elsewhere_is_not_even_asked_for_its_models() -> None:
    far = ProviderEntry(name="far", base_url="http://far.test/v1", models=("old",))
    assert answered(far) == (("new",), ["GET http://far.test/v1/models"])
    assert answered(far, offline="OVERT_OFFLINE") == (("old",), [])
    with ModelServer(models=("new",)) as server:
        near, _ = run(ask_server(server_at(server.port), Surroundings(environ={}, offline="OVERT_OFFLINE")))
    assert near.models == ("new",)


HERE = ProviderEntry(name="here", base_url="http://127.0.0.1:9/v1")
WAYS: list[tuple[dict[str, Any], ProviderEntry | None, bool]] = [
    ({"environ": {"OVERT_BASE_URL": HERE.base_url}}, None, True),
    ({"environ": {"OVERT_BASE_URL": HERE.base_url}, "online": True}, None, False),
    ({"environ": {}, "entries": (HERE,)}, None, True),
    ({"environ": {}, "entries": (HERE, MINE)}, None, False),
    ({"environ": {}, "entries": (HERE,)}, MINE, False),
    ({"environ": {}}, None, False),
    ({"environ": {}}, HERE, True),
    ({"environ": {}, "entries": (HERE,), "also": ("deepseek",)}, None, False),
]


@pytest.mark.parametrize(("around", "chosen", "stays"), WAYS)
def test_whether_anything_leaves_is_known_with_and_without_a_model(
    around: dict[str, Any], chosen: ProviderEntry | None, stays: bool
) -> None:
    assert offline_reason(Surroundings(**around), chosen) == (ONLY_HERE if stays else "")
    assert offline_reason(Surroundings(**around, offline="a file"), chosen) == "a file"


CLEAR = ProviderEntry(name="o", base_url="http://api.openai.com:8080/v1", api_key_env="OPENAI_API_KEY")


def test_a_vendors_key_does_not_travel_in_the_clear() -> None:
    held = {"OPENAI_API_KEY": "o"}
    for entry in (CLEAR, replace(CLEAR, api_key_env="")):
        assert find_key(entry, held, held, held.get) is None
        assert find_key(entry, {**held, "OVERT_API_KEY": "v"}, held) == "v"
    assert find_key(replace(CLEAR, base_url="https://api.openai.com:8443/v1"), held, {}) == "o"
    assert find_key(replace(CLEAR, base_url="http://127.0.0.1:8080/v1"), held, {}) == "o"
    assert find_key(replace(CLEAR, base_url="http://gateway.test/v1"), held, {}) == "o"  # a person wrote it so
    found = find({"OVERT_BASE_URL": CLEAR.base_url, "OVERT_MODEL": "m", **held})
    assert (found.key, found.entry.api_key_env) == (None, "OVERT_API_KEY")
    found = find(held, (replace(CLEAR, name="openai", api_key_env="", model="m"),))
    assert found.key is None


def test_a_kind_this_version_lacks_is_answered_with_those_it_has() -> None:
    with pytest.raises(ConfigError, match="anthropic, local, openai, responses, scripted, not 'nonsense'"):
        make(ProviderEntry(name="x", kind="nonsense", base_url="http://h/v1"), None)


def test_data_files_are_read_through_the_loader() -> None:
    assert read_text("overt.providers", "models.toml").startswith("# Endpoints")
    with pytest.raises(FileNotFoundError):
        read_text("overt.providers", "absent.toml")


def test_what_stays_on_this_machine_is_known() -> None:
    places = ["http://localhost:1/v1", "http://127.0.0.9/v1", "http://[::1]:8000", "http://127.0.0.1.evil.test/v1"]
    local = [is_local(ProviderEntry(name="x", base_url=place)) for place in (*places, "https://10.0.0.1/v1")]
    assert local == [True, True, True, False, False]
    assert is_local(ProviderEntry(name="x", kind="scripted", base_url="some/script.json"))
