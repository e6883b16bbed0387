"""What the configuration may say of providers and their models, and that a folder nobody trusts says none of it."""

from pathlib import Path

import pytest
from tests.fakes.configuration import load

from overt.config.origin import explain
from overt.config.paths import Environment
from overt.config.schema import Config
from overt.core.errors import ConfigError
from overt.core.settings import ModelFacts, Price, ProviderEntry, Quirks


@pytest.fixture
def where(tmp_path: Path) -> Environment:
    for name in ("user", "project"):
        (tmp_path / name).mkdir()
    return Environment(
        home=str(tmp_path / "home"),
        config_dir=str(tmp_path / "user"),
        data_dir=str(tmp_path / "data"),
        cache_dir=str(tmp_path / "cache"),
        cwd=str(tmp_path / "project"),
        variables={},
    )


def loaded(where: Environment, text: str, *, name: str = "overt.toml", trusted: bool = True) -> Config:
    Path(where.cwd, name).write_text(text)
    return load(where, project=where.cwd, trusted=trusted)


FULL = """\
small_model = "lab/small"

[[providers]]
name = "lab"
base_url = "http://lab:8000/v1"
calls = "schema"
compact = true
effort = "high"
thinking = false
proxy = "http://me:secret@proxy.test:3128"
ca_file = "certs/ca.pem"
client_cert = "~/me.pem"
client_key = "/etc/me.key"

[providers.quirks]
limit = ""
system = "user"
reasoning = "reasoning"
effort = "reasoning"
thinking = "chat_template_kwargs"
usage = false
balance = "/balance EUR"
extra = { top_k = 20, stop = ["a"] }

[[providers.models]]
name = "small"
window = 32768
output = 4096
price = { input = 0, output = 0.5, cached = 0.1 }
images = false
reasons = true
efforts = ["low", "high"]
calls = "text"
quirks = { flatten = true }

[[providers.models]]
name = "bare"
"""


def test_every_key_of_a_provider_and_its_models_arrives(where: Environment) -> None:
    config = loaded(where, FULL)
    small = ModelFacts(
        name="small",
        window=32768,
        output=4096,
        price=Price(input=0.0, output=0.5, cached=0.1),
        images=False,
        reasons=True,
        efforts=("low", "high"),
        calls="text",
        quirks=Quirks(flatten=True),
    )
    assert config.warnings == ()
    assert config.small_model == "lab/small"
    assert config.providers == (
        ProviderEntry(
            name="lab",
            base_url="http://lab:8000/v1",
            models=("small", "bare"),
            known=(small,),
            calls="schema",
            compact=True,
            effort="high",
            thinking=False,
            proxy="http://me:secret@proxy.test:3128",
            ca_file=str(Path(where.cwd, "certs/ca.pem")),
            client_cert=str(Path(where.home, "me.pem")),
            client_key="/etc/me.key",
            quirks=Quirks(
                limit="",
                system="user",
                reasoning="reasoning",
                effort="reasoning",
                thinking="chat_template_kwargs",
                usage=False,
                balance="/balance EUR",
                extra={"top_k": 20, "stop": ["a"]},
            ),
        ),
    )
    assert config.origin("providers.lab.quirks.usage") == "overt.toml:21"


def test_what_a_proxy_and_a_request_carry_is_not_shown(where: Environment) -> None:
    rows = {row.key: row.value for row in explain(loaded(where, FULL))}
    assert rows["providers.lab.proxy"] == "[hidden]"
    assert rows["providers.lab.quirks.extra.top_k"] == "[hidden]"
    assert rows["providers.lab.known.small"] == (
        "window 32768, output 4096, images False, reasons True, efforts low/high, calls text, "
        "price input 0.0 output 0.5 cached 0.1, quirks"
    )
    assert "secret" not in repr(rows)


def test_models_in_the_protocol_of_other_agents_are_understood(where: Environment) -> None:
    text = """{"provider": {"lab": {"models": {
      "a": {"name": "Model A", "limit": {"context": 1000, "output": 100}, "reasoning": true, "attachment": false,
            "cost": {"input": 1, "output": 2, "cache_read": 0.5}},
      "b": {}, "c": {"name": "C"}
    }}}}"""
    config = loaded(where, text, name="overt.json")
    price = Price(input=1.0, output=2.0, cached=0.5)
    facts = ModelFacts(name="a", window=1000, output=100, reasons=True, images=False, price=price)
    assert config.providers == (ProviderEntry(name="lab", models=("a", "b", "c"), known=(facts,)),)
    assert config.warnings == ()


def test_the_embedded_model_may_be_a_provider(where: Environment) -> None:
    config = loaded(where, "[[providers]]\nname = 'tiny'\nkind = 'local'\nmodels = ['qwen2.5-coder-0.5b']\n")
    assert config.providers == (ProviderEntry(name="tiny", kind="local", models=("qwen2.5-coder-0.5b",)),)


HEAD = "[[providers]]\nname = 'x'\n"
WRONG = [
    ("calls = 'magic'", "3: `calls` must be one of 'native', 'schema', 'text', got 'magic'"),
    ("compact = 'yes'", "3: `compact` must be true or false, got 'yes'"),
    ("thinking = 'on'", "3: `thinking` must be true or false, got 'on'"),
    ("effort = 3", "3: `effort` must be a text, got 3"),
    ("quirks = true", "3: `quirks` must be a table, got true"),
    ("quirks = {usage = 1}", "3: `usage` must be true or false, got 1"),
    ("quirks = {extra = 'x'}", "3: `extra` must be a table of fields for every request"),
    ("quirks = {extra = {at = 2020-01-01}}", "3: `extra` must be a table of fields for every request"),
    (
        "quirks = {balance = 'https://evil.test'}",
        "3: `balance` must be a path below the address, as in '/user/balance'",
    ),
    ("models = 'm'", "3: `models` must be a list of texts, got 'm'"),
    ("models = [{window = 1}]", "3: `models` must be a list of texts, got a list"),
    ("models = {m = 1}", "3: `m` must be a table, got 1"),
    ("models = {m = {window = 0}}", "3: `window` must be a whole number above 0, got 0"),
    ("models = {m = {price = {input = -1}}}", "3: `input` must be a number of dollars, 0 or more, got -1"),
    ("models = {m = {quirks = 1}}", "3: `quirks` must be a table, got 1"),
]


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_what_does_not_fit_is_an_error_with_its_line(where: Environment, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(where, HEAD + line)
    assert caught.value.message.startswith(f"overt.toml:{message}")


def test_a_proxy_that_does_not_fit_is_not_quoted(where: Environment) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(where, HEAD + "proxy = 'http://me:secret@host 1'")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("quirks = {thinkng = true}", "3: unknown key `thinkng` in [providers.0.quirks]; did you mean `thinking`?"),
        ("models = {m = {windw = 1}}", "3: unknown key `windw` in [providers.0.models.m]; did you mean `window`?"),
        ("cals = 'text'", "3: unknown key `cals` in [providers.0]; did you mean `calls`?"),
    ],
)
def test_a_key_nobody_knows_is_a_warning_that_names_the_nearest(where: Environment, line: str, warning: str) -> None:
    assert loaded(where, HEAD + line).warnings == (f"overt.toml:{warning}",)


@pytest.mark.parametrize(
    "line",
    [
        "calls = 'text'",
        "compact = true",
        "effort = 'max'",
        "thinking = true",
        "proxy = 'http://evil.test'",
        "ca_file = 'evil.pem'",
        "client_cert = 'evil.pem'",
        "client_key = 'evil.pem'",
        "quirks = {extra = {user = 'evil'}}",
        "models = {m = {window = 9}}",
        "kind = 'local'",
    ],
)
def test_a_folder_nobody_trusts_sets_no_provider_and_no_model(where: Environment, line: str) -> None:
    Path(where.config_dir, "config.toml").write_text(HEAD + "base_url = 'http://127.0.0.1:1/v1'\nmodels = ['mine']\n")
    text = f"small_model = 'evil'\ndefault_model = 'evil'\n{HEAD}{line}\n"
    config = loaded(where, text, trusted=False)
    assert config.providers == (ProviderEntry(name="x", base_url="http://127.0.0.1:1/v1", models=("mine",)),)
    assert (config.small_model, config.default_model) == ("", "")
    assert "ignored, because this folder is not trusted" in config.warnings[0]
