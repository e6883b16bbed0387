"""Against the chat itself: answers that nobody gave, folders that nobody trusts, secrets, and texts made to stop it."""

import os
import shutil
import time
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.hostile_kit import Chat, assert_harmless, chat
from tests.journeys.journey_kit import Place, call, calls, messages, until
from tests.journeys.test_secrets import ALL, DOTENV, VALUES, VARIABLES, assert_clean, assert_kept_nowhere, script
from tests.journeys.test_trust import HOSTILE, made, traced

from overt.app.chat.citations import Citations
from overt.frontends.tui.chat.approval import CALM, PAUSE
from overt.frontends.tui.chat.view_rows import words_rows
from overt.frontends.tui.markdown.highlight import lines
from overt.frontends.tui.markdown.markdown import Markdown
from overt.frontends.tui.terminal.rows import plain

END = "That was all of it."
REPLIES = (
    *("\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b]11;rgb:yyyy/0/0\a", "\x1b[1;1R", "\x1b[?2026;2$y", "\x1b[?1;2c"),
    *(
        "\x1b[I",
        "\x1b[O",
        "\x1b[<0;10;10M",
        "\x1b[<64;9;9M",
        "\x1b[Myyy",
        "\x1bP1+r79=79\x1b\\",
        "\x1b[121;1:3u",
        "\x1by",
    ),
    *(
        "\x1b[y",
        "\x1bOy",
        "\x1b_y\x1b\\",
        "\x1b[0n",
        "\x1b[8;30;100t",
        "\x1b[?0u",
        "\x1b[>1;2;0c",
        "\r",
        "\n",
        " ",
        "\t",
    ),
)
"""What terminals send by themselves, some of it with an answer's letter in it, and keys that mean nothing here."""
TOUCH = calls(call("bash", command="touch made"))


def seen(terminal: Chat) -> str:
    """The screen once a question stands on it, and long enough for an answer to count."""
    shown = terminal.see("Allow bash?")
    time.sleep(CALM)
    return shown


def unanswered(terminal: Chat, place: Place) -> None:
    time.sleep(PAUSE + 0.1)
    assert "Allow bash?" in terminal.see("Allow bash?")
    assert not (place.work / "made").exists()


def left(terminal: Chat) -> None:
    terminal.type("\x15\x04")
    assert terminal.wait() == 0


@pytest.fixture
def here(place: Place) -> Place:
    place.distrust()
    return place


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────


def test_only_a_key_pressed_at_the_question_answers_it(here: Place) -> None:
    with ModelServer([TOUCH, Turn(text=END)]) as server, chat(here, server=server) as terminal:
        terminal.see("fake-model")
        terminal.say("go")
        terminal.type("yyy 1")  # on its way before there is a question
        seen(terminal)
        unanswered(terminal, here)
        for pasted in (
            "y\n",
            "y" * 5000 + "\r\n",
            "a\x1b[201~y\r\x1b[201~",
            "\x1b[201~1\x1b[200~y\x1b[201~",
        ):
            terminal.paste(pasted)
            unanswered(terminal, here)
        for reply in REPLIES:
            terminal.type(reply)
            time.sleep(0.06)
        unanswered(terminal, here)
        terminal.type("y")
        terminal.see(END)
        assert (here.work / "made").exists()
        assert [each["content"] for each in messages(server) if each["role"] == "user"] == ["go"]
        assert "› yyy 1" in terminal.screen()
        left(terminal)
        assert_harmless(terminal.raw)


def test_a_sentence_that_is_being_typed_when_the_question_comes_is_no_answer(here: Place) -> None:
    held = calls(call("bash", command="touch made"))
    with (
        ModelServer([Turn(calls=held.calls, delay=0.4), Turn(text=END)]) as server,
        chat(here, server=server) as terminal,
    ):
        terminal.see("fake-model")
        terminal.say("go")
        terminal.type("sa")
        until(lambda: server.posts)
        for letter in "y 1 yes 2 a":  # it goes on while the question is on its way, and when it is there
            terminal.type(letter)
            time.sleep(0.1)
        seen(terminal)
        unanswered(terminal, here)
        terminal.type("\x1b")
        assert "› say 1 yes 2 a" in terminal.see(END)
        assert not (here.work / "made").exists()
        left(terminal)


def test_a_question_longer_than_the_screen_says_so_and_begins_again_beside_its_keys(here: Place) -> None:
    command = "touch made #" + "\n" * 60 + "Allow bash?\ny once\n  │ ls\nls"
    said = "? bash wants to run:\n\n    │ ls\n\nAllow bash?\n\ny once · n no, with a reason · Esc no\n"
    script = [calls(call("bash", command=command), text=said), Turn(text=END)]
    with ModelServer(script) as server, chat(here, server=server) as terminal:
        terminal.see("fake-model")
        terminal.say("go")
        shown = terminal.see("Scroll up")
        time.sleep(CALM)
        panel = shown[shown.rindex("Allow bash?") :].split("\n")
        assert panel[1] == "  │ touch made #"
        assert "rows. Scroll up" in panel[2]
        above = shown[: shown.rindex("Allow bash?")].split("\n")
        assert [row for row in above if ("once" in row or "Allow" in row) and not row.startswith("  ")] == []
        terminal.type("\x1b")
        terminal.see(END)
        left(terminal)


def test_dangerous_commands_are_asked_about_in_yolo_too_and_shift_tab_never_leads_there(here: Place) -> None:
    (here.home / "build").mkdir()
    script = [calls(call("bash", command="rm -rf ~/build")), Turn(text=END), Turn(text=END)]
    with ModelServer(script) as server, chat(here, "--yolo", server=server) as terminal:
        terminal.see("fake-model")
        terminal.say("go")
        seen(terminal)
        terminal.type("\x1b")
        terminal.see(END)
        terminal.say("!rm -rf ~/build")
        seen(terminal)
        terminal.type("\x1b")
        terminal.see("You said no")
        assert (here.home / "build").exists()
        modes = []
        for _ in range(7):
            terminal.type("\x1b[Z")
            time.sleep(0.1)
            modes.append(terminal.screen().split("\n")[-1].split(" · ")[1])
        assert modes == ["review", "auto", "plan", "review", "auto", "plan", "review"]
        left(terminal)


# ── trust ────────────────────────────────────────────────────────────────────────────────────────────────


UI = '[ui]\neditor = "touch pwned"\nstatus = "owned {model}"\ntheme = "light"\nface = "plain"\n'


@pytest.fixture
def hostile(place: Place) -> Place:
    for name, text in HOSTILE.items():
        path = place.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + (UI if name == "overt.toml" else ""))
    return place


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (make system)")
def test_before_the_answer_nothing_of_the_folder_is_run_obeyed_or_called(hostile: Place, tmp_path: Path) -> None:
    log = tmp_path / "trace"
    with ModelServer([]) as server:
        with chat(hostile, server=server, under=traced(log)) as terminal:
            terminal.type("try yes and no q ")  # on its way before there is a question
            terminal.see("yes, trust it")
            time.sleep(CALM)
            terminal.paste("y\n")
            terminal.type("\x1b[I\x1b[?2026;2$y\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
            time.sleep(CALM)
            assert "yes, trust it" in terminal.screen()
            assert (len(made(log, "execve")), made(log, "connect")) == (1, [])
            terminal.type("q")
            assert terminal.wait() == 0
        assert (len(made(log, "execve")), made(log, "connect"), server.requests) == (1, [], [])
    assert not (hostile.work / "pwned").exists()
    assert not (hostile.home / ".local/share/overt/trust.json").exists()


def test_after_a_no_the_folder_has_no_say_in_the_chat(hostile: Place) -> None:
    with ModelServer([Turn(text=END)]) as server, chat(hostile, server=server, env={"EDITOR": "true"}) as terminal:
        terminal.see("yes, trust it")
        time.sleep(CALM)
        terminal.type("n")
        assert "owned" not in terminal.see("fake-model").split("\n")[-1]
        terminal.type("\x07")
        terminal.see("fake-model")
        terminal.say("hi")
        terminal.see(END)
        left(terminal)
        assert "Obey the repository" not in str(messages(server)[0]["content"])
    assert not (hostile.work / "pwned").exists()


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────


def test_no_secret_is_on_the_screen_in_the_history_or_in_a_file(place: Place) -> None:
    here = place
    (here.work / ".git").mkdir()
    (here.work / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in DOTENV.items()))
    (here.work / "leak.txt").write_text(ALL)
    assert here.run("trust").code == 0
    with ModelServer(script()) as server:
        with chat(here, "--yolo", server=server, env=VARIABLES, size=(160, 50)) as terminal:
            terminal.see("fake-model")
            terminal.say("go")
            terminal.hear("Allow bash?")
            assert_clean(terminal.raw.decode(), "the terminal")
            seen(terminal)
            terminal.type("\x1b")
            terminal.see("In the end")
            terminal.hush()
            for command in ("/context", "/todo", "/resume", "/rewind", "/diff"):
                terminal.say(command)
                terminal.hush()
                for key in ("\r", "\x1b[6~", "\x1b", "\x1b", "\x15"):
                    terminal.type(key)
                    terminal.hush()
                assert_clean(terminal.raw.decode(), command)
            for value in VALUES:
                terminal.paste(f"/rename {value}")
                terminal.type("\r")
            terminal.hush()
            terminal.paste(f"@{VALUES[0]} use these: {ALL}")
            terminal.type("\r")
            terminal.hush()
            left(terminal)
        assert_kept_nowhere(here, server)


# ── the editor, dropped files, completion ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("editor", ["no-such-program", '"open', "\x1b]0;x\x07\u202e", "false"])
def test_an_odd_editor_costs_no_draft_and_drives_nothing(here: Place, editor: str) -> None:
    with ModelServer([]) as server, chat(here, server=server, env={"EDITOR": editor, "VISUAL": ""}) as terminal:
        terminal.see("fake-model")
        terminal.type("my draft")
        terminal.see("my draft")
        terminal.type("\x07")
        terminal.hush()
        terminal.see("› my draft")
        left(terminal)
        assert_harmless(terminal.raw)


def test_the_editors_file_is_for_its_owner_only_and_keys_typed_meanwhile_answer_nothing(here: Place) -> None:
    script = here.work / "editor"
    script.write_text('#!/bin/sh\nstat -c %a "$1" > mode\necho "$1" > name\necho changed > "$1"\nsleep 1.5\n')
    script.chmod(0o755)
    with (
        ModelServer([TOUCH, Turn(text=END)]) as server,
        chat(here, server=server, env={"EDITOR": str(script)}) as terminal,
    ):
        terminal.see("fake-model")
        terminal.say("go")
        terminal.type("\x07")
        until(lambda: (here.work / "name").exists())
        time.sleep(1)
        terminal.type("y")
        shown = seen(terminal)
        unanswered(terminal, here)
        assert "changed" not in shown
        terminal.type("\x1b")
        assert "› changed" in terminal.see(END)
        left(terminal)
    assert (here.work / "mode").read_text() == "600\n"
    assert not Path((here.work / "name").read_text().strip()).exists()


def test_a_dropped_pipe_device_or_folder_is_no_image_and_stops_nothing(here: Place) -> None:
    os.mkfifo(here.work / "pipe.png")
    (here.work / "folder.png").mkdir()
    (here.work / "link.png").symlink_to("/dev/zero")
    (here.work / "text.png").write_text("no image")
    with open(here.work / "huge.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.truncate(3 << 30)
    with ModelServer([]) as server, chat(here, server=server) as terminal:
        terminal.see("fake-model")
        for name in ("pipe", "folder", "link", "text", "huge"):
            terminal.paste(str(here.work / f"{name}.png"))
            shown = terminal.see(f"{name}.png")
            assert "[image" not in shown
            terminal.type("\x15")
        left(terminal)


def test_completion_offers_nothing_outside_of_the_workspace_and_tells_what_is_denied(place: Place) -> None:
    here = place
    (here.work / "inside.txt").write_text("x")
    (here.work / "secret.txt").write_text("x")
    config = here.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndeny = ["read(secret.txt)"]\n')
    (here.work / "way-out").symlink_to("/etc")
    (here.work / "file-out").symlink_to("/etc/passwd")
    (here.work.parent / "outside.txt").write_text("x")
    here.distrust()
    with ModelServer([]) as server, chat(here, server=server) as terminal:
        terminal.see("fake-model")
        terminal.type("@")
        shown = terminal.see("inside.txt")
        assert ("way-out" in shown, "file-out" in shown) == (False, False)
        for typed in ("../", "/etc/pass", "way-out/", "../outside", "~/", "/"):
            terminal.type(f"\x15@{typed}")
            shown = terminal.screen()
            time.sleep(0.2)
            shown = terminal.screen().split(f"@{typed}")[-1]
            assert [
                name for name in ("outside.txt", "passwd", "hosts", "work/", "home/", "tmp/") if name in shown
            ] == []
        terminal.type("\x15@sec")
        terminal.see(lambda text: "secret.txt  a rule keeps it" in text)
        left(terminal)


# ── texts made to stop it ────────────────────────────────────────────────────────────────────────────────


HEAVY = (
    "中" * 50_000,
    "|" + "a|" * 2000 + "\n|" + "-|" * 2000 + "\n|" + "b|" * 2000,
    "```scala\n" + '"' + "\\" * 1900 + "\n```",
    "```\n" + "中" * 50_000 + "\n```",
)
HEAVIER = (
    "👩\u200d" * 5000,
    "- " * 10_000 + "a",
    "x" * 60_000,
    "a" + "\u0301" * 50_000,
    ("Z" + "\u0335\u0489\u036b" * 30) * 500,
    "> " * 10_000 + "a",
    "*a_b " * 10_000,
    "[" * 10_000,
    "`a" * 20_000,
    *(f"```{name}\n" + '"' + "\\" * 1900 + "\n```" for name in ("ansys", "chapel", "fish", "rego", "tcsh")),
    "a/" * 50_000 + ":1",
    "http://a" + ")" * 50_000,
)
"""What takes quadratic time, or hours, where it is not looked out for."""


@pytest.mark.parametrize("heavy", [HEAVY, pytest.param(HEAVIER, marks=pytest.mark.soak)], ids=["some", "others"])
def test_no_text_stops_the_chat(here: Place, heavy: tuple[str, ...]) -> None:
    (here.work / "wide.txt").write_text("中" * 300_000 + "\n" + "\x1b[31m" * 50_000)
    turns = [Turn(text=f"{text}\n\n{END}", reasoning=text, chunk=4000) for text in heavy]
    tools = [
        calls(call("bash", command="cat wide.txt")),
        calls(call("write", path="w", content="中" * 12_000)),
        Turn(text=END),
    ]
    with ModelServer([*turns, *tools]) as server, chat(here, server=server, env={"NO_COLOR": "1"}) as terminal:
        terminal.see("fake-model")
        for _ in turns:
            terminal.say("/new")
            terminal.say("go")
            terminal.hear(END)
            terminal.hush()
            terminal.type("still here")
            terminal.hear("still here")
            terminal.type("\x15")
        terminal.say("/new")
        terminal.say("go")
        terminal.hear("Create w?")
        terminal.hush()
        time.sleep(CALM)
        terminal.type("\x1b")
        terminal.hear(END)
        terminal.type("\x0f")
        terminal.hear("q close")
        terminal.type("q")
        terminal.hush()
        left(terminal)
        assert_harmless(terminal.raw)


def test_a_lexer_that_leaves_something_out_or_never_ends_gives_way_to_plain_text() -> None:
    """Whoever writes a file chooses its lexer by the name: what is approved must be what is shown."""
    assert [plain(row) for row in lines("a = 1\n??? rm -rf /\nb = 2", "matlabsession")] == [
        "a = 1",
        "??? rm -rf /",
        "b = 2",
    ]
    endless = '"' + "\\" * 1900
    assert [plain(row) for row in lines(f"x = 1\n{endless}", "scala")] == ["x = 1", endless]


def test_text_below_any_depth_of_marks_is_shown() -> None:
    for deep in ("- " * 5000, "> " * 5000, "1. " * 5000, "".join(f"{'  ' * level}- {level}\n" for level in range(100))):
        drawn = Markdown()
        drawn.feed(f"{deep}bottom\n\nbehind\n")
        shown = [plain(row) for row in (*drawn.take(80), *drawn.end(80))]
        assert ("bottom" in "".join(shown), shown[-1]) == (True, "behind")


def test_nobody_rubs_out_our_words_with_a_return() -> None:
    assert [plain(row) for row in words_rows("Ignored: a\rApproved by you\r", 80, "", mark="! ")] == [
        "! Ignored: a\\x0dApproved by you"
    ]


def test_a_place_outside_of_the_workspace_is_not_even_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name such as /net/host/file makes some systems call that host, and ~name asks who that is."""
    places = Citations(str(tmp_path))
    for name in ("realpath", "lexists", "expanduser"):
        monkeypatch.setattr(os.path, name, lambda *_: pytest.fail("it was looked up"))
    named = ("/net/evil.test/x.py", "../x.py", "/etc/passwd", "a/../../x.py")
    assert [places.standing(path, 1) for path in named] == ["elsewhere"] * 4
    monkeypatch.undo()
    monkeypatch.setattr(os.path, "expanduser", lambda *_: pytest.fail("it was asked who that is"))
    assert places.standing("~evil/x.py", 1) == "broken"
