"""Questions of servers: forms and pages for the user (elicitation), and which folders are open (roots)."""

import asyncio
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import mcp_types as types
from msgspec import Raw, structs
from pydantic import FileUrl

from overt.core.codec import encode
from overt.core.settings import ServerEntry
from overt.mcp.host.link import OvertLink
from overt.mcp.host.running_command import MAX_QUESTIONS, RunningCommand
from overt.mcp.messages import QuestionAnswered, ServerQuestion

Answer = str | int | float | bool | list[str] | None


class Questions:
    """Asks Overt what servers want to know. Without `interactive` questions are declined and the model is told.

    So are those of a call that has asked too many.
    """

    def __init__(self, link: OvertLink, *, roots: tuple[str, ...], interactive: bool) -> None:
        self._link = link
        self._roots = roots
        self._interactive = interactive
        self._numbers = count(1)
        self._open: dict[int, asyncio.Future[QuestionAnswered]] = {}

    def receive_answer(self, answer: QuestionAnswered) -> None:
        if (waiting := self._open.get(answer.question)) and not waiting.done():
            waiting.set_result(answer)

    def list_roots(self) -> types.ListRootsResult:
        roots = [types.Root(uri=FileUrl(Path(path).as_uri()), name=Path(path).name) for path in self._roots]
        return types.ListRootsResult(roots=roots)

    async def elicit(
        self, server: ServerEntry, command: RunningCommand | None, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        if isinstance(params, types.ElicitRequestFormParams) and server.elicitation == "defaults":
            content = default_answers(params.requested_schema)
            if content is not None:
                return types.ElicitResult(action="accept", content=content)
        if command:
            command.questions += 1
            if command.questions > MAX_QUESTIONS:
                return types.ElicitResult(action="decline")
        if isinstance(params, types.ElicitRequestFormParams) and server.elicitation == "defaults":
            return self._decline(server, command, params.message, "it has no defaults for all that it requires")
        if not self._interactive or command is None:
            return self._decline(server, command, params.message, "the run is non-interactive")
        with command.waiting_for_user():
            answer = await self._ask(server, command, params)
        if answer.action != "accept":
            return types.ElicitResult(action=answer.action)
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        values: dict[str, Answer] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in answer.content.items()
        }
        return types.ElicitResult(action="accept", content=values)

    async def _ask(
        self, server: ServerEntry, command: RunningCommand, params: types.ElicitRequestParams
    ) -> QuestionAnswered:
        number = next(self._numbers)
        answer: asyncio.Future[QuestionAnswered] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        question = ServerQuestion(question=number, id=command.id, server=server.name, message=params.message)
        if isinstance(params, types.ElicitRequestFormParams):
            question = structs.replace(question, schema=Raw(encode(params.requested_schema)))
        else:
            question = structs.replace(question, url=params.url)
        self._link.send(question)
        try:
            return await answer
        finally:
            del self._open[number]

    def _decline(
        self, server: ServerEntry, command: RunningCommand | None, message: str, reason: str
    ) -> types.ElicitResult:
        if command:
            command.notes.append(f"{server.name} asked: {message[:500]!r}. The question was declined: {reason}.")
        return types.ElicitResult(action="decline")


def default_answers(schema: Mapping[str, object]) -> dict[str, Answer] | None:
    """Return the defaults of a form, or None if a required field has none."""
    fields = schema.get("properties")
    required = schema.get("required")
    content: dict[str, Answer] = {}
    for name, field in fields.items() if isinstance(fields, Mapping) else ():
        default = field.get("default") if isinstance(field, Mapping) else None
        if isinstance(default, str | int | float | bool):
            content[name] = default
        elif isinstance(default, list):
            content[name] = [str(item) for item in default]
    missing = set(required) - set(content) if isinstance(required, list) else set()
    return None if missing else content
