"""Nothing that others wrote drives the terminal of the chat: every string through every channel, byte by byte."""

import json
import os
import re
import time

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.journeys.hostile_kit import LINK, Chat, assert_harmless, chat
from tests.journeys.journey_kit import Place, call, calls
from tests.journeys.test_terminal_bytes import NAUGHTY, SEQUENCES, names, strings

from overt.frontends.tui.chat.approval import PAUSE

STYLE = re.compile(r"\x1b\[[0-9;]*m")
END = "That was all of it."
SCREEN = (160, 50)
EVIL = "".join(one for one in SEQUENCES if "\0" not in one)
TEMPLATE = (
    "{model} {provider} {mode} {sandbox} {used} {limit} {percent} {cost} {session_cost} {budget} {cache} "
    "{session_cache} {jobs} {branch} {offline} {title} {turn}"
)
PAGE_UP, PAGE_DOWN, DOWN = "\x1b[5~", "\x1b[6~", "\x1b[B"
ESC = "\x1b"
LISTED, OPENED, CLOSED = "r whole request", "PgUp PgDn scroll", "\x1b[?1049l"
"""What is sent when the list of the context is drawn, when one of its texts is, and when an inspector is left."""


@pytest.fixture(scope="module")
def the_strings() -> list[str]:
    if not NAUGHTY.exists():
        pytest.skip("the naughty strings are not beside the repository")
    return strings()


@pytest.fixture
def here(place: Place) -> Place:
    """Links are on, so that their addresses are sent too."""
    configured(place, '[ui]\nlinks = "on"\n')
    place.distrust()
    return place


def configured(place: Place, text: str) -> None:
    config = place.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text)


def toml(text: str) -> str:
    plain = "".join(char if char.isalnum() and char.isascii() else f"\\U{ord(char):08X}" for char in text)
    return f'"{plain}"'


def markdown(string: str) -> str:
    """One string everywhere that Markdown has a place for it."""
    line = string.replace("\n", " ")
    return (
        f"# {line}\n\n- {line}\n  1. {line}\n\n> {line}\n\n| {line} | b |\n|---|--:|\n| {line} | `{line}` |\n\n"
        f"[{line}](https://e.test/{line}) [w]({line}) [p](<{line}>) <https://e.test/{line}> ![{line}]({line})\n"
        f"**{line}** ~~{line}~~ <b title='{line}'>{line}</b> https://e.test/{line} src/{line}.py:3 [r] [r][{line}]\n\n"
        f"[r]: <{line}>\n\n```{line}\n{line}\n```\n\n    {line}\n\n<div {line}>\n\n"
    )


def left(terminal: Chat) -> None:
    terminal.type("\x15\x04")
    assert terminal.wait() == 0


def pressed(terminal: Chat, key: str, wanted: str) -> None:
    terminal.type(key)
    terminal.hear(wanted)
    terminal.hush()


def paged(terminal: Chat, key: str, times: int) -> None:
    for _ in range(times):
        terminal.type(key)
    terminal.hush()


def test_no_string_of_a_model_or_a_tool_drives_the_terminal(here: Place, the_strings: list[str]) -> None:
    """Streamed in small pieces, printed by tools, opened in the details, shown again when the session goes on."""
    whole = "\n".join(the_strings)
    (here.work / "naughty.txt").write_bytes(whole.encode("utf-8", "surrogatepass"))
    count = whole.count("\n") + 1
    cats = [call("bash", command=f"sed -n '{at},{at + 10}p' naughty.txt") for at in range(1, count + 1, 11)]
    script = [
        Turn(text=whole, reasoning=whole, chunk=7),
        calls(*cats[:40], call("read", path="naughty.txt")),
        calls(*cats[40:], call("bash", command=r"printf '\033]0;t\007\033[2J\233\a\b\r\033P\033\\'; exit 3")),
        Turn(text=END),
        Turn(text=END),
    ]
    with ModelServer(script) as server:
        with chat(here, "--yolo", server=server, size=SCREEN) as terminal:
            terminal.see("fake-model")
            terminal.say("say it")
            terminal.hear(" out · ")
            terminal.say("print it")
            terminal.hear(END)
            terminal.hush()
            terminal.type("\x0f")
            terminal.hear("naughty.txt")
            paged(terminal, PAGE_UP, 50)
            pressed(terminal, "q", CLOSED)
            terminal.say("/context")
            terminal.hear(LISTED)
            terminal.hush()
            for keys in ("r", *("\r",) * 5):
                pressed(terminal, keys, OPENED)
                paged(terminal, PAGE_DOWN, 20)
                pressed(terminal, "q", LISTED)
                paged(terminal, DOWN, 1)
            pressed(terminal, "q", CLOSED)
            left(terminal)
            shown = assert_harmless(terminal.raw, workspace=str(here.work))
        for wanted in ("\\x1b]0;owned\\x07", "\\x9b2J", "bidi<U+202E>gnp.exe", "tag<U+E0041>", "over\\x0dwritten"):
            assert wanted in shown
        with chat(here, "--yolo", "--continue", server=server, size=SCREEN) as terminal:
            terminal.hear(END)
            terminal.hush()
            left(terminal)
            assert_harmless(terminal.raw, workspace=str(here.work))


def test_no_string_in_markdown_drives_the_terminal(here: Place, the_strings: list[str]) -> None:
    said = [*the_strings[: len(SEQUENCES)], *the_strings[len(SEQUENCES) :: 12]]
    said = [one for one in said if "```" not in one]
    script = [
        *(Turn(text="".join(map(markdown, said[at::8])), chunk=400) for at in range(8)),
    ]
    with ModelServer(script) as server, chat(here, server=server, size=SCREEN) as terminal:
        terminal.see("fake-model")
        for number in range(8):
            terminal.say(str(number))
            terminal.hear(" out · ")
        terminal.hush()
        left(terminal)
        shown = assert_harmless(terminal.raw, workspace=str(here.work))
    assert "\\x1b]0;owned\\x07" in shown


def test_links_lead_to_the_web_to_a_mailbox_or_into_the_workspace(here: Place) -> None:
    (here.work / "src").mkdir()
    (here.work / "src" / "a.py").write_text("one\n")
    (here.work / "out.py").symlink_to("/etc/passwd")
    said = (
        "[1](src/a.py:1) [2](/etc/passwd:1) [3](javascript:x) [4](FILE:///etc/passwd) [5](mailto:a@b.test) src/a.py:1 "
        "[6](ssh://h/x) [7](HTTPS://e.test/x) [8](data:text/html,x) [9](file:src/a.py) [10](x-man-page://ls) out.py:1 "
        "<http://e.test/y> <tel:1> [bank.com/login](http://e.test/z) ../x.py:1 [12](https://e.test/a\\\x1b]b) https://e.test/\x1b]8;;x"
    )
    with ModelServer([Turn(text=said)]) as server, chat(here, server=server, size=SCREEN) as terminal:
        terminal.see("fake-model")
        terminal.say("go")
        terminal.hear(" out · ")
        terminal.hush()
        left(terminal)
    assert_harmless(terminal.raw, workspace=str(here.work))
    assert "bank.com/login (http://e.test/z)" in LINK.sub("", STYLE.sub("", terminal.raw.decode()))
    assert {target for target in LINK.findall(terminal.raw.decode()) if target} == {
        f"file://{os.uname().nodename}{here.work}/src/a.py#1",
        *(
            "mailto:a@b.test",
            "HTTPS://e.test/x",
            "http://e.test/y",
            "http://e.test/z",
            "https://e.test/a%5C%1B%5Db",
            "https://e.test/\\x1b]8;;x",
        ),
    }


def test_no_name_of_a_file_drives_the_terminal(here: Place, the_strings: list[str]) -> None:
    """Tools, diffs, completion, the prompt that points at it, the list of changes."""
    assert the_strings
    given = names()
    folder = here.work / "names"
    folder.mkdir()
    for name in given:
        (folder / name).write_text("here\n")
    script = [
        calls(call("list", path="names"), call("glob", pattern="names/*"), call("grep", pattern="here", path="names")),
        calls(*(call("read", path=f"names/{name}") for name in given[:120])),
        calls(*(call("write", path=f"new/{at}{name}", content=f"{name}\n") for at, name in enumerate(given[:60]))),
        calls(
            *(
                call("edit", path=f"new/{at}{name}", old_string=name, new_string="x")
                for at, name in enumerate(given[:20])
            )
        ),
        calls(
            call("bash", command="ls names | head -60"), call("edit", path="no\x1b[2J", old_string="a", new_string="b")
        ),
        Turn(text=END),
    ]
    with ModelServer(script) as server, chat(here, "--yolo", server=server, size=SCREEN) as terminal:
        terminal.see("fake-model")
        terminal.say("go")
        terminal.hear(END)
        terminal.hush()
        terminal.type("@names/")
        terminal.hush()
        paged(terminal, PAGE_DOWN, 12)
        terminal.type("\x15!cat names/\t")
        terminal.hush()
        terminal.type("\x1b")
        terminal.hush()
        terminal.type("\x15")
        terminal.say("/diff")
        terminal.hush()
        paged(terminal, PAGE_DOWN, 12)
        terminal.type("q")
        terminal.hush()
        terminal.say("/rewind")
        terminal.hush()
        paged(terminal, f"\t{PAGE_DOWN}{PAGE_DOWN}\t", 3)
        terminal.type("\x1b")
        terminal.hush()
        left(terminal)
        shown = assert_harmless(terminal.raw, workspace=str(here.work))
    assert "names/\\x1b]2;owned" in shown or "names/\\x1b]0;owned\\x07" in shown


def test_no_question_no_job_and_no_list_drives_the_terminal(here: Place) -> None:
    """Approvals of commands and changes, todo items, output of jobs."""
    odd = [one for one in SEQUENCES if "\0" not in one]
    asked = [call("bash", command=f"touch made; echo {' '.join(odd[at::3])}", description=EVIL) for at in range(3)]
    asked.append(call("write", path="x\u202e\x1b[2J.txt", content="".join(f"{one}\n" for one in odd)))
    items = [
        {"content": one, "status": ("pending", "in_progress")[at % 2], "active_form": one} for at, one in enumerate(odd)
    ]
    printing = "printf 'go\\033]0;t\\007\\033[2J\\233\\a\\b\\r\\033P\\033\\\\\\342\\200\\256\\n'; sleep 3"
    script = [
        calls(*asked),
        calls(call("todowrite", todos=items), call("bash", command=printing, description=EVIL, background=True)),
        Turn(text=END),
    ]
    configured(here, '[permissions]\nallow = ["bash(printf *)", "bash(sleep *)"]\n')
    with ModelServer(script) as server, chat(here, server=server, size=SCREEN) as terminal:
        terminal.see("fake-model")
        terminal.say("go")
        for _ in asked:
            terminal.hear("once")
            time.sleep(2 * PAUSE)
            terminal.type(ESC)
        terminal.hear(END)
        terminal.hush()
        for command in ("/todo", "/jobs"):
            terminal.say(command)
            terminal.hear("close")
            terminal.hush()
            for keys in ("\r", PAGE_DOWN, "q", "q", "\x15"):
                paged(terminal, keys, 1)
        left(terminal)
        shown = assert_harmless(terminal.raw, workspace=str(here.work))
    assert not (here.work / "made").exists()
    for wanted in ("☐ \\x1b]0;owned\\x07", "x<U+202E>\\x1b[2J.txt", "The model says: \\x1b]0;owned"):
        assert wanted in shown


def test_no_server_no_branch_and_no_earlier_prompt_drives_the_terminal(here: Place, the_strings: list[str]) -> None:
    """Errors, names of models and of tools, the status line, titles of sessions, the history, notices at the start."""
    configured(here, f"[ui]\nstatus = {toml(TEMPLATE)}\nnotify = 'osc9'\nnotify_after = 0\n")
    (here.work / ".git").mkdir()
    (here.work / ".git" / "HEAD").write_text(f"ref: refs/heads/{EVIL}\n")
    (here.work / "AGENTS.md").write_text("\n".join(the_strings), errors="surrogatepass")
    history = here.home / ".local/share/overt/prompts.jsonl"
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_text("".join(f"{json.dumps(one)}\n" for one in the_strings), encoding="utf-8")
    history.chmod(0o600)
    body = json.dumps({"error": {"message": EVIL, "type": EVIL, "code": EVIL, "param": EVIL}})
    script = [
        Turn(fault=Fault(status=500, body=body, headers={"Retry-After": "0"})),
        Turn(fault=Fault(status=400, body=body)),
        Turn(fault=Fault(status=404, body=EVIL)),
        calls(FakeCall(name=EVIL, arguments={"path": "x"}), FakeCall(name="read", arguments=f'{{"path": {EVIL}')),
        Turn(text=END),
    ]
    with ModelServer(script, models=("fake-model", EVIL, *(one for one in SEQUENCES if one.strip()))) as server:
        with chat(here, server=server, size=SCREEN) as terminal:
            terminal.see("fake-model")
            terminal.paste(EVIL)
            terminal.type("\r")
            terminal.hear("✗")
            terminal.hush()
            terminal.say("two")
            terminal.hear("✗")
            terminal.hush()
            terminal.say("three")
            terminal.hear(END)
            terminal.hush()
            for command in (
                "/models",
                "/resume",
                "/rename " + EVIL,
                "/model " + EVIL,
                "/" + EVIL,
                "/status",
                "/export " + EVIL,
            ):
                terminal.paste(command)
                terminal.type("\r")
                terminal.hush()
                paged(terminal, f"{DOWN}{DOWN}{PAGE_DOWN}" * 3, 1)
                terminal.type("\x1b")
                terminal.hush()
                terminal.type("\x15")
                terminal.hush()
            paged(terminal, "\x1b[A" * 100, 3)
            terminal.type("\x15\x12owned")
            terminal.hush()
            paged(terminal, "\x12", 5)
            terminal.type("\x03\x15")
            terminal.hush()
            left(terminal)
            raw = terminal.raw.replace(b"\x1b]9;", b"", 8).replace(b"\a", b"", 8)
            shown = assert_harmless(raw, workspace=str(here.work))
        assert "\\x1b]0;owned\\x07" in shown
