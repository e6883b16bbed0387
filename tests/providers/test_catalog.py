"""What a configured provider takes over from the vendor it is, what never leaves this machine, and what is embedded."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import ModelServer
from tests.providers.provider_kit import run

from overt.core.errors import ConfigError
from overt.core.settings import ModelFacts, Price, ProviderEntry, Quirks
from overt.providers.catalog import read_vendors, vendors, with_vendor_defaults
from overt.providers.model_choice import ONLY_HERE, ChosenModel, Surroundings, discover

WEIGHTS = ProviderEntry(
    name="local",
    kind="local",
    base_url="file:///somewhere",
    models=("small-one", "smaller-one"),
    known=(ModelFacts(name="small-one", window=8192, compact=True, calls="schema"),),
)
LOOPBACK = ProviderEntry(name="lab", base_url="http://127.0.0.1:9/v1", models=("m",))
ABROAD = ProviderEntry(name="abroad", base_url="https://models.test/v1", models=("n",))


def shipped(name: str) -> ProviderEntry:
    return next(entry for entry in vendors() if entry.name == name)


def find(reference: str = "", **around: Any) -> ChosenModel:
    return run(discover(Surroundings(**{"environ": {}, "servers": (), **around}), reference))


# ── the catalogue ────────────────────────────────────────────────────────────────────────────────────────


def test_like_takes_over_another_entry_and_leaves_its_prices_behind() -> None:
    known = [{"name": "a", "price": {"input": 1.0, "output": 2.0}, "reasons": False}, {"name": "b"}]
    first = {
        "name": "one",
        "base_url": "https://one.test",
        "every": {"calls": "native", "reasons": True},
        "known": known,
    }
    entries = read_vendors([{"name": "two", "like": "one", "priced": False, "base_url": "https://two.test"}, first])
    a, b = ModelFacts(name="a", calls="native", reasons=False), ModelFacts(name="b", calls="native", reasons=True)
    price = Price(input=1.0, output=2.0)
    assert entries == (
        ProviderEntry(name="two", base_url="https://two.test", models=("a", "b"), known=(a, b)),
        ProviderEntry(name="one", base_url="https://one.test", models=("a", "b"), known=(replace(a, price=price), b)),
    )


def test_a_provider_named_like_a_vendor_takes_over_all_that_was_not_stated() -> None:
    entry = with_vendor_defaults(ProviderEntry(name="deepseek", max_tokens=9), {"name", "max_tokens"})
    assert entry == replace(shipped("deepseek"), max_tokens=9)


def test_what_a_person_stated_stands_even_where_it_is_the_usual() -> None:
    own = ProviderEntry(name="deepseek", models=("mine",), quirks=Quirks(thinking="", limit="max_completion_tokens"))
    entry = with_vendor_defaults(own, {"models", "quirks.thinking", "quirks.limit"})
    assert (entry.models, entry.default) == (("mine",), "")
    assert entry.quirks == replace(shipped("deepseek").quirks, thinking="", limit="max_completion_tokens")


def test_a_vendor_is_known_by_its_host_whatever_it_is_called() -> None:
    mine = ProviderEntry(name="work", base_url="https://api.moonshot.cn/v1", api_key_env="WORK_KEY")
    entry = with_vendor_defaults(mine, {"name", "base_url", "api_key_env"})
    assert (entry.name, entry.api_key_env, entry.quirks) == ("work", "WORK_KEY", shipped("kimi-cn").quirks)
    assert entry.facts("kimi-k2.6").window == 262144


def test_a_known_name_at_a_foreign_host_is_not_that_vendor_and_gets_no_key() -> None:
    mine = ProviderEntry(name="deepseek", base_url="https://proxy.test/v1", models=("m",))
    assert with_vendor_defaults(mine, {"name", "base_url", "models"}) == mine
    found = find("deepseek", environ={"DEEPSEEK_API_KEY": "k"}, entries=(mine,))
    assert (found.entry.base_url, found.key) == ("https://proxy.test/v1", None)


def test_the_wire_that_was_stated_decides_which_quirks_hold() -> None:
    chat = ProviderEntry(name="o", base_url="https://api.openai.com/v1")
    assert with_vendor_defaults(chat, {"base_url", "kind"}).quirks == shipped("openai-chat").quirks
    assert with_vendor_defaults(chat, {"base_url"}) == replace(shipped("openai"), name="o")
    messages = ProviderEntry(name="deepseek", kind="anthropic", base_url="https://api.deepseek.com/anthropic")
    entry = with_vendor_defaults(messages, {"base_url", "kind"})
    assert (entry.kind, entry.quirks, entry.facts("deepseek-flash").images) == ("anthropic", Quirks(), True)


def test_a_program_people_run_themselves_is_known_by_its_name_wherever_it_runs() -> None:
    entry = with_vendor_defaults(ProviderEntry(name="vllm", base_url="http://lab:9000/v1"), {"base_url"})
    assert (entry.base_url, entry.quirks.thinking) == ("http://lab:9000/v1", "chat_template_kwargs")


def test_the_address_of_a_vendor_in_the_environment_brings_what_is_known_of_it() -> None:
    environ = {"OVERT_BASE_URL": "https://api.deepseek.com", "OVERT_MODEL": "deepseek-v4-pro", "DEEPSEEK_API_KEY": "k"}
    found = find(environ=environ)
    assert (found.entry.name, found.entry.kind, found.key) == ("environment", "openai", "k")
    assert found.about == shipped("deepseek").facts("deepseek-v4-pro")


def test_a_provider_without_an_address_that_is_no_vendor_says_so() -> None:
    with pytest.raises(ConfigError, match="provider mine: `base_url` is missing, and no vendor of this name"):
        find(entries=(ProviderEntry(name="mine"),))


def test_facts_of_the_model_come_with_it() -> None:
    entry = replace(LOOPBACK, known=(ModelFacts(name="m", window=4096, reasons=True),), calls="text")
    about = find(entries=(entry,), stated={"lab": ()}).about
    assert about == ModelFacts(name="m", window=4096, reasons=True, calls="text", quirks=Quirks())


def test_a_model_two_vendors_have_goes_to_the_one_whose_key_is_here() -> None:
    model = shipped("dashscope-us").default
    assert find("kimi-k2.6", environ={"MOONSHOT_API_KEY": "k"}).entry.name == "kimi"
    assert find(model, environ={"DASHSCOPE_API_KEY": "k"}).entry.name == "dashscope-us"
    through = find("anthropic/claude-sonnet-5", environ={"OPENROUTER_API_KEY": "k"})
    assert (through.entry.name, through.model) == ("openrouter", "anthropic/claude-sonnet-5")
    assert find("anthropic/claude-sonnet-5", environ={"ANTHROPIC_API_KEY": "k"}).model == "claude-sonnet-5"


# ── on this machine ──────────────────────────────────────────────────────────────────────────────────────


def test_the_embedded_model_comes_last_and_only_when_its_weights_are_here() -> None:
    found = find(embedded=lambda: WEIGHTS)
    assert (found.entry, found.model, found.offline) == (WEIGHTS, "small-one", ONLY_HERE)
    assert find(environ={"OPENAI_API_KEY": "k"}, embedded=lambda: WEIGHTS).entry.name == "openai"
    with ModelServer(models=("x",)) as server:
        here = (ProviderEntry(name="here", base_url=server.url),)
        assert find(servers=here, embedded=lambda: WEIGHTS).entry.name == "here"
    with pytest.raises(ConfigError, match="overt models fetch"):
        find(embedded=lambda: None)


@pytest.mark.parametrize(
    ("reference", "model"),
    [("local", "small-one"), ("local/smaller-one", "smaller-one"), ("smaller-one", "smaller-one")],
)
def test_the_embedded_model_is_found_by_name_also_where_keys_lie_about(reference: str, model: str) -> None:
    found = find(reference, environ={"OPENAI_API_KEY": "k"}, embedded=lambda: WEIGHTS)
    assert (found.entry.name, found.model, found.key) == ("local", model, None)


def test_a_configured_provider_may_be_the_embedded_model() -> None:
    mine = ProviderEntry(name="tiny", kind="local", models=("small-one",), max_tokens=100)
    found = find(entries=(mine,), embedded=lambda: WEIGHTS)
    assert (found.entry.base_url, found.model, found.about.compact) == ("file:///somewhere", "small-one", True)
    with pytest.raises(ConfigError, match="overt models fetch"):
        find(entries=(mine,), embedded=lambda: None)


def test_a_server_tells_its_window_when_it_lists_its_models() -> None:
    with ModelServer(listing=[{"id": "q", "max_model_len": 32768}, {"id": "r", "meta": {"n_ctx": 4096}}]) as server:
        found = find(environ={"OVERT_BASE_URL": server.url})
        here = find("r", servers=(ProviderEntry(name="vllm", base_url=server.url),))
    assert (found.model, found.about.window) == ("q", 32768)
    assert (here.model, here.about.window) == ("r", 4096)


# ── offline ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("around", "offline"),
    [
        ({"entries": (LOOPBACK,)}, ONLY_HERE),
        ({"entries": (LOOPBACK, ABROAD)}, ""),
        ({"entries": (ABROAD,)}, ""),
        ({"entries": (LOOPBACK, ProviderEntry(name="deepseek"))}, ""),
        ({"entries": (LOOPBACK, ProviderEntry(name="ollama"))}, ONLY_HERE),
        ({"entries": (LOOPBACK,), "environ": {"OPENAI_API_KEY": "lies about"}}, ONLY_HERE),
        ({"entries": (LOOPBACK,), "online": True}, ""),
        ({"entries": (LOOPBACK,), "offline": "overt.toml:1"}, "overt.toml:1"),
        ({"entries": (LOOPBACK,), "also": ("m",)}, ONLY_HERE),
        ({"entries": (LOOPBACK,), "also": ("openai/gpt-5.5",)}, ""),
        ({"environ": {"OVERT_BASE_URL": "http://127.0.0.1:9", "OVERT_MODEL": "m"}}, ONLY_HERE),
        ({"environ": {"OVERT_BASE_URL": "http://127.0.0.1:9", "OVERT_MODEL": "m"}, "entries": (ABROAD,)}, ""),
        ({"environ": {"OVERT_BASE_URL": "http://10.0.0.1", "OVERT_MODEL": "m"}}, ""),
    ],
)
def test_what_is_all_on_this_machine_is_offline_by_itself(around: dict[str, Any], offline: str) -> None:
    assert find(**around).offline == offline


def test_offline_no_vendor_is_chosen_whoever_names_it() -> None:
    keys = {"DEEPSEEK_API_KEY": "k"}
    for reference, entries in (("deepseek", ()), ("", ()), ("", (ABROAD,)), ("new-model", ())):
        with pytest.raises(ConfigError, match=r"^OVERT_OFFLINE: `offline` is set"):
            find(reference, environ=keys, entries=entries, offline="OVERT_OFFLINE")


def test_a_slip_in_the_name_of_a_model_on_this_machine_does_not_go_to_a_vendor_whose_key_lies_about() -> None:
    with pytest.raises(ConfigError, match="Did you mean qwen-coder"):
        find("qwen-codr", environ={"OPENAI_API_KEY": "k"}, entries=(replace(LOOPBACK, models=("qwen-coder",)),))


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_keyring_is_asked_last_and_only_for_names_that_belong_to_the_endpoint() -> None:
    asked: list[str] = []

    def keyring(name: str) -> str | None:
        asked.append(name)
        return {"MOONSHOT_API_KEY": "kept"}.get(name)

    assert find("kimi", environ={"MOONSHOT_API_KEY": "e"}, keyring=keyring).key == "e"
    assert find("kimi", dotenv={"MOONSHOT_API_KEY": "d"}, keyring=keyring).key == "d"
    assert asked == []
    assert find("kimi", keyring=keyring).key == "kept"
    assert asked == ["MOONSHOT_API_KEY"] * 2
    asked.clear()
    assert (found := find(keyring=keyring)).entry.name == "kimi" and found.key == "kept"
    asked.clear()
    assert find(entries=(LOOPBACK,), keyring=keyring).key is None
    assert find(environ={"OVERT_BASE_URL": "http://127.0.0.1:9", "OVERT_MODEL": "m"}, keyring=keyring).key is None
    assert asked == []
    assert find(entries=(replace(LOOPBACK, api_key_env="MOONSHOT_API_KEY"),), keyring=keyring).key == "kept"


def test_a_vendor_has_more_than_one_name_for_its_key() -> None:
    assert find(environ={"GOOGLE_API_KEY": "g"}).entry.name == "gemini"
    assert find(environ={"ZHIPUAI_API_KEY": "z"}).key == "z"
