"""A tool asks the user a form: who is asked, what is recorded, and how it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import json
from tests.fakes.asking_tool import FORMS, REGISTRIES
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import call, calls, results

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.start import open_conversation
from overt.core.events import Event, Noticed, TurnEnded
from overt.core.questions import FormAnswer, FormAsked, FormClosed

ONE = calls(call("survey", form="contact"))
TWO = calls(call("survey", form="contact"), call("survey", form="colour"))
ADA = FormAnswer(action="accept", values={"name": "Ada Lovelace"})


class Chat:
    """A conversation with the tool that asks; `asked` has the forms that are open."""

    def __init__(self, conversation: Conversation, server: ModelServer) -> None:
        self.conversation, self.server = conversation, server
        self.events: list[Event] = []
        self.asked: asyncio.Queue[FormAsked] = asyncio.Queue()
        conversation.session.subscribe(self._receive, name="test")

    def _receive(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, FormAsked):
            self.asked.put_nowait(event)

    def answers(self) -> list[FormAnswer]:
        return [json.decode(text, type=FormAnswer) for text in results(self.server)]

    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Noticed)]


@asynccontextmanager
async def opened(
    folder: Path, *turns: Turn, monkeypatch: pytest.MonkeyPatch, interactive: bool = True
) -> AsyncIterator[Chat]:
    with ModelServer([*turns, Turn(text="done")]) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(
            Options(directory=str(folder), registries=REGISTRIES, interactive=interactive)
        )
        try:
            async with asyncio.timeout(30):
                yield Chat(conversation, server)
        finally:
            await conversation.close()


def test_the_answer_of_a_form_reaches_the_tool_and_its_values_are_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path, ONE, monkeypatch=monkeypatch) as chat:
            turn = chat.conversation.prompt("go")
            question = await chat.asked.get()
            assert (question.form, question.agent) == (FORMS["contact"], "main")
            assert chat.conversation.answer_form(question.id, ADA)
            assert not chat.conversation.answer_form(question.id, ADA)
            await turn
            assert (chat.answers(), chat.notices()) == ([ADA], ["You answered the question of MCP server github."])
            closed = [event.id for event in chat.events if isinstance(event, FormClosed)]
            assert closed == [question.id]
            recorded = Path(chat.conversation.path).read_text()
            assert (recorded.count("Ada Lovelace"), recorded.count("You answered")) == (1, 1)  # the tool's own result

    asyncio.run(main())


def test_a_declined_form_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path, ONE, monkeypatch=monkeypatch) as chat:
            turn = chat.conversation.prompt("go")
            chat.conversation.answer_form((await chat.asked.get()).id, FormAnswer(action="decline"))
            await turn
            assert chat.answers() == [FormAnswer(action="decline")]
            assert chat.notices() == ["You declined the question of MCP server github."]

    asyncio.run(main())


def test_two_forms_can_be_open_and_are_answered_by_their_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path, TWO, monkeypatch=monkeypatch) as chat:
            turn = chat.conversation.prompt("go")
            first, second = await chat.asked.get(), await chat.asked.get()
            pro = FormAnswer(action="accept", values={"plan": "pro"})
            chat.conversation.answer_form(second.id, pro)
            chat.conversation.answer_form(first.id, ADA)
            await turn
            assert chat.answers() == [ADA, pro]

    asyncio.run(main())


def test_interrupting_the_turn_closes_an_open_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path, ONE, monkeypatch=monkeypatch) as chat:
            turn = chat.conversation.prompt("go")
            question = await chat.asked.get()
            chat.conversation.interrupt()
            assert (await turn).reason == "interrupted"
            assert not chat.conversation.answer_form(question.id, ADA)
            kinds = [type(event) for event in chat.events if isinstance(event, FormAsked | FormClosed | TurnEnded)]
            assert kinds == [FormAsked, FormClosed, TurnEnded]

    asyncio.run(main())


def test_a_non_interactive_run_declines_at_once_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path, ONE, monkeypatch=monkeypatch, interactive=False) as chat:
            await chat.conversation.prompt("go")
            assert chat.answers() == [FormAnswer(action="decline", unattended=True)]
            assert chat.asked.empty()
            assert "the run is non-interactive. Start a chat to answer it." in chat.notices()[-1]

    asyncio.run(main())
