"""A package outside of the source tree adds one thing of each kind, and each is used from end to end."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PATIENCE, Place, Ran, Terminal, call, calls, checked, messages, results
from tests.journeys.tty_kit import tty

PACKAGE = '''
"""What an outside package of one file may add."""

import asyncio
import sys

from msgspec import Struct

from overt.app.slash_command import Command, CommandOutcome
from overt.app.context.prefix import ContextSource
from overt.app.registries import Registries
from overt.app.start import open_conversation
from overt.cli.main import main
from overt.core.capabilities import ReadFiles
from overt.core.text_fragments import Fragment, Origin
from overt.core.tool import Outcome, tool
from overt.core.views import Plain
from overt.frontends.tui.panels.pager import Pager
from overt.frontends.tui.terminal.rows import Span
from overt.providers.wires import WireKind
from overt.providers.wires.openai import OpenAIChat


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str

    def subjects(self):
        return (self.path,)


@tool
async def count_words(args: Args, files: ReadFiles) -> Outcome:
    """Count the words of a text file."""
    words = len((await files.text(args.path)).text.split())
    return Outcome(text=f"{words} words", view=Plain(text=f"{words} words"))


class Envelope(OpenAIChat):
    """Chat completions with a field of its own, at a path of its own."""

    name = "envelope"
    path = "/envelope"

    def head(self, prefix, params):
        return b'{"sealed":true,' + super().head(prefix, params)[1:]


async def greet(conversation, argument):
    return CommandOutcome(lines=(f"Hello {argument or 'everyone'} from {conversation.workspace}",))


async def greeting(conversation, text, number):
    return f"{len(conversation.commands.listed())} commands greet you"


def greeting_panel(inputs):
    return Pager("GREETINGS", query="greeting", fill=lambda pager, value: pager.body.set([(Span(value),)]))


def weather(argv, registries):
    print("sunny", *argv, *(source.key for source in registries.context_sources))
    return 3


def shout(options, prompt):
    async def play():
        conversation = await open_conversation(options)
        try:
            await conversation.prompt(prompt)
            print("SHOUT:", conversation.history.messages[-1].text().upper())
        finally:
            await conversation.close()

    asyncio.run(play())
    return 0


def oath(fragments, cap):
    origin = Origin(kind="harness", where="outside")
    yield Fragment(key="oath", text=f"Swear by {cap} gods."[:cap], origin=origin)


def registries():
    return Registries(
        tools=(count_words,),
        commands=(
            Command(
                name="greet", run=greet, about="greet somebody", usage="[NAME]", panel="greeting",
                queries={"greeting": greeting},
            ),
        ),
        wires=(WireKind(name="envelope", make=Envelope),),
        context_sources=(ContextSource(key="oath", order=15, cap=77, read=oath),),
        panels={"greeting": greeting_panel},
        subcommands={"weather": weather},
        frontends={"shout": shout},
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], registries=registries()))
'''
TURNS = (calls(call("count_words", path="poem.txt")), Turn(text="There are three words."))


class Outside:
    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.argv = (sys.executable, str(folder / "outside.py"))
        (folder / "outside.py").write_text(PACKAGE)
        (place.work / "poem.txt").write_text("roses are red\n")

    def run(self, *words: str, server: ModelServer | None = None, kind: str = "") -> Ran:
        done = subprocess.run(
            [*self.argv, *words],
            cwd=self.place.work,
            env=self.place.environment(server, {"OVERT_KIND": kind} if kind else {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return checked(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def outside(place: Place, tmp_path: Path) -> Outside:
    return Outside(place, tmp_path)


def test_a_tool_from_outside_is_called_and_its_result_is_sent(outside: Outside) -> None:
    with ModelServer(TURNS) as server:
        ran = outside.run("run", "How many words?", server=server)
        assert (ran.code, ran.out) == (0, "There are three words.\n")
        assert "count_words" in [each["function"]["name"] for each in server.posts[0].json()["tools"]]
        assert results(server) == ["3 words"]
    assert "count_words" in outside.run("tools").out


def test_a_source_from_outside_stands_in_its_place_of_the_system_text(outside: Outside) -> None:
    with ModelServer([Turn(text="sworn")]) as server:
        assert outside.run("run", "--append-system-prompt", "Be brief.", "Swear.", server=server).code == 0
        system = messages(server)[0]["content"]
    places = [system.index(text) for text in ("You are Overt", "Swear by 77 gods.", "# Environment", "Be brief.")]
    assert places == sorted(places)
    assert "oath" in outside.run("config", "context.sources").out


def test_a_wire_from_outside_is_spoken_and_its_requests_can_be_made_again(outside: Outside) -> None:
    with ModelServer(TURNS) as server:
        ran = outside.run("run", "How many words?", server=server, kind="envelope")
        assert (ran.code, ran.out) == (0, "There are three words.\n")
        assert [post.path for post in server.posts] == ["/v1/envelope", "/v1/envelope"]
        assert all(post.body.startswith(b'{"sealed":true,"model":"fake-model"') for post in server.posts)
        sent = server.posts[-1].body.decode()
    assert outside.run("context", "--raw").out.strip() == sent
    assert outside.run("replay", outside.place.session().stem.rpartition("-")[2]).code == 0
    assert '"envelope"' in outside.run("config", "--schema").out


def test_without_the_package_its_wire_is_an_error_that_names_the_others(outside: Outside) -> None:
    ran = outside.place.run("run", "hi", env={"OVERT_KIND": "envelope", "OVERT_BASE_URL": "http://127.0.0.1:9/v1"})
    known = "'anthropic', 'openai', 'responses', 'local', 'scripted'"
    assert (ran.code, ran.err) == (1, f"overt: OVERT_KIND: `kind` must be one of {known}, got 'envelope'\n")


def test_a_command_from_outside_runs_in_the_plain_chat(outside: Outside) -> None:
    outside.place.distrust()
    with ModelServer([]) as server:
        env = outside.place.environment(server, {"TERM": "xterm", "NO_COLOR": "1"})
        terminal = Terminal([*outside.argv, "--plain"], cwd=outside.place.work, env=env)
        try:
            terminal.expect("› ")
            terminal.line("/greet Ada")
            terminal.expect(f"Hello Ada from {outside.place.work}")
            terminal.line("/help")
            terminal.expect("greet somebody")
            terminal.line("/exit")
            assert terminal.wait() == 0
        finally:
            terminal.close()


def test_a_command_from_outside_opens_its_panel_in_the_terminal(outside: Outside) -> None:
    with (
        ModelServer([]) as server,
        tty(outside.place, env=outside.place.environment(server), argv=[*outside.argv], size=(100, 30)) as terminal,
    ):
        terminal.expect("fake-model")
        terminal.type("/greet\r")
        assert "commands greet you" in terminal.expect(lambda shown: "GREETINGS" in shown and "greet you" in shown)
        terminal.type("q")
        terminal.expect(lambda shown: "GREETINGS" not in shown)
        terminal.type("/exit\r")
        assert terminal.wait() == 0


def test_a_subcommand_from_outside_gets_its_words_and_the_registries(outside: Outside) -> None:
    assert outside.run("weather", "in", "Rome") == Ran(3, "sunny in Rome oath\n", "")
    assert "| weather" in outside.run("--help").out


def test_a_frontend_from_outside_shows_the_session(outside: Outside) -> None:
    with ModelServer(TURNS) as server:
        ran = outside.run("--frontend", "shout", "How many words?", server=server)
        assert (ran.code, ran.out) == (0, "SHOUT: THERE ARE THREE WORDS.\n")
    ran = outside.run("--frontend", "whisper", "psst")
    assert (ran.code, ran.err) == (
        2,
        "overt: --frontend: there is no 'whisper'; expected one of headless, plain, tui, shout\n",
    )
