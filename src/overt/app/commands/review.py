"""`/review` and `/init`: prompts that people would otherwise have to write again and again."""

import os

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.lib.package_data import read_text

RULES = ("AGENTS.md", "CLAUDE.md")


async def review(conversation: Conversation, argument: str) -> CommandOutcome:
    what = f"Review this: {argument}" if argument else "Review the changes in this folder that are not committed yet."
    return _sent(conversation, _prompt("review.md", what=what))


async def init(conversation: Conversation, _argument: str) -> CommandOutcome:
    there = next((name for name in RULES if os.path.isfile(os.path.join(conversation.workspace, name))), "")
    if there:
        task = f"`{there}` exists already: read it first, keep what is right in it, and improve it in place."
    else:
        task = f"Write it as `{RULES[0]}` in the root of the workspace."
    return _sent(conversation, _prompt("init.md", task=task))


def _prompt(name: str, **values: str) -> str:
    text = read_text("overt.context", f"prompts/{name}").strip()
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _sent(conversation: Conversation, text: str) -> CommandOutcome:
    return CommandOutcome(play=lambda: conversation.prompt(text))


REVIEW = Command(name="review", run=review, usage="[WHAT]", order=220, is_prompt=True)
INIT = Command(name="init", run=init, order=230, is_prompt=True)
