"""The wires that are spoken over HTTP, each loaded when it is first used."""

from overt.core.errors import ConfigError
from overt.core.settings import ModelFacts
from overt.providers.transport.attempt import HttpWire

NAMES = ("anthropic", "openai", "responses")
MAX_ANSWER = 8 * 1024 * 1024
"""Bytes of a reply that are read at most."""


def make_wire(name: str, facts: ModelFacts | None = None, *, max_answer: int = MAX_ANSWER) -> HttpWire:
    """Return the wire of this name as a model wants it, or raise a ConfigError if no wire has this name."""
    match name:
        case "openai":
            from overt.providers.wires.openai_chat import OpenAIChat  # late: 7 ms

            return OpenAIChat(facts, max_answer=max_answer)
        case "responses":
            from overt.providers.wires.openai_responses import OpenAIResponses  # late: 7 ms

            return OpenAIResponses(facts, max_answer=max_answer)
        case "anthropic":
            from overt.providers.wires.anthropic import Anthropic  # late: 6 ms

            return Anthropic(facts, max_answer=max_answer)
        case _:
            raise ConfigError(f"unknown wire {name!r}; this version knows {', '.join(NAMES)}")
