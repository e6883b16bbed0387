"""What the previous version left on disk opens, replays, goes on and undoes. See tests/data/previous_version."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import (
    OVERT,
    PROMPT,
    Place,
    Terminal,
    assert_intact,
    call,
    calls,
    entries,
    gone,
    messages,
    results,
)
from tests.journeys.previous_kit import (
    EXPECTED,
    OBSERVATIONS,
    PORT,
    UNDOS,
    read_json,
    read_tree,
    reserve_folder,
    resume,
    undo,
    unpack,
)
from tests.journeys.tty_kit import tty

EXPECTATIONS: dict[str, Any] = json.loads(EXPECTED.read_text())
DATA = ".local/share/overt"


@pytest.fixture
def previous() -> Iterator[Place]:
    """The files of the previous version, where it made them. No process stays, and every session is whole."""
    with reserve_folder() as folder:
        place = unpack(folder)
        yield place
        assert gone(place.alive) == []
        assert place.leaks() == []
        for session in place.sessions():
            assert_intact(session)


def keep_known(value: Any, like: Any) -> Any:
    """The value without fields that the previous version did not print: formats only grow."""
    match like, value:
        case dict(), dict():
            return {name: keep_known(each, like[name]) for name, each in value.items() if name in like}
        case list(), list() if len(like) == len(value):
            return [keep_known(each, one) for each, one in zip(value, like, strict=True)]
        case _:
            return value


def read_data(place: Place) -> dict[str, bytes]:
    """Every file that the program keeps for itself, without the stamps of trusted folders: any start may write them."""
    folder = place.home / DATA
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith("trust/")}


def find_session(place: Place, id: str) -> Path:
    (path,) = [path for path in place.sessions() if path.stem.partition("-")[2] == id]
    return path


# ── it opens ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_a_command_prints_what_the_previous_version_printed_and_changes_nothing(previous: Place, name: str) -> None:
    before = read_data(previous)
    expected = EXPECTATIONS[name]
    assert keep_known(OBSERVATIONS[name](previous, {}), expected) == expected
    assert read_data(previous) == before


def test_requests_are_made_again_as_the_server_received_them(previous: Place) -> None:
    for id, received in EXPECTATIONS["bodies"].items():
        sent = [entry["data"]["digest"] for entry in entries(find_session(previous, id)) if entry["type"] == "request"]
        body = previous.run("context", id, "--raw").out.encode("utf-8", "surrogateescape")
        copied = EXPECTATIONS["bodies"]["chat"] if id == "forked" else []
        assert {*received, *copied} == set(sent), id
        assert sha256(body).hexdigest() in (sent[-1], sent[-2]), id  # the request for a title may be the last


def test_every_entry_is_shown(previous: Place) -> None:
    for path in previous.sessions():
        lines = [{name: line[name] for name in line if name not in ("v", "sum")} for line in entries(path)]
        done = previous.run("sessions", "show", path.stem.partition("-")[2], "--json")
        shown = [json.loads(line) for line in done.out.splitlines()]
        assert (done.code, done.err, keep_known(shown, lines)) == (0, "", lines)


def test_sessions_can_be_searched_and_exported(previous: Place) -> None:
    hits = read_json(previous, "sessions", "search", "I still need it")
    assert [(hit["session"], hit["turn"], hit["who"]) for hit in hits] == [("forked", 3, "tool"), ("chat", 3, "tool")]
    for id in ("tools", "chat", "compacted"):
        for form in ("markdown", "html", "json"):
            done = previous.run("sessions", "export", id, "--format", form)
            assert (done.code, done.err, id in done.out) == (0, "", True), (id, form)


def test_a_saved_reply_can_be_decoded_again(previous: Place) -> None:
    (saved,) = (previous.home / ".local/state/overt/replies").iterdir()
    (decoded,) = read_json(previous, "replay", "--raw", str(saved))
    assert (decoded["reply"]["wire"], decoded["steps"], decoded["event"], decoded["byte"]) == (
        "openai",
        [[62, 1, {"text": "so far"}]],
        5,
        130,
    )


# ── it goes on ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("id", EXPECTATIONS["resumed"])
def test_a_session_goes_on_with_the_messages_it_had(previous: Place, id: str) -> None:
    path = find_session(previous, id)
    before = path.read_bytes()
    assert resume(previous, id, {}) == EXPECTATIONS["resumed"][id]
    assert path.read_bytes().startswith(before)
    (check,) = read_json(previous, "sessions", "check", id)
    (replay,) = read_json(previous, "replay", id)
    state = EXPECTATIONS["check_sessions"][id]["state"]
    assert (check["state"], check["findings"], replay["identical"], replay["unlike"]) == (state, [], True, [])


def test_what_was_read_before_may_be_overwritten_and_a_long_output_is_still_there(previous: Place) -> None:
    output = previous.home / DATA / "output/tools/1.txt"
    write = call("write", path="docs/notes.md", content="new\n")
    turns = [calls(write, call("read", path=str(output), offset=4000, limit=1)), Turn(text="done")]
    with ModelServer(turns, port=PORT) as server:
        previous.run("run", "--resume", "tools", "--", "go on")
    written, read = results(server)[-2:]
    assert written == "updated docs/notes.md (+1 -4), line 1"
    assert "4000" in read


def test_a_new_session_has_the_settings_rules_notes_and_the_key_of_the_trusted_project(previous: Place) -> None:
    with ModelServer([Turn(text="done")], port=PORT) as server:
        assert previous.run("run", "hello").code == 0
    system = messages(server)[0]["content"]
    texts = ("Answer in short sentences.", "Use tabs in the shop.", "the shop opens at nine", "prefer plain words")
    assert [text for text in texts if text not in system] == []
    assert server.posts[0].headers["authorization"] == "Bearer key-from-the-env-file"
    assert server.posts[0].json()["model"] == "fake-model"


def test_a_profile_of_a_model_is_used(previous: Place) -> None:
    """The doctor had found that this model calls no tools."""
    with ModelServer([Turn(text="done")] * 2, port=PORT) as server:
        for model in ("tried-model", "other-model"):
            previous.run("run", "-m", f"fake/{model}", "hello")
    assert [("tools" in post.json()) for post in server.posts] == [False, True]


def test_a_rule_that_was_answered_with_always_holds_until_it_is_revoked(previous: Place) -> None:
    touch, words = call("bash", command="touch chat/again"), ("run", "--permission-mode", "dontAsk", "touch it")
    with ModelServer([calls(touch), Turn(text="done")] * 2, port=PORT):
        assert previous.run(*words).code == 0
        assert (previous.work / "chat/again").exists()
        assert previous.run("permissions", "revoke", "bash(touch *)").code == 0
        assert previous.run(*words).code == 3
    (rule,) = read_json(previous, "permissions")
    assert (rule["action"], rule["rule"]) == ("allow", "edit")


def test_trust_ends_when_a_file_changes_and_when_it_is_revoked(previous: Place) -> None:
    def allowed() -> list[Any]:
        (rows,) = read_json(previous, "config")
        return [row["value"] for row in rows if row["key"] == "permissions.allow" and ".toml" in row["origin"]]

    trust = previous.home / DATA / "trust.json"
    distrusted = json.loads(trust.read_bytes())["folders"]["/tmp/overt-previous/other"]
    assert allowed() == ["bash(make *)"]
    (previous.work / ".env").write_text("SHOP_KEY=another\n")
    assert allowed() == []
    assert previous.run("trust").code == 0
    assert allowed() == ["bash(make *)"]
    assert previous.run("trust", "--revoke").code == 0
    assert allowed() == []
    assert json.loads(trust.read_bytes())["folders"] == {"/tmp/overt-previous/other": distrusted}


def test_the_terminal_remembers_prompts_and_the_files_they_named(previous: Place) -> None:
    with (
        ModelServer([Turn(text="done")], port=PORT),
        tty(previous, env=previous.environment(), size=(80, 40)) as chat,
    ):
        chat.expect("fake-model")
        chat.idle()
        for prompt in ("› /exit", "› hello", "› /exit", "› /budget 0.01", "› work on budget", "› and then stop"):
            chat.type("\x1b[A")
            chat.expect(prompt)
        chat.type("\x15look at @")
        shown = chat.expect("calc.py")
        assert shown.index("pixel.png") < shown.index("calc.py") < shown.index("long.txt")
        for key in ("\x1b", "\x15", "\x04"):
            chat.type(key)
            chat.idle()
        assert chat.wait() == 0


@pytest.mark.parametrize(
    ("id", "command", "wanted"),
    [
        ("chat", "/pin", "1  write the notes"),
        ("chat", "/budget", "$5"),
        ("chat", "/mode", "auto"),
        ("tools", "/todo", "count"),
    ],
)
def test_a_chat_that_goes_on_knows_what_the_person_had_said(
    previous: Place, id: str, command: str, wanted: str
) -> None:
    env = previous.environment(None, {"TERM": "xterm", "NO_COLOR": "1"})
    terminal = Terminal([OVERT, "--plain", "--resume", id], cwd=previous.work, env=env)
    try:
        for line in (command, "/exit"):
            terminal.expect(PROMPT)
            terminal.line(line)
            terminal.expect(f"{line}\n")
        assert terminal.wait() == 0
        assert wanted in terminal.text().rpartition(f"{PROMPT}{command}\n")[2]
    finally:
        terminal.close()


# ── it goes back ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", UNDOS, ids=" ".join)
def test_undo_takes_back_what_the_previous_version_did_and_redo_brings_it_back(
    previous: Place, words: tuple[str, ...]
) -> None:
    assert undo(previous, words, {}) == EXPECTATIONS["undone"][" ".join(words)]


def test_new_work_beside_the_old_loses_nothing_and_is_undone_alone(previous: Place) -> None:
    before, files = read_data(previous), read_tree(previous.work)
    edit = call("edit", path="docs/notes.md", old_string="eins", new_string="uno")
    command = call("bash", command="rm chat/old.txt; echo new > shop/out/new.txt")
    turns = [calls(call("read", path="docs/notes.md")), calls(edit), calls(command), Turn(text="done")]
    with ModelServer(turns, port=PORT):
        assert previous.run("run", "--yolo", "--session-id", "newest", "work").code == 0
    assert read_tree(previous.work) != files
    after = read_data(previous)
    grown = {"ledger.jsonl", "snapshots/overt-previous-work-442eff79ec/usage.json"}
    own = {name for name in before if name.startswith("shadow/") and "/objects/" not in name}
    assert {name for name in before if after.get(name) != before[name]} <= grown | own
    assert after["ledger.jsonl"].startswith(before["ledger.jsonl"])
    assert previous.run("undo").code == 0
    assert read_tree(previous.work) == files
    assert undo(previous, ("tools",), {}) == EXPECTATIONS["undone"]["tools"]
