"""A command that the person types: run at once and outside of the box, after the guard for dangerous ones."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from overt.core.codec import compact
from overt.core.errors import ToolError
from overt.core.events import Event, Replied, TextStreamed, ToolStarted, TurnEnded
from overt.core.fragments import Origin
from overt.core.ids import new_id
from overt.core.messages import Call, said
from overt.core.ports import Profile
from overt.core.tool import Tool
from overt.core.usage import Usage
from overt.engine.agent import Agent
from overt.engine.attempt import attempt
from overt.repair.mend import mend

TYPED = Origin(kind="user", where="!")
RAN = Origin(kind="tool", where="!")


async def run_command(
    agent: Agent, command: str, bash: Tool, report: Callable[[str], None]
) -> AsyncGenerator[Event, None]:
    """What the person said is in the history already; what came of it joins it as one message."""
    arguments = compact({"command": command, "timeout": 600_000})
    admission = agent.gate.receive(mend(Call(id=new_id(), name="bash", arguments=arguments), {"bash": bash}))
    yield ToolStarted(agent=agent.path, call=admission.mended.call, effects=("run",), headline=command)
    async with aclosing(agent.gate.admit(admission, agent.path, mode="yolo")) as events:
        async for event in events:
            yield event
    text = admission.refusal or (admission.failure.message if admission.failure else "")
    if not text:
        try:
            box, limit = Profile(outside=True), agent.result_limit()
            outcome, _ = await attempt(admission.mended, agent.hands, report=report, box=box, limit=limit)
            text = outcome.text
        except ToolError as error:
            text = error.message
    told = agent.result_limit().clip(agent.hide(text))
    yield TextStreamed(agent=agent.path, text=told + "\n")
    message = said(f"$ {command}\n{told}", role="assistant", origin=RAN)
    yield Replied(agent=agent.path, message=message, finish="stop", usage=Usage())
    yield TurnEnded(agent=agent.path, reason="denied" if admission.refusal else "done", text=told)
