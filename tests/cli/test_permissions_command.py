"""`overt permissions`: what is stored, why a command meets its verdict, and what was decided."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import OVERT, Place, call, calls

from overt.config.paths import Environment
from overt.config.saved_rules import add_always
from overt.core.settings import Rule


def remember(place: Place, *rules: Rule) -> None:
    where = Environment(
        home=str(place.home),
        config_dir=str(place.home / ".config/overt"),
        data_dir=str(place.home / ".local/share/overt"),
        cache_dir=str(place.home / ".cache/overt"),
        cwd=str(place.work),
        variables={},
    )
    for rule in rules:
        add_always(where, str(place.work), rule)


def work(place: Place, *commands: str) -> None:
    """One session in which these commands were called."""
    turns = [*(calls(call("bash", command=command)) for command in commands), Turn(text="done")]
    with ModelServer(turns) as server:
        place.run("run", "go", "--yolo", server=server)


def rows(place: Place, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in place.run("permissions", *words, "--json").out.splitlines()]


def test_stored_rules_are_numbered_and_tell_what_of_the_past_they_speak_of(place: Place) -> None:
    remember(place, Rule(action="allow", tool="bash", pattern="echo one"), Rule(action="allow", tool="edit"))
    work(place, "echo one", "echo two")
    work(place, "echo one", "rm -rf elsewhere")
    assert place.run("permissions").out == (
        " 1  allow  bash(echo one)  2 past calls: echo one\n 2  allow  edit  no past call\n"
    )
    assert rows(place, "list") == [
        {"number": 1, "action": "allow", "rule": "bash(echo one)", "matched": 2, "examples": ["echo one"]},
        {"number": 2, "action": "allow", "rule": "edit", "matched": 0, "examples": []},
    ]


@pytest.mark.parametrize("wanted", ["2", "read"])
def test_a_rule_is_revoked_by_its_number_or_as_it_reads(place: Place, wanted: str) -> None:
    remember(place, Rule(action="allow", tool="edit"), Rule(action="allow", tool="read"))
    assert place.run("permissions", "revoke", wanted).out == "revoked read\n"
    assert place.run("permissions").out == " 1  allow  edit  no past call\n"
    wrong = place.run("permissions", "revoke", "2")
    assert (wrong.code, wrong.out) == (1, "")
    assert "No stored rule reads '2' or has that number. Stored: 1 edit." in wrong.err


def test_a_verdict_is_explained_in_every_mode_with_its_rule_and_origin(place: Place) -> None:
    (place.work / "overt.toml").write_text("[permissions]\ndeny = ['bash(curl *)']\nask = ['read(secret/**)']\n")
    (found,) = rows(place, "check", "ls; rm -rf ~/notes")
    assert (found["tool"], found["about"], found["hazard"]) == ("bash", ["ls; rm -rf ~/notes"], "dangerous")
    assert any("rm" in cause["words"] and cause["why"] for cause in found["hazards"])
    assert [(each["mode"], each["verdict"], each["alone"]) for each in found["verdicts"]] == [
        ("review", "ask", "ask"),
        ("auto", "ask", "ask"),
        ("plan", "deny", "deny"),
        ("yolo", "ask", "ask"),
    ]
    assert found["reach"] == "final" and "outside the workspace" in found["because"][0]
    assert found["remedy"] == "Allow it with `--allowedTools 'bash(rm *)'` or start a chat."
    (place.work / "notes.txt").write_text("x")
    (found,) = rows(place, "check", "rm notes.txt")
    assert (found["reach"], found["because"], found["remedy"]) == ("recoverable", ["/undo brings this back"], "")
    assert [(each["mode"], each["verdict"], each["alone"]) for each in found["verdicts"]] == [
        ("review", "ask", "ask"),
        ("auto", "allow", "ask"),
        ("plan", "deny", "deny"),
        ("yolo", "allow", "ask"),
    ]
    (found,) = rows(place, "check", "make test")
    assert [(each["mode"], each["verdict"], each["alone"]) for each in found["verdicts"]] == [
        ("review", "ask", "ask"),
        ("auto", "allow", "ask"),
        ("plan", "allow", "deny"),
        ("yolo", "allow", "allow"),
    ]
    (found,) = rows(place, "check", "--mode", "yolo", "curl x")
    (ruled,) = found["verdicts"]
    assert (ruled["verdict"], ruled["rule"], ruled["origin"]) == ("deny", "bash(curl *)", "overt.toml:2")
    (found,) = rows(place, "check", "read(secret/a)", "--mode=review")
    (ruled,) = found["verdicts"]
    assert (found["tool"], found["hazard"], ruled["verdict"], ruled["origin"]) == ("read", "", "ask", "overt.toml:3")
    told = place.run("permissions", "check", "make test").out
    assert "auto    allow in a sandbox, else ask  [auto, mode]" in told and "yolo    allow" in told


def test_a_command_that_needs_the_network_is_explained_with_who_opens_it(place: Place) -> None:
    (found,) = rows(place, "check", "npm install", "--mode", "auto")
    (ruled,) = found["verdicts"]
    assert (ruled["verdict"], ruled["rule"], ruled["alone"]) == ("ask", "network", "ask")
    config = place.home / ".config" / "overt"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[permissions]\nallow = [{ rule = "bash(npm *)", network = true }]\n')
    (found,) = rows(place, "check", "npm install", "--mode", "auto")
    (ruled,) = found["verdicts"]
    assert (ruled["verdict"], ruled["rule"]) == ("allow", "bash(npm *)")


def test_a_program_the_configuration_calls_dangerous_is(place: Place) -> None:
    (place.work / "overt.toml").write_text("[permissions]\ndangerous = ['flyctl']\n")
    (found,) = rows(place, "check", "flyctl deploy")
    assert found["hazard"] == "dangerous"


def test_an_explanation_cannot_drive_the_terminal(place: Place) -> None:
    out = place.run("permissions", "check", "echo \x1b[2J\u202e; rm x").out
    assert "\x1b" not in out and "\u202e" not in out and "\\x1b[2J<U+202E>" in out


# ── many at once ─────────────────────────────────────────────────────────────────────────────────────────


def stream(place: Place, data: bytes, *words: str) -> tuple[int, list[Any]]:
    done = place.run("permissions", "check", "--stdin", "--json", *words, stdin=data)
    return done.code, [json.loads(line) for line in done.out.splitlines()]


def test_every_line_of_input_is_answered_by_one_object(place: Place) -> None:
    lines = ["ls -l", "rm -rf /", "make test", "echo 'ünï 数据'"]
    code, found = stream(place, "\n".join(json.dumps(line) for line in lines).encode())
    assert code == 0
    assert [list(each) for each in found] == [["cmd", "verdict", "dangerous", "hazards"]] * 4
    assert [each["cmd"] for each in found] == lines
    assert [(each["verdict"], each["dangerous"]) for each in found] == [
        ("allow", False),
        ("ask", True),
        ("ask", False),
        ("allow", False),
    ]
    assert found[0]["hazards"] == [] and found[1]["hazards"][0].keys() == {"words", "why"}


def test_a_line_that_is_no_string_is_an_error_of_its_own(place: Place) -> None:
    data = b'"ls"\nnot json\n17\n["ls"]\n\n"\\ud800"\n\xff\n"pwd"\n'
    code, found = stream(place, data)
    assert code == 1
    assert [each.get("verdict") for each in found] == ["allow", None, None, None, None, None, None, "allow"]
    assert found[1] == {"error": 'line 2 is not a JSON string, such as "ls -l"'}


def test_what_the_folder_says_does_not_change_the_verdict_under_the_default_rules(place: Place) -> None:
    (place.work / "overt.toml").write_text("this is [ no configuration")
    data = b'"make test"\n"echo x > new.txt"\n'
    code, here = stream(place, data)
    (place.work / "overt.toml").write_text("[permissions]\nallow = ['bash']\n")
    assert place.run("trust").code == 0
    assert (code, stream(place, data)) == (0, (0, here))


def test_an_answer_comes_before_the_next_question(place: Place) -> None:
    child = subprocess.Popen(
        [OVERT, "permissions", "check", "--stdin", "--json"],
        cwd=place.work,
        env=place.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdin and child.stdout
        for command in ("pwd", "rm x"):
            child.stdin.write(json.dumps(command).encode() + b"\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["cmd"] == command
        child.stdin.close()
        assert child.wait(20) == 0


def test_ten_thousand_lines_are_judged_in_one_go(place: Place, tmp_path: Path) -> None:
    commands = [f"git log -n {n} | grep 'x{n}' && rm -f build/{n}" if n % 2 else f"ls dir{n}" for n in range(10_000)]
    code, found = stream(place, "\n".join(map(json.dumps, commands)).encode())
    assert (code, len(found)) == (0, 10_000)
    assert [each["dangerous"] for each in found] == [bool(n % 2) for n in range(10_000)]


def test_a_table_is_printed_without_json(place: Place) -> None:
    done = place.run("permissions", "check", "--stdin", stdin=b'"ls"\n"rm \\u001b[2J x"\nbad\n')
    first, second, third = done.out.splitlines()
    assert first.split() == ["allow", "ls"]
    assert second.startswith("ask    dangerous  rm \\x1b[2J x") and third.startswith("error: line 3")


# ── the record ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_log_tells_the_last_decisions_and_who_made_them(place: Place) -> None:
    work(place, "pwd", "rm -rf ~/x")
    made = rows(place, "log")
    assert [(each["tool"], each["what"], each["verdict"], each["rule"], each["by"]) for each in made] == [
        ("bash", "pwd", "allow", "harmless", "mode"),
        ("bash", "rm -rf ~/x", "deny", "final", "guard"),
    ]
    (last,) = place.run("permissions", "log", "-n", "1").out.splitlines()
    assert last[20:].strip().startswith("deny   bash rm -rf ~/x  [final, guard, guard]")
    assert place.run("permissions", "log", "-C", str(place.home)).out == ""


@pytest.mark.parametrize(
    "words", [("check",), ("check", "--stdin", "ls"), ("revoke",), ("lst",), ("log", "-n", "0"), ("log", "x")]
)
def test_what_makes_no_sense_is_refused_with_what_would(place: Place, words: tuple[str, ...]) -> None:
    done = place.run("permissions", *words)
    assert (done.code, done.out) == (2, "") and done.err.startswith("overt: ")


def test_a_damaged_session_is_passed_over(place: Place) -> None:
    work(place, "pwd")
    remember(place, Rule(action="allow", tool="bash", pattern="pwd"))
    session = place.session()
    whole = session.read_bytes()
    session.write_bytes(b"\x00\xff garbage")
    try:
        assert place.run("permissions").out == " 1  allow  bash(pwd)  no past call\n"
        assert place.run("permissions", "log").out == ""
    finally:
        session.write_bytes(whole)
