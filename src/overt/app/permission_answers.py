"""Where the answers of the user arrive. Questions go up as events; any frontend may answer."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from overt.core.events import Emit, Event, Noticed, PermissionAsked
from overt.core.ids import new_id
from overt.core.protocols import Answer
from overt.core.questions import FormAnswer, FormAsked, FormClosed, QuestionForm
from overt.lib.translations import say

T = TypeVar("T")


class _Open(Generic[T]):
    """Questions of one kind that wait for an answer, by id."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[T]] = {}

    async def wait(self, id: str) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting[id] = future
        try:
            return await future
        finally:
            del self._waiting[id]

    def answer(self, id: str, answer: T) -> bool:
        future = self._waiting.get(id)
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True


class Mailbox:
    """The Asker of sessions with a user. Answering returns False if the question is no longer open."""

    def __init__(self) -> None:
        self._permissions = _Open[Answer]()
        self._forms = _Open[FormAnswer]()

    async def ask(self, question: PermissionAsked) -> Answer:
        return await self._permissions.wait(question.id)

    def answer(self, question: str, answer: Answer) -> bool:
        return self._permissions.answer(question, answer)

    async def ask_form(self, question: FormAsked) -> FormAnswer:
        return await self._forms.wait(question.id)

    def answer_form(self, question: str, answer: FormAnswer) -> bool:
        return self._forms.answer(question, answer)


class UserForms:
    """Puts forms to the user of a session. Without a `mailbox` the run is non-interactive, and they are declined."""

    def __init__(self, mailbox: Mailbox | None, *, publish: Callable[[Event], None], emit: Emit) -> None:
        self._mailbox = mailbox
        self._publish = publish
        self._emit = emit

    async def ask(self, form: QuestionForm, *, agent: str = "main", call_id: str = "") -> FormAnswer:
        """Show a form and wait for its answer. Cancelling this closes it. The values of an answer are not recorded."""
        if self._mailbox is None:
            self._emit(Noticed(agent=agent, text=say("form.unattended", who=form.who), level="warning"))
            return FormAnswer(action="decline", unattended=True)
        question = FormAsked(agent=agent, id=new_id(), form=form, call_id=call_id)
        self._publish(question)
        try:
            answer = await self._mailbox.ask_form(question)
        finally:
            self._publish(FormClosed(agent=agent, id=question.id, call_id=call_id))
        words = "form.accepted" if answer.action == "accept" else "form.declined"
        self._emit(Noticed(agent=agent, text=say(words, who=form.who)))
        return answer
