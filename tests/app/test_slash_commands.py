"""What a chat can be told: each command, what it takes, and what it says to a wrong word."""

import subprocess
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener, end, turn
from tests.app.test_slash_sessions import awaited, refused
from tests.fakes.commands import BUILT_IN, NAMES, slash
from tests.fakes.model_server import Turn
from tests.journeys.journey_kit import call, calls, messages

from overt.app import commands
from overt.app.command_registry import CommandRegistry
from overt.app.options import Options
from overt.app.slash_command import Action, Command, CommandOutcome
from overt.config.paths import read_environment
from overt.config.saved_rules import add_always
from overt.core.settings import Rule
from overt.lib.translations import load_texts
from overt.sessions.usage_ledger import LedgerLine, UsageLedger

REPLY = Turn(text="yes")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(tmp_path, monkeypatch)


def usage_of(name: str) -> str:
    command = BUILT_IN.get(name)
    assert command is not None
    return command.usage


# ── the registry ───────────────────────────────────────────────────────────────────────────────────────────


def test_every_command_has_a_place_and_a_line_in_both_languages() -> None:
    for table in (load_texts("en"), load_texts("zh")):
        assert [name for name in NAMES if not table.get(f"slash.{name}")] == []
    assert not set(BUILT_IN.aliases) & set(NAMES)


def test_a_module_in_the_folder_is_all_that_a_command_needs() -> None:
    modules = {path.stem for path in Path(commands.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules - {"cost", "mode", "model", "review", "undo"} == set(NAMES) - {
        *("cost", "stats", "mode", "plan", "model", "models", "review", "init", "undo", "redo", "rewind"),
    }


def test_what_would_disturb_a_running_turn_waits_for_it() -> None:
    assert {command.name for command in BUILT_IN.listed() if not command.anytime} == {
        *("new", "resume", "retry", "compact", "plan", "undo", "redo", "rewind", "review", "init", "fork"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", ("help", "")),
        ("/?", ("help", "")),
        ("/quit", ("exit", "")),
        ("/clear", ("new", "")),
        ("/rename  a  b ", ("rename", "a  b")),
        ("/model x", ("model", "x")),
    ],
)
def test_a_line_means_one_command(text: str, expected: tuple[str, str]) -> None:
    assert BUILT_IN.parse(text) == expected


@awaited
async def test_a_command_that_is_none_or_takes_nothing_says_so(opened: Opener) -> None:
    async with opened([]) as (conversation, _):
        assert await refused(conversation, "/statu") == (
            "There is no command /statu. /help lists the commands. (/status?)"
        )
        for name in (command.name for command in BUILT_IN.listed() if not command.usage):
            assert await refused(conversation, f"/{name} x") == f"Usage: /{name}"
        for text in ("/stats x", "/permissions x", "/permissions revoke", "/jobs a b", "/theme blue", "/copy x"):
            name = text.split()[0]
            with pytest.raises(Exception, match=r"^Usage: ") as caught:
                await slash(conversation, text, panels=name in ("/theme", "/copy"))
            assert str(caught.value).endswith(f"{name} {usage_of(name[1:])}")


@awaited
async def test_a_face_with_inspectors_opens_them_and_another_gets_lines(opened: Opener) -> None:
    async with opened([]) as (conversation, _):
        for command in BUILT_IN.listed():
            if command.panel not in ("", "lines"):
                assert await slash(conversation, f"/{command.name}", panels=True) == CommandOutcome(panel=command.panel)
        assert (await slash(conversation, "/todo")).lines == ("The todo list is empty.",)
        assert (await slash(conversation, "/context all", panels=True)).lines


@awaited
async def test_what_only_a_terminal_can_do_is_an_action_there_and_refused_elsewhere(opened: Opener) -> None:
    async with opened([]) as (conversation, _):
        assert await slash(conversation, "/theme dark", panels=True) == CommandOutcome(
            action=Action.THEME, value="dark"
        )
        assert await slash(conversation, "/theme", panels=True) == CommandOutcome(action=Action.THEME)
        assert await slash(conversation, "/editor", panels=True) == CommandOutcome(action=Action.EDITOR)
        for name in ("theme", "editor", "copy"):
            assert (
                await refused(conversation, f"/{name}") == f"/{name} needs the full terminal chat, which this is not."
            )


@awaited
async def test_a_command_from_elsewhere_runs_completes_and_is_listed_beside_the_built_in_ones(opened: Opener) -> None:
    async def run(_conversation: object, argument: str) -> CommandOutcome:
        return CommandOutcome(lines=(f"hello {argument}".strip(),))

    hello = Command(name="hello", run=run, usage="[NAME]", about="greet somebody", aliases=("hi",), panel="lines")
    registry = CommandRegistry([hello])
    async with opened([]) as (conversation, _):
        assert await registry.run(conversation, "/hi you") == CommandOutcome(lines=("hello you",), paged=True)
        assert [command.describe() for command in registry.listed() if command.name == "hello"] == ["greet somebody"]
        assert set(NAMES) | {"hello"} == {command.name for command in registry.listed()}


def test_a_command_from_elsewhere_takes_the_place_of_a_built_in_one_wherever_it_is_listed() -> None:
    async def run(_conversation: object, _argument: str) -> CommandOutcome:
        return CommandOutcome()

    for order in (0, 5000):
        assert CommandRegistry([mine := Command(name="help", run=run, order=order)]).get("help") is mine


# ── turns ────────────────────────────────────────────────────────────────────────────────────────────────


async def played(done: CommandOutcome) -> None:
    assert done.play is not None
    await done.play()


@awaited
async def test_plan_changes_the_mode_and_sends_a_task(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, server):
        assert await slash(conversation, "/plan") == CommandOutcome(lines=("Mode: plan",))
        conversation.set_mode("auto")
        done = await slash(conversation, "/plan make it fast")
        assert (conversation.mode, done.lines) == ("plan", ("Mode: plan",))
        await played(done)
        assert messages(server)[-1]["content"] == "make it fast"


@awaited
async def test_review_asks_about_uncommitted_work_or_what_was_named(opened: Opener) -> None:
    async with opened([REPLY] * 2) as (conversation, server):
        await played(await slash(conversation, "/review"))
        first = messages(server)[-1]["content"]
        await played(await slash(conversation, "/review the parser in {what}"))
        second = messages(server)[-1]["content"]
    assert first.splitlines()[0] == "Review the changes in this folder that are not committed yet."
    assert second.splitlines()[0] == "Review this: the parser in {what}"
    assert first.splitlines()[1:] == second.splitlines()[1:]
    assert "{" not in first


@awaited
async def test_init_writes_rules_or_improves_those_there_are(opened: Opener, tmp_path: Path) -> None:
    async with opened([REPLY] * 2) as (conversation, server):
        await played(await slash(conversation, "/init"))
        assert "Write it as `AGENTS.md` in the root of the workspace." in messages(server)[-1]["content"]
        (tmp_path / "CLAUDE.md").write_text("x")
        await played(await slash(conversation, "/init"))
        assert "`CLAUDE.md` exists already: read it first" in messages(server)[-1]["content"]


# ── sessions, answers, cost ──────────────────────────────────────────────────────────────────────────────


@awaited
async def test_resume_lists_other_sessions_and_goes_on_with_one(opened: Opener, tmp_path: Path) -> None:
    async with opened([REPLY]) as (first, _):
        await turn(first, "the cart\nis broken")
        assert (await slash(first, "/resume")).lines == ("There is no other session in this project.",)
        assert await refused(first, f"/resume {first.id}") == f"You are in session {first.id} already."
    async with opened([REPLY]) as (second, _):
        head, line = (await slash(second, "/resume")).lines
        assert head.endswith("/resume ID")
        assert line.split()[0] == first.id
        assert line.endswith("the cart is broken")
        for reference in (first.id, first.id[:6], "the cart"):
            assert await slash(second, f"/resume {reference}") == CommandOutcome(action=Action.NEW, resume=first.id)
        assert "No session has an id that begins with `zzz`" in await refused(second, "/resume zzz")


@awaited
async def test_copy_takes_the_last_answer_or_an_earlier_one(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    turns = [Turn(text="one"), calls(call("read", path="a.txt")), Turn(text="two 二")]
    async with opened(turns) as (conversation, _):
        with pytest.raises(Exception, match="There is no answer to copy yet"):
            await slash(conversation, "/copy", panels=True)
        await turn(conversation, "x")
        await turn(conversation, "y")
        copied = CommandOutcome(action=Action.COPY, value="two 二", lines=("Copied: 5 characters.",))
        assert await slash(conversation, "/copy", panels=True) == copied
        assert (await slash(conversation, "/copy 2", panels=True)).value == "one"
        with pytest.raises(Exception, match="There are only 2 answers"):
            await slash(conversation, "/copy 3", panels=True)


@awaited
async def test_stats_add_up_what_was_booked(opened: Opener, a_home_of_its_own: Path) -> None:
    ledger = UsageLedger(str(a_home_of_its_own / ".local/share/overt"))
    async with opened([]) as (conversation, _):
        assert (await slash(conversation, "/stats")).lines == (
            "No request has been booked in this project yet. /stats all looks at every one.",
        )
        for cost in (0.5, 0.25, None):
            line = LedgerLine(ts=1.0, session="s", project="elsewhere", input=1000, cached=500, output=10, cost=cost)
            ledger.book(line)
        head, *windows, unpriced = (await slash(conversation, "/stats all")).lines
        assert (head, unpriced) == (
            "In every project:",
            "Unknown price for the model of 1 requests: their cost is not included.",
        )
        assert windows[0] == "  24 h: 0 requests, 0 tokens sent (0 % cached), 0 received, $0"
        assert windows[-1] == "  in all: 3 requests, 3000 tokens sent (50 % cached), 30 received, $0.7500+"


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_models_are_listed_and_chosen(opened: Opener) -> None:
    async with opened([]) as (conversation, _):
        lines = (await slash(conversation, "/models")).lines
        assert lines[0].startswith("› environment/fake-model")
        assert any(line.startswith("  environment/other-model") for line in lines)
        for name in ("models", "model"):
            assert (await slash(conversation, f"/{name} other-model")).lines == ("Model: other-model",)
            assert (await slash(conversation, f"/{name} fake-model")).lines == ("Model: fake-model",)


@awaited
async def test_permissions_are_listed_and_taken_back(opened: Opener, tmp_path: Path, a_home_of_its_own: Path) -> None:
    place = a_home_of_its_own / ".config/overt"
    place.mkdir(parents=True)
    (place / "config.toml").write_text('[permissions]\ndeny = ["bash(curl *)"]\n')
    async with opened([]) as (conversation, _):
        rule = "  deny   bash(curl *)  (~/.config/overt/config.toml:2)"
        none = "No saved permission rules in this project."
        assert (await slash(conversation, "/permissions")).lines == ("Mode: review", rule, none)
        add_always(read_environment(), str(tmp_path), Rule(action="allow", tool="bash", pattern="git *"))
        assert (await slash(conversation, "/permissions")).lines[-1] == "   1  allow  bash(git *)"
        assert (
            (await slash(conversation, "/permissions revoke bash(git *)"))
            .lines[0]
            .startswith("Taken back: bash(git *)")
        )
        assert (await slash(conversation, "/permissions")).lines[-1] == none
        assert "No stored rule reads '9'" in await refused(conversation, "/permissions revoke 9")


@awaited
async def test_config_shows_what_was_set_and_one_key(opened: Opener, a_home_of_its_own: Path) -> None:
    place = a_home_of_its_own / ".config/overt"
    place.mkdir(parents=True)
    (place / "config.toml").write_text('[ui]\ntheme = "dark"\n')
    async with opened([]) as (conversation, _):
        lines = (await slash(conversation, "/config")).lines
        assert 'ui.theme = "dark"  (~/.config/overt/config.toml:2)' in lines
        assert 'default_model = "fake-model"  (OVERT_MODEL)' in lines
        assert not any("(default)" in line for line in lines)
        assert "ui.mouse = true  (default)" in (await slash(conversation, "/config all")).lines
        assert (await slash(conversation, "/config ui.keys")).lines == (
            "ui.keys",
            '  value    "emacs"  (default)',
            "  type     one of 'emacs', 'vi'",
            '  default  "emacs"',
            "  Editing keys of the composer.",
        )
        timeouts = (await slash(conversation, "/config timeouts")).lines
        assert len([line for line in timeouts if line.startswith("timeouts.")]) == 5
        assert await refused(conversation, "/config ui.them") == "Unknown setting `ui.them`. Did you mean `ui.theme`?"


@awaited
async def test_doctor_looks_without_leaving_the_machine(opened: Opener, tmp_path: Path) -> None:
    async with opened([]) as (conversation, server):
        before = len(server.posts)
        lines = (await slash(conversation, "/doctor")).lines
        assert lines[0].startswith("Overt ")
        assert any(line.startswith("sandbox: ") for line in lines)
        assert any(str(tmp_path) in line for line in lines)
        assert len(server.posts) == before


# ── files and background commands ────────────────────────────────────────────────────────────────────────


@awaited
async def test_diff_shows_what_the_session_changed_and_not_what_others_did(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    turns = [
        calls(call("read", path="a.txt")),
        calls(
            call("edit", path="a.txt", old_string="two", new_string="zwei"), call("write", path="新.txt", content="y\n")
        ),
        Turn(text="done"),
        calls(call("bash", command="echo z > made.txt")),
        Turn(text="done"),
    ]
    async with opened(turns, Options(directory=str(tmp_path), mode="yolo")) as (conversation, _):
        assert (await slash(conversation, "/diff")).lines[0] == "This session has changed no file."
        assert end(await turn(conversation, "go")).reason == "done"
        (tmp_path / "mine.txt").write_text("not the session's\n")
        assert (await slash(conversation, "/diff")).lines == (
            "a.txt (+1 −1)",
            "  @@ -1,2 +1,2 @@",
            "   one",
            "  -two",
            "  +zwei",
            "新.txt (new, +1)",
            "  @@ -0,0 +1 @@",
            "  +y",
            "Files changed: 2, +2 −1",
        )
        assert end(await turn(conversation, "make it")).reason == "done"
        lines = (await slash(conversation, "/diff")).lines
        assert "made.txt (new, +1)" in lines
        assert lines[-1] == "Files changed: 3, +3 −1"


@awaited
async def test_diff_shows_no_secret_of_a_file(opened: Opener, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (tmp_path / "a.txt").write_text(f"token = {secret}\ntwo\n")
    edit = calls(call("read", path="a.txt")), calls(call("edit", path="a.txt", old_string="two", new_string="zwei"))
    options = Options(directory=str(tmp_path), mode="yolo")
    async with opened([*edit, Turn(text="done")], options) as (conversation, _):
        assert end(await turn(conversation, "go")).reason == "done"
        shown = "\n".join((await slash(conversation, "/diff")).lines)
        assert (secret in shown, conversation.redact(secret) in shown, "+zwei" in shown) == (False, True, True)


@awaited
async def test_diff_tells_of_uncommitted_work_when_the_session_changed_nothing(opened: Opener, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (tmp_path / "a.txt").write_text("one\n")
    for words in (["init", "-q"], ["add", "a.txt"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    (tmp_path / "a.txt").write_text("two\n")
    (tmp_path / "b.txt").write_text("new\n")
    async with opened([]) as (conversation, _):
        lines = [" ".join(line.split()) for line in (await slash(conversation, "/diff")).lines]
        assert lines[:3] == ["This session has changed no file.", "Not committed, as git tells it:", "a.txt | 2 +-"]
        assert lines[-1] == "?? b.txt"


@awaited
async def test_jobs_are_listed_read_and_stopped(opened: Opener, tmp_path: Path) -> None:
    turns = [
        calls(call("bash", command="echo hello; sleep 60", run_in_background=True)),
        Turn(text="started"),
    ]
    async with opened(turns, Options(directory=str(tmp_path), mode="yolo")) as (conversation, _):
        assert (await slash(conversation, "/jobs")).lines == ("No background command runs or ran.",)
        await turn(conversation, "go")
        (line,) = (await slash(conversation, "/jobs")).lines
        assert line.startswith("job1  running, ")
        assert line.endswith("s  echo hello; sleep 60")
        head, *output = (await slash(conversation, "/jobs job1")).lines
        assert (head.split(",")[0], output) == ("job1  running", ["hello"])
        assert (await slash(conversation, "/jobs stop job1")).lines[0].startswith("job1  stopped, ")
        assert "no job is called 'job9'" in await refused(conversation, "/jobs job9")
