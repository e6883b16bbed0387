"""`overt setup` at a terminal: from nothing to a model that answers a task, and nothing left when one leaves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.fakes.file_ring import ring_environment
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import OVERT, Place, Terminal

SECRET = "sk-typed-90b7c1d2e3f4"
READY = Turn(text="I am ready.")


@contextmanager
def setup(place: Place, **more: str) -> Iterator[Terminal]:
    environ = {"TERM": "xterm", "OVERT_API_KEY": "", **ring_environment(place.home.parent / "ring.json"), **more}
    terminal = Terminal([OVERT, "setup"], cwd=place.work, env=place.environment(more=environ))
    try:
        yield terminal
    finally:
        terminal.close()


def answered(terminal: Terminal, *answers: tuple[str, str]) -> None:
    for question, answer in answers:
        terminal.expect(question)
        terminal.ready()
        terminal.line(answer)


def config(place: Place) -> Path:
    return place.home / ".config/overt/config.toml"


def own(server: ModelServer) -> tuple[tuple[str, str], ...]:
    address = server.url.removesuffix("/v1").removeprefix("http://")
    return ("Number or name", "own"), ("Address", address), ("speak", ""), ("called?", "lab"), ("key? [y/N]", "y")


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_few_answers_lead_from_nothing_to_a_task_that_is_done(place: Place, term: str) -> None:
    refused = Turn(fault=Fault(status=401, body=json.dumps({"error": {"message": f"no such key: {SECRET}-typo"}})))
    with ModelServer([refused, READY, Turn(text="Four.")]) as server:
        with setup(place, TERM=term) as terminal:
            answered(
                terminal,
                *own(server),
                ("LAB_API_KEY (not shown", f"{SECRET}-typo"),
                ("[fake-model]: ", ""),
                ("What now? [k]: ", ""),
                ("LAB_API_KEY (not shown", SECRET),
                ("[fake-model]: ", ""),
                ("keyring as LAB_API_KEY? [Y/n] ", ""),
                ("Write this to ~/.config/overt/config.toml? [Y/n] ", ""),
            )
            assert terminal.wait() == 0
            assert SECRET not in terminal.text()
        environ = {"OVERT_API_KEY": "", **ring_environment(place.home.parent / "ring.json")}
        done = place.run("run", "what is two and two?", env=environ)
        assert (done.code, done.out) == (0, "Four.\n")
        assert server.posts[-1].headers["authorization"] == f"Bearer {SECRET}"
    for path in place.home.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    assert config(place).read_text() == (
        f'default_model = "lab/fake-model"\n\n[[providers]]\nname = "lab"\nbase_url = "{server.url}"\n'
        'api_key_env = "LAB_API_KEY"\n'
    )


@pytest.mark.parametrize("questions", [0, 4, 5, 6, 7])
def test_ctrl_c_leaves_nothing_behind(place: Place, questions: int) -> None:
    with ModelServer([READY]) as server:
        answers = (*own(server), ("(not shown", SECRET), ("[fake-model]: ", ""), ("keyring as", "n"))
        asked = [question for question, _ in (*answers, ("Write this to", ""))]
        with setup(place) as terminal:
            answered(terminal, *answers[:questions])
            terminal.expect(asked[questions])
            terminal.ready()
            terminal.interrupt()
            terminal.expect("Nothing was written.")
            assert terminal.wait() == 130
            assert SECRET not in terminal.text()
    assert not config(place).exists()
    assert not (place.home.parent / "ring.json").exists()


def test_the_terminal_echoes_again_after_ctrl_c_at_the_question_for_a_key(place: Place) -> None:
    with ModelServer([READY]) as server, setup(place) as terminal:
        before = terminal.modes()
        answered(terminal, *own(server))
        terminal.expect("(not shown")
        terminal.ready()
        assert terminal.modes() != before
        terminal.interrupt()
        terminal.expect("Nothing was written.")
        assert terminal.modes() == before
        assert terminal.wait() == 130


def test_keys_pressed_before_a_question_do_not_answer_it(place: Place) -> None:
    with ModelServer([Turn(text="I am ready.", delay=0.3)]) as server, setup(place) as terminal:
        answered(terminal, *own(server)[:4], ("key? [y/N]", "n"), ("[fake-model]: ", ""))
        terminal.expect("Trying lab/fake-model")
        terminal.line("y")
        terminal.expect("Write this to ~/.config/overt/config.toml? [Y/n] ")
        terminal.ready()
        assert not config(place).exists()
        terminal.line("n")
        terminal.expect("Nothing was written.")
        assert terminal.wait() == 1


def test_a_chat_without_a_model_leads_through_setup_to_the_first_answer(place: Place) -> None:
    with ModelServer([READY, Turn(text="Four.")]) as server:
        environ = {"TERM": "xterm", "OVERT_API_KEY": "", **ring_environment(place.home.parent / "ring.json")}
        terminal = Terminal([OVERT], cwd=place.work, env=place.environment(more=environ))
        try:
            terminal.expect("yes, trust it")
            terminal.type("y")
            terminal.expect("No model was found")
            terminal.expect("set one up now")
            terminal.ready()
            terminal.type("s")
            answered(terminal, *own(server)[:4], ("key? [y/N]", "n"), ("[fake-model]: ", ""), ("Write this to", ""))
            terminal.expect("is written")
            terminal.expect("fake-model")
            terminal.ready()
            terminal.type("what is two and two?\r")
            terminal.expect("Four.")
            terminal.type("\x04")
            assert terminal.wait() == 0
        finally:
            terminal.close()
        assert len(server.posts) == 2


def test_chinese_all_the_way(place: Place) -> None:
    with ModelServer([READY]) as server, setup(place, LANG="zh_CN.UTF-8") as terminal:
        address = server.url
        answered(
            terminal,
            ("编号或名称", "own"),
            ("地址", address),
            ("哪种协议", ""),
            ("起个名字", "lab"),
            ("需要密钥吗", "n"),
            ("编号或名称", ""),
            ("写入 ~/.config/overt/config.toml 吗？ [Y/n] ", "是"),
        )
        terminal.expect("已写入")
        assert terminal.wait() == 0
    assert config(place).exists()
