"""Markdown commands in a session: what is sent, what they may run, and what holds while their turn runs."""

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener, end, turn
from tests.app.test_slash_sessions import awaited, refused
from tests.fakes.commands import slash
from tests.fakes.model_server import Turn
from tests.journeys.journey_kit import call, calls, messages

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session import follow
from overt.config.describe_files import describe_file
from overt.config.paths import read_environment
from overt.config.trust import trust
from overt.core.errors import UsageError
from overt.core.events import Event, ModelSet, Noticed, PermissionDecided, PrefixReset, ToolFinished, UserSpoke

EXAMPLE = Path(__file__).parents[2] / "examples/command/review.md"


class Project:
    """A trusted folder with commands in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.opened = Opener(folder, monkeypatch)

    def write(self, **commands: str) -> None:
        for name, text in commands.items():
            path = self.folder / ".overt/commands" / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.trust()

    def trust(self) -> None:
        trust(read_environment(), str(self.folder))

    def options(self, *, mode: str = "review", interactive: bool = False) -> Options:
        return Options(directory=str(self.folder), mode=mode, interactive=interactive)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


async def run(conversation: Conversation, line: str) -> list[Event]:
    started = await conversation.run_prompt_command(line)
    async with aclosing(follow(conversation.session, started)) as events:
        return [event async for event in events]


def notices(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Noticed)]


@awaited
async def test_a_command_sends_its_text_with_arguments_and_files(project: Project) -> None:
    (project.folder / "a.txt").write_text("the content\n")
    project.write(git__tidy="---\ndescription: Tidy\n---\nTidy $1 as in @a.txt.\n")
    async with project.opened([Turn(text="done")], project.options()) as (conversation, server):
        events = await run(conversation, "/git:tidy src")
        assert end(events).reason == "done"
        sent = [message["content"] for message in messages(server) if message["role"] == "user"]
        assert sent[-1] == "Tidy src as in @a.txt."
        assert "the content" in sent[-2]
        spoken = [event.message.origin for event in events if isinstance(event, UserSpoke)]
        assert (spoken[-1].where, spoken[-1].detail) == ("/git:tidy", ".overt/commands/git/tidy.md")
        assert "  /git:tidy    Tidy (.overt/commands/git/tidy.md)" in (await slash(conversation, "/help")).lines


@awaited
async def test_nothing_of_an_untrusted_folder_is_a_command(project: Project) -> None:
    project.write(fix="Fix it.")
    (project.folder / ".claude/commands").mkdir(parents=True)
    (project.folder / ".claude/commands/other.md").write_text("Do it.")  # after the folder was trusted
    async with project.opened([], project.options()) as (conversation, _):
        for name in ("/fix", "/other"):
            assert (await refused(conversation, name)).startswith(f"There is no command {name}.")


def test_the_question_of_trust_shows_what_a_command_allows_and_runs(project: Project) -> None:
    project.write(fix="---\nallowed-tools: Bash(make:*)\n---\nFix it.\n!`git log`\n")
    assert describe_file(str(project.folder), ".overt/commands/fix.md") == (
        "allowed-tools: Bash(make:*)",
        "!`git log`",
    )


@awaited
async def test_a_file_replaces_our_prompts_but_no_other_command(project: Project) -> None:
    project.write(review="Mine: $ARGUMENTS", help="Not help", clear="Not clear")
    async with project.opened([Turn(text="done")], project.options()) as (conversation, server):
        assert "Not help" not in " ".join((await slash(conversation, "/help")).lines)
        assert conversation.commands.parse("/clear")[0] == "new"
        await run(conversation, "/review all")
        assert messages(server)[-1]["content"] == "Mine: all"


@awaited
async def test_commands_in_the_text_run_in_the_sandbox_and_their_output_is_inserted(project: Project) -> None:
    project.write(state="Files:\n!`ls`\nEnd of @nothing", out="---\nallowed-tools: Bash(touch:*)\n---\n!`touch /var/x`")
    (project.folder / "b.txt").write_text("@a.txt\n")
    async with project.opened([Turn(text="done"), Turn(text="done")], project.options()) as (conversation, server):
        events = await run(conversation, "/state")
        assert messages(server)[-1]["content"] == "Files:\nb.txt\nEnd of @nothing"
        ran = [event for event in events if isinstance(event, ToolFinished)]
        assert [event.code for event in ran] == [""]
        await run(conversation, "/out")
        assert "/var/x" in str(messages(server)[-1]["content"])  # what touch said about it
    assert not Path("/var/x").exists()


@awaited
async def test_a_denied_command_stops_it_before_anything_is_sent(project: Project) -> None:
    project.write(ship="Ship it:\n!`git push --force origin main`")
    async with project.opened([], project.options(mode="auto")) as (conversation, server):
        events = await run(conversation, "/ship")
        assert end(events).reason == "denied"
        assert notices(events) == ["/ship was stopped: `git push --force origin main` in its text did not run."]
        assert server.posts == []
        assert not [event for event in events if isinstance(event, UserSpoke)]


@awaited
async def test_arguments_cannot_start_a_second_command(project: Project) -> None:
    project.write(say="!`echo $1`", sh="!`sh -c 'echo $1'`", odd="!`echo $1 # $2`")
    async with project.opened([Turn(text="done")], project.options()) as (conversation, server):
        await run(conversation, "/say 'a; touch pwned'")
        assert messages(server)[-1]["content"] == "a; touch pwned"
        for line in ("/sh 'a; touch pwned'", "/odd a b"):
            with pytest.raises(UsageError):
                await run(conversation, line)
        assert not (project.folder / "pwned").exists()


@awaited
async def test_allowed_tools_hold_for_the_turn_of_the_command_only(project: Project) -> None:
    project.write(build="---\nallowed-tools: Bash(make:*)\ndisallowed-tools: [Write]\n---\nBuild it.")
    (project.folder / "Makefile").write_text("all:\n\t@echo built\n")
    make, write = call("bash", command="make"), call("write", path="x.txt", content="x")
    turns = [calls(make, write), Turn(text="done"), calls(call("bash", command="make")), Turn(text="done")]
    async with project.opened(turns, project.options()) as (conversation, _):
        decided = [event for event in await run(conversation, "/build") if isinstance(event, PermissionDecided)]
        where = ".overt/commands/build.md"
        assert [(event.verdict, event.rule, event.origin) for event in decided] == [
            ("allow", "bash(make:*)", where),
            ("deny", "write", where),
        ]
        later = [event for event in await turn(conversation, "again") if isinstance(event, PermissionDecided)]
        assert where not in [event.origin for event in later]


@awaited
async def test_the_model_of_a_command_is_used_for_its_turn_only(project: Project) -> None:
    project.write(quick="---\nmodel: other-model\nagent: scout\n---\nBe quick.")
    turns = [Turn(text="one"), Turn(text="two"), Turn(text="three")]
    async with project.opened(turns, project.options()) as (conversation, server):
        first = await turn(conversation, "first")
        events = await run(conversation, "/quick")
        third = await turn(conversation, "third")
        bodies = [post.json() for post in server.posts]
        assert [body["model"] for body in bodies] == ["fake-model", "other-model", "fake-model"]
        assert [body["messages"][0] for body in bodies] == [bodies[0]["messages"][0]] * 3
        assert [
            len([event for event in each if isinstance(event, PrefixReset)]) for each in (first, events, third)
        ] == [0, 1, 1]
        assert [event.model for event in events if isinstance(event, ModelSet)] == ["other-model", "fake-model"]
        assert notices(events) == [
            "Running /quick with the main agent: the agent scout does not exist or may not be started."
        ]


@awaited
async def test_a_model_that_is_not_available_is_named_and_the_turn_runs(project: Project) -> None:
    project.write(quick="---\nmodel: haiku\n---\nBe quick.")
    async with project.opened([Turn(text="one")], project.options()) as (conversation, server):
        events = await run(conversation, "/quick")
        assert [post.json()["model"] for post in server.posts] == ["fake-model"]
        (notice,) = notices(events)
        assert notice.startswith("/quick names the model haiku, which is not available (")


@awaited
async def test_the_prompt_of_a_command_can_be_retried(project: Project) -> None:
    project.write(fix="Fix it.")
    async with project.opened([Turn(text="one"), Turn(text="two")], project.options()) as (conversation, server):
        await run(conversation, "/fix")
        async with aclosing(follow(conversation.session, conversation.retry())) as events:
            assert end([event async for event in events]).text == "two"
        assert [said["content"] for said in messages(server) if said["role"] == "user"] == ["Fix it."]


def test_the_example_reviews_a_change_and_cannot_write(project: Project) -> None:
    for words in (["init", "-q"], ["config", "user.email", "a@b.c"], ["config", "user.name", "A"]):
        subprocess.run(["git", *words], cwd=project.folder, check=True, timeout=20)
    (project.folder / "a.py").write_text("x = 1\n")
    subprocess.run(["git", "add", "a.py"], cwd=project.folder, check=True, timeout=20)
    subprocess.run(["git", "commit", "-qm", "Add x"], cwd=project.folder, check=True, timeout=20)
    (project.folder / "a.py").write_text("x = 2\n")
    (project.folder / ".overt/commands").mkdir(parents=True)
    shutil.copy(EXAMPLE, project.folder / ".overt/commands/review.md")
    project.trust()
    turns = [calls(call("edit", path="a.py", old="x = 2", new="x = 3")), Turn(text="fine")]

    async def main() -> None:
        async with project.opened(turns, project.options(mode="auto")) as (conversation, server):
            events = await run(conversation, "/review the names")
            prompt = next(said["content"] for said in messages(server, 0) if said["content"].startswith("Review the"))
            assert "Look at: the names" in prompt
            assert "Add x" in prompt
            assert "+x = 2" in prompt
            assert [event.code for event in events if isinstance(event, ToolFinished)] == ["", "", "denied"]
            assert (project.folder / "a.py").read_text() == "x = 2\n"

    asyncio.run(main())
