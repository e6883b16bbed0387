"""A spend limit refuses the next request, whatever happens to the ledger: what was spent is folded from events."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, entries

USAGE = {"prompt_tokens": 100_000, "completion_tokens": 0}
"""Costs 10 cents at a dollar for a million tokens."""
DIME = Turn(text="yes", usage=USAGE)
LOOK = replace(calls(call("list")), usage=USAGE)
MODEL = {"OVERT_MODEL": "", "OVERT_BASE_URL": ""}
SPENT = "Limit of this session: $0.1010, used $0.1000; the next request may take up to $"


def configure(place: Place, server: ModelServer) -> None:
    folder = place.home / ".config/overt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f'default_model = "here/priced"\n[limits]\nbudget_usd = 0.101\n[[providers]]\nname = "here"\n'
        f'base_url = "{server.url}"\n[[providers.models]]\nname = "priced"\nprice = {{ input = 1.0, output = 1.0 }}\n'
    )


def ledger(place: Place) -> Path:
    return place.home / ".local/share/overt/ledger.jsonl"


def put_folder_in_place(place: Place) -> Sequence[str]:
    ledger(place).mkdir(parents=True)
    return ()


def fill_disk(place: Place) -> Sequence[str]:
    """No write to the ledger succeeds; the session file is written as usual."""
    path = str(ledger(place))
    return (
        "strace",
        "-f",
        "-qq",
        "-P",
        path,
        "-e",
        "trace=write",
        "-e",
        "inject=write:error=ENOSPC",
        "-o",
        "/dev/null",
    )


def leave_it_writable(_place: Place) -> Sequence[str]:
    return ()


@pytest.mark.parametrize("ledger_state", [put_folder_in_place, fill_disk, leave_it_writable])
def test_headless_run_stops_at_the_limit(place: Place, ledger_state: object) -> None:
    assert callable(ledger_state)
    under = ledger_state(place)
    with ModelServer([LOOK, LOOK, DIME], models=("priced",)) as server:
        configure(place, server)
        done = place.run("run", "go", "--output-format", "json", under=under)
        assert len(server.posts) == 1
    assert (done.code, SPENT in done.err) == (4, True)
    result = json.loads(done.out)
    assert (result["total_cost_usd"], result["usage"]["input_tokens"]) == (0.1, 100_000)
    assert (result["subtype"], result["is_error"]) == ("error_max_budget_usd", True)
    assert done.err.count("could not be booked") == (0 if ledger_state is leave_it_writable else 1)


def test_chat_refuses_the_second_prompt_and_still_does_after_a_resume(place: Place) -> None:
    put_folder_in_place(place)
    with ModelServer([DIME] * 9, models=("priced",)) as server:
        configure(place, server)
        with place.chat(server=server, env=MODEL) as terminal:
            terminal.expect("› ")
            terminal.line("one")
            terminal.expect("yes")
            terminal.expect("› ")
            terminal.line("two")
            terminal.expect(SPENT)
            terminal.expect("Type /decline to decline.")
            terminal.line("/decline")
            terminal.expect("› ")
            terminal.line("/cost")
            terminal.expect("This session: ")
            terminal.expect("$0.1000")
            terminal.line("/status")
            terminal.expect("Spent: 100")
            terminal.expect("$0.1000")
            terminal.line("/exit")
            assert terminal.wait() == 0
        steps = [post for post in server.posts if post.json()["messages"][-1]["content"] == "one"]
        assert len(steps) == 1
        sent = len(server.posts)
        id = entries(place.session())[0]["data"]["id"]
        assert place.run("run", "--resume", id, "three").code == 4
        assert len(server.posts) == sent


def test_flag_limits_what_a_run_may_cost(place: Place) -> None:
    with ModelServer([LOOK] * 9, models=("priced",)) as server:
        configure(place, server)
        assert place.run("run", "go", "--max-budget-usd", "0.25").code == 4
        assert len(server.posts) == 2
        assert place.run("run", "go", "--max-budget-usd", "much").code == 2


def test_turn_limit_has_a_subtype_of_its_own(place: Place) -> None:
    with ModelServer([LOOK, DIME], models=("priced",)) as server:
        configure(place, server)
        done = place.run("run", "go", "--output-format", "json", "--max-turns", "1", "--max-budget-usd", "5")
        assert (done.code, json.loads(done.out)["subtype"]) == (4, "error_max_turns")
