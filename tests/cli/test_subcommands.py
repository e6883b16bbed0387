"""The command line as it is typed: subcommands, help, and every way to hand over a prompt."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import OVERT, PROMPT, Place, Ran, call, calls, messages, results

from overt import __version__


def said(server: ModelServer) -> str:
    """What the model was last told by the user."""
    return str(messages(server)[-1]["content"])


# ── read-only subcommands ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_the_version_is_printed(place: Place, flag: str) -> None:
    assert place.run(flag) == Ran(0, f"overt {__version__}\n", "")
    assert place.run("run", flag) == Ran(0, f"overt {__version__}\n", "")


def test_the_version_loads_nothing_of_ours_but_the_version() -> None:
    script = (
        "import sys; sys.argv[1:] = ['--version']; from overt.__main__ import main; main(); "
        "print(sorted(name for name in sys.modules if name.startswith('overt')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"overt {__version__}\n['overt', 'overt.__main__']\n"


@pytest.mark.parametrize(
    "words", [(), ("run",), ("config",), ("models",), ("permissions",), ("sessions",), ("tools",), ("trust",)]
)
def test_every_command_has_help(place: Place, words: tuple[str, ...]) -> None:
    short, long = place.run(*words, "-h"), place.run(*words, "--help")
    assert short == long
    name = " ".join(("overt", *words)) if words != ("run",) else "overt"
    assert (long.code, long.err) == (0, "")
    assert long.out.startswith(f"usage: {name} ") and "--help" in long.out
    assert max(len(line) for line in long.out.splitlines()) <= 120


def test_config_shows_every_value_with_the_file_and_line_that_set_it(place: Place) -> None:
    user = place.home / ".config/overt/config.jsonc"
    user.parent.mkdir(parents=True)
    user.write_text('{\n  // mine\n  "language": "en",\n  "permissions": {"allow": ["edit"]},\n}\n')
    (place.work / "overt.toml").write_text('[agent]\nmax_steps = 7\n\n[permissions]\ndeny = ["bash(rm *)"]\n')
    done = place.run("config", env={"OVERT_MODEL": "m"})
    rows = {line.split()[0]: line.split("  ")[-1].strip() for line in done.out.splitlines()}
    assert (done.code, done.err) == (0, "")
    assert rows["language"] == "~/.config/overt/config.jsonc:3"
    assert rows["permissions.allow"] == "~/.config/overt/config.jsonc:4"
    assert rows["agent.max_steps"] == "overt.toml:2"
    assert rows["permissions.deny"] == "overt.toml:5"
    assert rows["permissions.mode"] == "default"
    assert "OVERT_MODEL" in rows["default_model"]
    as_json = json.loads(place.run("config", "--json").out)
    steps = next(row for row in as_json if row["key"] == "agent.max_steps")
    assert steps == {
        "key": "agent.max_steps",
        "value": 7,
        "origin": "overt.toml:2",
        "type": "a whole number above 0, or 0 for no limit",
        "default": 0,
        "description": "The number of requests after which a turn must end; 0 is no limit.",
    }


def test_config_speaks_of_the_project_of_another_folder(place: Place) -> None:
    (place.work / "inner/deeper").mkdir(parents=True)
    (place.work / "inner/overt.toml").write_text("[agent]\nmax_steps = 3\n")
    assert "agent.max_steps               3" in place.run("config", "-C", "inner/deeper").out
    assert "agent.max_steps               0" in place.run("config").out


def test_models_marks_the_one_that_would_be_used(place: Place) -> None:
    with ModelServer([], models=("big", "small")) as server:
        done = place.run("models", server=server, env={"OVERT_MODEL": "small"})
        assert (done.code, [line.split()[:2] for line in done.out.splitlines()[1:3]]) == (
            0,
            [["*", "environment/small"], ["environment/big", "unknown"]],
        )
        rows = json.loads(place.run("models", "--json", server=server, env={"OVERT_MODEL": "small"}).out)
    assert [(row["model"], row["chosen"]) for row in rows[:2]] == [("small", True), ("big", False)]


def test_without_a_name_the_first_model_of_the_server_is_used(place: Place) -> None:
    with ModelServer([Turn(text="hello")], models=("first", "second")) as server:
        assert place.run("run", "hi", server=server, env={"OVERT_MODEL": ""}).out == "hello\n"
        assert server.posts[0].json()["model"] == "first"


def test_the_flag_for_the_model_wins(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server:
        assert place.run("run", "-m", "other", "hi", server=server).out == "hello\n"
        assert server.posts[0].json()["model"] == "other"


def test_tools_are_listed_with_their_effects(place: Place) -> None:
    done = place.run("tools")
    rows = {line.split()[0]: line.split()[1] for line in done.out.splitlines()}
    assert done.code == 0
    assert rows["read"] == "read" and rows["edit"] == "write" and rows["bash"] == "run" and rows["todowrite"] == "notes"
    assert len(rows) == 19
    assert {row["name"] for row in json.loads(place.run("tools", "--json").out)} == set(rows)


def test_trust_lets_the_key_of_a_project_be_used_until_it_is_revoked(place: Place) -> None:
    """The key in `.env` goes out only from a project that somebody vouched for."""
    (place.work / ".git").mkdir()
    (place.work / ".env").write_text("MINE_KEY=from-dotenv-123\n")
    user = place.home / ".config/overt/config.toml"
    user.parent.mkdir(parents=True)
    with ModelServer([Turn(text="hello")], after="repeat") as server:
        user.write_text(
            f'[[providers]]\nname = "mine"\nbase_url = "{server.url}"\nmodel = "m"\napi_key_env = "MINE_KEY"\n'
        )

        def sent() -> str:
            assert place.run("run", "hi", env={"OVERT_API_KEY": ""}).out == "hello\n"
            return server.posts[-1].headers.get("authorization", "")

        assert sent() == ""
        assert place.run("trust") == Ran(0, f"{place.work} is trusted from now on.\n", "")
        assert sent() == "Bearer from-dotenv-123"
        assert place.run("trust", "--revoke", ".") == Ran(0, f"{place.work} is no longer trusted.\n", "")
        assert sent() == ""
    session = place.sessions()[1].read_bytes()
    assert b"from-dotenv" not in session


def test_trust_shows_what_it_is_about_and_what_has_changed_since(place: Place) -> None:
    (place.work / "overt.toml").write_text("[permissions]\nallow = ['edit']\n")
    (place.work / ".env").write_text("MINE_KEY=hunter2-hunter2\n")
    listed = "  overt.toml\n    permissions.allow = edit\n  .env\n    MINE_KEY\n"
    assert place.run("trust", "--show") == Ran(0, f"{place.work} is not trusted.\n{listed}", "")
    place.run("trust")
    assert place.run("trust", "--show") == Ran(0, f"{place.work} is trusted.\n{listed}", "")
    (place.work / ".env").write_text("OTHER_KEY=hunter2-hunter2\n")
    assert place.run("trust", "--show").out == (
        f"{place.work} is not trusted.\nChanged since you last answered: .env\n"
        "  .env\n    OTHER_KEY\n  overt.toml\n    permissions.allow = edit\n"
    )


def test_a_folder_with_broken_configuration_can_be_trusted_and_mended_later(place: Place) -> None:
    (place.work / "overt.toml").write_text("[permissions")
    assert place.run("trust").code == 0
    done = place.run("config")
    assert (done.code, done.out) == (1, "") and done.err.startswith("overt: overt.toml:1: not valid TOML")


# ── the prompt ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (("run", "fix it"), b"", "fix it"),
        (("run", "fix", "it"), b"", "fix it"),
        (("-p", "fix it"), b"", "fix it"),
        (("fix it", "-p"), b"", "fix it"),
        (("--print", "fix it"), b"", "fix it"),
        (("fix it",), b"", "fix it"),
        (("run",), b"fix it\n", "fix it\n"),
        ((), b"fix it", "fix it"),
        (("run", "-"), b"fix it", "fix it"),
        (("-p", "-"), b"fix it", "fix it"),
        (("run", "fix it"), b"the log\n", "fix it\n\nthe log\n"),
        (("run", "fix it", "-"), b"the log", "fix it\n\nthe log"),
        (("run", "--", "--help me"), b"", "--help me"),
        (("--", "models"), b"", "models"),
        (("run", "models"), b"", "models"),
        (("run", "修复 it"), b"", "修复 it"),
        (("run", "--max-turns=3", "-mfake-model", "fix it"), b"", "fix it"),
    ],
    ids=lambda value: repr(value),
)
def test_a_prompt_comes_as_words_or_through_stdin(
    place: Place, words: tuple[str, ...], stdin: bytes, told: str
) -> None:
    with ModelServer([Turn(text="hello")]) as server:
        assert place.run(*words, server=server, stdin=stdin) == Ran(0, "hello\n", "")
        assert said(server) == told


def test_a_pipe_that_stays_silent_does_not_hold_up_a_prompt_that_was_given(place: Place) -> None:
    reader, writer = os.pipe()
    try:
        with ModelServer([Turn(text="hello")]) as server:
            done = place.run("run", "fix it", server=server, stdin=reader)
            assert (done.code, done.out, said(server)) == (0, "hello\n", "fix it")
            assert "nothing came through stdin" in done.err
    finally:
        os.close(reader)
        os.close(writer)


def test_words_in_a_terminal_open_the_chat_with_a_first_prompt(place: Place) -> None:
    with ModelServer([Turn(text="hello there")]) as server, place.chat("fix it", server=server) as terminal:
        terminal.expect("hello there")
        terminal.expect(PROMPT)
        assert said(server) == "fix it"
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_the_chat_keeps_what_was_typed_for_the_next_one(place: Place) -> None:
    with ModelServer([Turn(text="hello")], after="repeat") as server:
        with place.chat(server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.line("a memorable prompt")
            terminal.expect("hello")
            terminal.expect(PROMPT)
            terminal.line("/exit")
            assert terminal.wait() == 0
        history = place.home / ".local/share/overt/prompts.jsonl"
        assert "a memorable prompt" in history.read_text() and history.stat().st_mode & 0o777 == 0o600
        with place.chat(server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.ready()
            terminal.type("\x1b[A\x1b[A\n")
            terminal.expect("hello")
            assert said(server) == "a memorable prompt"


@pytest.mark.parametrize(
    ("flags", "head", "tail"),
    [
        (("--system-prompt", "Be a poet."), "Be a poet.", ""),
        (("--system-prompt-file", "poet.md"), "Be a poet, from a file.", ""),
        (("--append-system-prompt", "Rhyme."), "", "Rhyme."),
        (("--system-prompt=Be a poet.", "--append-system-prompt=Rhyme."), "Be a poet.", "Rhyme."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_system_prompt_is_replaced_or_added_to(place: Place, flags: tuple[str, ...], head: str, tail: str) -> None:
    (place.work / "poet.md").write_text("Be a poet, from a file.")
    with ModelServer([Turn(text="hello")]) as server:
        place.run("run", "hi", *flags, server=server)
        system = str(messages(server)[0]["content"])
    assert system.startswith(head) and system.endswith(tail)
    assert str(place.work) in system


def test_a_further_folder_may_be_opened_to_the_file_tools(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("over there\n")
    look = call("read", path=str(other / "a.txt"))
    with ModelServer([calls(look), Turn(text="done")], after="loop") as server:
        place.run("run", "hi", server=server)
        assert results(server) == ["/tmp is empty: commands have one of their own, and none has run yet."]
        place.run("run", "hi", "--add-dir", str(other), server=server)
        assert results(server) == ["     1\tover there"]


def test_minus_c_works_in_another_folder(place: Place) -> None:
    (place.work / "inner").mkdir()
    with ModelServer([calls(call("bash", command="pwd")), Turn(text="done")]) as server:
        place.run("run", "hi", "-Cinner", server=server)
        assert results(server) == [str(place.work / "inner")]


def test_the_interpreter_may_run_it_as_a_module(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "overt", "tools"], env=place.environment(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, place.run("tools").out)
    assert Path(OVERT).exists()
