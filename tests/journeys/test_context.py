"""Nothing hidden: what the server received can be made again from the file, told apart and explained."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, entries

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session import follow
from overt.app.start import open_conversation
from overt.cli.main import main
from overt.core.codec import decode
from overt.core.events import TurnEnded

WINDOW = 300_000
WORDS = "The quick brown fox looks at 你好 and goes on. " * 40


def lively(steps: int, start: int) -> list[Turn]:
    """Reads and edits in turn, each of another file, and a last word."""
    found = []
    for number in range(start, start + steps - 1):
        name = f"part_{number % 5}.txt"
        edit = call("edit", path=name, old_string=f"line {number} ", new_string=f"changed {number} ")
        found.append(calls(call("read", path=name), text=f"Step {number}.") if number % 2 else calls(edit))
    return [*found, Turn(text=f"That was {start} and more. 好了")]


async def told(conversation: Conversation, prompt: str) -> None:
    async with aclosing(follow(conversation.session, conversation.prompt(prompt))) as events:
        (last,) = [event async for event in events if isinstance(event, TurnEnded)]
    assert last.reason == "done", last


async def forty_steps(folder: Path, server: ModelServer) -> str:
    """Reads, edits, a compaction, another model and a way back; the id of the session."""
    for number in range(5):
        lines = "".join(f"line {n} of it: {WORDS}\n" for n in range(60) if n % 5 == number)
        (folder / f"part_{number}.txt").write_text(lines)
    conversation = await open_conversation(Options(directory=str(folder), mode="auto", max_steps=50))
    try:
        await told(conversation, "Look at the parts and change them.")
        await told(conversation, "Go on with the rest 请。")
        async with aclosing(follow(conversation.session, conversation.compact("the parts"))) as events:
            assert [event.reason async for event in events if isinstance(event, TurnEnded)] == ["done"]
        await told(conversation, "And now?")
        await conversation.set_model("other-model")
        await told(conversation, "Think again.")
        conversation.rewind(conversation.session.marks[1])
        await told(conversation, "Let us go another way.")
    finally:
        await conversation.close()
    return conversation.id


PLAYED = [
    *lively(12, 1),
    *lively(10, 12),
    Turn(text="Objective: change the parts. Files touched: part_0.txt to part_4.txt. Next steps: go on. " * 3),
    *lively(7, 22),
    *lively(6, 29),
    *lively(6, 35),
]


class Lived:
    """A session that was lived through once, and what its server received."""

    def __init__(self, id: str, bodies: list[bytes], path: Path, work: Path, home: str) -> None:
        self.id = id
        self.bodies = bodies
        self.path = path
        self.work = work
        self.home = home


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    home, work = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    settings = home / ".config/overt"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(f"[context]\ncontext_window = {WINDOW}\n")
    with pytest.MonkeyPatch.context() as patch, ModelServer(PLAYED, models=("fake-model", "other-model")) as server:
        for name in [name for name in os.environ if name.startswith(("XDG_", "OVERT_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("OVERT_BASE_URL", server.url)
        patch.setenv("OVERT_MODEL", "fake-model")
        id = asyncio.run(asyncio.wait_for(forty_steps(work, server), 60))
        bodies = [request.body for request in server.posts]
    (path,) = home.rglob("sessions/*/*.jsonl")
    assert len(bodies) == len(PLAYED) >= 40
    return Lived(id, bodies, path, work, str(home))


@pytest.fixture
def asked(lived: Lived, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> "Asked":
    monkeypatch.setenv("HOME", lived.home)
    monkeypatch.chdir(lived.work)
    return Asked(capfdbinary)


class Asked:
    def __init__(self, captured: pytest.CaptureFixture[bytes]) -> None:
        self._captured = captured

    def __call__(self, *words: str) -> tuple[int, bytes, str]:
        code = main(["context", *words])
        out, err = self._captured.readouterr()
        return code, out, err.decode()


def test_every_request_of_a_long_session_is_made_again_byte_for_byte(lived: Lived, asked: Asked) -> None:
    made = [asked(lived.id, "--raw", "--request", str(number + 1)) for number in range(len(lived.bodies))]
    assert [(code, sha256(out).hexdigest(), err) for code, out, err in made] == [
        (0, sha256(body).hexdigest(), "") for body in lived.bodies
    ]
    assert asked("--raw")[1] == lived.bodies[-1]
    assert asked("--raw", "--turn", "1", "--step", "3")[1] == lived.bodies[2]


def test_the_program_itself_prints_the_same_bytes(lived: Lived, place: Place) -> None:
    """Through a pipe, from a folder that is not the project."""
    for number in (1, 23, len(lived.bodies)):
        ran = place.run("context", lived.id[:6], "--raw", "--request", str(number), env={"HOME": lived.home})
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.encode("utf-8", "surrogateescape") == lived.bodies[number - 1]


def test_one_changed_byte_in_any_entry_is_found_and_named(lived: Lived, asked: Asked) -> None:
    whole = lived.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    at = 0
    try:
        for number, line in enumerate(lines, 1):
            place = (2 + number % 40, len(line) // 2, len(line) - 4, len(line) - 1)[number % 4]
            changed = bytearray(whole)
            changed[at + place] ^= 1
            lived.path.write_bytes(changed)
            code, out, err = asked(lived.id, "--raw")
            assert (code, out) == (1, b""), (number, place)
            assert f"line {number}:" in err, (number, place, err)
            at += len(line)
    finally:
        lived.path.write_bytes(whole)
    assert asked(lived.id, "--raw")[1] == lived.bodies[-1]


def test_an_entry_of_a_newer_format_is_named_wherever_it_stands(lived: Lived, asked: Asked) -> None:
    whole = lived.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    try:
        for number in (1, 7, len(lines)):
            newer = lines[number - 1].replace(b'{"v":1', b'{"v":9', 1)
            lived.path.write_bytes(b"".join([*lines[: number - 1], newer, *lines[number:]]))
            code, out, err = asked(lived.id, "--raw")
            assert (code, out) == (1, b"") and f"line {number}:" in err
    finally:
        lived.path.write_bytes(whole)


def rows(asked: Asked, id: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    code, out, _ = asked(id, "--requests", "--json")
    assert code == 0
    found = decode(out)
    return found["requests"], found["totals"]


def test_the_cache_ratio_without_resets_is_all_of_the_possible(lived: Lived, asked: Asked) -> None:
    listed, totals = rows(asked, lived.id)
    assert (totals["kept"], totals["resets"], totals["requests"]) == (1.0, 3, len(lived.bodies))
    fresh = {1, *(row["number"] for row in listed if row["resets"])}
    before = None
    for row, body in zip(listed, lived.bodies, strict=True):
        if row["number"] not in fresh and before is not None:
            assert row["shared"] == before.rindex(b"]") and body.startswith(before[: before.rindex(b"]")])
        before = body if row["purpose"] == "step" else before


def test_each_reset_is_listed_and_explained_with_its_cause(lived: Lived, asked: Asked) -> None:
    listed, _ = rows(asked, lived.id)
    causes = {row["number"]: row["resets"] for row in listed if row["resets"]}
    assert list(causes.values()) == [
        ["compaction (asked)"],
        ["model changed: fake-model → other-model"],
        ["rewind to before turn 2"],
    ]
    steps = [int(row["number"]) for row in listed if row["purpose"] == "step"]
    for number, found in causes.items():
        cause, before = found[0], max(step for step in steps if step < number)
        code, out, _ = asked(lived.id, "--diff", str(before), str(number))
        text = out.decode()
        assert code == 0 and f"Cause: {cause} (recorded before request {number})" in text
        one, other = lived.bodies[before - 1], lived.bodies[number - 1]
        at = next(n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
        assert f"are the same up to byte {at}; there they differ" in text


def test_two_requests_in_a_row_only_grow(lived: Lived, asked: Asked) -> None:
    code, out, _ = asked(lived.id, "--diff", "1.1", "1.2")
    assert code == 0
    assert out.decode().splitlines()[1:] == [
        "What changed (- left, + came):",
        *(line for line in out.decode().splitlines()[2:] if line.startswith("  + ")),
    ]
    assert asked(lived.id, "--diff", "3", "3")[1].decode() == "Requests 3 and 3 are the same, byte for byte.\n"


def test_the_texts_that_a_compaction_took_away_stay_readable(lived: Lived, asked: Asked) -> None:
    code, out, _ = asked(lived.id, "--turn", "2", "--full")
    assert code == 0 and "Look at the parts and change them." in out.decode() and "line 14 of it" in out.decode()
    later = asked(lived.id, "--turn", "4", "--full")[1].decode()
    assert "[overt] Summary" in later


def test_every_byte_of_every_request_has_an_origin(lived: Lived, asked: Asked) -> None:
    for number, body in enumerate(lived.bodies, 1):
        found = decode(asked(lived.id, "--json", "--request", str(number))[1])
        spans = found["spans"]
        edges = [(span["start"], span["end"]) for span in spans]
        assert (edges[0][0], edges[-1][1]) == (0, len(body))
        assert all(one[1] == other[0] for one, other in pairwise(edges))
        assert all(span["key"] and span["origin"]["kind"] for span in spans)
        assert sum(span.get("tokens", 0) for span in spans) == found["used"] == len(body) // 4


def test_the_table_names_sources_and_what_was_cached(lived: Lived, asked: Asked) -> None:
    code, out, _ = asked(lived.id, "--turn", "1", "--step", "2")
    lines = out.decode().splitlines()
    assert code == 0
    assert lines[0].startswith(f"Request 2 (turn 1, step 2) of {lived.id}: ")
    cells = [line.split()[1:] for line in lines if line.strip()[:1].isdigit()]
    assert ["system", "yes"] in [[row[0], row[3]] for row in cells]
    assert cells[-1][0] == "tool:read" and cells[-1][3] == "no" and cells[-1][-1] == "part_1.txt"
    used = len(lived.bodies[1]) // 4
    assert lines[-1] == f"Used: {used} of {WINDOW} tokens ({100 * used / WINDOW:.1f} %)"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--turn", "99"], 2, "has no request of turn 99: there are"),
        (["--turn", "x"], 2, "--turn must be a whole number above 0, got 'x'"),
        (["--step", "0"], 2, "--step must be a whole number above 0"),
        (["--request", "1.x"], 2, "--request takes the number of a request, or TURN.STEP"),
        (["--diff", "1"], 2, "--diff takes two requests"),
        (["--raw", "--full"], 2, "--raw and --full do not go together"),
        (["--request", "1", "--turn", "1"], 2, "--request and --turn do not go together"),
    ],
)
def test_wrong_words_are_told_what_is_right(lived: Lived, asked: Asked, words: list[str], code: int, told: str) -> None:
    found, out, err = asked(lived.id, *words)
    assert (found, out) == (code, b"") and told in err


def test_a_session_that_does_not_exist_is_named(asked: Asked) -> None:
    code, out, err = asked("nonesuch")
    assert (code, out) == (1, b"") and "nonesuch" in err


def test_a_project_without_sessions_says_so(place: Place) -> None:
    ran = place.run("context")
    assert (ran.code, ran.out) == (1, "") and str(place.work) in ran.err


def test_a_session_that_went_on_in_another_process_is_one_to_the_cache(place: Place) -> None:
    with ModelServer([Turn(text="one"), Turn(text="two"), Turn(text="three")]) as server:
        place.run("run", "first", server=server)
        place.run("run", "-c", "second", server=server)
        place.run("run", "-c", "--append-system-prompt", "Be kind.", "third", server=server)
        listed = decode(place.run("context", "--requests", "--json", server=server).out)["requests"]
        raw = [place.run("context", "--raw", "--request", str(n), server=server).out for n in (1, 2, 3)]
        assert raw == [post.body.decode() for post in server.posts]
    assert [row["resets"] for row in listed] == [
        [],
        [],
        ["system prompt changed: append (--append-system-prompt) added"],
    ]
    assert listed[1]["step"]["cached"] == listed[1]["step"]["possible"] > 0


def test_the_chat_shows_what_the_next_request_holds(place: Place) -> None:
    (place.work / "AGENTS.md").write_text("Use tabs.\n")
    (place.work / "a.txt").write_text("alpha\n")
    played: Sequence[Turn] = [calls(call("read", path="a.txt")), Turn(text="done")]
    with ModelServer(played) as server, place.chat(server=server) as chat:
        chat.expect("› ")
        chat.line("read it 请")
        chat.expect("done")
        chat.expect("› ")
        chat.line("/context")
        shown = chat.expect("› ")
        assert "AGENTS.md:1" in shown and "tool:read" in shown and "read it 请" in shown
        assert "Used: " in shown and "Cache: " in shown
        chat.line("/status")
        assert "Cache: " in chat.expect("› ")
        chat.line("/context nonsense")
        assert "/context takes nothing or `all`" in chat.expect("› ")
        chat.line("/exit")
        assert chat.wait() == 0


def test_what_overt_adds_is_labelled_for_the_model_and_for_the_person(place: Place) -> None:
    """An empty reply is answered by a nudge, a call that cannot be by an error of ours."""
    played = [Turn(), calls(call("no_such_tool", "c1")), Turn(text="done")]
    with ModelServer(played) as server:
        assert place.run("run", "go", server=server).code == 0
        said = server.posts[-1].json()["messages"]
        shown = decode(place.run("context", "--json", server=server).out)["spans"]
    ours = [message["content"] for message in said if str(message["content"]).startswith("[overt] ")]
    assert [text.split(".")[0] for text in ours] == [
        "[overt] The last reply was empty",
        "[overt] There is no tool called 'no_such_tool'",
    ]
    labelled = [(span["key"], span["origin"]["kind"]) for span in shown if span.get("text", "").startswith("[overt] ")]
    assert labelled == [("harness", "harness"), ("tool:no_such_tool", "harness")]


def test_each_session_line_is_what_the_journey_says(lived: Lived) -> None:
    kinds = [entry["type"] for entry in entries(lived.path)]
    assert (kinds.count("request"), kinds.count("compaction"), kinds.count("model")) == (len(lived.bodies), 1, 1)
