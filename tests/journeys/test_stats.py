"""`overt stats` and `overt diff` as a person sees them: figures, bars that fit, two sessions side by side."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import OVERT, Place, Terminal, call, calls

from overt.lib.text import wide

OLD = {"session": "s", "project": "p", "provider": "v", "input": 1000, "output": 100}


def ledger(place: Place) -> Path:
    return place.home / ".local/share/overt/ledger.jsonl"


def book(place: Place, *lines: dict[str, Any]) -> None:
    ledger(place).parent.mkdir(parents=True, exist_ok=True)
    with open(ledger(place), "a") as file:
        file.writelines(json.dumps(OLD | {"ts": time.time()} | line) + "\n" for line in lines)


def on_screen(place: Place, *words: str, columns: int, server: ModelServer, **env: str) -> str:
    """What a terminal so many columns wide shows, colours and all."""
    more = {"TERM": "xterm", "COLUMNS": str(columns), **env}
    terminal = Terminal([OVERT, *words], cwd=place.work, env=place.environment(server, more))
    try:
        assert terminal.wait() == 0
        return terminal.raw.decode().replace("\r\n", "\n")
    finally:
        terminal.close()


def test_an_empty_ledger_says_so(place: Place) -> None:
    assert place.run("stats").out == "No request has been booked yet in this project (--all looks at every one).\n"
    assert place.run("stats", "--all").out == "No request has been booked yet.\n"


def test_what_was_spent_is_told_of_the_project_and_of_all(place: Place) -> None:
    usage = {"prompt_tokens": 4000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 0}}
    with ModelServer([Turn(text="one", usage=usage), Turn(text="two", usage=usage)]) as server:
        place.run("run", "go", server=server)
        place.run("run", "--no-session-persistence", "go", server=server)
    book(place, {"cost": 0.25, "cached": 600, "possible": 800, "saved": 0.5})
    mine = json.loads(place.run("stats", "--json").out)
    every = json.loads(place.run("stats", "--all", "--json", "--by", "model").out)
    assert mine["windows"]["24 h"]["requests"] == mine["windows"]["total"]["requests"] == 2
    assert (mine["windows"]["total"]["input"], mine["windows"]["total"]["output"]) == (8000, 1000)
    assert every["windows"]["total"] == {
        "requests": 3,
        "input": 9000,
        "cached": 600,
        "cache_write": 0,
        "output": 1100,
        "reasoning": 0,
        "possible": 800,
        "cost": 0.25,
        "saved": 0.5,
        "unpriced": 0,
        "unpriced_tokens": 0,
        "estimated": 0,
        "kept": 0.75,
    }
    assert [group["name"] for group in every["groups"]] == ["environment/fake-model", "v/"]
    told = place.run("stats", "--all").out
    assert "total         3  9k     600  1.1k  $0.2500  $0.5000        75 %" in told


def test_the_ledger_outlives_the_sessions(place: Place) -> None:
    with ModelServer([Turn(text="one")]) as server:
        place.run("run", "go", server=server)
    place.run("sessions", "delete", place.session().stem.rpartition("-")[2])
    assert place.sessions() == []
    assert json.loads(place.run("stats", "--json").out)["windows"]["total"]["requests"] == 1
    assert place.run("stats", "--by", "session").out.count("█") > 10


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_bars_fit_the_screen_and_chinese_names_stay_in_line(place: Place, columns: int) -> None:
    names = ["模型一号", "a-model-with-a-very-long-name-that-fits-nowhere-at-all", "小", "tiny"]
    book(place, *({"model": name, "provider": "", "input": 100 * 4**at, "cost": 1.5} for at, name in enumerate(names)))
    with ModelServer() as server:
        shown = on_screen(place, "stats", "--all", "--by", "model", columns=columns, server=server, NO_COLOR="1")
    assert "\x1b" not in shown
    lines = shown.splitlines()
    assert [line for line in lines if wide(line) > columns] == []
    bars = [line for line in lines if line.endswith("$1.50") and set(line) & set("█▏▎▍▌▋▊▉")]
    assert len(bars) == 4
    starts = {wide(line[: min(line.index(char) for char in "█▏▎▍▌▋▊▉" if char in line)]) for line in bars}
    assert len(starts) == 1


def test_bars_have_a_colour_on_a_screen_that_wants_it(place: Place) -> None:
    book(place, {"model": "m"})
    with ModelServer() as server:
        assert "\x1b[36m█" in on_screen(place, "stats", "--all", columns=80, server=server)


def test_wrong_clocks_and_torn_lines_break_nothing(place: Place) -> None:
    book(place, {"ts": 1e300}, {"ts": -1e300}, {"ts": 0.0}, {"ts": time.time() + 1e7}, {})
    with open(ledger(place), "ab") as file:
        file.write(b'\xff\x00{"ts":\n{"ts": 5, "ses')
    for by in ("day", "model", "session", "project", "agent"):
        done = place.run("stats", "--all", "--by", by, "--days", "36500")
        assert (done.code, done.err) == (0, "")
    assert json.loads(place.run("stats", "--all", "--json").out)["windows"]["total"]["requests"] == 5


def test_a_name_cannot_drive_the_terminal(place: Place) -> None:
    book(place, {"model": "\x1b[2Jevil\u202e", "provider": ""})
    shown = place.run("stats", "--all", "--by", "model").out
    assert "\\x1b[2Jevil<U+202E>" in shown and "\x1b" not in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--days", "0"), "--days must be a whole number from 1 to 36500, got '0'"),
        (("--days", "viele"), "--days must be a whole number from 1 to 36500, got 'viele'"),
        (("--by", "moon"), "day, model, session, project, agent"),
        (("extra",), "unexpected 'extra'"),
    ],
)
def test_wrong_words_are_told(place: Place, words: tuple[str, ...], told: str) -> None:
    done = place.run("stats", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


# ── two sessions ─────────────────────────────────────────────────────────────────────────────────────────


def two_sessions(place: Place) -> tuple[str, str]:
    (place.work / "a.txt").write_text("one ``` two\n")
    first = [calls(call("read", path="a.txt")), Turn(text="It says one."), Turn(text="Bye.")]
    second = [calls(call("grep", pattern="o|n")), Turn(text="It says two."), Turn(text="Bye.")]
    for turns in (first, second):
        with ModelServer(turns) as server:
            place.run("run", "what does 文件 say?", server=server)
            place.run("run", "-c", "thanks", server=server)
    left, right = (path.stem.rpartition("-")[2] for path in place.sessions())
    return left, right


def test_two_sessions_are_compared_turn_by_turn(place: Place) -> None:
    left, right = two_sessions(place)
    out = place.run("diff", left, right).out
    assert "First difference: turn 1, step 1: what it called." in out
    assert 'read {"path":"a.txt"}' in out and 'grep {"pattern":"o\\|n"}' in out
    rows = [line for line in out.splitlines() if line.startswith("|")]
    assert len({wide(row) for row in rows[:5]}) == 1
    found = json.loads(place.run("diff", left, right, "--json").out)
    assert found["difference"]["first"]["what"] == "calls"
    assert [(pair["left"]["prompt"], pair["right"]["prompt"]) for pair in found["difference"]["pairs"]] == [
        ("what does 文件 say?", "what does 文件 say?"),
        ("thanks", "thanks"),
    ]


def test_a_session_does_not_differ_from_itself(place: Place) -> None:
    left, _ = two_sessions(place)
    assert "\nNo difference.\n" in place.run("diff", left, left).out


def test_diff_needs_two_sessions_that_are_there(place: Place) -> None:
    left, _ = two_sessions(place)
    assert place.run("diff", left).code == 2
    assert place.run("diff", left, "zz").code == 1
