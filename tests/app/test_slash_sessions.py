"""What a chat does with its own session: fork it, name it, export it, pin words of it."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_conversation import Opener, turn
from tests.fakes.commands import slash
from tests.fakes.model_server import Turn

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.slash_command import Action, CommandOutcome
from overt.core.errors import OvertError
from overt.sessions.index import find_path, summary
from overt.sessions.load import load
from overt.sessions.resume import resume

REPLY = Turn(text="yes")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(tmp_path, monkeypatch)


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def refused(conversation: Conversation, text: str) -> str:
    with pytest.raises(OvertError) as caught:
        await slash(conversation, text)
    return caught.value.message


@awaited
async def test_fork_goes_on_in_a_copy_up_to_a_turn(opened: Opener) -> None:
    async with opened([REPLY] * 3) as (conversation, _):
        assert "nothing to /fork" in await refused(conversation, "/fork")
        for text in ("one", "two", "three"):
            await turn(conversation, text)
        before = Path(conversation.path).read_bytes()
        whole, part = await slash(conversation, "/fork"), await slash(conversation, "/branch 2")
        assert Path(conversation.path).read_bytes() == before
        assert whole.action is part.action is Action.NEW
        assert "turns 1 to 3" in await refused(conversation, "/fork 4")
        for wrong in ("x", "-1", "1.5", "9" * 30):
            assert "is no turn" in await refused(conversation, f"/fork {wrong}")
    data = str(Path(conversation.path).parents[2])
    histories = [resume(load(find_path(data, done.resume)).entries).history for done in (whole, part)]
    assert [[m.text() for m in history.messages if m.role == "user"] for history in histories] == [
        ["one", "two", "three"],
        ["one", "two"],
    ]


@awaited
async def test_rename_names_the_session_even_when_a_model_finds_another_name(opened: Opener) -> None:
    async with opened([REPLY]) as (conversation, _):
        await turn(conversation, "fix it")
        done = await slash(conversation, "/rename  The  购物车 \x1b[31m fix\n")
        assert done == CommandOutcome(lines=("This session is called: The 购物车 [31m fix",))
        assert "/rename NAME" in await refused(conversation, "/rename   ")
        assert summary(conversation.path).title == "The 购物车 [31m fix"


@awaited
async def test_a_name_from_the_command_line_is_recorded_with_the_first_prompt(opened: Opener, tmp_path: Path) -> None:
    async with opened([REPLY], Options(directory=str(tmp_path), name="my  name")) as (conversation, _):
        assert not Path(conversation.path).exists()
        await turn(conversation, "fix it")
        assert summary(conversation.path).title == "my name"
        assert [entry.type for entry in load(conversation.path).entries][:3] == ["session", "title", "prefix"]


@awaited
async def test_export_writes_the_form_of_the_name_and_never_over_a_file(opened: Opener, tmp_path: Path) -> None:
    async with opened([REPLY]) as (conversation, _):
        await turn(conversation, "fix it")
        place = Path(conversation.workspace)
        first, second = await slash(conversation, "/export"), await slash(conversation, "/export")
        names = [f"overt-{conversation.id}.md", f"overt-{conversation.id}-2.md"]
        assert [done.lines for done in (first, second)] == [(f"Written: {place / name}",) for name in names]
        await slash(conversation, f"/export {tmp_path / 'a.json'}")
        assert json.loads((tmp_path / "a.json").read_text())["session"]["id"] == conversation.id
        await slash(conversation, "/export 页.html")
        assert (place / "页.html").read_text().startswith("<!DOCTYPE html>")
        assert (place / "页.html").stat().st_mode & 0o777 == 0o600
        assert "is there already" in await refused(conversation, "/export 页.html")
        assert "cannot be written" in await refused(conversation, "/export no/such/folder/x.md")


@awaited
async def test_pins_are_words_that_were_said(opened: Opener) -> None:
    async with opened([REPLY] * 2) as (conversation, _):
        assert (await slash(conversation, "/pin")).lines[0].startswith("Nothing is pinned")
        assert "no prompt" in await refused(conversation, "/pin last")
        await turn(conversation, "Never touch\nthe main branch. 不要改动。")
        await turn(conversation, "go on")
        assert "did not say" in await refused(conversation, "/pin always touch it")
        assert (await slash(conversation, "/pin Never touch the main branch.")).lines == (
            "Pinned: Never touch the main branch.",
        )
        await slash(conversation, "/pin last")
        await slash(conversation, "/pin 不要改动。")
        assert conversation.history.pins == ("Never touch the main branch.", "go on", "不要改动。")
        assert (await slash(conversation, "/pin")).lines[1:] == (
            "  1  Never touch the main branch.",
            "  2  go on",
            "  3  不要改动。",
        )
        for wrong in ("--off", "--off 0", "--off 4", "--off x"):
            assert "There is no pin" in await refused(conversation, f"/pin {wrong}")
        assert (await slash(conversation, "/pin --off 2")).lines == ("No longer pinned: go on",)
        assert resume(load(conversation.path).entries).history.pins == ("Never touch the main branch.", "不要改动。")
