"""Two versions of the program side by side on one home: neither loses what the other wrote.

The previous version is built from the git history, so these tests are part of `make soak` only. What can be checked
without it, on files that it left behind, is in test_previous_version.py.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import OVERT, PROMPT, Place, Ran, Terminal, call, calls, entries
from tests.journeys.previous_kit import COMMIT, extract_source, read_json, read_tree

pytestmark = pytest.mark.soak

ROUNDS = 6
DATA = ".local/share/overt"
Versions = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """The environment of each version."""
    try:
        previous = extract_source(COMMIT, tmp_path_factory.mktemp("previous"))
    except LookupError as error:
        pytest.skip(f"the previous version is not in the git history here: {error}")
    return {"previous": previous, "current": {}}


class Script:
    """Plays the turns of a task to whichever run asks for it. A task is named by the prompt."""

    def __init__(self, tasks: Mapping[str, Sequence[Turn]]) -> None:
        self._tasks = tasks

    def choose(self, request: Recorded, _number: int) -> Turn:
        said: list[dict[str, Any]] = request.json()["messages"]
        at = max(
            at for at, message in enumerate(said) if message["role"] == "user" and message["content"] in self._tasks
        )
        step: int = sum(message["role"] == "assistant" for message in said[at:])
        return self._tasks[said[at]["content"]][step]


def run_together(
    place: Place, server: ModelServer, runs: Sequence[tuple[Mapping[str, str], Sequence[str]]]
) -> list[Ran]:
    """Start the program once for each environment and words, all at the same time."""
    done: list[Ran | None] = [None] * len(runs)

    def run(number: int, env: Mapping[str, str], words: Sequence[str]) -> None:
        done[number] = place.run(*words, server=server, env=env)

    threads = [threading.Thread(target=run, args=(number, *each)) for number, each in enumerate(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [each for each in done if each is not None]


def read_ledger(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place.home / DATA / "ledger.jsonl").read_bytes().splitlines()]


def change_file(name: str, content: str) -> list[Turn]:
    """A task that writes a file and lets a command make another one."""
    command = call("bash", command=f"echo {content} > {name}.made; rm -f {name}.gone")
    return [calls(call("write", path=f"{name}.txt", content=f"{content}\n")), calls(command), Turn(text=f"did {name}")]


def test_one_session_goes_on_in_both_versions_by_turns(place: Place, versions: Versions) -> None:
    prompts = [f"task {number}" for number in range(ROUNDS)]
    tasks = {prompt: change_file(f"file{number}", prompt[-1]) for number, prompt in enumerate(prompts)}
    with ModelServer(choose=Script(tasks).choose) as server:
        for number, prompt in enumerate(prompts):
            which = ("--resume", "shared") if number else ("--session-id", "shared")
            env = versions["current" if number % 2 else "previous"]
            before = place.session().read_bytes() if number else b""
            done = place.run("run", "--yolo", *which, prompt, server=server, env=env)
            assert (done.code, done.out) == (0, f"did file{number}\n"), done
            assert place.session().read_bytes().startswith(before)
            last = [message["content"] for message in server.posts[-1].json()["messages"] if message["role"] == "user"]
            assert [text for text in last if text in tasks] == prompts[: number + 1]
    lines = entries(place.session())
    for env in versions.values():
        (check,) = read_json(place, "sessions", "check", "shared", env=env)
        shown = read_json(place, "sessions", "show", "shared", env=env)
        (row,) = read_json(place, "sessions", "list", env=env)
        assert (check["state"], check["entries"], len(shown)) == ("sound", len(lines), len(lines))
        assert (row["id"], row["turns"], row["title"]) == ("shared", ROUNDS, "task 0")
    (replay,) = read_json(place, "replay", "shared")
    assert (replay["identical"], replay["unlike"]) == (True, [])
    assert len(read_ledger(place)) == len(server.posts) == 3 * ROUNDS


def test_runs_of_both_versions_at_the_same_time_lose_no_line_and_undo_only_their_own(
    place: Place, versions: Versions
) -> None:
    tasks = {f"{name} {number}": change_file(f"{name}{number}", name) for name in versions for number in range(ROUNDS)}
    for name in tasks:
        (place.work / f"{name.replace(' ', '')}.gone").write_text("to be removed\n")
    trees = [read_tree(place.work)]
    with ModelServer(choose=Script(tasks).choose) as server:
        for number in range(ROUNDS):
            words = ("run", "--yolo", "--resume" if number else "--session-id")
            runs = [(env, (*words, name, f"{name} {number}")) for name, env in versions.items()]
            done = run_together(place, server, runs)
            assert [each[:2] for each in done] == [(0, f"did {name}{number}\n") for name in versions], done
            trees.append(read_tree(place.work))
    assert len(server.posts) == 3 * len(tasks)
    sessions = [line["session"] for line in read_ledger(place)]
    assert {name: sessions.count(name) for name in versions} == dict.fromkeys(versions, 3 * ROUNDS)
    for env in versions.values():
        states = {row["id"]: row["state"] for row in read_json(place, "sessions", "check", env=env)}
        assert states == dict.fromkeys(versions, "sound")

    def own(tree: dict[str, Any], name: str) -> dict[str, Any]:
        return {path: tree[path] for path in tree if path.startswith(name)}

    for name, other in (("previous", "current"), ("current", "previous")):
        for env in (versions[name], versions[other]):
            before = read_tree(place.work)
            turn = str(ROUNDS if env is versions[name] else 1)
            done_undo = place.run("undo", name, "--turn", turn, env=env)
            after = read_tree(place.work)
            assert (done_undo.code, own(after, name)) == (0, own(trees[int(turn) - 1], name)), done_undo
            assert own(after, other) == own(before, other)
    assert read_tree(place.work) == trees[0]


def test_trust_and_rules_and_prompts_of_both_versions_are_kept(place: Place, versions: Versions) -> None:
    folders = [place.home.parent / f"project{number}" for number in range(2 * ROUNDS)]
    for folder in folders:
        folder.mkdir()
        (folder / "overt.toml").write_text("[permissions]\nallow = ['bash(make *)']\n")
    with ModelServer() as server:
        envs = [versions["current" if number % 2 else "previous"] for number in range(len(folders))]
        done = run_together(
            place, server, [(env, ("trust", str(folder))) for env, folder in zip(envs, folders, strict=True)]
        )
    assert [each.code for each in done] == [0] * len(folders)
    for env in versions.values():
        for folder in folders:
            (rows,) = read_json(place, "config", "-C", str(folder), env=env)
            assert [row["value"] for row in rows if "overt.toml" in row["origin"]] == ["bash(make *)"]

    programs = {"previous": ("touch", "mkdir", "cp a"), "current": ("ln -s a", "mv a", "install a")}
    tasks = {
        f"{name} {number}": [calls(call("bash", command=f"{program} {name}{number}")), Turn(text=f"did {name}{number}")]
        for name, own in programs.items()
        for number, program in enumerate(own)
    }
    place.distrust()
    with ModelServer(choose=Script(tasks).choose) as server, ExitStack() as stack:
        (place.home / ".config/overt").mkdir(parents=True)
        (place.home / ".config/overt/config.toml").write_text("[ui]\ntitles = false\n")
        chats = {}
        for name, env in versions.items():
            more = {"TERM": "xterm", "NO_COLOR": "1", **env}
            chat = Terminal(
                [OVERT, "--plain", "--session-id", name], cwd=place.work, env=place.environment(server, more)
            )
            stack.callback(chat.close)
            chats[name] = chat
        for number in range(3):
            for name, chat in chats.items():
                chat.expect(PROMPT)
                chat.line(f"{name} {number}")
            for chat in chats.values():
                chat.expect("[a]")
            for chat in chats.values():
                chat.line("a")
            for name, chat in chats.items():
                chat.expect(f"did {name}{number}")
        for chat in chats.values():
            chat.expect(PROMPT)
            chat.line("/exit")
            assert chat.wait() == 0
    prompts = [json.loads(line) for line in (place.home / DATA / "prompts.jsonl").read_bytes().splitlines()]
    assert sorted(prompts) == sorted([*tasks, "/exit", "/exit"])
    for env in versions.values():
        rules = {row["rule"] for row in read_json(place, "permissions", env=env)}
        assert rules == {f"bash({program.split()[0]} *)" for own in programs.values() for program in own}
