"""A tool from outside the source tree takes part in a conversation like a built-in one."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.registries import Registries
from overt.app.start import open_conversation
from overt.cli.main import main
from overt.core.capabilities import Change, WriteFiles
from overt.core.events import PermissionDecided, ToolFinished
from overt.core.messages import Call
from overt.core.tool import Outcome, tool
from overt.core.views import Plain
from overt.repair.repair_call import mend
from overt.sessions.load import load
from overt.tools.registry import BUILT_IN, ToolRegistry

CONFIGURATION = '[permissions]\ndeny = ["StampFile(private.txt)", "Edit(secret.txt)"]\n'


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    line: str

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    aliases="StampFile stamp_file draft_stamp",
    implied={"draft_stamp": {"line": "draft"}},
    advice="stamp one file at a time",
    past="stamped",
)
async def stamp(args: Args, files: WriteFiles) -> Outcome:
    """Put a line at the top of a text file."""
    file = await files.text(args.path)
    await files.change([Change(path=args.path, content=f"{args.line}\n{file.text}", base=file.hash)])
    return Outcome(text=f"stamped {args.path}", view=Plain(text=f"{args.line} stands on {args.path}"))


EXTRAS = Registries(tools=(stamp,))


async def run(folder: Path, *turns: Turn, monkeypatch: pytest.MonkeyPatch) -> tuple[Conversation, list[ToolFinished]]:
    for name in ("a.txt", "private.txt", "secret.txt"):
        (folder / name).write_text("old\n")
    (folder / "overt.toml").write_text(CONFIGURATION)
    with ModelServer([*turns, Turn(text="done")]) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(Options(directory=str(folder), mode="yolo", registries=EXTRAS))
        try:
            async with asyncio.timeout(30):
                await conversation.prompt("go")
        finally:
            await conversation.close()
    events = [entry.data for entry in load(conversation.path).entries]
    return conversation, [event for event in events if isinstance(event, ToolFinished)]


def test_a_call_by_an_alias_runs_and_is_recorded_with_its_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = calls(call("StampFile", path="a.txt", line="one"), call("draft_stamp", path="a.txt"))
    conversation, finished = asyncio.run(run(tmp_path, turn, monkeypatch=monkeypatch))
    assert (tmp_path / "a.txt").read_text() == "draft\none\nold\n"
    assert [(event.result.text(), event.view) for event in finished] == [
        ("stamped a.txt", Plain(text="one stands on a.txt")),
        ("stamped a.txt", Plain(text="draft stands on a.txt")),
    ]
    assert conversation.notices == []


def test_rules_refuse_it_by_its_alias_and_by_its_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = calls(call("stamp_file", path="private.txt", line="x"), call("stamp", path="secret.txt", line="x"))
    conversation, finished = asyncio.run(run(tmp_path, turn, monkeypatch=monkeypatch))
    assert [event.code for event in finished] == ["denied", "denied"]
    decided = [entry.data for entry in load(conversation.path).entries if isinstance(entry.data, PermissionDecided)]
    assert [event.rule for event in decided] == ["stamp(private.txt)", "edit(secret.txt)"]
    assert (tmp_path / "private.txt").read_text() == (tmp_path / "secret.txt").read_text() == "old\n"


def test_it_is_told_to_the_model_behind_the_built_in_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation, _ = asyncio.run(run(tmp_path, monkeypatch=monkeypatch))
    assert [spec.name for spec in conversation.agent.spec.prefix.tools] == [
        *(tool.name for tool in BUILT_IN if not tool.rare),
        "stamp",
    ]


def test_overt_tools_lists_it_with_its_effects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools"], EXTRAS) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["stamp", "write"]


def test_a_call_that_was_cut_is_answered_with_its_advice() -> None:
    cut = Call(id="1", name="StampFile", arguments='{"path": "a.txt", "line": "o')
    assert "if it is long, stamp one file at a time" in mend(cut, ToolRegistry((stamp,)).by_name).error
