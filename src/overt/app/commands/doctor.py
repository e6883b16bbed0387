"""`/doctor`: check the configuration, the programs Overt needs, and the sandbox."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome


async def doctor(conversation: Conversation, _argument: str) -> CommandOutcome:
    from overt.app.diagnostics.doctor import doctor_lines, examine  # late: 18 ms

    return CommandOutcome(lines=tuple(doctor_lines(await examine(conversation.setting))))


COMMAND = Command(name="doctor", run=doctor, order=310, anytime=True)
