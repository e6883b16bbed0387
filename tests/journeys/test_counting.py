"""Every request is in the record, and whatever counts tokens counts the same as the server."""

import asyncio
import json
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, call, calls, entries, until

from overt.app.inspect.status import read_gauges
from overt.app.options import Options
from overt.app.start import open_conversation

PRICES = {"big": (3.0, 15.0, 0.3), "other": (2.0, 8.0, 0.5), "small": (0.1, 0.4, 0.05)}
SUMMARY = "## Objective\nCount what is sent.\n## Next steps\nGo on."
ASKS_TITLE, ASKS_SUMMARY = "Give the task below a title", "[overt] The conversation above is long"


class Counting:
    """A server that remembers what it reported, by purpose and model."""

    def __init__(self, title: Turn | None = None) -> None:
        self.title = title or Turn(text="Counting all tokens")
        self.reported: list[tuple[str, str, dict[str, Any]]] = []

    def choose(self, request: Recorded, _: int) -> Turn:
        body = request.json()
        first, last = body["messages"][0]["content"], str(body["messages"][-1]["content"])
        if str(first).startswith(ASKS_TITLE):
            return self._counted("title", request, self.title)
        if last.startswith(ASKS_SUMMARY):
            return self._counted("summary", request, Turn(text=SUMMARY))
        if last in ("tell me all", "and more"):
            return self._counted("step", request, Turn(text=f"so it is {'and so on ' * 200}"))
        if last == "please read both":
            return self._counted("step", request, calls(call("read", path="a.txt"), call("read", path="b.txt")))
        return self._counted("step", request, Turn(text="so it is"))

    def _counted(self, purpose: str, request: Recorded, turn: Turn) -> Turn:
        number = len(self.reported)
        usage = {
            "prompt_tokens": len(request.body) // 4 + number,
            "completion_tokens": 17 + 3 * number,
            "prompt_tokens_details": {"cached_tokens": len(request.body) // 9},
        }
        if turn.fault == Fault():
            self.reported.append((purpose, request.json()["model"], usage))
        return Turn(text=turn.text, calls=turn.calls, usage=usage, fault=turn.fault, delay=turn.delay)

    def sums(self) -> dict[str, int]:
        usages = [usage for _, _, usage in self.reported]
        return {
            "requests": len(usages),
            "input": sum(usage["prompt_tokens"] for usage in usages),
            "cached": sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages),
            "output": sum(usage["completion_tokens"] for usage in usages),
        }

    def cost(self) -> float:
        total = 0.0
        for _, model, usage in self.reported:
            price, cached = PRICES[model], usage["prompt_tokens_details"]["cached_tokens"]
            total += (usage["prompt_tokens"] - cached) * price[0] + usage["completion_tokens"] * price[1]
            total += cached * price[2]
        return total / 1e6


def configured(place: Place, server: ModelServer, more: str = "") -> None:
    folder = place.home / ".config" / "overt"
    folder.mkdir(parents=True)
    models = ", ".join(
        f'{{name = "{name}", price = {{input = {price[0]}, output = {price[1]}, cached = {price[2]}}}}}'
        for name, price in PRICES.items()
    )
    provider = f'[[providers]]\nname = "fake"\nbase_url = "{server.url}"\nmodels = [{models}]\n'
    top = 'default_model = "fake/big"\nsmall_model = "fake/small"\n'
    (folder / "config.toml").write_text(f"{top}{more}\n{provider}")


def say(terminal: Any, text: str, answer: str) -> None:
    terminal.line(text)
    terminal.expect(answer)
    terminal.expect("› ")


def recorded(place: Place, kind: str, agent: str) -> list[dict[str, Any]]:
    found = entries(place.session())
    return [entry["data"] for entry in found if (entry["type"], entry["agent"]) == (kind, agent)]


def chat(place: Place, server: ModelServer, *said: tuple[str, str], done: Any = None) -> str:
    """A chat from its start to its exit; everything on the screen."""
    with place.chat(server=server, env={"OVERT_MODEL": "", "OVERT_BASE_URL": ""}) as terminal:
        terminal.expect("› ")
        for text, answer in said:
            say(terminal, text, answer)
            if done:
                until(done)
        terminal.line("/exit")
        assert terminal.wait() == 0
        return terminal.text()


def test_everything_that_counts_agrees_with_the_server_to_the_token(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt"):
        (place.work / name).write_text("".join(f"line {n} of {name} holds nothing new\n" for n in range(300)))
    counting = Counting()
    with ModelServer(choose=counting.choose) as server:
        configured(place, server)
        screen = chat(
            place,
            server,
            ("please read both", "so it is"),
            ("tell me all", "so it is"),
            ("and more", "so it is"),
            ("/compact", "compacted: "),
            ("/model fake/other", "other"),
            ("and on", "so it is"),
            ("/status", "Spent"),
            done=lambda: recorded(place, "title", "main"),
        )
        sums = counting.sums()
        assert [purpose for purpose, _, _ in counting.reported].count("title") == 1
        assert {model for _, model, _ in counting.reported} == {"big", "small", "other"}
        assert len(server.posts) == sums["requests"] == 7
        session = entries(place.session())[0]["data"]["id"]

        listed = json.loads(place.run("context", "--requests", "--json").out)
        assert {name: listed["totals"][name] for name in sums} == sums
        assert [row["purpose"] for row in listed["requests"]] == [
            "step",
            "title",
            "step",
            "step",
            "step",
            "summary",
            "step",
        ]
        assert not any(row.get("differs") for row in listed["requests"])
        total = json.loads(place.run("stats", "--json").out)["windows"]["total"]
        assert {name: total[name] for name in sums} == sums
        assert total["cost"] == pytest.approx(counting.cost(), abs=1e-12) and total["unpriced"] == 0
        pairs = json.loads(place.run("diff", session, session, "--json").out)["difference"]["pairs"]
        usages = [pair["left"]["usage"] for pair in pairs]
        assert {name: sum(usage.get(name, 0) for usage in usages) for name in ("input", "cached", "output")} == {
            name: sums[name] for name in ("input", "cached", "output")
        }
        assert sum(pair["left"]["cost"] for pair in pairs) == pytest.approx(counting.cost(), abs=1e-12)
        replayed = json.loads(place.run("replay", session, "--json").out)
        assert {line["purpose"] for line in replayed["lines"]} == {"step", "summary", "title"}
        assert [line["state"] for line in replayed["lines"] if line["state"] == "differs"] == []
        assert sum(line["spent"]["usage"]["input"] for line in replayed["lines"]) == sums["input"]
        for name in ("input", "cached", "output"):
            assert str(sums[name]) in screen.rpartition("/status")[2]
        (title,) = [post for post in server.posts if ASKS_TITLE in str(post.json()["messages"][0])]
        assert place.run("context", "--raw", "--request", "title").out == title.body.decode()
        for name, value in place.environment(None).items():
            monkeypatch.setenv(name, value)
        shown = asyncio.run(status_line(place, session))
        assert shown.session_cost == pytest.approx(counting.cost(), abs=1e-12)
        assert shown.session_cache == sums["cached"] / sums["input"]


async def status_line(place: Place, session: str) -> Any:
    conversation = await open_conversation(Options(directory=str(place.work), resume=session))
    try:
        return read_gauges(conversation)
    finally:
        await conversation.close()


def test_no_title_is_asked_for_when_titles_are_off(place: Place) -> None:
    counting = Counting()
    with ModelServer(choose=counting.choose) as server:
        configured(place, server, "[ui]\ntitles = false")
        chat(place, server, ("hello", "so it is"), ("again", "so it is"))
        assert [purpose for purpose, _, _ in counting.reported] == ["step", "step"] and len(server.posts) == 2


def test_a_title_request_that_is_refused_is_recorded_with_its_reason(place: Place) -> None:
    refused = Turn(fault=Fault(status=400, body='{"error": {"message": "no titles here"}}'))
    counting = Counting(refused)
    with ModelServer(choose=counting.choose) as server:
        configured(place, server)
        chat(place, server, ("hello", "so it is"), done=lambda: recorded(place, "note", "title"))
        (sent,), (note,) = recorded(place, "request", "title"), recorded(place, "note", "title")
        assert sent["purpose"] == "title" and "no titles here" in note["text"]
        rows = json.loads(place.run("context", "--requests", "--json").out)["requests"]
        assert [(row["purpose"], row["step"] is None) for row in rows] == [("step", False), ("title", True)]
        assert json.loads(place.run("stats", "--json").out)["windows"]["total"]["requests"] == 1
        assert place.run("replay", entries(place.session())[0]["data"]["id"]).code == 0


def test_a_title_request_that_is_cut_by_the_exit_is_recorded_and_does_not_delay_it(place: Place) -> None:
    counting = Counting(Turn(text="never", fault=Fault(stall_after=1)))
    with ModelServer(choose=counting.choose) as server:
        configured(place, server)
        chat(place, server, ("hello", "so it is"), done=lambda: recorded(place, "request", "title"))
        (reply,) = recorded(place, "reply", "title")
        assert reply["finish"] == "interrupted"
        total = json.loads(place.run("stats", "--json").out)["windows"]["total"]
        assert (total["requests"], total["unpriced"], total["estimated"]) == (2, 0, 1)
        assert place.run("replay", entries(place.session())[0]["data"]["id"]).code == 0


def test_the_title_is_asked_for_after_the_first_reply_has_begun(place: Place) -> None:
    counting = Counting()
    with ModelServer(choose=counting.choose) as server:
        configured(place, server)
        chat(place, server, ("hello", "so it is"), done=lambda: recorded(place, "title", "main"))
        assert [purpose for purpose, _, _ in counting.reported] == ["step", "title"]


def test_a_headless_run_asks_for_no_title(place: Place) -> None:
    counting = Counting()
    with ModelServer(choose=counting.choose) as server:
        configured(place, server)
        assert place.run("run", "hello").out == "so it is\n"
        assert len(server.posts) == 1
