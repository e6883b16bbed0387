"""How a model is led through a turn that could not find its way with the tools alone."""

from typing import Protocol

from msgspec import Raw

from overt.core.history import History
from overt.core.messages import Message


class Lead(Protocol):
    """What a small model, or one whose server takes no tools, needs around it."""

    async def accompany(self, text: str) -> tuple[Message, ...]:
        """What goes before a prompt so that the model has it at hand, each message with its own origin.

        Origins of kind `file` or `environment`: the prompt itself stays the person's words and nothing else.
        """
        ...

    async def form(self, history: History, *, forced: bool) -> Raw | None:
        """The JSON schema of the next reply; with `forced` it may only be an answer."""
        ...

    def forget(self) -> None:
        """What went along with earlier prompts has left the history."""
        ...


class AnswerCheck(Protocol):
    """Looks at an answer before the turn ends: a validation, a hook, or the check of a small model's claims."""

    async def find_objection(self, history: History) -> str:
        """Return the objection to send back to the model, or an empty string if the answer is accepted."""
        ...
