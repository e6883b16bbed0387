"""Commands, panels and completion of a session show the settings it was opened with, flags included."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener
from tests.app.test_slash_sessions import awaited
from tests.fakes.commands import look, slash
from tests.frontends.tui.panel_kit import text_of

from overt.app.completion.completer import Completer
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Contents, ModelChoices, PermissionRules
from overt.app.options import Options
from overt.frontends.tui.panels.permissions import PermissionsPanel

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
    for wish in panel.load():
        assert wish.kind != "close" and wish.kind != "slash"
        panel.receive(wish, await look(conversation, wish.kind))
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
        assert isinstance(permits, PermissionRules)
        lines = (await slash(conversation, "/permissions")).lines
        assert [f"  {rule.action:5}  {rule.text}  ({rule.origin})" for rule in permits.rules] == list(lines[1:-1])


@awaited
async def test_config_shows_every_flag_with_its_name(opened: Opener, options: Options, tmp_path: Path) -> None:
    async with opened([], options) as (conversation, _):
        lines = (await slash(conversation, "/config")).lines
        for line in (
            'default_model = "other-model"  (--model)',
            'agent.system_prompt = "Be brief."  (--system-prompt)',
            'agent.append_system_prompt = "Be polite."  (--append-system-prompt)',
            "agent.max_steps = 7  (--max-turns)",
            'permissions.mode = "plan"  (--permission-mode)',
            'permissions.allow = "bash(git log *)"  (--allowedTools)',
            'permissions.deny = "bash(git push *)"  (--disallowedTools)',
            "sandbox.write = false  (--sandbox)",
            "sandbox.network = true  (--network)",
            f'workspace.allow_write = "{tmp_path}/beside"  (--add-dir)',
        ):
            assert line in lines
        one = (await slash(conversation, "/config agent.max_steps")).lines
        assert one[1] == "  value    7  (--max-turns)"


@awaited
async def test_status_context_and_models_show_what_flags_chose(opened: Opener, options: Options) -> None:
    async with opened([], options) as (conversation, _):
        status = (await slash(conversation, "/status")).lines[0]
        assert "other-model" in status and "plan" in status
        context = await look(conversation, "context")
        assert isinstance(context, Contents)
        assert [(piece.text, piece.origin) for piece in context.pieces if piece.key in ("system", "append")] == [
            ("Be brief.", "--system-prompt"),
            ("Be polite.", "--append-system-prompt"),
        ]
        models = await look(conversation, "models")
        assert isinstance(models, ModelChoices)
        assert [row.model for row in models.listing.rows if row.chosen] == ["other-model"]


@awaited
async def test_doctor_looks_at_the_sandbox_of_the_session(opened: Opener, tmp_path: Path) -> None:
    bare = Options(directory=str(tmp_path / "work"), sandbox="danger-full-access", network=True)
    async with opened([], bare) as (conversation, _):
        lines = (await slash(conversation, "/doctor")).lines
        assert "sandbox: 0 of 12 walls hold (none)" in lines


@awaited
async def test_completion_offers_files_of_a_further_folder(opened: Opener, options: Options, tmp_path: Path) -> None:
    (tmp_path / "beside" / "notes.txt").write_text("x")
    async with opened([], options) as (conversation, _):
        completer = Completer(conversation)
        text = f"@{tmp_path}/beside/no"
        found = await completer.complete(text, len(text))
        assert [choice.insert for choice in found.choices] == [f"@{tmp_path}/beside/notes.txt"]
        await completer.close()


@awaited
async def test_a_file_changed_meanwhile_is_not_shown_as_the_settings_in_use(
    opened: Opener, a_home_of_its_own: Path
) -> None:
    place = a_home_of_its_own / ".config/overt"
    place.mkdir(parents=True)
    (place / "config.toml").write_text('[permissions]\ndeny = ["bash(curl *)"]\n')
    async with opened([]) as (conversation, _):
        before = [(await slash(conversation, text)).lines for text in ("/config", "/permissions")]
        (place / "config.toml").write_text("[permissions]\nallow = [")
        assert [(await slash(conversation, text)).lines for text in ("/config", "/permissions")] == before
