"""Commands, panels and completion of a session show the settings it was opened with, flags included."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener
from tests.app.test_slash_sessions import awaited
from tests.faces.tui.panel_kit import text_of

from overt.app.conversation import Conversation
from overt.app.looking import look
from overt.app.options import Options
from overt.app.slash import slash
from overt.faces.tui.panels.permissions import PermissionsPanel

Show = Callable[[Conversation], Awaitable[str]]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    (tmp_path / "work").mkdir()
    (tmp_path / "beside").mkdir()
    return Opener(tmp_path / "work", monkeypatch)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(
        directory=str(tmp_path / "work"),
        model="other-model",
        mode="plan",
        sandbox="read-only",
        network=True,
        add_dirs=(str(tmp_path / "beside"),),
        allowed=("bash(git log *)",),
        disallowed=("bash(git push *)", "read(secret.txt)"),
        system_prompt="Be brief.",
        system_prompt_origin="--system-prompt",
        append_system_prompt="Be polite.",
        max_steps=7,
    )


async def in_lines(conversation: Conversation) -> str:
    return "\n".join((await slash(conversation, "/permissions")).lines)


async def in_panel(conversation: Conversation) -> str:
    panel = PermissionsPanel()
    for wish in panel.first():
        panel.given(wish, await look(conversation, wish.kind))
    return "\n".join(text_of(panel.draw(160, 24)))


@pytest.mark.parametrize("show", [in_lines, in_panel])
def test_permissions_show_the_rules_of_flags(show: Show, opened: Opener, options: Options) -> None:
    @awaited
    async def run() -> None:
        async with opened([], options) as (conversation, _):
            shown = [" ".join(line.split()) for line in (await show(conversation)).splitlines()]
            for action, rule, flag in (
                ("allow", "bash(git log *)", "--allowedTools"),
                ("deny", "bash(git push *)", "--disallowedTools"),
                ("deny", "read(secret.txt)", "--disallowedTools"),
            ):
                assert any(action in line and rule in line and flag in line for line in shown), "\n".join(shown)

    run()


@awaited
async def test_lines_and_panel_show_the_same_rules(opened: Opener, options: Options) -> None:
    async with opened([], options) as (conversation, _):
        permits = await look(conversation, "permissions")
        lines = (await slash(conversation, "/permissions")).lines
        assert [f"  {rule.action:5}  {rule.text}  ({rule.origin})" for rule in permits.rules] == list(lines[1:-1])
