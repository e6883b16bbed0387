"""Run a command that the user typed: at once and outside of the sandbox. Dangerous ones are asked about."""

from overt.agent.agent import Agent
from overt.agent.run_tool import attempt
from overt.core.codec import compact
from overt.core.errors import ToolError
from overt.core.events import Emit, Replied, TextStreamed, ToolProgressed, ToolStarted, TurnEnded
from overt.core.ids import new_id
from overt.core.messages import Call, said
from overt.core.protocols import Profile
from overt.core.spending.usage import Usage
from overt.core.text_fragments import LABEL, Origin
from overt.core.tool import Tool
from overt.repair.repair_call import mend

TYPED = Origin(kind="user", where="!")


async def run_command(agent: Agent, command: str, bash: Tool, emit: Emit) -> TurnEnded:
    """Run a command that the user typed. It is in the history already; its output joins it as one message."""

    def report(text: str) -> None:
        emit(ToolProgressed(agent=agent.spec.path, call_id="", text=text))

    arguments = compact({"command": command, "timeout": 600_000})
    request = agent.runtime.gate.receive(mend(Call(id=new_id(), name="bash", arguments=arguments), {"bash": bash}))
    emit(ToolStarted(agent=agent.spec.path, call=request.mended.call, effects=("run",), headline=command))
    decision = await agent.runtime.gate.decide(request, agent.spec.path, emit, typed=True)
    request = decision.request or request
    text, ended = decision.refusal or (decision.failure.message if decision.failure else ""), ""
    if not text:
        try:
            box, limit = Profile(outside=True), agent.result_limit()
            outcome, _ = await attempt(request.mended, agent.runtime.hands, report=report, box=box, limit=limit)
            text, ended = outcome.text, outcome.ended
            if decision.note:
                text = f"{text}\n{LABEL}{decision.note}"
        except ToolError as error:
            text = error.message
    output = agent.result_limit().clip(agent.runtime.hide(text))
    emit(TextStreamed(agent=agent.spec.path, text=output + "\n"))
    head = f"$ {agent.runtime.hide(command)}\n"
    origin = Origin(kind="tool", where="!", label=len(head), detail=ended)
    message = said(f"{head}{output}", role="assistant", origin=origin)
    emit(Replied(agent=agent.spec.path, message=message, finish="stop", usage=Usage()))
    return TurnEnded(agent=agent.spec.path, reason="denied" if decision.refusal else "done", text=output)
