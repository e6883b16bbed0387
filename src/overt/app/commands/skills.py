"""`/skills`: the skills of this session, each with its origin and state."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.lib.translations import say


async def skills(conversation: Conversation, argument: str) -> CommandOutcome:
    library = conversation.skills
    if library is None:
        return CommandOutcome(lines=(say("skills.none"),))
    from overt.app.skills.describe import budget_lines, row_lines, skill_budget  # late: 2 ms

    if argument not in ("", "budget"):
        raise COMMAND.usage_error()
    if argument == "budget":
        budget = skill_budget(library, conversation.setting)
        return CommandOutcome(lines=(*budget.index.text.splitlines(), "", *budget_lines(budget)))
    return CommandOutcome(lines=tuple(row_lines(library, conversation.setting)))


COMMAND = Command(name="skills", run=skills, usage="[budget]", order=255, anytime=True, panel="lines")
