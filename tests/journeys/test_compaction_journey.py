"""A history of 150 000 tokens compacted by the installed program, and every request made again from its file."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, assert_paired, call, calls, entries, messages, place

from overt.app.options import Options
from overt.app.records.rebuild import rebuild
from overt.app.session import follow
from overt.app.start import open_conversation
from overt.core.events import Compacted, Event, Noticed, Pinned, TurnEnded
from overt.sessions.load import load

__all__ = ["place"]

OBJECTIVE = "Port the parser in src/ to the new grammar, file by file."
RULES = "You must never touch README.md, and always keep the public names as they are."
CHINESE = "不要使用正则表达式，注释请用英文。"
SUMMARY = (
    "## Objective\nPort the parser to the new grammar.\n## Constraints\nREADME.md is not touched.\n## Decisions\n"
    "One file at a time.\n## Files\nsrc/part0.py and others were read.\n## Verified\nNothing was run.\n## Risks\nNone "
    "known.\n## Next steps\nGo on with the next file."
)
OVERFLOW = '{"error": {"message": "the maximum context length is 100000 tokens", "type": "invalid_request_error"}}'
MARK = "[overt] The conversation above is long"


def asks(request: Recorded) -> bool:
    return MARK in str(request.json()["messages"][-1]["content"])


class Story:
    """A model that reads five files at every prompt, then talks at length, and gives `summary` when asked for one."""

    def __init__(self, work: Path, *, files: int, lines: int, talk: int = 0, summary: Turn | None = None) -> None:
        (work / "src").mkdir()
        for number in range(files):
            text = "".join(f"def rule_{number}_{n}(text: str) -> bool: return text == '{n}'\n" for n in range(lines))
            (work / "src" / f"part{number}.py").write_text(text)
        self.files = files
        self.talk = talk
        self.summary = summary or Turn(text=SUMMARY)
        self.read = 0
        self.refuse_at = -1

    def choose(self, request: Recorded, number: int) -> Turn:
        if asks(request):
            return self.summary
        if number == self.refuse_at:
            return Turn(fault=Fault(status=400, body=OVERFLOW))
        prompted = request.json()["messages"][-1]["role"] == "user"
        if self.read < self.files and (prompted or self.read % 5):
            self.read += 1
            return calls(call("read", path=f"src/part{self.read - 1}.py"))
        said = "".join(f"Rule {n} of part {self.read} takes a text and compares it.\n" for n in range(self.talk))
        return Turn(text=f"{said}{self.read} files are read.")


def configured(place: Place, text: str) -> None:
    folder = place.home / ".config" / "overt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


async def played(place: Place, prompts: list[str], *, pin: str = "", compact: bool = False) -> list[Event]:
    """The whole program in this process, as a face uses it."""
    events: list[Event] = []
    async with asyncio.timeout(120):
        conversation = await open_conversation(Options(directory=str(place.work), mode="auto"))
        try:
            for number, prompt in enumerate(prompts):
                async for event in follow(conversation.session, conversation.prompt(prompt)):
                    events.append(event)
                if pin and not number:
                    conversation.record(Pinned(text=pin))
            if compact:
                async for event in follow(conversation.session, conversation.compact("the names")):
                    events.append(event)
                async for event in follow(conversation.session, conversation.prompt("go on")):
                    events.append(event)
        finally:
            await conversation.close()
    return events


@pytest.fixture
def here(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(place.home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return place


def play(place: Place, monkeypatch: pytest.MonkeyPatch, server: ModelServer, *prompts: str, **more: Any) -> list[Event]:
    for name, value in place.environment(server).items():
        monkeypatch.setenv(name, value)
    return asyncio.run(played(place, list(prompts), **more))


def of(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def assert_rebuilt(place: Place, server: ModelServer) -> None:
    """Every body the server received, made again from the session file alone."""
    made = list(rebuild(load(str(place.session())).entries))
    assert [each.differs for each in made] == [""] * len(server.posts)
    for each, post in zip(made, server.posts, strict=True):
        assert each.request.body() == post.body, each.number


def test_a_history_of_150_000_tokens_keeps_what_matters(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(here, "[context]\ncontext_window = 200000\n[compaction]\nthreshold = 0.75\n")
    story = Story(here.work, files=30, lines=170, talk=1400)
    with ModelServer(choose=story.choose) as server:
        prompts = [OBJECTIVE, RULES, CHINESE, "go on", "go on please", "finish it"]
        events = play(here, monkeypatch, server, *prompts, pin="The grammar is version 7.")
        made = of(events, Compacted)
        assert len(made) == 1
        (event,) = made
        assert event.before > 150_000 > 60_000 > event.after
        assert [end.reason for end in of(events, TurnEnded)] == ["done"] * 6
        told = messages(server)
        assert_paired(told)
        whole = "\n".join(str(each["content"]) for each in told)
        assert told[1]["content"] == OBJECTIVE
        assert f"> {RULES}\n" in whole and f"> {CHINESE}\n" in whole and "> The grammar is version 7." in whole
        assert "- src/part0.py: read\n" in whole and SUMMARY in whole
        (asked,) = [number for number, post in enumerate(server.posts) if asks(post)]
        before, after = server.posts[asked - 1].body, server.posts[asked].body
        assert after.startswith(before[: before.rindex(b"]")])
        assert json.loads(after)["tool_choice"] == "none"
        assert json.loads(after)["tools"] == json.loads(before)["tools"]
        steps = [post.body for post in server.posts if not asks(post)]
        resets = [not other.startswith(one[: one.rindex(b"]")]) for one, other in pairwise(steps)]
        assert [number for number, reset in enumerate(resets, 1) if reset] == [asked]
        assert_rebuilt(here, server)


@pytest.mark.parametrize(
    "summary",
    [
        Turn(text=""),
        Turn(text="Let me look at the file again. " * 200),
        calls(call("read", path="src/part0.py")),
        Turn(fault=Fault(status=400, body='{"error": {"message": "no"}}')),
    ],
    ids=["nothing", "a loop", "calls", "a refusal"],
)
def test_a_summariser_that_fails_loses_nothing(here: Place, monkeypatch: pytest.MonkeyPatch, summary: Turn) -> None:
    configured(here, "[context]\ncontext_window = 40000\n[compaction]\nthreshold = 0.5\n")
    story = Story(here.work, files=8, lines=20, talk=900, summary=summary)
    with ModelServer(choose=story.choose) as server:
        events = play(here, monkeypatch, server, OBJECTIVE, RULES, "go on", compact=False)
        assert of(events, Compacted) == []
        warned = [event.text for event in of(events, Noticed) if event.level == "warning"]
        assert warned
        assert {text.split(":")[0] for text in warned} == {"The context was not compacted, and nothing has changed"}
        assert sum(asks(post) for post in server.posts) == len(warned) <= 3
        told = messages(server)
        assert_paired(told)
        assert [each["content"] for each in told if each["role"] == "user"] == [OBJECTIVE, RULES, "go on"]
        assert sum(each["role"] == "tool" for each in told) == 8
        assert_rebuilt(here, server)


def test_an_overflow_of_the_server_is_answered_by_one_compaction_and_one_retry(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(here, "[context]\ncontext_window = 0\n")
    story = Story(here.work, files=12, lines=60)
    with ModelServer(choose=story.choose) as server:
        story.refuse_at = 8
        events = play(here, monkeypatch, server, OBJECTIVE, RULES, "go on")
        assert {event.cause for event in of(events, Compacted)} == {"overflow"}
        assert [end.reason for end in of(events, TurnEnded)] == ["done"] * 3
        assert messages(server)[1]["content"] == OBJECTIVE
        assert_rebuilt(here, server)


def test_asked_for_in_the_chat(place: Place) -> None:
    story = Story(place.work, files=10, lines=60)
    with ModelServer(choose=story.choose) as server, place.chat(server=server) as terminal:
        terminal.expect("› ")
        for prompt, answer in ((OBJECTIVE, "5 files are read."), (CHINESE, "10 files are read.")):
            terminal.line(prompt)
            terminal.expect(answer)
            terminal.expect("› ")
        terminal.line("/compact 名字")
        terminal.expect("compacted: ")
        terminal.expect("messages became a summary")
        terminal.expect("› ")
        terminal.line("/exit")
        assert terminal.wait() == 0
        (asked,) = [post for post in server.posts if asks(post)]
        assert "above all to be kept: 名字" in asked.json()["messages"][-1]["content"]
        assert_rebuilt(place, server)
    kinds = [entry["type"] for entry in entries(place.session())]
    assert kinds.count("compaction") == 1


class Reader:
    """A model that reads two files at each of `steps` steps: about 1 500 tokens for 92 lines."""

    def __init__(self, work: Path, steps: int, *, lines: int = 92) -> None:
        for number in range(2 * steps):
            body = (f"    value_{n} = compute_{number}(first, second, {n}) + offset\n" for n in range(lines))
            (work / f"part{number}.py").write_text(f"def part_{number}(first, second):\n" + "".join(body))
        self.steps = steps
        self.step = 0

    def choose(self, request: Recorded, _: int) -> Turn:
        if asks(request):
            return Turn(text=SUMMARY)
        self.step += 1
        if self.step > self.steps:
            return Turn(text="done")
        return calls(*(call("read", path=f"part{2 * self.step - n}.py") for n in (1, 2)))


def read_on(place: Place, server: ModelServer, *, price: str, prune: bool) -> list[int]:
    """One headless turn in a window of 100 000 tokens; the steps whose request does not extend the one before."""
    provider = f'[[providers]]\nname = "fake"\nbase_url = "{server.url}"\n'
    model = f'models = [{{name = "fake-model"{price}}}]\n'
    limits = f"[context]\ncontext_window = 100000\n[compaction]\nprune = {str(prune).lower()}\n"
    configured(place, provider + model + limits)
    ran = place.run("run", "-m", "fake/fake-model", "read all of it")
    assert (ran.code, ran.out) == (0, "done\n")
    pairs = enumerate(pairwise([post.body for post in server.posts if not asks(post)]), 1)
    return [number for number, (one, other) in pairs if not other.startswith(one[: one.rindex(b"]")])]


PRICE = ", price = {input = 3.0, output = 15.0, cached = 0.3}"


@pytest.mark.parametrize(
    ("price", "prune"), [("", True), (PRICE, True), (PRICE, False)], ids=["free", "priced", "summaries"]
)
def test_sixty_steps_in_a_window_of_100_000_tokens_have_at_most_one_compaction_in_twelve(
    place: Place, price: str, prune: bool
) -> None:
    with ModelServer(choose=Reader(place.work, 60).choose) as server:
        resets = read_on(place, server, price=price, prune=prune)
        assert sum(not asks(post) for post in server.posts) == 61
        assert resets and all(later - earlier > 15 for earlier, later in pairwise(resets)), resets
        assert len(resets) <= 3
        assert_rebuilt(place, server)
    made = [entry["data"] for entry in entries(place.session()) if entry["type"] == "compaction"]
    assert all(each["after"] <= 40_000 < 79_000 < each["before"] for each in made), made
    assert all(bool(each.get("summary")) is not prune for each in made)


@pytest.mark.parametrize("prune", [True, False])
def test_large_results_at_every_step_leave_at_most_two_fifths_of_the_window(place: Place, prune: bool) -> None:
    with ModelServer(choose=Reader(place.work, 16, lines=420).choose) as server:
        resets = read_on(place, server, price=PRICE, prune=prune)
        assert_rebuilt(place, server)
    made = [entry["data"] for entry in entries(place.session()) if entry["type"] == "compaction"]
    assert len(made) == len(resets) and all(each["after"] <= 40_000 for each in made), made
    assert all(later - earlier >= 3 for earlier, later in pairwise(resets)), resets
