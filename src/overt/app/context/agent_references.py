"""Find agents that a prompt names with `@`, and ask the model to delegate to them.

`@reviewer` means the agent unless a file has this name; `@agent-reviewer` always does.
"""

import re
from collections.abc import Callable

from overt.app.context.references import FOUND, MOST, PUNCTUATION
from overt.core.agents.profile import AgentProfile
from overt.core.messages import Message, own_message

MARK = "agent-"
REQUEST = (
    'The user wants the agent `{name}` to do this: call task with agent "{name}", and say all that it needs to know.'
)


def agent_references(
    text: str, find: Callable[[str], AgentProfile | None], exists: Callable[[str], bool]
) -> tuple[Message, ...]:
    """Return a message for each agent that the text names, at most twelve."""
    profiles: dict[str, AgentProfile] = {}
    for match in re.finditer(FOUND, text):
        word = (match[4] or "").rstrip(PUNCTUATION)
        name = word.removeprefix(MARK)
        if not name or len(profiles) == MOST or (name == word and exists(word)):
            continue
        if profile := find(word) or find(name):
            profiles[profile.name] = profile
    return tuple(own_message(REQUEST.format(name=name), "agent") for name in profiles)
