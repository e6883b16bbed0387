"""`overt models`: the table, its JSON, one provider alone, and what is left on the account."""

import json

from tests.fakes.model_server import ModelServer
from tests.journeys.journey_kit import Place, Ran

CONFIG = """\
[[providers]]
name = "lab"
base_url = "{url}"
quirks = {{ balance = "/user/balance" }}
models = [
    {{ name = "big", window = 262144, price = {{ input = 0.435, output = 2 }}, images = true, calls = "native" }},
    {{ name = "small", reasons = true }},
]

[[providers]]
name = "other"
base_url = "https://models.test/v1"
api_key_env = "OTHER_KEY"
model = "far"
"""


def test_the_table_is_aligned_marks_the_chosen_and_says_what_is_unknown(place: Place) -> None:
    listing = [{"id": "big"}, {"id": "small"}, {"id": "new", "max_model_len": 4096}]
    answers = {"/user/balance": {"balance_infos": [{"currency": "USD", "total_balance": "12.34"}]}}
    with ModelServer(listing=listing, answers=answers) as server:
        (place.work / "overt.toml").write_text(CONFIG.format(url=server.url))
        assert place.run("trust").code == 0
        done = place.run("models", "lab")
        rows = json.loads(place.run("models", "lab", "--json").out)
    assert done.code == 0, done
    assert done.out.splitlines()[:5] == [
        "  model      window   price in / out  can do",
        "* lab/big    262k     local           tools, images  configured",
        "  lab/small  unknown  local           reasoning      configured",
        "  lab/new    4k       local           unknown        configured",
        "left at lab: 12.34 USD",
    ]
    assert rows[0] == {
        "provider": "lab",
        "model": "big",
        "chosen": True,
        "source": "configured",
        "local": True,
        "window": 262144,
        "price": {"input": 0.435, "output": 2.0, "cached": None, "cache_write": None},
        "tools": True,
        "images": True,
        "reasoning": None,
        "wants": "",
        "balance": "12.34 USD",
    }


def test_a_price_nobody_knows_is_unknown_and_never_zero(place: Place) -> None:
    with ModelServer() as server:
        (place.work / "overt.toml").write_text(CONFIG.format(url=server.url))
        assert place.run("trust").code == 0
        done = place.run("models", "other", env={"OTHER_KEY": "k", "OVERT_OFFLINE": "1"})
    lines = done.out.splitlines()
    assert lines[1].split() == ["other/far", "unknown", "unknown", "unknown", "configured"]


def test_known_vendors_are_listed_with_the_key_they_want(place: Place) -> None:
    with ModelServer() as server:
        done = place.run("models", server=server)
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[1][:2] == ["*", "environment/fake-model"]
    assert ["openai/gpt-5.5", "1.05M", "$5.00", "/", "$30.00", "tools,", "images,", "reasoning"] in [
        r[:8] for r in rows
    ]
    assert [r[-2:] for r in rows if r[0] == "deepseek/deepseek-v4-pro"] == [["needs", "DEEPSEEK_API_KEY"]]
    assert [r for r in rows if r[0].startswith("openai-chat/")] == []


def test_one_provider_alone_and_a_near_miss(place: Place) -> None:
    with ModelServer() as server:
        done = place.run("models", "kimi", server=server)
        missed = place.run("models", "kimmi", server=server)
    assert [line.split()[0] for line in done.out.splitlines()[1:4]] == [
        "kimi/kimi-k3",
        "kimi/kimi-k2.6",
        "kimi/kimi-k2.5",
    ]
    assert missed == Ran(2, "", "overt: overt models: no provider is called 'kimmi'; did you mean kimi or kimi-cn?\n")


def test_without_any_model_the_known_ones_are_listed_and_the_ways_to_go_on_told(place: Place) -> None:
    done = place.run("models", "openai", env={"OVERT_BASE_URL": "http://127.0.0.1:9/v1"})
    assert done.code == 0
    assert "openai/gpt-5.6 " in done.out
    assert done.err.startswith("overt: Cannot connect") or "127.0.0.1:9" in done.err


def test_offline_is_said_of_a_provider_that_would_have_been_asked(place: Place) -> None:
    key = {"DEEPSEEK_API_KEY": "k", "OVERT_API_KEY": ""}
    with ModelServer() as server:
        own = place.run("models", "deepseek", server=server, env=key)
        stated = place.run("models", "deepseek", server=server, env={**key, "OVERT_OFFLINE": "1"})
        here = place.run("models", "environment", server=server, env=key)
        wanting = place.run("models", "kimi", server=server, env=key)
    assert own.out == stated.out
    assert "  deepseek/deepseek-v4-pro " in own.out
    assert own.err == (
        "overt: deepseek was not asked: only servers on this machine are configured; this is what is known of it. "
        "`offline = false` lets it be asked.\n"
    )
    assert stated.err == (
        "overt: deepseek was not asked: `offline` is set (OVERT_OFFLINE); this is what is known of it. "
        "`offline = false` lets it be asked.\n"
    )
    assert (here.err, wanting.err) == ("", "")


def test_a_list_that_a_server_makes_up_does_no_harm_to_the_screen(place: Place) -> None:
    with ModelServer(listing=[{"id": "\x1b]0;owned\x07"}, {"id": 7}, None, {"id": "ok"}]) as server:
        done = place.run("models", "environment", server=server, env={"OVERT_MODEL": ""})
    assert ("\x1b" in done.out, "environment/ok" in done.out) == (False, True)
