"""Nothing that a model, a tool, a file or a server says drives the terminal: every byte of a pty is looked at."""

import json
import re
from pathlib import Path

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.journeys.journey_kit import OVERT, PROMPT, Place, Terminal, call, calls, entries

from overt.frontends.tui.first_paint import MARK, UNMARK

NAUGHTY = Path(__file__).parents[3] / "shared/data/naughty_strings.json"
END = "That was all of it."
COLOUR = {"NO_COLOR": ""}

SEQUENCES = (
    *("\x1b]0;owned\x07", "\x1b]2;owned\x1b\\", "\x1b]8;;http://evil/\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;aGk=\x07"),
    *(
        "\x1bP+q544e\x1b\\",
        "\x1b_apc\x1b\\",
        "\x1b^pm\x1b\\",
        "\x1bXsos\x1b\\",
        "\x1b[2J\x1b[H",
        "\x1b[31mred",
        "\x1b[6n",
    ),
    *(
        "\x1b[?1049h",
        "\x1b[?2004h",
        "\x1bc",
        "\x1b(0",
        "\x9b2J",
        "\x9d0;owned\x9c",
        "\x90q\x9c",
        "\x85next",
        "\x84\x8d",
    ),
    *(
        "bell\x07",
        "back\x08\x08\x08",
        "over\rwritten",
        "shift\x0e\x0f",
        "vt\x0b ff\x0c",
        "nul\x00",
        "del\x7f",
        "enq\x05",
    ),
    *("bidi\u202egnp.exe\u202c", "iso\u2066x\u2069", "zero\u200bwidth\u200d", "bom\ufeff", "tag\U000e0041\U000e007f"),
    *(
        "vs\ufe00\U000e0100",
        "line\u2028para\u2029",
        "soft\u00adhyphen",
        "hangul\u3164\uffa0",
        "anno\ufff9a\ufffab\ufffb",
    ),
)

OURS = re.compile(r"\x1b\[(?:0|1|2|31|32|36)m|\x1b\[\?2004[hl]")
"""Six colours, and readline's bracketed paste, which it turns on and off around each line."""
PAINTED = re.compile(r"\x1b\[(?:1|2|31|32|36)m[^\x1b]*\x1b\[0m|\r?\x1b\[\?2004[hl]\r?")
CONTROLS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
)
ALONE = r"\r(?!\r*\n)"
IN_JSON = re.compile(f"[{CONTROLS}\U000e0001-\U000e007f]|{ALONE}")
FOREIGN = re.compile(f"[{CONTROLS}\u3164\uffa0\U000e0000-\U000e0fff]|{ALONE}")


def assert_harmless(raw: bytes, foreign: re.Pattern[str] = FOREIGN) -> str:
    """What is on the screen without our own sequences, when nothing else in it is one."""
    text = raw.decode("utf-8")  # a raw C1 byte would not be UTF-8
    bare = OURS.sub("", PAINTED.sub(lambda found: OURS.sub("", found[0]).strip("\r"), text))
    found = [(ascii(hit[0]), bare[max(hit.start() - 40, 0) : hit.end() + 20]) for hit in foreign.finditer(bare)]
    assert found == []
    return bare


def strings() -> list[str]:
    naughty = json.loads(NAUGHTY.read_text(encoding="utf-8")) if NAUGHTY.exists() else []
    return [*SEQUENCES, *naughty]


def names() -> list[str]:
    """Those that can be the name of a file."""
    return [name for name in strings() if name.strip(".") and not {"/", "\0"} & set(name) and len(name.encode()) < 200]


EARLY = (MARK.replace("\n", "\r\n") + UNMARK).encode()
"""Flags may open the chat: the composer was painted, and is gone before a word is said."""


def screen(place: Place, server: ModelServer, *words: str) -> str:
    """A command that ends by itself, in a terminal."""
    environment = place.environment(server, {"TERM": "xterm", **COLOUR})
    terminal = Terminal([OVERT, *words], cwd=place.work, env=environment)
    try:
        terminal.wait()
        raw = terminal.raw.removeprefix(EARLY)
        return assert_harmless(raw, IN_JSON if "json" in " ".join(words) else FOREIGN)
    finally:
        terminal.close()


@pytest.fixture(scope="module")
def the_strings() -> list[str]:
    if not NAUGHTY.exists():
        pytest.skip("the naughty strings are not beside the repository")
    return strings()


def test_no_string_of_a_model_or_a_tool_drives_the_terminal(place: Place, the_strings: list[str]) -> None:
    """The text is streamed in small pieces; what tools print passes twelve lines at a time, which are shown whole."""
    whole = "\n".join(the_strings)
    (place.work / "naughty.txt").write_bytes(whole.encode("utf-8", "surrogatepass"))
    count = whole.count("\n") + 1
    cats = [call("bash", command=f"sed -n '{at},{at + 10}p' naughty.txt") for at in range(1, count + 1, 11)]
    script = [
        Turn(text=whole, reasoning=whole, chunk=7),
        calls(*cats[:40], call("read", path="naughty.txt")),
        calls(*cats[40:], call("bash", command=r"printf '\033]0;t\007\033[2J\233\a\b\r\033P\033\\'; exit 3")),
        Turn(text=END),
    ]
    with ModelServer(script) as server, place.chat("--yolo", server=server, env=COLOUR) as terminal:
        terminal.expect(PROMPT)
        terminal.line("say it")
        terminal.expect(" out, ")
        terminal.expect(PROMPT)
        terminal.line("print it")
        terminal.expect(END, 60)
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
        shown = assert_harmless(terminal.raw)
    for wanted in (
        "\\x1b]0;owned\\x07",
        "\\x9b2J",
        "bidi<U+202E>gnp.exe",
        "tag<U+E0041>",
        "over\\x0dwritten",
        "[exit code 3]",
    ):
        assert wanted in shown
    told = place.run("sessions", "show", json.loads(place.session().read_bytes().split(b"\n")[0])["data"]["id"])
    assert_harmless(told.out.encode())


def test_no_name_of_a_file_drives_the_terminal(place: Place, the_strings: list[str]) -> None:
    assert the_strings
    given = names()
    folder = place.work / "names"
    folder.mkdir()
    for name in given:
        (folder / name).write_text("here\n")
    script = [
        calls(call("list", path="names"), call("glob", pattern="names/*"), call("grep", pattern="here", path="names")),
        calls(*(call("read", path=f"names/{name}") for name in given[:150])),
        calls(
            *(call("write", path=f"new/{number}{name}", content=f"{name}\n") for number, name in enumerate(given[:36]))
        ),
        calls(
            call("bash", command="ls names | head -60"), call("edit", path="no\x1b[2J", old_string="a", new_string="b")
        ),
        Turn(text=END),
    ]
    with ModelServer(script) as server:
        shown = screen(place, server, "-p", "go", "--verbose", "--yolo")
        answer, closing = shown.rstrip().splitlines()[-2:]
        assert answer.endswith(END) and closing.startswith("36 files changed (+36 -0)")
        assert "→ read names/\\x1b]2;owned" in shown or "→ read names/\\x1b]0;owned\\x07" in shown
    with ModelServer(script) as server, place.chat("--yolo", server=server, env=COLOUR) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        terminal.expect(END, 60)
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
        assert_harmless(terminal.raw)


def test_an_approval_shows_to_the_letter_what_would_run(place: Place) -> None:
    commands = [f"touch made; echo {sequence}" for sequence in SEQUENCES if "\0" not in sequence]
    asked = [call("bash", command=command, description=f"why {command}") for command in commands]
    asked.append(call("write", path="x\u202e.txt", content="".join(f"{one}\n" for one in SEQUENCES if "\0" not in one)))
    asked.append(call("bash", command="touch\u00a0made \\\n\tmore\nDeny? y\n" + "x" * 500))
    with ModelServer([calls(*asked), Turn(text=END)]) as server, place.chat(server=server, env=COLOUR) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        questions = []
        for _ in asked:
            questions.append(terminal.expect("Allow? "))
            terminal.line("n")
            terminal.expect("empty): ")
            terminal.line("")
        terminal.expect(END)
        terminal.line("/exit")
        assert terminal.wait() == 0
        assert_harmless(terminal.raw)
    assert "│ touch made; echo \\x1b]52;c;aGk=\\x07" in questions[3]
    assert "│ touch made; echo bidi<U+202E>gnp.exe<U+202C>" in "".join(questions)
    assert [question for question in questions if "shown as codes" not in question] == []
    last = [row.strip("\n") for row in questions[-1].split("\n")]
    assert "  │ touch\\xa0made \\" in last
    assert "  │ Deny? y" in last
    assert [len(row) for row in last if row.startswith(("  │ x", "  ┆ x"))] == [200, 200, 112]
    assert not (place.work / "made").exists()


def test_no_server_drives_the_terminal(place: Place) -> None:
    evil = "".join(SEQUENCES)
    body = json.dumps({"error": {"message": evil, "type": evil, "code": evil, "param": evil}})
    script = [
        Turn(fault=Fault(status=500, body=body, headers={"Retry-After": "0"})),
        Turn(fault=Fault(status=400, body=body)),
        Turn(fault=Fault(status=404, body=evil.replace("\0", ""))),
        calls(FakeCall(name=evil, arguments={"path": "x"}), FakeCall(name="read", arguments=f'{{"path": {evil}')),
        Turn(text=evil),
    ]
    with ModelServer(script, models=("fake-model", evil)) as server:
        with place.chat(server=server, env=COLOUR) as terminal:
            for prompt in ("one", "two", "three"):
                terminal.expect(PROMPT)
                terminal.line(prompt)
                terminal.expect(" out, ")
            terminal.expect(PROMPT)
            terminal.line("/model")
            terminal.expect("fake-model")
            terminal.expect(PROMPT)
            terminal.line(f"/model {evil[:8]!r}")
            terminal.expect(PROMPT)
            terminal.line("/exit")
            assert terminal.wait() == 0
            shown = assert_harmless(terminal.raw)
        assert "\\x1b]0;owned\\x07" in shown
        assert "\\x1b]0;owned" in screen(place, server, "models")


def test_output_for_programs_is_json_that_is_harmless_on_a_screen_too(place: Place) -> None:
    evil = "".join(SEQUENCES)
    (place.work / "a.txt").write_text(evil)
    script = [calls(call("read", path="a.txt"), call("bash", command="cat a.txt"), text=evil), Turn(text=evil)]
    for form in ("json", "stream-json"):
        with ModelServer(script) as server:
            shown = screen(place, server, "-p", "go", "--output-format", form)
        lines = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
        assert lines[-1]["result"] == evil
        with ModelServer(script) as server:
            piped = place.run("-p", "go", "--output-format", form, server=server)
        assert_harmless(piped.out.encode(), IN_JSON)
        assert json.loads(piped.out.splitlines()[-1])["result"] == evil
    with ModelServer(script) as server:
        assert "\\x1b]0;owned\\x07" in screen(place, server, "-p", "go")
    with ModelServer(script) as server:
        assert place.run("-p", "go", server=server).out == evil + "\n"


def test_no_subcommand_passes_on_what_was_said(place: Place) -> None:
    evil = "".join(one for one in SEQUENCES if "\0" not in one)
    config = place.home / ".config/overt/overt.toml"
    config.parent.mkdir(parents=True)
    quoted = json.dumps(evil).replace("\\ud", "\\\\ud")
    config.write_text(
        f'[agent]\nappend_system_prompt = {quoted}\n\n[permissions]\nallow = ["bash(echo \\u001b]0;x\\u0007)"]\n'
    )
    with ModelServer([Turn(text=evil)], after="repeat") as server:
        place.run("-p", evil, server=server)
        for words in (
            ("sessions",),
            ("sessions", "--json"),
            ("sessions", "show", entries(place.session())[0]["data"]["id"]),
            ("sessions", "show", entries(place.session())[0]["data"]["id"], "--json"),
            ("sessions", "show", evil),
            ("sessions", evil),
            ("config",),
            ("config", "--json"),
            ("permissions",),
            ("permissions", "revoke", evil),
            ("trust", evil),
            ("tools",),
            ("-p", "x", "--max-turns", evil),
            (f"--{evil}",),
            ("-C", evil, "-p", "x"),
            ("--resume", evil, "-p", "x"),
        ):
            screen(place, server, *words)
