"""Completion asked of a real conversation: commands, arguments, files near and far, answers that come in time."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_conversation import Opener, turn
from tests.fakes.commands import BUILT_IN, NAMES, slash
from tests.fakes.model_server import Turn

from overt.app.completion import completer as completing
from overt.app.completion.choices import Choice, Completion
from overt.app.completion.completer import Completer
from overt.app.context.references import references
from overt.app.conversation import Conversation
from overt.app.skills.library import BUILT_IN_NAMES
from overt.config.paths import read_environment
from overt.config.saved_rules import add_always
from overt.core.events import Pinned, TitleSet
from overt.core.settings import Rule
from overt.lib.result_limit import result_limit
from overt.lib.translations import say

REPLY = Turn(text="yes")
RULE = Rule(action="allow", tool="bash", pattern="git push:*")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(tmp_path, monkeypatch)


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Asking:
    """A completer, asked with the cursor at the end of a text."""

    def __init__(self, conversation: Conversation) -> None:
        self.completer = Completer(conversation)

    async def __call__(self, text: str, *, tab: bool = False) -> Completion:
        return await self.completer.complete(text, len(text), tab=tab)

    async def inserts(self, text: str) -> list[str]:
        return [choice.insert for choice in (await self(text)).choices]

    async def labels(self, text: str) -> list[str]:
        return [choice.label for choice in (await self(text)).choices]


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_a_slash_offers_every_command_with_what_it_does(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        found = await Asking(conversation)("/")
        shown = [(choice.label, choice.detail) for choice in found.choices]
        assert shown[: len(NAMES)] == [(f"/{name}", say(f"slash.{name}")) for name in NAMES]
        assert [label for label, _ in shown[len(NAMES) :]] == [f"/{name}" for name in BUILT_IN_NAMES]
        assert (found.kind, found.start, found.end, found.selected) == ("command", 0, 1, 0)


@awaited
async def test_commands_are_found_by_beginning_then_by_part_then_by_letters(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert (await ask.labels("/mode"))[0] == "/mode"
        assert (await ask.labels("/expo")) == ["/export"]
        assert (await ask.labels("/port")) == ["/export"]
        assert (await ask.labels("/xprt")) == ["/export"]
        assert await ask.labels("/zzz") == []
        found = (await ask("/qui")).choices
        assert found == (Choice("/quit", "/quit", say("tui.complete.alias", name="/exit")),)


def test_every_command_with_offers_exists_and_takes_an_argument() -> None:
    commands = BUILT_IN.listed()
    assert [command.name for command in commands if command.complete and not command.usage] == []
    assert [command.name for command in commands if command.needs_argument] == ["rename"]


@awaited
async def test_every_offer_is_one_that_its_command_takes(opened: Opener, tmp_path: Path) -> None:
    """Those that change files or leave the session are looked at elsewhere."""
    async with opened([REPLY] * 2) as (conversation, _):
        await turn(conversation, "first")
        ask = Asking(conversation)
        for name in ("context", "stats", "mode", "model", "models", "export", "pin", "config"):
            while (completion := await ask(f"/{name} ")).partial:
                await asyncio.sleep(0.02)
            assert completion.choices, name
            for choice in completion.choices[:6]:
                await slash(conversation, f"/{name} {choice.insert}")
        await ask.completer.close()


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_the_mode_in_use_stands_first_and_nothing_is_chosen_for_optional_arguments(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        conversation.set_mode("plan")
        ask = Asking(conversation)
        found = await ask("/mode ")
        assert [choice.insert for choice in found.choices] == ["plan", "review", "auto", "yolo"]
        assert found.choices[0].detail == "in use"
        assert found.selected == 0
        assert (await ask("/undo ")) == Completion(
            "argument", 6, 6, choices=tuple(Choice(name, name) for name in ("--yes", "--force", "--git")), selected=-1
        )
        assert (await ask("/undo --f")).selected == 0
        assert await ask.inserts("/mode yo") == ["yolo"]
        assert await ask.inserts("/new x") == await ask.inserts("/nosuch x") == []


@awaited
async def test_models_come_at_once_and_again_when_the_servers_have_answered(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        completer = Completer(conversation)
        answers: list[tuple[int, list[str], bool]] = []
        done = asyncio.Event()

        def answer(serial: int, found: Completion) -> None:
            answers.append((serial, [choice.insert for choice in found.choices], found.partial))
            if not found.partial:
                done.set()

        completer.ask(7, "/model ", 7, False, answer)
        await done.wait()
        assert answers == [(7, ["fake-model"], True), (7, ["fake-model", "other-model"], False)]
        assert [c.insert for c in (await completer.complete("/models oth", 11)).choices] == ["other-model"]
        await completer.close()


@awaited
async def test_turns_are_offered_newest_first_and_then_what_to_take_back(opened: Opener) -> None:
    async with opened([REPLY] * 2) as (conversation, _):
        await turn(conversation, "one\nmore")
        await turn(conversation, "two")
        ask = Asking(conversation)
        assert (await ask("/rewind ")).choices == (
            Choice("2", "2", "two", again=True),
            Choice("1", "1", "one", again=True),
        )
        assert await ask.inserts("/rewind one") == ["1"]
        assert (await ask("/rewind 1 ")).choices == (
            Choice("1 both", "both", "the conversation and files"),
            Choice("1 conversation", "conversation", "the conversation only"),
            Choice("1 files", "files", "files only"),
        )
        assert await ask.inserts("/rewind 1 f") == ["1 files"]
        assert await ask.inserts("/branch ") == ["2", "1"]


@awaited
async def test_sessions_are_found_by_id_and_by_title(opened: Opener) -> None:
    async with opened([REPLY]) as (earlier, _):
        await turn(earlier, "hello")
        earlier.record(TitleSet(title="The \x1b[31mcart", model=""))
    async with opened([REPLY]) as (conversation, _):
        await turn(conversation, "now")
        ask = Asking(conversation)
        assert await ask.inserts("/resume ") == [earlier.id]
        assert await ask.inserts("/resume CART") == await ask.inserts(f"/resume {earlier.id[:4]}") == [earlier.id]
        assert await ask.inserts("/resume nothing") == []


@awaited
async def test_pins_notes_rules_and_settings_are_offered(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert await ask.inserts("/pin ") == []
        await turn(conversation, "never touch main")
        conversation.record(Pinned(text="never touch main"))
        assert await ask.inserts("/pin ") == ["last", "--off"]
        assert (await ask("/pin --off ")).choices == (Choice("--off 1", "1", "never touch main"),)
        assert await ask.inserts("/memory ") == ["list", "add", "remove", "keep", "undo"]
        assert await ask.inserts("/memory add ") == ["add --global"]
        await slash(conversation, "/memory add use tabs")
        removable = await ask.inserts("/memory remove ")
        assert [name.partition("/")[0] for name in removable] == ["remove project"]
        await slash(conversation, f"/memory {removable[0]}")
        assert await ask.inserts("/memory remove ") == []
        assert await ask.inserts("/permissions ") == []
        add_always(read_environment(), conversation.workspace, RULE)
        assert await ask.inserts("/permissions ") == ["revoke"]
        assert await ask.inserts("/permissions revoke git") == ["revoke bash(git push:*)"]
        assert "ui.theme" in await ask.inserts("/config ui.th")


@awaited
async def test_jobs_are_offered_by_id_and_those_that_run_to_be_stopped(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert await ask.inserts("/jobs ") == []
        programs = conversation.agent.runtime.hands.lend("", {"programs": "run"}).capabilities["programs"]
        job = (await programs.start("sleep 60", wait_ms=0)).job
        assert await ask.inserts("/jobs ") == [job.id, "stop"]
        assert (await ask("/jobs stop ")).choices == (Choice(f"stop {job.id}", job.id, "sleep 60"),)
        await programs.stop(job.id)
        assert await ask.inserts("/jobs stop ") == []


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_one_level_at_a_time_and_what_is_chosen_is_read(opened: Opener, tmp_path: Path) -> None:
    put(tmp_path, "src/shop/cart.py", "src/main.py", "my folder/a file.md", "node/@scope/x.js", "it's.md")
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert (await ask("see @src")) == Completion(
            "file", 4, 8, choices=(Choice("@src/", "src/", folder=True, again=True),)
        )
        assert sorted(await ask.labels("@src/")) == ["main.py", "shop/"]
        assert await ask.inserts("@src/m") == ["@src/main.py"]
        assert (await ask("@my")).choices == (Choice('@"my folder/"', "my folder/", folder=True, again=True, back=1),)
        inside = await completer_at(ask, '@"my folder/"', 12)
        assert (inside.start, inside.end) == (0, 13)
        assert inside.choices == (Choice('@"my folder/a file.md"', "a file.md"),)
        assert await ask.inserts("@node/") == ['@"node/@scope/"']
        assert await ask.inserts("@it") == ['@"it\'s.md"']
        for word, path in (("@src/m", "src/main.py"), ('@"my folder/', "my folder/a file.md"), ("@it", "it's.md")):
            inserted = (await ask.inserts(word))[0]
            found, notices = await references(
                f"see {inserted} please",
                conversation.agent.runtime.hands,
                lambda _: True,
                exists=lambda name: os.path.lexists(tmp_path / name),
                limit=result_limit(0),
            )
            assert ([message.origin.where for message in found], notices) == ([path], ())


async def completer_at(ask: Asking, text: str, cursor: int) -> Completion:
    return await ask.completer.complete(text, cursor)


@awaited
async def test_what_only_keeps_a_place_for_the_sandbox_is_not_offered(opened: Opener, tmp_path: Path) -> None:
    async with opened([REPLY]) as (conversation, _):
        root = Path(conversation.workspace)
        (root / "overt.toml").mkdir()
        (root / "empty").mkdir()
        assert await Asking(conversation).labels("@") == ["empty/"]


@awaited
async def test_a_name_that_is_not_here_is_looked_for_below(opened: Opener, tmp_path: Path) -> None:
    put(tmp_path, "shop/Cart.py", "deep/down/cart_test.py", "deep/cartoon/x", "ignored/cart.py", ".hid/cart.py")
    put(tmp_path, "deep/my cart.md")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        found = await ask("@cart")
        assert {choice.insert for choice in found.choices} == {
            "@shop/Cart.py",
            "@deep/down/cart_test.py",
            "@deep/cartoon/",
            '@"deep/my cart.md"',
        }
        assert found.choices[-1].insert == '@"deep/my cart.md"'
        assert [choice.again for choice in found.choices if choice.folder] == [True]
        assert await ask.inserts("@shp") == ["@shop/"]
        assert await ask.inserts("@nothing-like-it") == await ask.inserts("@a[b") == []


@awaited
async def test_what_is_sent_often_is_offered_first(opened: Opener, tmp_path: Path) -> None:
    put(tmp_path, "a.py", "b.py", "sub/c.py")
    for name, age in (("a.py", 0), ("b.py", 50), ("sub", 90)):
        os.utime(tmp_path / name, (1_700_000_000 - age, 1_700_000_000 - age))
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert await ask.inserts("@") == ["@a.py", "@b.py", "@sub/"]
        ask.completer.sent("see @b.py and @sub/c.py")
        ask.completer.sent("and @b.py again, me@a.py")
        await ask.completer.close()
        again = Asking(conversation)
        assert await again.inserts("@") == ["@b.py", "@sub/", "@a.py"]


@awaited
async def test_what_the_rules_keep_from_the_model_says_so(opened: Opener, tmp_path: Path) -> None:
    put(tmp_path, "secret.txt", "open.txt")
    (tmp_path / "overt.toml").write_text('[permissions]\ndeny = ["read(secret.txt)"]\n')
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        found = {choice.label: choice.detail for choice in (await ask("@")).choices}
        assert found["secret.txt"] == "a rule keeps it from the model"
        assert found["open.txt"] == ""


@awaited
async def test_what_stands_there_in_full_is_not_offered_again(opened: Opener, tmp_path: Path) -> None:
    put(tmp_path, "a.py", "b.py", "b.pyi")
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert await ask.inserts("@a.py") == []
        assert await ask.inserts("@b.py") == ["@b.py", "@b.pyi"]


@awaited
async def test_tab_in_a_shell_line_completes_names_for_the_shell(opened: Opener, tmp_path: Path) -> None:
    put(tmp_path, "my folder/x", "my;rm.sh")
    async with opened([REPLY]) as (conversation, _):
        ask = Asking(conversation)
        assert (await ask("!cat my")).choices == ()
        assert {choice.insert for choice in (await ask("!cat my", tab=True)).choices} == {"my\\ folder/", "my\\;rm.sh"}
        assert (await ask("!cat my\\ folder/", tab=True)).choices == (Choice("my\\ folder/x", "x"),)


# ── in time ──────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_a_question_is_dropped_when_the_next_one_comes(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "b.py")
    async with opened([REPLY]) as (conversation, _):
        completer = Completer(conversation)
        whole, begun, ended = completer.complete, asyncio.Event(), asyncio.Event()

        async def slowly(text: str, cursor: int, *, tab: bool = False) -> Completion:
            if text == "@slow":
                begun.set()
                try:
                    await asyncio.sleep(3600)
                finally:
                    ended.set()
            return await whole(text, cursor, tab=tab)

        monkeypatch.setattr(completer, "complete", slowly)
        answered: asyncio.Queue[int] = asyncio.Queue()
        completer.ask(1, "@slow", 5, False, lambda serial, _: answered.put_nowait(serial))
        await begun.wait()
        completer.ask(2, "@b", 2, False, lambda serial, _: answered.put_nowait(serial))
        assert await answered.get() == 2
        assert ended.is_set() and answered.empty()
        await completer.close()


@awaited
async def test_one_look_at_a_slow_disk_at_a_time(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened([REPLY]) as (conversation, _):
        completer = Completer(conversation)
        levels = completer._folders
        going = asyncio.Event()
        loop, most, count = asyncio.get_running_loop(), 0, 0
        gate = threading.Event()

        def find(_wanted: object) -> tuple[list[object], int]:
            nonlocal most, count
            count += 1
            most = max(most, count)
            loop.call_soon_threadsafe(going.set)
            gate.wait(20)
            count -= 1
            return [], 0

        monkeypatch.setattr(levels, "find", find)
        answers: asyncio.Queue[int] = asyncio.Queue()
        for serial in range(20):
            completer.ask(serial, "@", 1, False, lambda serial, _: answers.put_nowait(serial))
            await going.wait()
        gate.set()
        assert await answers.get() == 19
        assert most == 1
        await completer.close()


@awaited
async def test_a_search_that_takes_too_long_is_given_up(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "sub/cart.py")
    monkeypatch.setattr(completing, "SEARCH_WITHIN", 0.0)
    async with opened([REPLY]) as (conversation, _):
        assert await Asking(conversation).inserts("@cart") == []


@awaited
async def test_a_broken_configuration_is_no_reason_to_fail(opened: Opener, tmp_path: Path) -> None:
    async with opened([REPLY]) as (conversation, _):
        (tmp_path / "overt.toml").write_text("nonsense = = 1")
        assert (await Asking(conversation)("@a")) == Completion("file", 0, 2)


@awaited
async def test_agents_are_offered_behind_files(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "review.py")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "home/.claude/agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text("---\ndescription: Reviews changes\n---\nReview.\n")
    async with opened([REPLY]) as (conversation, _):
        asking = Asking(conversation)
        assert await asking.inserts("see @rev") == ["@review.py", "@reviewer"]
        assert (await asking("@agent-rev")).choices == (Choice("@reviewer", "reviewer", "Reviews changes"),)
        assert await asking.inserts("@expl") == ["@explore"]
